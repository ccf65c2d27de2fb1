"""Splitting minibatches, and the data set as minibatches."""

import mxnet as mx
import numpy as onp
import pytest
from helpers import put_in, put_in_method
from hypothesis import given, settings
from hypothesis import strategies as st
from mxnet import np

import d2lmulti

CPUS = [mx.cpu(0), mx.cpu(1)]
few = settings(max_examples=60, deadline=None)


# Splitting


def assert_split_is_exact(n, k, columns=2):
    data = onp.arange(n * columns, dtype='float32').reshape(n, columns)
    devices = [mx.cpu(i) for i in range(k)]
    shards = d2lmulti.split_and_load(np.array(data), devices)
    assert [shard.ctx for shard in shards] == devices
    lengths = [len(shard) for shard in shards]
    assert lengths == sorted(lengths, reverse=True)
    assert max(lengths) - min(lengths) <= 1
    joined = onp.concatenate([shard.asnumpy() for shard in shards])
    assert joined.shape == data.shape and (joined == data).all()


@few
@given(st.data())
def test_splitting_loses_repeats_and_reorders_nothing(data):
    k = data.draw(st.integers(1, 8))
    assert_split_is_exact(
        data.draw(st.integers(k, 50)), k, data.draw(st.integers(1, 3))
    )


def test_lost_remainder_is_caught(monkeypatch):
    put_in(
        monkeypatch,
        d2lmulti.split_slices,
        'i * size + min(i, longer)',
        'i * size',
    )
    with pytest.raises(AssertionError):
        assert_split_is_exact(10, 4)


def test_shards_do_not_share_memory_with_the_minibatch():
    whole = np.zeros((4, 2))
    for shard in d2lmulti.split_and_load(whole, CPUS):
        shard += 1
    assert (whole.asnumpy() == 0).all()


def test_shards_that_are_views_are_caught(monkeypatch):
    put_in(monkeypatch, d2lmulti.split_and_load, '.copyto(', '.as_in_ctx(')
    with pytest.raises(AssertionError):
        test_shards_do_not_share_memory_with_the_minibatch()


@pytest.mark.parametrize('dtype', ['float32', 'float64', 'int32', 'uint8'])
def test_splitting_keeps_the_dtype(dtype):
    shards = d2lmulti.split_and_load(np.ones((5, 2), dtype=dtype), CPUS)
    assert all(shard.dtype == onp.dtype(dtype) for shard in shards)


def test_images_and_labels_are_split_at_the_same_places():
    X, y = np.arange(7).reshape(7, 1), np.arange(7)
    X_shards, y_shards = d2lmulti.split_batch(X, y, CPUS)
    for X_shard, y_shard in zip(X_shards, y_shards):
        assert X_shard[:, 0].tolist() == y_shard.tolist()
    with pytest.raises(ValueError, match='same length'):
        d2lmulti.split_batch(X, y[:6], CPUS)


def test_invalid_lists_of_devices():
    with pytest.raises(ValueError, match='try_devices'):
        d2lmulti.split_and_load(np.zeros(4), [])
    with pytest.raises(ValueError, match='twice'):
        d2lmulti.split_and_load(np.zeros(4), [mx.cpu(0), mx.cpu(0)])
    with pytest.raises(TypeError, match='mx.cpu'):
        d2lmulti.split_and_load(np.zeros(4), [0, 1])


def test_an_unchecked_repeated_device_is_caught(monkeypatch):
    put_in(
        monkeypatch,
        d2lmulti.checks.check_devices,
        'len(set(devices)) < len(devices)',
        'False',
    )
    with pytest.raises(pytest.fail.Exception):  # 'DID NOT RAISE'
        test_invalid_lists_of_devices()


@pytest.mark.parametrize('data', [onp.zeros(4), [1, 2], np.zeros(())])
def test_only_mxnet_arrays_with_rows_can_be_split(data):
    with pytest.raises(TypeError, match='mxnet.np.array'):
        d2lmulti.split_and_load(data, CPUS)


@pytest.mark.parametrize('n', [0, 1])
def test_fewer_examples_than_devices(n):
    with pytest.raises(ValueError, match='every device needs one'):
        d2lmulti.split_and_load(np.zeros((n, 3)), CPUS)


# Minibatches


def test_minibatches_have_the_documented_shapes_and_types():
    train_iter, test_iter = d2lmulti.load_fashion_mnist(100)
    sizes = [len(X) for X, _ in test_iter]
    assert sizes == [100] * 20 + [48] and len(train_iter) == 103
    X, y = next(iter(train_iter))
    assert X.shape == (100, 1, 28, 28) and X.dtype == onp.float32
    assert y.shape == (100,) and 0 <= y.min() and y.max() <= 9


def assert_epochs_visit_each_once(n, batch_size, seed=0):
    X = onp.zeros((n, 1, 28, 28), 'float32')
    X += onp.arange(n).reshape(-1, 1, 1, 1)
    batches = d2lmulti.Minibatches(X, onp.zeros(n, 'int32'), batch_size, seed)
    epochs = []
    for _ in range(2):
        seen = [batch.asnumpy()[:, 0, 0, 0] for batch, _ in batches]
        assert len(seen) == len(batches)
        assert all(len(batch) == batch_size for batch in seen[:-1])
        epochs.append(onp.concatenate(seen).astype(int).tolist())
        assert sorted(epochs[-1]) == list(range(n))
    return epochs


@few
@given(st.integers(1, 40), st.integers(1, 50))
def test_an_epoch_visits_each_example_once(n, batch_size):
    assert_epochs_visit_each_once(n, batch_size)


def test_a_dropped_last_minibatch_is_caught(monkeypatch):
    put_in_method(
        monkeypatch,
        d2lmulti.Minibatches,
        'rows',
        'len(order)',
        'len(order) - self.batch_size + 1',
    )
    with pytest.raises(AssertionError):
        assert_epochs_visit_each_once(10, 4)


def test_every_epoch_has_a_new_order_that_the_seed_determines():
    first, second = assert_epochs_visit_each_once(100, 32, seed=1)
    assert first != second
    assert [first, second] == assert_epochs_visit_each_once(100, 32, seed=1)
    assert first != assert_epochs_visit_each_once(100, 32, seed=2)[0]


def test_labels_follow_their_images():
    X, y, _, _ = d2lmulti.read_fashion_mnist()
    X, y = X[:100], y[:100]
    for X_batch, y_batch in d2lmulti.Minibatches(X, y, 30, seed=0):
        for image, label in zip(X_batch.asnumpy(), y_batch.asnumpy()):
            row = onp.flatnonzero((X == image).all(axis=(1, 2, 3)))[0]
            assert y[row] == label


def examples(n=20):
    return onp.zeros((n, 1, 28, 28), 'float32'), onp.zeros(n, 'int32')


@pytest.mark.parametrize('label', [-1, 10, 255])
def test_labels_outside_0_to_9(label):
    X, y = examples()
    y[7] = label
    with pytest.raises(ValueError, match=f'example 7 has {label}'):
        d2lmulti.Minibatches(X, y, 4)


@pytest.mark.parametrize('pixel', [float('nan'), float('inf'), 1e39])
def test_pixels_that_are_not_finite_in_float32(pixel):
    X, y = examples()
    X = X.astype('float64')
    X[7, 0, 3, 3] = pixel
    with pytest.raises(ValueError, match='example 7'):
        d2lmulti.Minibatches(X, y, 4)


@pytest.mark.parametrize(
    'X_shape, y_shape',
    [
        ((4, 28, 28), (4,)),
        ((4, 1, 28, 27), (4,)),
        ((0, 1, 28, 28), (0,)),
        ((4, 1, 28, 28), (3,)),
        ((4, 1, 28, 28), (4, 1)),
    ],
)
def test_arrays_of_the_wrong_shape(X_shape, y_shape):
    with pytest.raises(ValueError, match='shape'):
        d2lmulti.Minibatches(onp.zeros(X_shape), onp.zeros(y_shape), 2)


@pytest.mark.parametrize(
    'batch_size, error',
    [(0, ValueError), (-1, ValueError), (2.5, TypeError), ('2', TypeError)],
)
def test_invalid_batch_size(batch_size, error):
    with pytest.raises(error, match='batch_size'):
        d2lmulti.Minibatches(*examples(), batch_size)
