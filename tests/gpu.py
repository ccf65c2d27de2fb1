"""On real GPUs: CONTRIBUTING has the command. Fails where none works.

As every chapter claims: k devices take the same step as one. Here the devices
are GPUs, each alone, all together, and beside the CPU's parameters.
"""

import os

import mxnet as mx
import numpy as onp
import pytest
from helpers import (
    as_type,
    minibatch,
    minibatches,
    reference_steps,
    replicas_on,
    roundings,
    smooth_lenet,
)
from mxnet import autograd, np

import d2lmulti
from d2lmulti.prepare.gpus import find_gpus

os.environ.setdefault('D2LMULTI_DEVICES', 'gpu')
GPUS, FAULTS = find_gpus()  # raises if none works
COUNTS = range(1, len(GPUS) + 1)


def test_every_gpu_that_is_seen_works():
    assert not FAULTS


@pytest.mark.parametrize('k', COUNTS)
def test_try_devices_gives_gpus(k):
    assert d2lmulti.try_devices(k) == GPUS[:k]


@pytest.mark.parametrize('k', COUNTS)
@pytest.mark.parametrize('sizes', [(64, 64, 64), (64, 37, 5)])
def test_gpus_take_the_same_steps_as_one_cpu_device(k, sizes):
    devices = d2lmulti.try_devices(k)
    reference = reference_steps(sizes)
    replicas = replicas_on(devices, 'float64')
    assert roundings(replicas[0], reference) > 100  # before the steps
    for X, y in minibatches(sizes):
        d2lmulti.train_batch(X, y, replicas, devices, 0.1)
    for replica, device in zip(replicas, devices):
        assert all(param.ctx == device for param in replica)
        assert roundings(replica, reference) <= 1


@pytest.mark.parametrize('k', COUNTS)
def test_allreduce_gives_every_gpu_the_sum(k):
    arrays = [
        np.full((3, 5), 10.0**i, ctx=device)
        for i, device in enumerate(d2lmulti.try_devices(k))
    ]
    d2lmulti.allreduce(arrays)
    expected = float('1' * k)
    for array in arrays:
        assert (array.asnumpy() == expected).all()


# In float32 cuDNN has other algorithms, but none should round the factors to
# 11 bits (TF32).
@pytest.mark.parametrize(
    ('dtype', 'bound'),
    [('float64', onp.finfo('float32').eps), ('float32', 2.0**-11)],
)
def test_a_convolution_on_a_gpu_has_the_right_gradient(dtype, bound):
    X, y = minibatch(16, dtype=dtype)
    gradients = []
    for device in (mx.cpu(), GPUS[0]):
        params = as_type(d2lmulti.init_params(seed=3), dtype)
        params = d2lmulti.get_params(params, device)
        with autograd.record():
            scores = smooth_lenet(X.copyto(device), params)
            loss = d2lmulti.loss(scores, y.copyto(device)).sum()
        loss.backward()
        gradients.append([param.grad.asnumpy() for param in params])
    on_cpu, on_gpu = gradients
    for ours, theirs in zip(on_gpu, on_cpu):
        scale = onp.abs(theirs).max()
        assert scale > 0
        assert onp.abs(ours - theirs).max() < bound * scale
