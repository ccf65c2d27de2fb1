"""The tables of chapter 22: each call exists, and each default is what its
framework does, JAX's too. TensorFlow's column is read: it has links."""

import json
import pathlib
import re
import subprocess
import sys

import mxnet as mx
import nbformat
import pytest
import torch
from mxnet import autograd, gluon, np

import d2lmulti
from tools.speed.peers.environments import JAX

ROOT = pathlib.Path(__file__).parents[2]
CONCEPTS = (
    'devices, replica, split, allreduce, overlap, sharded state, '
    'accumulation, batch norm, compile, processes, checkpoint, profiler'
).split(', ')
RESOLVE = """
import importlib, json, sys

def resolve(name):
    path, *parts = name.split('.')
    found = importlib.import_module(path)
    for part in parts:
        path += '.' + part
        if not hasattr(found, part):
            importlib.import_module(path)
        found = getattr(found, part)
    return found

if __name__ == '__main__':
    for name in json.loads(sys.argv[1]):
        resolve(name)
"""
exec(compile(RESOLVE, 'resolve', 'exec'))


def tables(cell):
    """Return the tables of a cell: lists of rows, which are lists."""
    cells = nbformat.read(ROOT / 'notebooks/22_side_by_side.ipynb', 4).cells
    (text,) = (c.source for c in cells if c.id == cell)
    return [
        [
            [part.strip() for part in line.strip('|').split('|')]
            for line in block.splitlines()
            if not line.startswith('|--')
        ]
        for block in re.findall(r'(?:^\|.*\n?)+', text, re.M)
    ]


def names():
    """Return {concept: [cell, ...]} of both tables, and the columns' names."""
    left, right = tables('names-text')
    assert [row[0] for row in left] == [row[0] for row in right]
    head, *body = [a + b[1:] for a, b in zip(left, right)]
    return {row[0]: row[1:] for row in body}, head[1:]


def calls(column):
    """Return the names of the calls in a column."""
    return [
        name
        for row in names()[0].values()
        for name in re.findall('`(.+?)`', row[column])
    ]


def test_the_table_has_all_concepts_and_frameworks():
    rows, head = names()
    assert list(rows) == CONCEPTS
    assert [re.match(r'\w+', name)[0] for name in head] == [
        'from',
        'Gluon',
        'PyTorch',
        'JAX',
        'TensorFlow',
    ]
    assert all(len(row) == 5 and all(row) for row in rows.values())


@pytest.mark.parametrize('column', range(3))
def test_each_call_can_be_imported(column):
    for name in calls(column):
        full = f'd2lmulti.{name}' if column == 0 else name
        resolve(re.sub('^mx', 'mxnet', full))  # noqa: F821


def test_a_call_that_does_not_exist_is_found():
    with pytest.raises((ImportError, AttributeError)):
        resolve('torch.nn.model_parallel')  # noqa: F821
    with pytest.raises((ImportError, AttributeError)):
        resolve('torch.distributed.allreduce_everything')  # noqa: F821


def test_what_is_only_read_has_its_source():
    rows, _ = names()
    _, *defaults = tables('defaults-text')[0]
    for row in [*rows.values(), *defaults]:
        assert re.search(r'\]\(https://[\w./#]+\)', row[-1]), row


def says(column, row, phrase):
    """Return whether the table of defaults says this of a framework."""
    head, *rows = tables('defaults-text')[0]
    (column,) = (i for i, name in enumerate(head) if name.startswith(column))
    (cell,) = (cells[column] for cells in rows if cells[0].startswith(row))
    return phrase in cell


def test_what_becomes_of_a_gradient():
    x, y = np.ones(2), np.ones(2)
    x.attach_grad(), y.attach_grad()
    assert x.grad[0] == 0
    for loss in (lambda: 2 * x + 3 * y), (lambda: 2 * x):
        with autograd.record():
            losses = loss()
        losses.backward()  # of several numbers: of their sum
    assert x.grad[0] == 2 and y.grad[0] == 3
    assert says('MXNet', 'gradients', 'first 0, then overwritten')
    assert says('MXNet', '…', 'those of the last step')
    assert says('MXNet', 'a loss', '`backward` sums')

    x, y = (torch.ones(2, requires_grad=True) for _ in 'xy')
    assert x.grad is None
    for _ in range(2):
        (2 * x).sum().backward()
    assert x.grad[0] == 4 and y.grad is None
    assert says('PyTorch', 'gradients', 'first None, then *added*')
    assert says('PyTorch', '…', 'None')


def test_the_losses_of_gluon_are_one_per_example_and_pytorchs_a_mean():
    assert gluon.loss.L2Loss()(np.ones((3, 2)), np.zeros((3, 2))).shape == (3,)
    assert says('MXNet', 'a loss', 'per example')
    scores, labels = torch.rand(3, 5), torch.tensor([0, 1, 2])
    losses = torch.nn.CrossEntropyLoss(reduction='none')(scores, labels)
    assert torch.nn.CrossEntropyLoss()(scores, labels) == losses.mean()
    assert says('PyTorch', 'a loss', 'mean')


def test_a_copy_to_where_an_array_is():
    array, tensor = np.ones(2), torch.ones(2)
    assert array.as_in_ctx(mx.cpu(0)) is array
    assert array.copyto(mx.cpu(0)) is not array
    assert says('MXNet', 'a copy', '`as_in_ctx`: the same array')
    assert tensor.to('cpu') is tensor
    assert tensor.clone().data_ptr() != tensor.data_ptr()
    assert says('PyTorch', 'a copy', '`to`: the same tensor')


def test_devices():
    one, other = (np.ones(2, ctx=mx.cpu(i)) for i in range(2))
    with pytest.raises(d2lmulti.device_error.DeviceError):
        one + other
    assert torch.cpu.device_count() == 1
    assert says('PyTorch', 'several', 'no')
    with pytest.raises(RuntimeError, match='device'):
        torch.ones(2) + torch.ones(2, device='meta')
    if not mx.context.num_gpus():
        with pytest.raises(mx.MXNetError):
            np.ones(2, ctx=mx.gpu(0)).asnumpy()
    if not torch.cuda.is_available():
        with pytest.raises((AssertionError, RuntimeError)):
            torch.ones(2, device='cuda')


def test_gluon_refuses_what_cannot_be_divided_and_pytorch_repeats():
    devices = [mx.cpu(0), mx.cpu(1)]
    with pytest.raises(ValueError, match='even'):
        gluon.utils.split_and_load(np.ones(61), devices)
    shards = d2lmulti.split_batch(np.ones((61, 1)), np.ones(61), devices)[1]
    assert [len(shard) for shard in shards] == [31, 30]
    rows = [
        torch.utils.data.DistributedSampler(range(61), 2, rank)
        for rank in range(2)
    ]
    assert sum(map(len, rows)) == 62


def test_batch_normalization():
    """Of the minibatch 1, 2, 6: mean 3, variance 14/3, or 7 over n - 1."""
    layer = gluon.nn.BatchNorm(in_channels=1)
    layer.initialize()
    with autograd.record():
        normalized = layer(np.array([[1.0], [2.0], [6.0]]))
    normalized.backward()  # which updates the running statistics
    mean, var = layer.running_mean.data(), layer.running_var.data()
    assert float(mean[0]) == pytest.approx(0.1 * 3)
    assert float(var[0]) == pytest.approx(0.9 + 0.1 * 14 / 3)
    assert layer._kwargs['eps'] == 1e-5
    assert says('MXNet', 'its running', '0.9; 10⁻⁵')

    layer = torch.nn.BatchNorm1d(1)
    layer(torch.tensor([[1.0], [2.0], [6.0]]))
    assert layer.running_mean.item() == pytest.approx(0.1 * 3)
    assert layer.running_var.item() == pytest.approx(0.9 + 0.1 * 7)
    assert (layer.momentum, layer.eps) == (0.1, 1e-5)
    assert says('PyTorch', 'its running', '0.9, called `momentum=0.1`; 10⁻⁵')
    assert says('PyTorch', 'its running', '*n* − 1')


def test_the_epsilon_of_adam():
    assert mx.optimizer.Adam().epsilon == 1e-8
    assert torch.optim.Adam([torch.ones(1)]).defaults['eps'] == 1e-8
    assert says('MXNet', 'Adam', '10⁻⁸') and says('PyTorch', 'Adam', '10⁻⁸')


def test_numbers_shapes_and_layouts():
    assert (np.ones(1, dtype='float64') * 2).dtype == 'float64'
    assert (torch.ones(1, dtype=torch.float64) * 2).dtype == torch.float64
    layer = gluon.nn.Conv2D(8, 1)
    layer.initialize()
    assert layer(np.ones((1, 3, 4, 5))).shape == (1, 8, 4, 5)
    assert torch.nn.Conv2d(3, 8, 1)(torch.ones(1, 3, 4, 5)).shape[1] == 8
    assert gluon.nn.Dense(2, in_units=3).weight.shape == (2, 3)
    assert torch.nn.Linear(3, 2).weight.shape == (2, 3)
    assert d2lmulti.init_params()[6].shape[1] == 10  # ten classes
    assert says('MXNet', 'weights', 'here: (inputs, outputs)')


IN_JAX = """
import jax, numpy as np
from jax.lax import pmean, psum
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

def raises(call, error):
    try:
        call()
    except error:
        return True

jax.config.update('jax_num_cpu_devices', 2)
first, second = jax.devices()
assert raises(lambda: jax.config.update('jax_num_cpu_devices', 3),
              RuntimeError)
assert raises(lambda: jax.devices('gpu'), RuntimeError)
one, other = (jax.device_put(np.ones(2), d) for d in (first, second))
assert raises(lambda: one + other, ValueError)
same = jax.device_put(one, first)
assert same.unsafe_buffer_pointer() == one.unsafe_buffer_pointer()
assert raises(lambda: one.__setitem__(0, 1), TypeError)
assert [*map(float, jax.grad(lambda p: 2 * p[0])([1., 1.]))] == [2, 0]
assert jax.numpy.array(np.ones(2)).dtype == 'float32'
image, kernel = np.ones((1, 3, 4, 5), 'f'), np.ones((8, 3, 1, 1), 'f')
assert jax.lax.conv(image, kernel, (1, 1), 'SAME').shape == (1, 8, 4, 5)

mesh = Mesh(np.array(jax.devices()), 'd')
rows = NamedSharding(mesh, P('d'))
assert raises(lambda: jax.device_put(np.ones(61), rows), ValueError)
X = jax.device_put(np.arange(4, dtype='f'), rows)
assert jax.jit(lambda X: X.mean())(X) == 1.5

def on_both(function, out, **options):
    found = jax.shard_map(
        function, mesh=mesh, in_specs=(P(), P('d')), out_specs=out, **options
    )(1., X)
    return np.asarray(found).tolist()

mean = lambda w, X: (w * X).mean()
grad = jax.grad(mean)
assert on_both(lambda w, X: X.mean(keepdims=True), P('d')) == [0.5, 2.5]
assert on_both(lambda w, X: psum(X.mean(), 'd'), P()) == 3
assert on_both(lambda w, X: pmean(X.mean(), 'd'), P()) == 1.5
assert on_both(grad, P()) == 3  # summed already
assert on_both(lambda w, X: pmean(grad(w, X), 'd'), P()) == 3
of_mean = jax.grad(lambda w, X: pmean(mean(w, X), 'd'))
assert on_both(of_mean, P()) == 1.5
own = dict(check_vma=False)
assert on_both(lambda w, X: psum(grad(w, X), 'd') / 2, P(), **own) == 1.5
"""


@pytest.mark.long
@pytest.mark.parametrize(
    'code, words',
    [(RESOLVE, [json.dumps(calls(3))]), (IN_JAX, [])],
    ids=['calls', 'defaults'],
)
def test_what_is_said_of_jax(code, words):
    """In the environment of the benchmark, which it sets up."""
    assert JAX.why_missing() is None
    subprocess.run(
        [str(JAX.python), '-c', code, *words], check=True, timeout=120
    )
    assert sys.executable != str(JAX.python)
