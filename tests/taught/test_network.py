"""LeNet, its parameters and its loss."""

import mxnet as mx
import numpy as onp
import pytest
from helpers import as_type, minibatch, needs_mxnet
from mxnet import gluon, np

import d2lmulti
from d2lmulti.rounding import (
    ROUNDINGS,
    SPREADS,
    all_close,
    in_several_orders,
    rounding_ratio,
    to_numpy,
)


def test_parameters_follow_from_the_seed():
    params, again, other = [d2lmulti.init_params(seed) for seed in (1, 1, 2)]
    assert all((p == q).all() for p, q in zip(params, again))
    assert not (params[0] == other[0]).all()
    assert sum(param.size for param in params) == 129_068


def test_weights_have_the_promised_size_and_biases_are_zero():
    for scale in (None, 0.01, 0):
        params = d2lmulti.init_params(scale=scale)
        for W, b, n in zip(params[::2], params[1::2], (9, 500, 800, 128)):
            std = (2 / n) ** 0.5 if scale is None else scale
            assert float(W.asnumpy().std()) == pytest.approx(std, rel=0.15)
            assert abs(W.asnumpy().mean()) <= 0.2 * std
            assert (b == 0).all()


X, Y = minibatch(4)
PARAMS = d2lmulti.init_params()


@pytest.mark.parametrize(
    'arguments, words',
    [
        (dict(seed=mx.cpu(0)), r'get_params\(init_params\(\), device\)'),
        (dict(seed=-1), 'seed must be at least 0'),
        (dict(scale=-1), 'scale must be .* at least 0'),
    ],
)
def test_parameters_that_cannot_be_drawn(arguments, words):
    with pytest.raises((TypeError, ValueError), match=words):
        d2lmulti.init_params(**arguments)


@pytest.mark.parametrize(
    'images, params, words',
    [
        (PARAMS, X, r'come first, lenet\(X, params\)'),
        (X, [PARAMS], r'params\[0\]'),
        (X, d2lmulti.init_params, 'params is a function'),
        (X[:0], PARAMS, 'at least one'),
        (X.repeat(3, axis=1), PARAMS, r'shape \(4, 3, 28, 28\), but lenet'),
        (np.zeros((4, 1, 32, 32)), PARAMS, r'32\), but lenet .*28, 28\)'),
        (X, PARAMS[:1], 'has 8 parameters, not 1: .* pass that net'),
    ],
)
def test_what_lenet_cannot_score_is_refused(images, params, words):
    with pytest.raises((TypeError, ValueError), match=words):
        d2lmulti.lenet(images, params)


@pytest.mark.parametrize(
    'images',
    [
        (255 * X).astype('uint8'),
        X.astype('float64'),
        X.reshape(4, 784),
        X[0],
        X.reshape(4, 28, 28),
        X.transpose(0, 2, 3, 1),
        X.copyto(mx.cpu(1)),
    ],
    ids=['bytes', 'float64', 'flat', 'one', 'grey', 'last', 'elsewhere'],
)
def test_images_of_another_kind_are_refused_with_the_line_that_converts(
    images,
):
    with pytest.raises((TypeError, ValueError)) as refused:
        d2lmulti.lenet(images, PARAMS)
    line = str(refused.value).rpartition(': ')[2]
    converted = eval(line, {'X': images, 'mx': mx})
    scores, right = (d2lmulti.lenet(x, PARAMS) for x in (converted, X))
    assert abs(scores - right[: len(scores)]).max() < 0.1


SCORES = np.zeros((4, 10))


@pytest.mark.parametrize(
    'scores, labels, words',
    [
        (Y, SCORES, r'loss\(y_hat, y\) takes a row of scores'),  # swapped
        (None, Y, 'y_hat is None, .*does net return'),
        (SCORES.argmax(axis=1), Y, 'before argmax'),
        (SCORES, Y[:3], r'y_hat has the shape \(4, 10\) and y \(3,\)'),
        (SCORES, np.ones((4, 10)), r': y.argmax\(axis=-1\)'),
        (SCORES, Y.reshape(4, 1), r': y.squeeze\(-1\)'),
        (SCORES, Y > 3, r"y.astype\('int32'\)"),
        (SCORES, Y.asnumpy(), r'y is a NumPy array.*mx.np.array\(y\)'),
        (SCORES, Y.copyto(mx.cpu(1)), r'y.copyto\(mx.cpu\(0\)\)'),
    ],
)
def test_what_has_no_loss_is_refused(scores, labels, words):
    with pytest.raises((TypeError, ValueError), match=words):
        d2lmulti.loss(scores, labels)


def test_weights_of_one_seed_differ_by_their_scale_only():
    by_inputs, ones = d2lmulti.init_params(), d2lmulti.init_params(0, scale=1)
    for W, V, n in zip(by_inputs[::2], ones[::2], (9, 500, 800, 128)):
        right = V.asnumpy() * (2 / n) ** 0.5
        assert W.asnumpy() == pytest.approx(right, rel=1e-6)


def test_parameters_are_on_the_first_cpu_whatever_the_default_is():
    with mx.cpu(1):
        params = d2lmulti.init_params()
    assert {param.ctx for param in params} == {mx.cpu(0)}


def lenet_in_gluon(params):
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Conv2D(20, 3, activation='relu'),
        gluon.nn.AvgPool2D(2, 2),
        gluon.nn.Conv2D(50, 5, activation='relu'),
        gluon.nn.AvgPool2D(2, 2),
        gluon.nn.Flatten(),
        gluon.nn.Dense(128, activation='relu'),
        gluon.nn.Dense(10),
    )
    net.initialize()
    net(np.zeros((1, 1, 28, 28)))
    theirs = list(net.collect_params().values())
    for ours, their in zip(params, theirs):
        their.set_data(ours.T if ours.ndim == 2 else ours)
    return net


@needs_mxnet
def test_the_scores_are_those_of_gluon():
    X, _ = minibatch(5)
    params = d2lmulti.init_params(seed=4)
    for b in params[1::2]:
        b[:] = np.arange(len(b)) / len(b) - 0.5
    ours = d2lmulti.lenet(X, params)
    exact = d2lmulti.lenet(X.astype('float64'), as_type(params))
    theirs = lenet_in_gluon(params)(X)
    assert all_close([theirs], [[ours], [exact]])


def test_the_loss_is_that_of_gluon_also_for_large_scores():
    scores = onp.random.RandomState(0).normal(size=(6, 10))
    scores = np.array(scores, dtype='float32')
    y = np.array([0, 9, 3, 3, 5, 1], dtype='int32')
    theirs = gluon.loss.SoftmaxCrossEntropyLoss()(scores, y)
    ours = d2lmulti.loss(scores, y)
    exact = d2lmulti.loss(scores.astype('float64'), y)
    assert all_close([theirs], [[ours], [exact]])
    assert np.isfinite(d2lmulti.loss(1e6 * scores, y)).all()


# Equal up to rounding


def floats(*numbers):
    return np.array(numbers, dtype='float32')


RIGHT = [floats(1, -8), floats(4)]
OTHERS = [  # 3 spreads of the first array, -1 and 3, and 2 of the second
    [floats(1, -7), floats(6)],
    [floats(-2, -8), floats(4)],
    [floats(1, -8), floats(4)],
]


@pytest.mark.parametrize(
    'found, ratio',
    [
        ([floats(1, -8), floats(4)], 0),
        ([floats(-5, -8), floats(4)], 2),
        ([floats(1, -6.5), floats(4)], 0.5),
        ([floats(1, -8), floats(9)], 2.5),
        ([floats(-5, -8), floats(9)], 2.5),
        ([floats(10, -8), floats(9)], 3),
    ],
)
def test_the_ratio_is_that_of_the_array_that_is_most_spreads_off(found, ratio):
    for sign in (1, -1):
        arrays, *results = [
            [sign * array for array in arrays]
            for arrays in (found, RIGHT, *OTHERS)
        ]
        result = rounding_ratio(arrays, results)
        assert type(result) is float and result == ratio


def test_a_spread_is_at_least_a_rounding_of_the_largest_number():
    eps = float(onp.finfo('float32').eps)
    for largest in (8, -8):
        right = floats(1, largest)
        result = [floats(1 + 16 * eps, largest)]
        assert rounding_ratio(result, [[right]]) == 2
        assert rounding_ratio(result, [[right], [floats(1, largest)]]) == 2
    tiny = rounding_ratio([floats(1e-30)], [[floats(0)]])
    assert tiny == pytest.approx(1 / eps)


@pytest.mark.parametrize('bad', [onp.nan, onp.inf])
def test_the_ratio_of_numbers_that_are_not_finite_is_nan_or_infinite(bad):
    wrong = [floats(1, bad), floats(4)]
    assert onp.isnan(rounding_ratio(RIGHT, [RIGHT, wrong]))
    assert not rounding_ratio(wrong, [RIGHT]) < onp.inf
    assert onp.isnan(rounding_ratio(wrong, [wrong]))


def test_arrays_without_numbers_are_equal():
    empty = [onp.zeros((0, 3), 'float32')]
    assert rounding_ratio(empty, [empty, empty]) == 0


@pytest.mark.parametrize(
    'found', [RIGHT[:1], [*RIGHT, floats(1)], [floats(1), floats(4)]]
)
def test_arrays_that_cannot_be_compared_are_refused(found):
    with pytest.raises(AssertionError, match='arrays in each|same shapes'):
        rounding_ratio(found, [RIGHT])


def test_so_many_spreads_are_close_and_roundings_without_a_spread():
    eps = float(onp.finfo('float32').eps)
    for n, result_off_by, results in (
        (SPREADS, lambda n: [floats(8 + n)], [[floats(8)], [floats(9)]]),
        (ROUNDINGS, lambda n: [floats(1 + n * eps)], [[floats(1)]]),
    ):
        assert all_close(result_off_by(n), results)
        assert not all_close(result_off_by(n + 1), results)


def test_several_orders_shuffle_the_examples_of_each_minibatch():
    batches = [(onp.arange(n), 10 * onp.arange(n)) for n in (20, 30)]

    def reference(batches):
        assert len(batches) == 2
        return [onp.stack(batch) for batch in batches]  # an array of each

    results = in_several_orders(reference, batches)
    for result in results:
        assert all(type(array) is onp.ndarray for array in result)
        for (X, y), (X_before, _) in zip(result, batches):
            assert (y == 10 * X).all()
            assert sorted(X) == X_before.tolist()
    for (X, _), *others in zip(batches, *results):
        first, *more = [own.tolist() for own, _ in others]
        assert first == X.tolist()
        assert len({tuple(first), *map(tuple, more)}) == 4  # all differ
    assert len(in_several_orders(reference, batches, num_orders=2)) == 2


def test_numbers_and_arrays_become_arrays_of_numpy():
    for array in (floats(1, 2), onp.ones(3), 1.5, [1, 2]):
        assert type(to_numpy(array)) is onp.ndarray
    assert to_numpy(floats(1, 2)).tolist() == [1, 2]
