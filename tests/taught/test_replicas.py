"""Replicas, and sums over all of them."""

import mxnet as mx
import numpy as onp
import pytest
from helpers import replicas_on
from hypothesis import given, settings
from hypothesis import strategies as st
from mxnet import np

import d2lmulti
from d2lmulti.prepare.machine import is_stand_in


def test_a_replica_does_not_share_memory_with_the_original():
    params = d2lmulti.init_params()
    replica = d2lmulti.get_params(params, mx.cpu(0))
    replica[0] += 1
    assert (params[0].asnumpy() == d2lmulti.init_params()[0].asnumpy()).all()
    assert all((param.grad.asnumpy() == 0).all() for param in replica)


def test_a_replica_has_every_parameter_on_its_device():
    params = d2lmulti.init_params()
    replica = d2lmulti.get_params(params, mx.cpu(1))
    assert len(replica) == len(params)
    for param, right in zip(replica, params):
        assert param.ctx == mx.cpu(1)
        assert (param.asnumpy() == right.asnumpy()).all()


@pytest.mark.parametrize(
    'params, device, words',
    [
        ([onp.zeros(3)], mx.cpu(0), 'params is a list of .*: .mx.np.array.pa'),
        (np.zeros(3), mx.cpu(0), 'params is an MXNet array, .* list of MXNet'),
        ([[np.zeros(3)]], mx.cpu(0), r'of replicas, give one, params\[0\]'),
        (d2lmulti.init_params, mx.cpu(0), 'params is a function'),
        (mx.cpu(0), [np.zeros(3)], r'come first, get_params\(params, device'),
        ([np.zeros(3)], [mx.cpu(0)], 'for device in devices'),
        ([np.zeros(3)], 'cpu', 'device is .cpu.*such as mx.cpu'),
        ([np.zeros(3)], '[', 'try_devices'),  # of '[cpu(0)]', a string
        ([np.zeros(3)], 0, 'device is 0, but a device'),
        (
            [np.zeros(3), np.zeros(3, dtype='int32')],
            mx.cpu(0),
            'one of floats',
        ),
    ],
)
def test_a_replica_of_what_is_none_is_refused(params, device, words):
    with pytest.raises(TypeError, match=words):
        d2lmulti.get_params(params, device)


WHOLE = np.zeros(5)


@settings(max_examples=60)
@given(
    st.integers(1, 6),
    st.lists(st.integers(0, 3), max_size=3),
    st.integers(0, 2**32 - 1),
)
def test_allreduce_equals_the_float64_sum(k, shape, seed):
    values = onp.random.RandomState(seed).normal(size=[k] + shape)
    values = values.astype('float32')
    data = [
        np.array(v, dtype='float32', ctx=mx.cpu(i % 4))
        for i, v in enumerate(values)
    ]
    d2lmulti.allreduce(tuple(data))  # a tuple: entries cannot be rebound
    expected = values.astype('float64').sum(axis=0)
    bound = k * onp.finfo('float32').eps * abs(values).sum(axis=0)
    for i, array in enumerate(data):
        assert array.ctx == mx.cpu(i % 4) and array.shape == tuple(shape)
        assert (abs(array.asnumpy() - expected) <= bound).all()


@pytest.mark.parametrize(
    'arrays, message',
    [
        ([], 'no arrays'),
        ([np.zeros(2), np.zeros(3)], 'shape'),
        ([np.zeros((1, 2)), np.zeros(2)], 'shape'),
        ([np.zeros(2), np.zeros(2, dtype='float64')], 'dtype'),
        ([np.zeros(2)] * 2, 'two arrays are one'),
        ([WHOLE[:2], WHOLE[:2]], 'or overlap'),
        ([WHOLE[:3], WHOLE[2:]], 'or overlap'),
        ([np.zeros(2), WHOLE[:2], WHOLE[1:3]], 'or overlap'),
    ],
)
def test_allreduce_of_arrays_that_do_not_fit(arrays, message):
    before = [array.asnumpy() for array in arrays]
    with pytest.raises(ValueError, match=message):
        d2lmulti.allreduce(arrays)
    for array, value in zip(arrays, before):
        assert (array.asnumpy() == value).all()


def test_parts_of_one_array_that_do_not_overlap_may_be_summed():
    whole = np.arange(6)
    d2lmulti.allreduce([whole[:3], whole[3:]])
    assert whole.tolist() == [3, 5, 7, 3, 5, 7]


def test_addresses_are_asked_for_after_the_first_write(monkeypatch):
    written, wait = [], np.ndarray.wait_to_read
    monkeypatch.setattr(
        np.ndarray,
        'wait_to_read',
        lambda array: written.append(id(array)) or wait(array),
    )
    arrays = [np.ones(5), np.ones(5)]
    d2lmulti.allreduce(arrays)
    assert is_stand_in() or set(map(id, arrays)) <= set(written)
    assert all(array.tolist() == [2] * 5 for array in arrays)


@pytest.mark.parametrize(
    'data, words',
    [
        (np.zeros(2), 'data is an MXNet array, but a list'),
        ([onp.zeros(2)] * 2, r'mx.np.array\(data\[0\]'),
        ([[np.zeros(2)], [np.zeros(2)]], r'allreduce_gradients\(replicas\)'),
        ([np.zeros(2) > 1, np.zeros(2) > 1], 'sum of bool'),
    ],
)
def test_allreduce_of_what_are_no_arrays_of_numbers(data, words):
    with pytest.raises(TypeError, match=words):
        d2lmulti.allreduce(data)


@pytest.mark.parametrize(
    'not_replicas',
    [
        d2lmulti.get_params(d2lmulti.init_params(), mx.cpu(0)),
        [d2lmulti.init_params(), d2lmulti.init_params()],
    ],
    ids=['a single replica', 'without gradients'],
)
def test_gradients_that_are_not_there_are_not_summed(not_replicas):
    with pytest.raises(TypeError, match='list of all replicas.* get_params'):
        d2lmulti.allreduce_gradients(not_replicas)


def assert_all_gradients_are_summed(k):
    replicas = replicas_on([mx.cpu(i) for i in range(k)])
    rng = onp.random.RandomState(k)
    expected = []
    for params in zip(*replicas):
        for param in params:
            param.grad[:] = rng.randint(-9, 9, param.shape)
        expected.append(sum(param.grad.asnumpy() for param in params))
    d2lmulti.allreduce_gradients(replicas)
    for replica in replicas:
        for param, right in zip(replica, expected):
            assert (param.grad.asnumpy() == right).all()


@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_every_gradient_of_every_replica_is_the_sum(k):
    assert_all_gradients_are_summed(k)
