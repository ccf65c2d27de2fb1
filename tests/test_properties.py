"""Properties of splitting, adding and shuffling, for inputs of any kind."""
import mxnet as mx
import numpy as onp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mxnet import np

import d2lmulti

few = settings(max_examples=60, deadline=None)


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
    assert_split_is_exact(data.draw(st.integers(k, 50)), k,
                          data.draw(st.integers(1, 3)))


def test_shards_do_not_share_memory_with_the_minibatch():
    whole = np.zeros((4, 2))
    for shard in d2lmulti.split_and_load(whole, [mx.cpu(0), mx.cpu(1)]):
        shard += 1
    assert (whole.asnumpy() == 0).all()


@pytest.mark.parametrize('dtype', ['float32', 'float64', 'int32', 'uint8'])
def test_splitting_keeps_the_dtype(dtype):
    shards = d2lmulti.split_and_load(np.ones((5, 2), dtype=dtype),
                                     [mx.cpu(0), mx.cpu(1)])
    assert all(shard.dtype == onp.dtype(dtype) for shard in shards)


@few
@given(st.integers(1, 6), st.lists(st.integers(0, 3), max_size=3),
       st.integers(0, 2 ** 32 - 1))
def test_allreduce_equals_the_float64_sum(k, shape, seed):
    values = onp.random.RandomState(seed).normal(size=[k] + shape)
    values = values.astype('float32')
    data = [np.array(v, dtype='float32', ctx=mx.cpu(i % 4))
            for i, v in enumerate(values)]
    d2lmulti.allreduce(tuple(data))  # a tuple: entries cannot be rebound
    expected = values.astype('float64').sum(axis=0)
    bound = k * onp.finfo('float32').eps * abs(values).sum(axis=0)
    for i, array in enumerate(data):
        assert array.ctx == mx.cpu(i % 4) and array.shape == tuple(shape)
        assert (abs(array.asnumpy() - expected) <= bound).all()


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


def test_every_epoch_has_another_order_given_by_the_seed():
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


def assert_drains_on_both_sides(monkeypatch):
    import sys
    events = []
    devices = sys.modules['d2lmulti.devices']
    monkeypatch.setattr(devices.npx, 'waitall',
                        lambda: events.append('waitall'))
    d2lmulti.median_seconds(lambda: events.append('work'), num_runs=2)
    assert events == ['waitall', 'work', 'waitall'] * 3


def test_timing_drains_the_engine_on_both_sides(monkeypatch):
    assert_drains_on_both_sides(monkeypatch)
