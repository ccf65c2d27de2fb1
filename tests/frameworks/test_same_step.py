"""PyTorch's steps are those of chapter 5.

All in float64, where rounding is too small to be seen in float32.
The bugs that this must find are put in below.
"""

import mxnet as mx
import numpy as onp
import pytest
import torch
from helpers import as_type, roundings
from mxnet import np

import d2lmulti

SEEDS = [5, 77]


def batches(seed, size, num_steps=5):
    """Return minibatches of random images and labels."""
    rng = onp.random.RandomState(seed)
    return [
        (
            rng.uniform(size=(size, 1, 28, 28)),
            rng.randint(0, 10, size),
        )
        for _ in range(num_steps)
    ]


def init_params(seed):
    """Return LeNet's parameters in float64."""
    return as_type(d2lmulti.init_params(seed))


def book_params(seed, size, num_devices=2, lr=0.05):
    """Return the parameters after chapter 5's steps."""
    devices = [mx.cpu(i) for i in range(num_devices)]
    replicas = [
        d2lmulti.get_params(init_params(seed), device) for device in devices
    ]
    for X, y in batches(seed, size):
        X, y = np.array(X, dtype='float64'), np.array(y, dtype='int32')
        d2lmulti.train_batch(X, y, replicas, devices, lr)
    return [param.asnumpy() for param in replicas[0]]


def torch_params(chapter, seed, size, k, get_params=None, lr=0.05):
    """Return PyTorch's replicas after the same steps."""
    devices = [torch.device('cpu')] * k
    params = chapter.to_torch(init_params(seed))
    get_params = get_params or chapter.get_params
    replicas = [get_params(params, device) for device in devices]
    for X, y in batches(seed, size):
        X, y = torch.tensor(X), torch.tensor(y)
        chapter.train_batch(X, y, replicas, devices, lr)
    return [[param.detach().numpy() for param in own] for own in replicas]


@pytest.mark.parametrize('seed', SEEDS)
@pytest.mark.parametrize('size', [1, 6, 33])
def test_scores_are_those_of_chapter_2(seed, size, in_torch):
    ((X, _),) = batches(seed, size, 1)
    params = init_params(seed)
    right = d2lmulti.lenet(np.array(X, dtype='float64'), params)
    found = in_torch.lenet(torch.tensor(X), in_torch.to_torch(params))
    assert roundings([found.numpy()], [right]) <= 1


@pytest.mark.parametrize('k', [1, 2, 3, 4])
@pytest.mark.parametrize(('seed', 'size'), [(5, 4), (77, 29)])
def test_five_steps_are_those_of_chapter_5(seed, size, k, in_torch):
    right = book_params(seed, size)
    assert roundings(init_params(seed), right) > 100
    for replica in torch_params(in_torch, seed, size, k):
        assert roundings(replica, right) <= 1


def test_shared_replicas_are_found_by_the_numbers_alone(in_torch):
    """They agree with each other perfectly."""
    first, second = torch_params(in_torch, 5, 29, 2, in_torch.shared_params)
    assert d2lmulti.rounding.rounding_ratio(first, [second, second]) == 0
    assert roundings(first, book_params(5, 29)) > 100
    first, second = torch_params(in_torch, 5, 29, 2)
    assert d2lmulti.rounding.rounding_ratio(first, [second, second]) == 0


@pytest.mark.parametrize(
    ('name', 'bug'),
    [
        ('allreduce', lambda data: None),
        ('allreduce', lambda data: [t.div_(len(data)) for t in data]),
        (
            'split_batch',
            lambda X, y, devices: (
                X.chunk(len(devices))[::-1],
                y.chunk(len(devices)),
            ),
        ),
    ],
    ids=['none', 'mean of nothing', 'labels of others'],
)
def test_a_wrong_step_is_found(name, bug, in_torch, monkeypatch):
    monkeypatch.setattr(in_torch, name, bug)
    found = torch_params(in_torch, 5, 28, 2)
    assert roundings(found[0], book_params(5, 28)) > 100
