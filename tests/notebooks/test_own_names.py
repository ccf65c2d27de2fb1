"""Checks of exercises have their names, whatever a scratch cell has done."""

import pathlib

import mxnet as mx
import nbformat
import numpy as onp
import pytest
from nbclient import NotebookClient

import d2lmulti
from d2lmulti.prepare.own_names import put_back

OURS = {'loss': d2lmulti.loss, 'lenet': d2lmulti.lenet}

CHECK = """def check_1():
    assert loss(np.ones((1, 3)), np.zeros(1)).shape == npx.relu(a).shape
"""
NOTEBOOKS = pathlib.Path(__file__).parents[2] / 'notebooks'


@pytest.mark.parametrize(
    'name, other, said',
    [
        ('np', onp, 'np numpy. The check needs mxnet.numpy, so np is that'),
        ('npx', 3, 'npx 3. The check needs mxnet.numpy_extension'),
        ('loss', 0.3, 'loss 0.3. The check needs d2lmulti.loss'),
    ],
)
def test_a_name_that_was_overwritten_is_put_back(name, other, said):
    right = {'np': mx.np, 'npx': mx.npx, 'loss': d2lmulti.loss}
    names = {**right, name: other}
    (line,) = put_back(CHECK, names, OURS)
    assert said in line and names == right
    assert [*put_back(CHECK, names, OURS)] == []


@pytest.mark.parametrize(
    'source, names',
    [
        (CHECK, {'loss': lambda y_hat, y: y_hat}),  # the reader's own
        (CHECK, {}),  # the first cell has not run
        ('loss(np.ones(1))', {'np': onp, 'loss': 0.3}),  # not a check
        (CHECK.replace('loss(', 'sum('), {'loss': 0.3}),
    ],
)
def test_nothing_else_is_put_back(source, names):
    before = dict(names)
    assert [*put_back(source, names, OURS)] == []
    assert names == before


def test_a_check_passes_after_numpy_was_imported_as_np():
    cells = [
        'from mxnet import np, npx\nimport d2lmulti',
        'import numpy as np',
        'def check_1():\n    print(np.ones(2, ctx=mx.cpu(1)).ctx)',
        'import mxnet as mx\ncheck_1()',
    ]
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in cells]
    )
    resources = {'metadata': {'path': str(NOTEBOOKS)}}
    NotebookClient(
        notebook, kernel_name='python3', resources=resources
    ).execute()
    told, passed = (cell.outputs[0].text for cell in notebook.cells[2:])
    assert (
        told.startswith('A cell has made np numpy.') and passed == 'cpu(1)\n'
    )
