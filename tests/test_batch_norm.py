"""Batch normalization over all shards is that of one device."""
import mxnet as mx
import numpy as onp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mxnet import np, npx

import d2lmulti
from d2lmulti import batch_norm as norm
from d2lmulti.batch_norm import (batch_norm, batch_norm_backward,
                                 init_norm_params, norm_gradients,
                                 norm_scores, norm_train_batch)
from test_equivalence import minibatch

EPS = onp.finfo('float32').eps
few = settings(max_examples=40, deadline=None)


def after_steps(k, sizes, together=True):
    """Return for each device lists of parameters, gradients, averages."""
    devices = [mx.cpu(i) for i in range(k)]
    params, averages = init_norm_params(seed=3)
    replicas = [d2lmulti.get_params(params, device) for device in devices]
    averages = [[a.copyto(device) for a in averages] for device in devices]
    for seed, n in enumerate(sizes):
        norm_train_batch(*minibatch(n, seed), replicas, averages, devices,
                         0.1, together)
    return [([p.asnumpy() for p in replica],
             [p.grad.asnumpy() / sizes[-1] for p in replica],
             [a.asnumpy() for a in own])
            for replica, own in zip(replicas, averages)]


def differences(k, sizes, together):
    """Return for each device how far it is from the only one, relative to
    the largest number: parameters, gradients, averages."""
    expected = after_steps(1, sizes)[0]
    return [[max(abs(p - q).max() / max(1, abs(q).max())
                 for p, q in zip(found, right))
             for found, right in zip(device, expected)]
            for device in after_steps(k, sizes, together)]


def assert_same_steps(k, sizes):
    # The layers divide by deviations near 1: about 16 roundings a step each.
    for device in differences(k, sizes, True):
        assert max(device) <= 100 * EPS * len(sizes)


@pytest.mark.parametrize('k', [1, 2, 3, 4])
@pytest.mark.parametrize('sizes', [(61,), (4,), (32, 7, 18)])
def test_k_devices_take_the_same_steps_as_one(k, sizes):
    assert_same_steps(k, sizes)


@pytest.mark.parametrize('k', [2, 3, 4])
def test_with_statistics_of_each_shard_every_device_differs(k):
    for device in differences(k, (61,), False):
        assert min(device) > 1000 * EPS


@pytest.mark.parametrize('k', [2, 3, 4])
def test_devices_are_equal_to_the_last_bit(k):
    first, *others = after_steps(k, (13, 22))
    for device in others:
        for kind in (0, 2):  # gradients are those of the own shard, added
            assert all((p == q).all()
                       for p, q in zip(device[kind], first[kind]))


def shards_of(x, ends):
    """Return the rows of `x` between `ends`, each on its own device."""
    return [np.array(x[start:end], dtype=x.dtype, ctx=mx.cpu(i))
            for i, (start, end) in enumerate(zip(ends, ends[1:]))]


def assert_forward_is_exact(x, ends, tolerance=1e-5):
    """Compare with NumPy in float64; channels are axis 1."""
    shards = shards_of(x, ends)
    ones, zeros = [[make(x.shape[1], ctx=shard.ctx) for shard in shards]
                   for make in (np.ones, np.zeros)]
    outputs, saved = batch_norm(shards, ones, zeros)
    axes = tuple(i for i in range(x.ndim) if i != 1)
    exact = x.astype('float64')
    mean = exact.mean(axis=axes, keepdims=True)
    variance = exact.var(axis=axes, keepdims=True)
    right = (exact - mean) / onp.sqrt(variance + 1e-5)
    found = onp.concatenate([output.asnumpy() for output in outputs])
    assert abs(found - right).max() < tolerance
    for i in range(len(shards)):
        assert onp.allclose(saved.means[i].asnumpy(), mean.ravel(),
                            rtol=1e-5, atol=1e-5)
        assert onp.allclose(saved.variances[i].asnumpy(), variance.ravel(),
                            rtol=1e-4, atol=1e-6)


@few
@given(st.lists(st.integers(1, 9), min_size=1, max_size=5),
       st.sampled_from([(3,), (2, 4, 5), (1, 3)]), st.integers(0, 999))
def test_any_shards_are_normalized_as_one_minibatch(lengths, shape, seed):
    ends = onp.cumsum([0] + lengths)
    if ends[-1] * onp.prod(shape[1:]) < 4:
        return  # of two numbers alike, only noise would be left
    rng = onp.random.RandomState(seed)
    x = rng.normal(1, 2, (ends[-1], *shape)).astype('float32')
    assert_forward_is_exact(x, ends, tolerance=1e-3)


def test_a_large_mean_does_not_swallow_the_variance():
    x = onp.random.RandomState(0).normal(1000, 1, (60, 4)).astype('float32')
    assert_forward_is_exact(x, [0, 13, 40, 60], tolerance=1e-3)


def assert_backward_is_the_slope(ends=(0, 2, 5, 9)):
    """Compare with finite differences, in float64."""
    rng = onp.random.RandomState(1)
    x, g = rng.normal(size=(2, ends[-1], 3, 2))
    scale, shift = rng.uniform(0.5, 2, (2, 3))
    k = len(ends) - 1
    scales, shifts = [[np.array(v, dtype='float64', ctx=mx.cpu(i))
                       for i in range(k)] for v in (scale, shift)]

    def value(x):
        outputs, _ = batch_norm(shards_of(x, ends), scales, shifts)
        return (onp.concatenate([o.asnumpy() for o in outputs]) * g).sum()

    _, saved = batch_norm(shards_of(x, ends), scales, shifts)
    grads, d_scales, d_shifts = batch_norm_backward(shards_of(g, ends), saved)
    found = onp.concatenate([grad.asnumpy() for grad in grads])
    for at in onp.ndindex(x.shape):
        step = onp.zeros_like(x)
        step[at] = 1e-5
        slope = (value(x + step) - value(x - step)) / 2e-5
        assert found[at] == pytest.approx(slope, rel=1e-5, abs=1e-7)
    normalized = onp.concatenate([n.asnumpy() for n in saved.normalized])
    for parts, right in ((d_scales, (g * normalized).sum(axis=(0, 2))),
                         (d_shifts, g.sum(axis=(0, 2)))):
        assert onp.allclose(sum(part.asnumpy() for part in parts), right)


def test_the_backward_pass_is_the_slope_over_all_shards():
    assert_backward_is_the_slope()


def test_averages_approach_the_statistics():
    devices = [mx.cpu(0), mx.cpu(1)]
    params, averages = init_norm_params()
    replicas = [d2lmulti.get_params(params, device) for device in devices]
    averages = [[a.copyto(device) for a in averages] for device in devices]
    X, y = minibatch(20)
    shards = d2lmulti.split_batch(X, y, devices)
    norm_gradients(*shards, replicas, averages, momentum=0.75)
    mean = norm.convolution(X, params[0]).asnumpy().mean(axis=(0, 2, 3))
    for own in averages:
        assert onp.allclose(own[0].asnumpy(), 0.25 * mean, atol=1e-5)


def test_scores_use_the_averages():
    params, averages = init_norm_params()
    X, _ = minibatch(30)
    shards = [X.copyto(mx.cpu(0))]
    for param in params:
        param.attach_grad()
    norm_gradients(shards, [np.zeros(30)], [params], [averages], momentum=0)
    together = norm_scores(X, params, averages).asnumpy()
    alone = norm_scores(X[:1], params, averages).asnumpy()
    assert abs(together[:1] - alone).max() < 1e-4


def test_a_shard_of_one_example_is_refused_where_nothing_would_remain():
    shards = shards_of(onp.ones((3, 2), 'float32'), [0, 2, 3])
    ones = [np.ones(2, ctx=shard.ctx) for shard in shards]
    with pytest.raises(ValueError, match=r'single example.*\[2, 1\]'):
        batch_norm(shards, ones, ones, together=False)
    batch_norm(shards, ones, ones)  # together there are three
    with pytest.raises(ValueError, match='single example'):
        batch_norm(shards[1:], ones[1:], ones[1:])
    image = shards_of(onp.ones((1, 2, 3, 3), 'float32'), [0, 1])
    batch_norm(image, ones[:1], ones[:1])  # nine pixels


def test_a_refused_minibatch_leaves_all_as_it_was():
    devices = [mx.cpu(0), mx.cpu(1)]
    params, averages = init_norm_params()
    replicas = [d2lmulti.get_params(params, device) for device in devices]
    averages = [[a.copyto(device) for a in averages] for device in devices]
    with pytest.raises(ValueError, match='or use the statistics'):
        norm_train_batch(*minibatch(3), replicas, averages, devices, 0.1,
                         together=False)
    for own in averages:
        assert all((a.asnumpy() == b.asnumpy()).all()
                   for a, b in zip(own, init_norm_params()[1]))


def ones_for(shards, c=2):
    return [np.ones(c, ctx=shard.ctx) for shard in shards]


@pytest.mark.parametrize('x, error, message', [
    (onp.ones((3, 2), 'int32'), TypeError, 'array of floats'),
    (onp.ones(3, 'float32'), TypeError, 'array of floats'),
    (onp.ones((3, 4), 'float32'), ValueError, r'the shape \(4,\)')])
def test_a_useless_shard_is_refused(x, error, message):
    shards = shards_of(x, [0, 3])
    with pytest.raises(error, match=message):
        batch_norm(shards, ones_for(shards), ones_for(shards))


def test_lists_of_unequal_length_are_refused():
    shards = shards_of(onp.ones((4, 2), 'float32'), [0, 2, 4])
    ones = ones_for(shards)
    for lists in (([], [], []), (shards, ones, ones[:1]),
                  (shards, ones[:1], ones), (shards[:1], ones, ones)):
        with pytest.raises(ValueError, match='for each device'):
            batch_norm(*lists)


@pytest.mark.parametrize('break_averages, message', [
    (lambda averages: averages[:1], r'not \[2, 2, 2, 1\]'),
    (lambda averages: [averages[0], averages[0]], 'on the device of its'),
    (lambda averages: averages[::-1], 'on the device of its parameters'),
    (lambda averages: [own[:-1] for own in averages], 'needs 6 running')])
def test_averages_that_do_not_fit_are_refused(break_averages, message):
    devices = [mx.cpu(0), mx.cpu(1)]
    params, averages = init_norm_params()
    replicas = [d2lmulti.get_params(params, device) for device in devices]
    averages = [[a.copyto(device) for a in averages] for device in devices]
    with pytest.raises(ValueError, match=message):
        norm_train_batch(*minibatch(8), replicas, break_averages(averages),
                         devices, 0.1)


@pytest.mark.parametrize('momentum', [-0.1, 1, float('nan')])
def test_a_useless_momentum_is_refused(momentum):
    params, averages = init_norm_params()
    with pytest.raises(ValueError, match='momentum must be'):
        norm_gradients([], [], [params], [averages], momentum=momentum)


def accuracy_by_class(together, seed, num_devices=10, num_steps=60):
    """Train a small network, one class a device; return its accuracy."""
    X, y, X_test, y_test = d2lmulti.read_fashion_mnist()
    small, small_test = [images[:, 0, ::2, ::2].reshape(len(images), -1)
                         for images in (X, X_test)]
    rng = onp.random.RandomState(seed)
    layers, devices = [(norm.product, npx.relu)], [
        mx.cpu(i) for i in range(num_devices)]
    params = [np.array(rng.normal(0, 0.1, (196, 64)), dtype='float32'),
              np.ones(64), np.zeros(64),
              np.array(rng.normal(0, 0.15, (64, 10)), dtype='float32'),
              np.zeros(10)]
    replicas = [d2lmulti.get_params(params, device) for device in devices]
    averages = [[np.zeros(64, ctx=c), np.ones(64, ctx=c)] for c in devices]
    by_class = [onp.flatnonzero(y == label) for label in range(10)]
    for _ in range(num_steps):
        rows = onp.concatenate([rng.choice(rows, 8) for rows in by_class])
        norm_train_batch(np.array(small[rows]), np.array(y[rows]), replicas,
                         averages, devices, 0.2, together, layers)
    guesses = norm_scores(np.array(small_test), replicas[0], averages[0],
                          layers).asnumpy().argmax(axis=1)
    return (guesses == y_test).mean()


@pytest.mark.parametrize('seed', [1, 2])
def test_one_class_a_device_ruins_the_statistics_of_each_shard(seed):
    together = accuracy_by_class(True, seed)
    assert together > 0.6
    assert accuracy_by_class(False, seed) < 0.5 * together
