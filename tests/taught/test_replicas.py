"""Replicas, and sums over all of them."""

import mxnet as mx
import numpy as onp
import pytest
from helpers import replicas_on
from hypothesis import given, settings
from hypothesis import strategies as st
from mxnet import np

import d2lmulti


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


def test_a_replica_of_what_is_no_list_of_arrays_is_refused():
    with pytest.raises(TypeError, match='params'):
        d2lmulti.get_params([onp.zeros(3)], mx.cpu(0))
    with pytest.raises(TypeError, match='device'):
        d2lmulti.get_params(d2lmulti.init_params(), 0)


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
        ([np.zeros(2)] * 2, 'twice'),
    ],
)
def test_allreduce_of_arrays_that_do_not_fit(arrays, message):
    before = [array.asnumpy() for array in arrays]
    with pytest.raises(ValueError, match=message):
        d2lmulti.allreduce(arrays)
    for array, value in zip(arrays, before):
        assert (array.asnumpy() == value).all()


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
