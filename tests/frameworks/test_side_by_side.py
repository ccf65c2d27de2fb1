"""Each call in the two tables of chapter 22 exists, JAX's too."""

import json
import pathlib
import re
import subprocess
import sys

import nbformat
import pytest

import d2lmulti  # noqa: F401  before TensorFlow
from tools.speed.peers.environments import JAX

ROOT = pathlib.Path(__file__).parents[2]
NAMES = {'tf': 'tensorflow', 'mx': 'mxnet'}
CONCEPTS = (
    'devices, replica, split, allreduce, overlap, sharded state, '
    'accumulation, batch norm, launcher, checkpoint, profiler'
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


def table():
    """Return {concept: [cell, ...]} of both, and the names of the columns."""
    cells = nbformat.read(ROOT / 'notebooks/22_tensorflow.ipynb', 4).cells
    text = next(c.source for c in cells if c.id == 'guides-text')
    rows = [
        [cell.strip() for cell in line.strip('| ').split(' | ')]
        for line in text.splitlines()
        if line.startswith('|')
    ]
    half = len(rows) // 2
    left, right = rows[:half], rows[half:]
    del left[1], right[1]  # below the heads
    assert [row[0] for row in left] == [row[0] for row in right]
    head, *body = [a + b[1:] for a, b in zip(left, right)]
    return {row[0]: row[1:] for row in body}, head[1:]


def calls(column):
    """Return the names of the calls in a column."""
    return [
        name
        for row in table()[0].values()
        for name in re.findall('`(.+?)`', row[column])
    ]


def test_the_table_has_all_concepts_and_frameworks():
    rows, head = table()
    assert list(rows) == CONCEPTS
    assert [name.split()[0] for name in head] == [
        'from',
        'Gluon',
        'PyTorch',
        'TensorFlow',
        'JAX',
    ]
    empty = [cell for row in rows.values() for cell in row if cell == '–']
    assert len(empty) == 3
    assert all(len(row) == 5 for row in rows.values())


@pytest.mark.parametrize('column', range(4))
def test_each_call_can_be_imported(column):
    for name in calls(column):
        first, _, rest = name.partition('.')
        if column == 0:
            resolve(f'd2lmulti.{name}')  # noqa: F821
        else:
            resolve(f'{NAMES.get(first, first)}.{rest}')  # noqa: F821


def test_a_call_that_does_not_exist_is_found():
    with pytest.raises((ImportError, AttributeError)):
        resolve('torch.nn.model_parallel')  # noqa: F821
    with pytest.raises((ImportError, AttributeError)):
        resolve('torch.distributed.allreduce_everything')  # noqa: F821


@pytest.mark.long
def test_each_call_of_jax_can_be_imported():
    """In the environment of the benchmark, which it sets up."""
    assert JAX.why_missing() is None
    subprocess.run(
        [str(JAX.python), '-c', RESOLVE, json.dumps(calls(4))],
        check=True,
        timeout=120,
    )
    assert sys.executable != str(JAX.python)
