"""k devices take the step that one device takes, on every replica."""
import mxnet as mx
import numpy as onp
import pytest
from mxnet import autograd, np

import d2lmulti

# A step adds a few hundred float32 numbers of size about 1, in another order
# on k devices; 16 roundings for each step leave room for unlucky sums.
ROUNDING = 16 * onp.finfo('float32').eps


def minibatch(n, seed=0):
    rng = onp.random.RandomState(seed)
    return (np.array(rng.uniform(size=(n, 1, 28, 28)), dtype='float32'),
            np.array(rng.randint(0, 10, n), dtype='int32'))


def replicas_on(devices):
    params = d2lmulti.init_params(seed=3)
    return [d2lmulti.get_params(params, device) for device in devices]


def reference_steps(batches, lr):
    """Plain gradient descent on the mean loss, on one device."""
    params = d2lmulti.init_params(seed=3)
    for X, y in batches:
        for param in params:
            param.attach_grad()
        with autograd.record():
            mean = d2lmulti.loss(d2lmulti.lenet(X, params), y).mean()
        mean.backward()
        params = [param - lr * param.grad for param in params]
    return [param.asnumpy() for param in params]


def largest_differences(sizes, k, lr=0.1, allreduce=None):
    """Return, for each of k replicas, how far it is from the reference."""
    devices = [mx.cpu(i) for i in range(k)]
    replicas = replicas_on(devices)
    batches = [minibatch(n, seed) for seed, n in enumerate(sizes)]
    for X, y in batches:
        d2lmulti.train_batch(X, y, replicas, devices, lr,
                             allreduce or d2lmulti.allreduce)
    expected = reference_steps(batches, lr)
    return [max(abs(param.asnumpy() - right).max()
                for param, right in zip(replica, expected))
            for replica in replicas]


def assert_same_steps(sizes, k, allreduce=None):
    for difference in largest_differences(sizes, k, allreduce=allreduce):
        assert difference <= ROUNDING * len(sizes)


@pytest.mark.parametrize('k', [1, 2, 3, 4])
@pytest.mark.parametrize('sizes', [
    (64,), (61,), (4,), (5,), (96, 7, 64), (12, 13, 14, 15, 16)])
def test_k_devices_take_the_same_steps_as_one(k, sizes):
    assert_same_steps(sizes, k)


@pytest.mark.parametrize('k', [2, 3, 4])
def test_without_synchronization_every_replica_differs(k):
    for difference in largest_differences((64,), k,
                                          allreduce=lambda data: None):
        assert difference > 100 * ROUNDING


@pytest.mark.parametrize('k', [2, 3, 4])
def test_replicas_are_equal_to_the_last_bit(k):
    devices = [mx.cpu(i) for i in range(k)]
    replicas = replicas_on(devices)
    for seed in range(3):
        d2lmulti.train_batch(*minibatch(37, seed), replicas, devices, 0.1)
    for replica in replicas[1:]:
        for param, first in zip(replica, replicas[0]):
            assert (param.asnumpy() == first.asnumpy()).all()


@pytest.mark.parametrize('k', [1, 2, 3])
def test_the_same_seed_gives_the_same_bits(k):
    X, y = minibatch(40)
    data = X.asnumpy(), y.asnumpy(), X.asnumpy(), y.asnumpy()
    runs = [d2lmulti.train(k, 16, 0.1, num_epochs=2, seed=5, data=data)
            for _ in range(2)]
    assert runs[0].accuracies == runs[1].accuracies
    for p, q in zip(runs[0].device_params[-1], runs[1].device_params[-1]):
        assert (p.asnumpy() == q.asnumpy()).all()


def test_the_step_leaves_its_arguments_alone():
    X, y = minibatch(10)
    before = X.asnumpy(), y.asnumpy()
    devices = [mx.cpu(0), mx.cpu(1)]
    d2lmulti.train_batch(X, y, replicas_on(devices), devices, 0.1)
    assert (X.asnumpy() == before[0]).all()
    assert (y.asnumpy() == before[1]).all()


def test_a_replica_does_not_share_memory_with_the_original():
    params = d2lmulti.init_params()
    replica = d2lmulti.get_params(params, mx.cpu(0))
    replica[0] += 1
    assert (params[0].asnumpy() == d2lmulti.init_params()[0].asnumpy()).all()
    assert all((param.grad.asnumpy() == 0).all() for param in replica)


@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_accuracy_counts_every_example_on_every_device(k):
    devices = [mx.cpu(i) for i in range(k)]
    replicas = replicas_on(devices)
    batches = [minibatch(n, n) for n in (20, 13, 2, 1)]  # fewer than devices
    right = [d2lmulti.lenet(X, replicas[0]).asnumpy().argmax(axis=1)
             == y.asnumpy() for X, y in batches]
    assert d2lmulti.evaluate_accuracy(replicas, batches, devices) == \
        onp.concatenate(right).mean()


def test_training_learns_and_reports():
    data = [part[:1024] for part in d2lmulti.read_fashion_mnist()]
    result = d2lmulti.train(2, 64, 0.1, num_epochs=3, data=data)
    assert result.accuracies[-1] > 0.4
    assert len(result.seconds) == len(result.accuracies) == 3
    assert str(result).startswith('test acc 0.')
    assert str(result).endswith(f'sec/epoch on {result.devices}')
