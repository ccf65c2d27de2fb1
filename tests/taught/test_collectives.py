"""Every allreduce gives the same sum, in place, and sends what it should."""

import itertools
import math

import mxnet as mx
import numpy as onp
import pytest
from helpers import (
    minibatches,
    reference_steps,
    replicas_on,
    roundings,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from mxnet import np

import d2lmulti
from d2lmulti.communication import collectives

ALGORITHMS = {
    'star': d2lmulti.allreduce,
    'direct': d2lmulti.direct_allreduce,
    'ring': d2lmulti.ring_allreduce,
    'tree': d2lmulti.tree_allreduce,
    'halving': d2lmulti.halving_doubling_allreduce,
}
each_algorithm = pytest.mark.parametrize('name', ALGORITHMS)
few = settings(max_examples=60)


def whole_numbers(k, shape, dtype, seed=0):
    """Arrays whose sums are exact in any order, one on each of k devices."""
    values = onp.random.RandomState(seed).randint(-9, 9, [k] + list(shape))
    return values, [
        np.array(v, dtype=dtype, ctx=mx.cpu(i)) for i, v in enumerate(values)
    ]


def assert_sum(name, k, shape, dtype='float32', seed=0):
    values, data = whole_numbers(k, shape, dtype, seed)
    ALGORITHMS[name](tuple(data))
    for i, array in enumerate(data):
        assert array.ctx == mx.cpu(i) and array.shape == tuple(shape)
        assert array.dtype == onp.dtype(dtype)
        assert (array.asnumpy() == values.sum(axis=0)).all()


@each_algorithm
@pytest.mark.parametrize('k', range(1, 9))
def test_every_array_holds_the_sum(name, k):
    for size in (0, 1, 7, k - 1, k, k + 1, 97):
        assert_sum(name, k, [size])


@each_algorithm
@pytest.mark.parametrize('dtype', ['float32', 'float64', 'int32'])
def test_any_dtype(name, dtype):
    assert_sum(name, 3, [5, 2], dtype)


@few
@given(st.data())
def test_any_shape_on_any_number_of_devices(data):
    assert_sum(
        data.draw(st.sampled_from(list(ALGORITHMS))),
        data.draw(st.integers(1, 8)),
        data.draw(st.lists(st.integers(0, 5), max_size=3)),
        seed=data.draw(st.integers(0, 2**32 - 1)),
    )


@each_algorithm
@pytest.mark.parametrize('k', [2, 3, 8])
def test_views_change_their_arrays_and_nothing_beside_them(name, k):
    values, data = whole_numbers(k, [20], 'float32')
    ALGORITHMS[name]([array[3:16] for array in data])
    for array, before in zip(data, values):
        after = array.asnumpy()
        assert (after[3:16] == values.sum(axis=0)[3:16]).all()
        assert (after[:3] == before[:3]).all()
        assert (after[16:] == before[16:]).all()


@each_algorithm
def test_several_arrays_on_one_device(name):
    data = [np.full(5, i, ctx=mx.cpu(i % 2)) for i in range(4)]
    ALGORITHMS[name](data)
    assert all((array.asnumpy() == 6).all() for array in data)


@each_algorithm
@pytest.mark.parametrize(
    'data, error',
    [
        ([], ValueError),
        ([onp.ones(3), onp.ones(3)], TypeError),
        ([np.ones(3, dtype='bool'), np.ones(3, dtype='bool')], TypeError),
        (np.ones((2, 3)), TypeError),
        ((np.ones(3) for _ in range(2)), TypeError),
        ([np.ones(3), np.ones(4, ctx=mx.cpu(1))], ValueError),
        ([np.ones(3), np.ones(3, dtype='float64', ctx=mx.cpu(1))], ValueError),
    ],
)
def test_what_cannot_be_summed_is_refused(name, data, error):
    with pytest.raises(error):
        ALGORITHMS[name](data)


@each_algorithm
def test_one_array_twice_is_refused(name):
    array = np.ones(3)
    with pytest.raises(ValueError, match='twice'):
        ALGORITHMS[name]([array, array])
    assert (array.asnumpy() == 1).all()


def closed_form(name, k, size):
    """Return (bytes, messages) of the bottleneck device; k divides `size`."""
    if name in ('direct', 'ring'):
        return 2 * (k - 1) * 4 * size // k, 2 * (k - 1)
    if name == 'halving':  # p devices, into which the others are folded
        m = int(math.log2(k))
        p = 2**m
        num_bytes = 2 * (p - 1) * 4 * size // p
        return num_bytes + 4 * size * (k > p), 2 * m + (k > p)
    arrays = k - 1 if name == 'star' else math.ceil(math.log2(k))
    return arrays * 4 * size, arrays


def assert_sends_its_closed_form(name, k):
    data = whole_numbers(k, [840], 'float32')[1]
    sent = collectives.count_sent(ALGORITHMS[name], data)
    assert len(sent) == k and max(sent) == closed_form(name, k, 840)
    if name in ('direct', 'ring'):
        assert len(set(sent)) == 1
    # Each of k - 1 arrays must reach the sum, and the sum k - 1 arrays.
    assert sum(num_bytes for num_bytes, _ in sent) == 2 * (k - 1) * 3360


@each_algorithm
@pytest.mark.parametrize('k', range(1, 9))
def test_bytes_and_messages_are_those_of_the_formula(name, k):
    assert_sends_its_closed_form(name, k)


@few
@given(
    st.sampled_from(['direct', 'ring']), st.integers(1, 8), st.integers(0, 60)
)
def test_ragged_slices_stay_within_the_bound(name, k, size):
    data = whole_numbers(k, [size], 'float32')[1]
    for num_bytes, messages in collectives.count_sent(ALGORITHMS[name], data):
        assert num_bytes <= 2 * (k - 1) * 4 * math.ceil(size / k)
        assert messages <= 2 * (k - 1)


def test_counting_leaves_copyto_as_it_was_also_after_an_error():
    copyto = np.ndarray.copyto
    with pytest.raises(ValueError):
        collectives.count_sent(
            d2lmulti.ring_allreduce, [np.ones(2), np.ones(3, ctx=mx.cpu(1))]
        )
    assert np.ndarray.copyto is copyto


def test_counting_allows_copies_through_a_device_without_an_array():
    def through_a_third(data):
        data[0].copyto(mx.cpu(2)).copyto(data[1])

    data = [np.ones(10, ctx=mx.cpu(i)) for i in range(2)]
    assert collectives.count_sent(through_a_third, data) == [(40, 1), (0, 0)]


@pytest.mark.parametrize('k', range(1, 9))
def test_folded_devices_send_one_array_and_the_others_as_many_as_p(k):
    p = 2 ** int(math.log2(k))
    data = whole_numbers(k, [840], 'float32')[1]
    sent = collectives.count_sent(d2lmulti.halving_doubling_allreduce, data)
    exchanged = 2 * (p - 1) * 3360 // p
    messages = 2 * int(math.log2(p))
    assert sent == [
        (exchanged + 3360, messages + 1)
        if i < k - p
        else (exchanged, messages)
        if i < p
        else (3360, 1)
        for i in range(k)
    ]


@each_algorithm
@pytest.mark.parametrize('k, size', [(3, 1), (4, 97), (5, 7), (8, 97)])
def test_no_algorithm_moves_more_than_the_least_in_total(name, k, size):
    """Also where the sizes do not divide."""
    data = whole_numbers(k, [size], 'float32')[1]
    sent = collectives.count_sent(ALGORITHMS[name], data)
    assert sum(num_bytes for num_bytes, _ in sent) == 2 * (k - 1) * 4 * size


@pytest.mark.parametrize('k', [2, 4, 8])
def test_partners_are_half_of_the_devices_apart_then_a_quarter(k):
    data = whole_numbers(k, [840], 'float32')[1]
    copies = d2lmulti.profiler.record_copies(
        lambda: d2lmulti.halving_doubling_allreduce(data)
    )
    from_first = [
        (receiver.device_id, num_bytes)
        for sender, receiver, num_bytes in copies
        if sender == mx.cpu(0)
    ]
    m = int(math.log2(k))
    there = [(k >> step, 3360 >> step) for step in range(1, m + 1)]
    assert from_first == there + there[::-1]


def assert_reduce_scatter_and_all_gather(k, size):
    """Each phase alone: the parts, the arrays, and what each device sends."""
    values, data = whole_numbers(k, [size], 'float32', seed=size)
    right = values.sum(axis=0)
    slices = d2lmulti.split_slices(size, k)
    returned = []
    sent = collectives.count_sent(
        lambda data: returned.append(d2lmulti.reduce_scatter(data)), data
    )
    (parts,) = returned
    assert len(parts) == k
    for part, array, piece in zip(parts, data, slices):
        assert part.ctx == array.ctx and part.shape == right[piece].shape
        assert (part.asnumpy() == right[piece]).all()
    for array, before in zip(data, values):
        assert (array.asnumpy() == before).all()  # nothing is overwritten
    lengths = [piece.stop - piece.start for piece in slices]
    assert [num_bytes for num_bytes, _ in sent] == [
        4 * (size - length) for length in lengths
    ]
    sent = collectives.count_sent(
        lambda data: d2lmulti.all_gather(parts, data), data
    )
    assert [num_bytes for num_bytes, _ in sent] == [
        4 * (k - 1) * length for length in lengths
    ]
    for array in data:
        assert (array.asnumpy() == right).all()


@pytest.mark.parametrize('k', range(1, 6))
def test_each_phase_alone_does_its_half(k):
    for size in (0, 1, k - 1, k, k + 1, 12, 97):
        assert_reduce_scatter_and_all_gather(k, size)


def test_parts_stay_what_they_were_when_the_arrays_change():
    for k in (1, 2):
        values, data = whole_numbers(k, [5], 'float32')
        parts = d2lmulti.reduce_scatter(data)
        for array in data:
            array[:] = 0
        right = values.sum(axis=0).tolist()
        assert [x for p in parts for x in p.asnumpy().tolist()] == right


def test_parts_may_be_views_of_the_arrays_that_they_are_written_to():
    for k in (1, 2, 3):
        values, data = whole_numbers(k, [3, 5], 'float32')
        parts = [
            collectives.split_views(array, k)[j]
            for j, array in enumerate(data)
        ]
        d2lmulti.all_gather(parts, data)
        flat = values.reshape(k, -1)
        right = [
            x
            for j, piece in enumerate(d2lmulti.split_slices(15, k))
            for x in flat[j][piece]
        ]
        assert all(a.asnumpy().ravel().tolist() == right for a in data)


@pytest.mark.parametrize(
    'parts, error',
    [
        ([onp.ones(2), np.ones(1)], TypeError),
        ([np.ones(2)], ValueError),
        ([np.ones(2), np.ones(2)], ValueError),
        ([np.ones(1), np.ones(2)], ValueError),
        ([np.ones((2, 1)), np.ones(1)], ValueError),
        ([np.ones(2), np.ones(1, dtype='float16')], ValueError),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts, error):
    data = [np.zeros(3, ctx=mx.cpu(i)) for i in range(2)]
    with pytest.raises(error, match='part'):
        d2lmulti.all_gather(parts, data)
    assert all((array.asnumpy() == 0).all() for array in data)


def test_counting_refuses_two_arrays_on_one_device():
    with pytest.raises(ValueError, match='twice'):
        collectives.count_sent(d2lmulti.allreduce, [np.ones(2), np.ones(2)])


def test_a_column_of_an_array_is_a_copy_so_its_sum_stays_there():
    arrays = [np.ones((3, 4), ctx=mx.cpu(i)) for i in range(2)]
    columns = [array[:, :2] for array in arrays]
    d2lmulti.ring_allreduce(columns)
    assert all((column.asnumpy() == 2).all() for column in columns)
    assert all((array.asnumpy() == 1).all() for array in arrays)


SHAPES = [(3, 2), (5,), (0,), (), (4, 1, 2), (7,)]


def assert_buckets_hold_the_sums(k, num_bytes, algorithm, shapes=SHAPES):
    lists = [
        whole_numbers(k, shape, 'float32', seed=i)
        for i, shape in enumerate(shapes)
    ]
    device_arrays = [[data[j] for _, data in lists] for j in range(k)]
    d2lmulti.bucket_allreduce(device_arrays, algorithm, num_bytes)
    for values, data in lists:
        for j, array in enumerate(data):
            assert array.ctx == mx.cpu(j)
            assert (array.asnumpy() == values.sum(axis=0)).all()


@pytest.mark.parametrize('k', [1, 2, 3, 4])
@pytest.mark.parametrize('num_bytes', [1, 16, 40, 1 << 20])
def test_buckets_give_the_same_sums(k, num_bytes):
    assert_buckets_hold_the_sums(k, num_bytes, d2lmulti.ring_allreduce)


def test_buckets_keep_dtypes_apart():
    """With numbers that not every other dtype can hold."""
    numbers = {'float32': 0.5, 'float64': 1 / 3, 'int32': 2**30 + 1}
    for dtypes in itertools.permutations(numbers):
        device_arrays = [
            [
                np.array(
                    onp.full(3, share * numbers[dtype]), dtype, ctx=device
                )
                for dtype in dtypes
            ]
            for share, device in ((1, mx.cpu(0)), (0, mx.cpu(1)))
        ]
        d2lmulti.bucket_allreduce(device_arrays)
        for arrays in device_arrays:
            for array, dtype in zip(arrays, dtypes):
                assert array.dtype == onp.dtype(dtype)
                assert (array.asnumpy() == numbers[dtype]).all()


@few
@given(st.lists(st.integers(0, 9), max_size=8), st.integers(1, 100))
def test_buckets_hold_each_array_once_and_no_more_than_fits(sizes, limit):
    arrays = [np.ones(size) for size in sizes]
    buckets = collectives.fill_buckets(arrays, limit)
    held = [sizes[places] for places in buckets]
    assert sum(held, []) == sizes and all(held)
    for bucket in held:
        assert len(bucket) == 1 or 4 * sum(bucket) <= limit


def test_a_bucket_sends_fewer_messages():
    def messages(num_bytes):
        calls = []
        arrays = [
            [np.ones(10, ctx=mx.cpu(i)) for _ in range(8)] for i in range(2)
        ]
        d2lmulti.bucket_allreduce(arrays, calls.append, num_bytes)
        return len(calls)

    assert [messages(n) for n in (1, 80, 1000)] == [8, 4, 1]


@pytest.mark.parametrize(
    'device_arrays, error',
    [
        ([], TypeError),
        ([[np.ones(2)], []], ValueError),
        ([[np.ones(2)], [np.ones(3, ctx=mx.cpu(1))]], ValueError),
        ([[np.ones(2)], [onp.ones(2)]], TypeError),
        (([np.ones(2)] for _ in range(2)), TypeError),
        ([np.ones(2), np.ones(2, ctx=mx.cpu(1))], TypeError),
        ([[np.ones(2)] * 2, [np.ones(2, ctx=mx.cpu(1))] * 2], ValueError),
    ],
)
def test_lists_that_cannot_be_summed_are_refused(device_arrays, error):
    with pytest.raises(error):
        d2lmulti.bucket_allreduce(device_arrays)


@each_algorithm
@pytest.mark.parametrize('k', [2, 3, 4])
def test_training_takes_the_same_steps_with_any_algorithm(name, k):
    sizes = 12, 13
    devices = [mx.cpu(i) for i in range(k)]
    replicas = replicas_on(devices, 'float64')
    for X, y in minibatches(sizes):
        d2lmulti.train_batch(
            X, y, replicas, devices, 0.1, allreduce=ALGORITHMS[name]
        )
    for replica in replicas:
        assert roundings(replica, reference_steps(sizes)) <= 1


def rebinding(data):
    total = sum(array.copyto(data[0].ctx) for array in data)
    data = [total.copyto(array.ctx) for array in data]


def averaging(data):
    d2lmulti.ring_allreduce(data)
    for array in data:
        array /= len(data)


@pytest.mark.parametrize('wrong', [rebinding, averaging])
def test_a_wrong_sum_is_noticed(monkeypatch, wrong):
    monkeypatch.setitem(ALGORITHMS, 'ring', wrong)
    with pytest.raises(AssertionError):
        assert_sum('ring', 4, [97])


def test_an_array_that_is_sent_twice_is_noticed(monkeypatch):
    def sending_twice(data):
        d2lmulti.ring_allreduce(data)
        data[0].copyto(data[1])

    monkeypatch.setitem(ALGORITHMS, 'ring', sending_twice)
    assert_sum('ring', 4, [97])  # the sum does not show it
    with pytest.raises(AssertionError):
        assert_sends_its_closed_form('ring', 4)
