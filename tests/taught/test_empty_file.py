"""The empty one_file.py, and what its tests say of who fills it in."""

import ast
import importlib
import subprocess
import sys

import mxnet as mx
import pytest
from mxnet import autograd

from d2lmulti import __main__ as command
from d2lmulti import empty_file, one_file
from d2lmulti.empty_file import write_empty_file

NAMES = empty_file.names_tested()


@pytest.fixture
def tests(monkeypatch):
    """The tests as a module, of one_file.py as it is in the package."""
    monkeypatch.setitem(sys.modules, 'one_file', one_file)
    sys.modules.pop('d2lmulti.one_file_tests', None)
    return importlib.import_module('d2lmulti.one_file_tests')


@pytest.mark.parametrize('name', NAMES)
def test_ours_passes(name, tests):
    getattr(tests, f'test_{name}')()


def rebinding(data):
    total = sum(array.copyto(data[0].ctx) for array in data)
    data[:] = [total.copyto(array.ctx) for array in data]


def mean(data):
    total = sum(array.copyto(data[0].ctx) for array in data) / len(data)
    for array in data:
        total.copyto(array)


def without_remainder(data, devices):
    n = len(data) // len(devices)
    return [
        data[i * n : (i + 1) * n].copyto(device)
        for i, device in enumerate(devices)
    ]


def views(data, devices):
    slices = one_file.split_slices(len(data), len(devices))
    return [
        data[rows].as_in_ctx(device) for rows, device in zip(slices, devices)
    ]


def originals(params, device):
    for param in params:
        param.attach_grad()
    return [param.as_in_ctx(device) for param in params]


def constant(params, lr, batch_size):
    for param in params:
        param -= lr / 256 * param.grad


def undivided(X, y, device_params, devices, lr, *options):
    shards = one_file.split_batch(X, y, devices)
    one_file.backward(*shards, device_params, *options)
    one_file.allreduce_gradients(device_params)
    for params, shard in zip(device_params, shards[0]):
        one_file.sgd(params, lr, len(shard))


def stale(X_shards, y_shards, device_params, net, loss):
    with autograd.record():
        losses = [
            loss(net(X, params), y).sum()
            for X, y, params in zip(X_shards, y_shards, device_params)
        ]
    autograd.backward(losses)


@pytest.mark.parametrize(
    'name, answer',
    [
        ('split_slices', lambda n, k: [slice(0, n)] * k),
        ('lenet', lambda X, params: X),
        ('loss', lambda y_hat, y: one_file.loss(y_hat, y).mean()),
        ('get_params', originals),
        ('allreduce', rebinding),
        ('allreduce', mean),
        ('allreduce_gradients', lambda device_params: None),
        ('split_and_load', without_remainder),
        ('split_and_load', views),
        ('sgd', constant),
        ('backward', stale),
        ('train_batch', undivided),
    ],
)
def test_what_people_write_wrong_fails(name, answer, tests):
    class Wrong:
        """one_file with another function."""

        def __getattr__(self, asked):
            return answer if asked == name else getattr(one_file, asked)

    tests.mine = Wrong()
    with pytest.raises(AssertionError):
        getattr(tests, f'test_{name}')()


@pytest.mark.slow
def test_pytest_names_the_next_function(tmp_path):
    folder = tmp_path / 'workshop'
    given = NAMES[:2]
    command.main(['empty', str(folder), '--given', *given])
    source = (folder / 'one_file.py').read_text()
    assert source.count('NotImplementedError') == len(NAMES) - len(given)
    shown = subprocess.run(
        [sys.executable, '-m', 'pytest'],
        cwd=folder,
        text=True,
        capture_output=True,
        timeout=200,
    ).stdout
    assert f'::test_{NAMES[2]} - NotImplementedError' in shown
    assert '1 failed, 2 passed' in shown


def test_the_empty_file_has_the_functions_of_ours_and_docstrings():
    def shape(source):
        return [
            (
                node.name,
                ast.dump(node.args),
                bool(ast.get_docstring(node)),
            )
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.FunctionDef) and node.name != 'layer'
        ]

    ours = (empty_file.HERE / 'one_file.py').read_text()
    assert shape(empty_file.emptied(ours, NAMES)) == shape(ours)


def test_nothing_that_is_written_is_overwritten(tmp_path, capsys):
    write_empty_file(str(tmp_path))
    assert command.main(['empty', str(tmp_path)]) == 1
    assert 'exists already' in capsys.readouterr().err


def test_an_unknown_function_is_refused(tmp_path, capsys):
    folder = str(tmp_path / 'new')
    assert command.main(['empty', folder, '--given', 'train']) == 1
    assert 'train is not one of split_slices' in capsys.readouterr().err


def test_arrays_are_on_as_many_devices(tests):
    assert [x.ctx for x in tests.arrays([1], [2])] == [mx.cpu(0), mx.cpu(1)]
