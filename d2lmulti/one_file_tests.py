"""Tests of one_file.py, in the order in which it is written.

`python -m d2lmulti empty FOLDER` puts them beside the empty file; `pytest`
there stops at the first that fails: that function is the next to write.
"""

import contextlib
from unittest import mock

import d2lmulti  # first of all: it prepares the process for MXNet
import mxnet as mx
import numpy as onp
import one_file as mine
from d2lmulti.network import lenet, loss
from d2lmulti.yours import shown_effect, toy_training
from mxnet import np

CPUS = [mx.cpu(i) for i in range(4)]


def arrays(*values):
    """Return an array of float32 on each device."""
    return [np.array(value, ctx=cpu) for value, cpu in zip(values, CPUS)]


def test_split_slices():
    for n, k in ((4, 2), (10, 4), (11, 3), (3, 5)):
        parts = [list(range(n))[part] for part in mine.split_slices(n, k)]
        assert sum(parts, []) == [*range(n)], f'{n} over {k}: {parts}'
        sizes = [len(part) for part in parts]
        assert sizes == sorted(sizes, reverse=True) and len(sizes) == k
        assert sizes[0] - sizes[-1] <= 1, f'{n} over {k}: parts of {sizes}'


def test_lenet():
    X = np.array(onp.random.RandomState(0).rand(3, 1, 28, 28), 'float32')
    params = d2lmulti.init_params(seed=1)
    found = mine.lenet(X, params)
    assert found.shape == (3, 10)
    apart = abs(found - lenet(X, params)).max()
    assert apart < 1e-4, 'convolution, relu, pooling, twice; then dense'


def test_loss():
    y_hat, y = np.array(onp.random.RandomState(0).randn(4, 10)), np.arange(4)
    found = mine.loss(y_hat, y)
    assert found.shape == (4,), 'one loss per example, not their mean'
    assert abs(found - loss(y_hat, y)).max() < 1e-4


def test_get_params():
    params = [np.array([1, 2]), np.array([[3]])]
    for cpu in CPUS[:2]:
        replica = mine.get_params(params, cpu)
        assert [param.ctx for param in replica] == [cpu, cpu]
        assert all(param.grad is not None for param in replica), (
            'a copy has no gradient: attach_grad()'
        )
        for param in replica:
            param += 1
        assert replica[0].tolist() == [2, 3], (
            'the first replica and the original share memory: copyto always '
            'copies, as_in_ctx only if it must'
        )
    assert params[0].tolist() == [1, 2], 'a replica shares its memory'


def test_allreduce():
    with shown_effect(allreduce=mine.allreduce):
        for k in (2, 1, 3, 4):
            data = arrays(*([i + 1, 10 * i] for i in range(k)))
            held = list(data)
            mine.allreduce(data)
            total = [k * (k + 1) / 2, 5 * k * (k - 1)]
            found = [array.tolist() for array in held]
            same = all(a is b for a, b in zip(data, held))
            assert found == [total] * k or same, (
                'the list has new arrays now, and the replicas keep the old '
                'ones: write into the arrays'
            )
            assert found == [total] * k, f'{found}; each must hold {total}'


def test_allreduce_gradients():
    replicas = [
        d2lmulti.get_params([np.ones(2), np.ones(3)], cpu) for cpu in CPUS[:3]
    ]
    for i, replica in enumerate(replicas):
        for j, param in enumerate(replica):
            param.grad[:] = 10**i * (j + 1)
    mine.allreduce_gradients(replicas)
    for replica in replicas:
        found = [param.grad.tolist() for param in replica]
        assert found == [[111] * 2, [222] * 3], (
            'give allreduce a list with the gradients, param.grad, of one '
            'parameter on all devices; then those of the next'
        )


def test_split_and_load():
    def split(X, devices):
        return mine.split_and_load(X, devices)

    with shown_effect(split=split):
        for n, k in ((5, 2), (11, 4), (3, 1)):
            data = np.arange(n)
            shards = mine.split_and_load(data, CPUS[:k])
            assert [shard.ctx for shard in shards] == CPUS[:k]
            joined: list = sum((shard.tolist() for shard in shards), [])
            assert joined == [*range(n)], (
                f'{n} rows on {k} devices: they become {joined}'
            )
            shards[0] += 100
            assert data.tolist() == [*range(n)], 'a shard shares memory'


def test_sgd():
    with shown_effect(sgd=mine.sgd):
        params = d2lmulti.get_params([np.array([1, 2])], CPUS[0])
        params[0].grad[:] = np.array([10, -10])
        mine.sgd(params, 0.5, 5)
        assert params[0].tolist() == [0, 3], (
            'against the gradient, divided by the number of examples, and '
            'into the array'
        )


def net(X, params):
    """Return each number times the parameter."""
    return X * params[0]


def half_square(y_hat, y):
    """Return half the squared distance from each target."""
    return (y_hat - y) ** 2 / 2


def test_backward():
    replicas = [
        d2lmulti.get_params([np.ones(1), np.ones(1)], cpu) for cpu in CPUS[:2]
    ]
    for replica in replicas:
        for param in replica:
            param.grad[:] = 100  # of the step before
    X_shards = arrays([1, 2], [3])
    y_shards = [0 * X for X in X_shards]
    mine.backward(X_shards, y_shards, replicas, net, half_square)
    found = [replica[0].grad.tolist() for replica in replicas]
    assert found == [[5], [9]], 'the gradient of the sum over each shard'
    found = [replica[1].grad.tolist() for replica in replicas]
    assert found == [[0], [0]], 'an unused parameter keeps an old gradient'


def test_train_batch():
    noted = mock.Mock(wraps=net), mock.Mock(wraps=half_square)
    replica = d2lmulti.get_params([np.ones(1)], CPUS[0])
    with contextlib.suppress(IndexError, ValueError):  # LeNet's, of one number
        mine.train_batch(
            np.ones(2), np.ones(2), [replica], CPUS[:1], 0.1, *noted
        )
    assert all(f.called for f in noted), 'pass net and loss on to backward'
    with shown_effect(step=mine.train_batch):
        right = onp.array(toy_training(1))
        for k in (1, 2, 3):
            found = onp.array(toy_training(k, step=mine.train_batch))
            assert abs(found - right).max() < 1e-4, (
                f'{k} devices must take the step of one'
            )
    X = np.array(onp.random.RandomState(0).rand(7, 1, 28, 28), 'float32')
    y = np.arange(7)
    ends = []
    for k in (1, 2, 3):
        replicas = [
            d2lmulti.get_params(d2lmulti.init_params(), cpu)
            for cpu in CPUS[:k]
        ]
        mine.train_batch(X, y, replicas, CPUS[:k], 0.1)
        ends += [params[6].asnumpy() for params in replicas]
    assert max(abs(end - ends[0]).max() for end in ends) < 1e-4
