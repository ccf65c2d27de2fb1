"""Pipeline and tensor parallelism give the gradients of one device."""

import mxnet as mx
import numpy as onp
import pytest
from helpers import put_in
from hypothesis import given, settings
from hypothesis import strategies as st
from mxnet import autograd, np, npx

import d2lmulti
from d2lmulti import model_parallel

LAYERS = model_parallel.LENET
few = settings(max_examples=25, deadline=None)


def make_params(channels=(4, 5), units=6, classes=10, seed=0):
    """Return parameters of a LeNet with other widths."""
    first, second = channels
    random = onp.random.RandomState(seed)
    shapes = [
        (first, 1, 3, 3),
        (first,),
        (second, first, 5, 5),
        (second,),
        (second * 16, units),
        (units,),
        (units, classes),
        (classes,),
    ]
    return [np.array(draw(random, shape), dtype='float32') for shape in shapes]


def draw(random, shape):
    """Return weights of a size with which scores neither vanish nor
    explode, or biases with which no unit of relu is dead."""
    if len(shape) == 1:
        return random.uniform(0.5, 1, shape)
    num_inputs = onp.prod(shape[1:]) if len(shape) == 4 else shape[0]
    return random.normal(0, num_inputs**-0.5, shape)


def minibatch(n, classes=10, seed=0):
    random = onp.random.RandomState(seed)
    return (
        np.array(random.uniform(size=(n, 1, 28, 28)), dtype='float32'),
        np.array(random.randint(0, classes, n), dtype='int32'),
    )


def reference(X, y, params):
    """Return the gradients on one device, written down without the module."""
    params = [param.copy() for param in params]
    for param in params:
        param.attach_grad()
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    with autograd.record():
        h = X
        for W, b, size in ((W1, b1, 3), (W2, b2, 5)):
            h = npx.relu(
                npx.convolution(
                    h, W, b, kernel=(size, size), num_filter=len(W)
                )
            )
            h = npx.pooling(h, kernel=(2, 2), stride=(2, 2), pool_type='avg')
        h = npx.relu(np.dot(h.reshape(len(X), -1), W3) + b3)
        scores = np.dot(h, W4) + b4
        total = -npx.pick(npx.log_softmax(scores), y).sum()
    total.backward()
    return [param.grad.asnumpy() for param in params]


def pipeline(X, y, params, k, num_micro_batches=1):
    devices = [mx.cpu(i) for i in range(k)]
    stages = d2lmulti.split_layers(params, devices)
    for _ in range(2):  # the second time nothing is left of the first
        gradients = d2lmulti.pipeline_gradients(
            X, y, stages, num_micro_batches
        )
    return [gradient.asnumpy() for gradient in gradients]


def tensor_parallel(X, y, params, k):
    devices = [mx.cpu(i) for i in range(k)]
    parts = d2lmulti.shard_params(params, devices)
    for shards, device in zip(parts, devices):
        assert all(s.ctx == device for s in shards if s is not None)
    for _ in range(2):
        gradients = d2lmulti.tensor_parallel_gradients(
            X, y, parts, LAYERS[:-1]
        )
    return model_parallel.join_parts(gradients)


def assert_equal(found, expected):
    assert [g.shape for g in found] == [g.shape for g in expected]
    for gradient, right in zip(found, expected):
        assert abs(gradient - right).max() <= 1e-5 * abs(right).max() + 1e-6


def assert_pipeline_equals_one_device(n, k, num_micro_batches):
    params, (X, y) = make_params(), minibatch(n)
    expected = reference(X, y, params)
    assert_equal(pipeline(X, y, params, k, num_micro_batches), expected)
    assert min(abs(right).max() for right in expected) > 1e-2


def assert_tensor_parallel_equals_one_device(n, k, **widths):
    params = make_params(**widths)
    X, y = minibatch(n, widths.get('classes', 10))
    expected = reference(X, y, params)
    assert_equal(tensor_parallel(X, y, params, k), expected)
    if not widths:  # very narrow networks may be dead
        assert min(abs(right).max() for right in expected) > 1e-2


@pytest.mark.parametrize('k', [1, 2, 3, 4])
@pytest.mark.parametrize(
    'n, num_micro_batches', [(12, 1), (12, 4), (13, 4), (5, 5)]
)
def test_a_pipeline_gives_the_gradients_of_one_device(n, num_micro_batches, k):
    assert_pipeline_equals_one_device(n, k, num_micro_batches)


@pytest.mark.parametrize('k', [1, 2, 3, 4])
@pytest.mark.parametrize('n', [1, 8, 13])
def test_tensor_parallelism_gives_the_gradients_of_one_device(n, k):
    assert_tensor_parallel_equals_one_device(n, k)


@few
@given(st.integers(1, 4), st.data())
def test_any_widths_and_any_number_of_devices(k, data):
    draw = data.draw
    assert_tensor_parallel_equals_one_device(
        draw(st.integers(1, 6)),
        k,
        units=draw(st.integers(k, 9)),
        channels=(draw(st.integers(k, 7)), draw(st.integers(k, 7))),
        classes=draw(st.integers(2, 5)),
        seed=draw(st.integers(0, 99)),
    )


@few
@given(st.integers(1, 4), st.data())
def test_any_micro_batches(k, data):
    n = data.draw(st.integers(1, 9))
    assert_pipeline_equals_one_device(n, k, data.draw(st.integers(1, n)))


def test_a_network_without_hidden_dense_layer():
    params = make_params()
    params = params[:4] + [np.ones((80, 3)) * 0.1, np.zeros(3)]
    X, y = minibatch(4, classes=3)
    layers = LAYERS[:2]
    expected = [
        g.asnumpy()
        for g in d2lmulti.pipeline_gradients(
            X,
            y,
            d2lmulti.split_layers(params, [mx.cpu()], layers + LAYERS[-1:]),
        )
    ]
    parts = d2lmulti.shard_params(params, [mx.cpu(i) for i in range(3)])
    assert_equal(
        model_parallel.join_parts(
            d2lmulti.tensor_parallel_gradients(X, y, parts, layers)
        ),
        expected,
    )


@pytest.mark.parametrize('k', [2, 3, 4])
def test_no_device_holds_everything_and_together_they_hold_it_once(k):
    params, devices = make_params(), [mx.cpu(i) for i in range(k)]
    total = sum(param.size for param in params)
    for device_arrays in (
        [
            [a for _, *both in stage for a in both]
            for stage in d2lmulti.split_layers(params, devices)
        ],
        [
            [a for a in parts if a is not None]
            for parts in d2lmulti.shard_params(params, devices)
        ],
    ):
        sizes = [
            sum(array.size for array in arrays) for arrays in device_arrays
        ]
        assert sum(sizes) == total and max(sizes) < total
    joined = model_parallel.join_parts(d2lmulti.shard_params(params, devices))
    for whole, param in zip(joined, params):
        assert (whole == param.asnumpy()).all()


def test_what_crosses_in_a_pipeline_does_not_depend_on_micro_batches():
    X, y = minibatch(12)
    stages = d2lmulti.split_layers(make_params(), [mx.cpu(0), mx.cpu(1)])
    sent = [
        d2lmulti.record_copies(
            lambda m=m: d2lmulti.pipeline_gradients(X, y, stages, m)
        )
        for m in (1, 4)
    ]
    total = [sum(num_bytes for _, _, num_bytes in copies) for copies in sent]
    assert total == [4 * (12 + 2 * 80 * 12)] * 2  # labels, activations
    assert [len(copies) for copies in sent] == [1 + 2, 1 + 2 * 4]


TWO = [mx.cpu(0), mx.cpu(1)]


def test_more_devices_than_layers_are_refused():
    with pytest.raises(ValueError, match='4 layers cannot be split over 5'):
        d2lmulti.split_layers(make_params(), [mx.cpu(i) for i in range(5)])


def test_parameters_that_do_not_fit_the_layers_are_refused():
    with pytest.raises(ValueError, match='4 layers need 8 parameters, not 7'):
        d2lmulti.split_layers(make_params()[:-1], TWO)


@pytest.mark.parametrize(
    'widths', [dict(channels=(1, 5)), dict(channels=(4, 1)), dict(units=1)]
)
def test_more_devices_than_channels_are_refused(widths):
    with pytest.raises(ValueError, match='1 outputs cannot be split over 2'):
        d2lmulti.shard_params(make_params(**widths), TWO)


@pytest.mark.parametrize(
    'num_micro_batches, error',
    [
        (0, ValueError),
        (-1, ValueError),
        (6, ValueError),
        (2.0, TypeError),
        ('2', TypeError),
        (True, TypeError),
    ],
)
def test_invalid_numbers_of_micro_batches_are_refused(
    num_micro_batches, error
):
    stages = d2lmulti.split_layers(make_params(), TWO)
    with pytest.raises(error, match='micro'):
        d2lmulti.pipeline_gradients(*minibatch(5), stages, num_micro_batches)


@pytest.mark.parametrize(
    'split', [d2lmulti.split_layers, d2lmulti.shard_params]
)
def test_a_device_twice_is_refused(split):
    with pytest.raises(ValueError, match='twice'):
        split(make_params(), [mx.cpu(0), mx.cpu(0)])


PIPELINE_BUGS = {
    'a micro-batch left out': (
        d2lmulti.pipeline_gradients,
        'enumerate(micro_batches)',
        'enumerate(micro_batches[:-1])',
    ),
    'the gradient does not come back': (
        model_parallel.backward_stage,
        '.backward(gradient)',
        '.backward()',
    ),
    'a gradient added to that of the last step': (
        model_parallel.take_gradients,
        'param.grad[:] = 0',
        'pass',
    ),
}


@pytest.mark.parametrize('bug', PIPELINE_BUGS)
def test_bug_in_the_pipeline_is_caught(bug, monkeypatch):
    put_in(monkeypatch, *PIPELINE_BUGS[bug])
    with pytest.raises(AssertionError):
        assert_pipeline_equals_one_device(12, 2, 4)


TENSOR_BUGS = {
    'bias added k times': (
        model_parallel.backward_from_scores,
        'scores + device_parts[0][-1]',
        'scores + len(device_parts) * device_parts[0][-1]',
    ),
    'scores of one device only': (
        model_parallel.backward_from_scores,
        'for part in partial_scores)',
        'for part in partial_scores[:1])',
    ),
    'gradient from the first device only': (
        model_parallel.all_gather_backward,
        'for whole in wholes:',
        'for whole in wholes[:1]:',
    ),
    'channels in the wrong order': (
        model_parallel.all_gather,
        'for part in parts],',
        'for part in parts[::-1]],',
    ),
}


@pytest.mark.parametrize('bug', TENSOR_BUGS)
def test_bug_in_tensor_parallelism_is_caught(bug, monkeypatch):
    put_in(monkeypatch, *TENSOR_BUGS[bug])
    with pytest.raises(AssertionError):
        assert_tensor_parallel_equals_one_device(8, 2)
