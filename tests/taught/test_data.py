"""Splitting minibatches, and the data set as minibatches."""

import mxnet as mx
import numpy as onp
import pytest
from helpers import replicas_on
from hypothesis import given, settings
from hypothesis import strategies as st
from mxnet import np

import d2lmulti
from d2lmulti.prepare.machine import is_stand_in

CPUS = [mx.cpu(0), mx.cpu(1)]
few = settings(max_examples=60)


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


def test_shards_do_not_share_memory_with_the_minibatch():
    whole = np.zeros((4, 2))
    for shard in d2lmulti.split_and_load(whole, CPUS):
        shard += 1
    assert (whole.asnumpy() == 0).all()


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
    with pytest.raises(ValueError, match='1 example cannot be split over 2'):
        d2lmulti.split_and_load(np.zeros(1), CPUS)
    for what, words in (
        (2, r'devices is 2, .*: try_devices\(2\)'),
        (mx.cpu(0), r': \[devices\]'),
        ([0, 1], 'list of int.* such as try_devices'),
        ('[cpu(0), cpu(1)]', 'such as try_devices'),
        (np.zeros(4), 'devices is an MXNet array'),
    ):
        with pytest.raises(TypeError, match=words):
            d2lmulti.split_and_load(np.zeros(4), what)


# Raw data, in place of an MXNet array X: what the message says


IMAGES = np.array(onp.random.RandomState(0).uniform(size=(4, 1, 28, 28)))
LABELS = np.array([0, 9, 3, 3], dtype='int32')
RAW = {
    'X is a NumPy array': lambda X: X.asnumpy(),
    "dtype='float32'": lambda X: X.asnumpy().astype('float64'),
    r"X.astype\('int32'\)": lambda X: X.asnumpy().astype('uint16'),
    'X is a list of lists, but an MXNet array': lambda X: X.tolist(),
    'X is a (list|tuple) of arrays': lambda X: (X, LABELS),
}
if not is_stand_in():  # which has arrays of one kind
    RAW['X is a NDArray'] = lambda X: X.as_nd_ndarray()
TAKERS = {
    'lenet': lambda X: d2lmulti.lenet(X, d2lmulti.init_params()),
    'split_batch': lambda X: d2lmulti.split_batch(X, LABELS, CPUS),
    'train_batch': lambda X: d2lmulti.train_batch(
        X, LABELS, replicas_on(CPUS), CPUS, 0.1
    ),
    'evaluate_accuracy': lambda X: d2lmulti.evaluate_accuracy(
        replicas_on(CPUS), [(X, LABELS)], CPUS
    ),
}


@pytest.mark.parametrize('words', RAW)
@pytest.mark.parametrize('taker', TAKERS)
def test_raw_data_are_refused_and_the_line_of_the_message_converts_them(
    taker, words
):
    X = RAW[words](IMAGES)
    if taker == 'lenet' and isinstance(X, tuple):
        words = 'the images come first'
    with pytest.raises(TypeError, match=words) as refused:
        TAKERS[taker](X)
    line = str(refused.value).rpartition(': ')[2]
    if 'X.' in line or 'mx.np' in line:
        X = eval(line, {'X': X, 'mx': mx})
        assert isinstance(X, np.ndarray)
        if X.dtype == onp.float32:
            TAKERS[taker](X)


@pytest.mark.parametrize(
    'data, words',
    [
        ((np.zeros((4, 2)), LABELS), r'X is an MXNet array.*: X.asnumpy\(\)'),
        ((onp.zeros((4, 2)), [0, 1, 2, 3]), r'y is a list.*onp.array\(y\)'),
        ((onp.arange(4), onp.zeros((4, 2))), 'are they swapped'),
        ((onp.zeros((4, 2)), onp.zeros(3)), '4 examples but 3 labels'),
    ],
)
def test_what_minibatches_cannot_be_made_of(data, words):
    with pytest.raises((TypeError, ValueError), match=words):
        d2lmulti.Minibatches(*data, 2)


@pytest.mark.parametrize('batch_size', ['2', 2.0, 0])
def test_a_batch_size_that_is_none(batch_size):
    with pytest.raises((TypeError, ValueError), match='batch_size must be'):
        d2lmulti.Minibatches(*examples(), batch_size)


@pytest.mark.parametrize(
    'y, line',
    [(onp.eye(10), r'y.argmax\(axis=-1\)'), (onp.zeros((10, 1)), 'squeeze')],
)
def test_labels_in_columns(y, line):
    with pytest.raises(ValueError, match=line):
        d2lmulti.Minibatches(onp.zeros((10, 2)), y, 2, num_classes=10)


def test_devices_in_place_of_data_are_named():
    with pytest.raises(TypeError, match='data is a list of devices'):
        d2lmulti.split_and_load(CPUS, np.zeros(4))


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


def test_every_epoch_has_a_new_order_that_the_seed_determines():
    first, second = assert_epochs_visit_each_once(100, 32, seed=1)
    assert first != second
    assert [first, second] == assert_epochs_visit_each_once(100, 32, seed=1)
    assert first != assert_epochs_visit_each_once(100, 32, seed=2)[0]


def test_epochs_are_counted_from_0_and_each_has_its_own_order():
    rows = onp.arange(20)
    batches = d2lmulti.Minibatches(rows, rows, 20, seed=5)
    for epoch in range(3):
        assert batches.epoch == epoch
        with mx.cpu(1):  # also where another device is the default
            ((X, y),) = batches
        assert X.ctx == y.ctx == mx.cpu(0)
        assert y.tolist() == batches.rows(epoch)[0].tolist()


def test_the_seed_shuffles_the_training_set_and_never_the_test_set():
    for seed, more in ((0, {}), (3, {'seed': 3})):
        train_iter, test_iter = d2lmulti.load_fashion_mnist(100, **more)
        assert (train_iter.seed, test_iter.seed) == (seed, None)


def test_the_data_set_may_lie_in_another_folder(tmp_path):
    with pytest.raises(OSError, match=str(tmp_path)):
        d2lmulti.load_fashion_mnist(100, full=True, folder=tmp_path)


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
def test_labels_outside_the_classes(label):
    X, y = examples()
    y[7] = label
    with pytest.raises(ValueError, match=f'0 to 9, .* example 7 has {label}'):
        d2lmulti.Minibatches(X, y, 4, num_classes=10)
    d2lmulti.Minibatches(X, y, 4)


@pytest.mark.parametrize('pixel', [float('nan'), float('inf'), 1e39])
def test_numbers_that_are_not_finite_in_float32(pixel):
    X, y = examples()
    X = X.astype('float64')
    X[7, 0, 3, 3] = pixel
    with pytest.raises(ValueError, match='X .* example 7'):
        d2lmulti.Minibatches(X, y, 4)
    with pytest.raises(ValueError, match='y .* example 7'):
        d2lmulti.Minibatches(X[:, 0, 0, 0] * 0 + 1, X[:, 0, 3, 3], 4)


@pytest.mark.parametrize(
    'X_shape, y_shape, message',
    [
        ((0, 1, 28, 28), (0,), 'shape'),
        ((4, 0), (4,), 'shape'),
        ((4, 1, 28, 28), (3,), 'same length'),
        ((3, 5), (4, 5), 'same length'),
    ],
)
def test_arrays_without_rows_or_of_two_lengths(X_shape, y_shape, message):
    with pytest.raises(ValueError, match=message):
        d2lmulti.Minibatches(onp.zeros(X_shape), onp.zeros(y_shape), 2)


@pytest.mark.parametrize(
    'X',
    [
        [[1, 2], [3, 4]],
        None,
        np.ones((2, 2)),
        onp.array(['one', 'two']),
        onp.array([1j, 2]),
        onp.array([1, 2], 'uint16'),
        onp.array([1, 2], object),
    ],
)
def test_data_that_are_not_numpy_arrays_of_numbers(X):
    y = onp.zeros(2)
    for data in ((X, y), (y, X)):
        with pytest.raises(TypeError, match='needed|MXNet does not have'):
            d2lmulti.Minibatches(*data, 2)


@pytest.mark.parametrize('dtype', ['>f4', '>i4', 'longlong'])
def test_minibatches_of_other_layouts_become_those_of_the_same_name(dtype):
    X = onp.arange(12).reshape(6, 2).astype(dtype)
    ((batch, labels),) = d2lmulti.Minibatches(X, X[:, 0], 6)
    assert batch.dtype == labels.dtype == onp.dtype(X.dtype.name)
    assert (batch.asnumpy() == X).all() and (labels.asnumpy() == X[:, 0]).all()


@pytest.mark.parametrize(
    'dtype', ['float16', 'float32', 'uint8', 'int8', 'int32', 'int64', 'bool']
)
@pytest.mark.parametrize('shape', [(7,), (7, 3), (7, 2, 5, 4)])
def test_minibatches_of_any_arrays_keep_their_dtypes(dtype, shape):
    X = onp.random.RandomState(0).randint(0, 2, shape).astype(dtype)
    y = onp.arange(14).reshape(7, 2)
    seen = list(d2lmulti.Minibatches(X, y, 3, seed=1))
    assert all(part.dtype == onp.dtype(dtype) for part, _ in seen)
    assert all(part.dtype == onp.int64 for _, part in seen)
    images = onp.concatenate([part.asnumpy() for part, _ in seen])
    rows = onp.concatenate([part.asnumpy()[:, 0] // 2 for _, part in seen])
    assert sorted(rows) == list(range(7)) and (images == X[rows]).all()


def test_double_precision_becomes_single():
    X = onp.random.RandomState(0).uniform(size=(5, 2))
    (batch, labels), *_ = d2lmulti.Minibatches(X, onp.zeros(5), 5)
    assert batch.dtype == labels.dtype == onp.float32
    assert (batch.asnumpy() == X.astype('float32')).all()


# Bytes


def pixels(n=14):
    return onp.random.RandomState(0).randint(
        0, 256, (n, 1, 28, 28), dtype='uint8'
    )


def bytes_sent(images):
    X, y = next(iter(d2lmulti.Minibatches(images, onp.arange(14), 14)))
    devices = [mx.cpu(i) for i in range(4)]
    copies = d2lmulti.profiler.record_copies(
        lambda: d2lmulti.split_and_load(X, devices)
    )
    return sum(num_bytes for _, _, num_bytes in copies)


def test_bytes_are_a_quarter_of_the_traffic():
    assert bytes_sent(pixels()) == 10 * 784
    assert bytes_sent(pixels().astype('float32')) == 4 * 10 * 784
