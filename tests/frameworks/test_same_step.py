"""PyTorch's and TensorFlow's steps are those of chapter 5.

All in float64, where rounding is too small to be seen in float32.
The bugs that this must find are put in below.
"""

import mxnet as mx
import numpy as onp
import pytest
import torch
from helpers import as_type, roundings
from mxnet import np

import d2lmulti

SEEDS = [5, 77]


def batches(seed, size, num_steps=5):
    """Return minibatches of random images and labels."""
    rng = onp.random.RandomState(seed)
    return [
        (
            rng.uniform(size=(size, 1, 28, 28)),
            rng.randint(0, 10, size),
        )
        for _ in range(num_steps)
    ]


def init_params(seed):
    """Return LeNet's parameters in float64."""
    return as_type(d2lmulti.init_params(seed))


def book_params(seed, size, num_devices=2, lr=0.05):
    """Return the parameters after chapter 5's steps."""
    devices = [mx.cpu(i) for i in range(num_devices)]
    replicas = [
        d2lmulti.get_params(init_params(seed), device) for device in devices
    ]
    for X, y in batches(seed, size):
        X, y = np.array(X, dtype='float64'), np.array(y, dtype='int32')
        d2lmulti.train_batch(X, y, replicas, devices, lr)
    return [param.asnumpy() for param in replicas[0]]


def torch_params(chapter, seed, size, k, get_params=None, lr=0.05):
    """Return PyTorch's replicas after the same steps."""
    devices = [torch.device('cpu')] * k
    params = chapter.to_torch(init_params(seed))
    get_params = get_params or chapter.get_params
    replicas = [get_params(params, device) for device in devices]
    for X, y in batches(seed, size):
        X, y = torch.tensor(X), torch.tensor(y)
        chapter.train_batch(X, y, replicas, devices, lr)
    return [[param.detach().numpy() for param in own] for own in replicas]


def tensorflow_params(chapter, seed, size, k, lr=0.05):
    """Return TensorFlow's replicas after the same steps."""
    devices = [f'CPU:{i % 2}' for i in range(k)]
    params = init_params(seed)
    replicas = [chapter.get_params(params, device) for device in devices]
    for X, y in batches(seed, size):
        chapter.train_batch(X, y, replicas, devices, lr)
    return [[param.numpy() for param in own] for own in replicas]


@pytest.mark.parametrize('seed', SEEDS)
@pytest.mark.parametrize('size', [1, 6, 33])
def test_scores_are_those_of_chapter_2(seed, size, in_torch, in_tensorflow):
    ((X, _),) = batches(seed, size, 1)
    params = init_params(seed)
    right = d2lmulti.lenet(np.array(X, dtype='float64'), params)
    found = in_torch.lenet(torch.tensor(X), in_torch.to_torch(params))
    assert roundings([found.numpy()], [right]) <= 1
    arrays = [param.asnumpy() for param in params]
    found = in_tensorflow.lenet(X, arrays)
    assert roundings([found.numpy()], [right]) <= 1


@pytest.mark.parametrize('k', [1, 2, 3, 4])
@pytest.mark.parametrize(('seed', 'size'), [(5, 4), (77, 29)])
def test_five_steps_are_those_of_chapter_6(
    seed, size, k, in_torch, in_tensorflow
):
    right = book_params(seed, size)
    assert roundings(init_params(seed), right) > 100
    for replica in torch_params(in_torch, seed, size, k):
        assert roundings(replica, right) <= 1
    for replica in tensorflow_params(in_tensorflow, seed, size, k):
        assert roundings(replica, right) <= 1


def test_shared_replicas_are_found_by_the_numbers_alone(in_torch):
    """They agree with each other perfectly."""
    first, second = torch_params(in_torch, 5, 29, 2, in_torch.shared_params)
    assert d2lmulti.rounding.rounding_ratio(first, [second, second]) == 0
    assert roundings(first, book_params(5, 29)) > 100
    first, second = torch_params(in_torch, 5, 29, 2)
    assert d2lmulti.rounding.rounding_ratio(first, [second, second]) == 0


@pytest.mark.parametrize(
    ('name', 'bug'),
    [
        ('allreduce', lambda data: None),
        ('allreduce', lambda data: [t.div_(len(data)) for t in data]),
        (
            'split_batch',
            lambda X, y, devices: (
                X.chunk(len(devices))[::-1],
                y.chunk(len(devices)),
            ),
        ),
    ],
    ids=['none', 'mean of nothing', 'labels of others'],
)
def test_a_wrong_step_is_found(name, bug, in_torch, monkeypatch):
    monkeypatch.setattr(in_torch, name, bug)
    found = torch_params(in_torch, 5, 28, 2)
    assert roundings(found[0], book_params(5, 28)) > 100


def test_a_wrong_sum_is_found_in_tensorflow(in_tensorflow, monkeypatch):
    monkeypatch.setattr(in_tensorflow.tf, 'add_n', lambda grads: grads[0])
    found = tensorflow_params(in_tensorflow, 5, 28, 2)
    assert roundings(found[0], book_params(5, 28)) > 100
    first, second = found
    assert (
        d2lmulti.rounding.rounding_ratio(first, [second, second]) == 0
    )  # it seems


def assert_each_replica_has_its_gradients(chapter, monkeypatch):
    """They are on its device before they are summed."""
    devices, add_n = [], chapter.tf.add_n

    def record_and_add(grads):
        devices.append([grad.device[-5:] for grad in grads])
        return add_n(grads)

    with monkeypatch.context() as patch:
        patch.setattr(chapter.tf, 'add_n', record_and_add)
        tensorflow_params(chapter, 5, 28, 3)
    assert len(devices) == 5 * 8
    assert all(found == ['CPU:0', 'CPU:1', 'CPU:0'] for found in devices)


def test_each_replica_computes_its_gradients(in_tensorflow, monkeypatch):
    assert_each_replica_has_its_gradients(in_tensorflow, monkeypatch)


def test_a_backward_pass_on_the_first_device_is_found(
    in_tensorflow, monkeypatch
):
    tf = in_tensorflow.tf

    class OnTheFirst(tf.GradientTape):
        def gradient(self, *arguments):
            with tf.device('CPU:0'):
                return super().gradient(*arguments)

    monkeypatch.setattr(tf, 'GradientTape', OnTheFirst)
    with pytest.raises(AssertionError):
        assert_each_replica_has_its_gradients(in_tensorflow, monkeypatch)


@pytest.mark.parametrize('batch_size', [64, 48])
def test_two_mirrored_devices_train_as_one(batch_size, in_tensorflow, request):
    chapter, rng = in_tensorflow, onp.random.RandomState(3)
    backend = chapter.tf.keras.backend
    request.addfinalizer(lambda: backend.set_floatx('float32'))
    backend.set_floatx('float64')
    X, y = rng.rand(96, 28, 28, 1), rng.randint(0, 10, 96)
    results = []
    for scope in (None, chapter.strategy.scope()):
        if scope:
            with scope:
                net = chapter.new_cnn()
        else:
            net = chapter.new_cnn()
        net.fit(X, y, batch_size=batch_size, shuffle=False, verbose=0)
        results.append(net.get_weights())
    one, two = results
    assert roundings(two, one) <= 1
