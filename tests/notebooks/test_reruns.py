"""A reader runs a cell again, and some below it: they say the same."""

import random

import nbformat
import pytest
from nbclient import NotebookClient

from d2lmulti.prepare import jupyter
from tools.notebooks import NOTEBOOKS
from tools.notebooks.cells import small_source, tags

FOLLOWERS = 4
NOT_AGAIN = {'exercise', 'check', 'solution'}  # a stub takes a name back


def said_by(cell):
    """Return what the cell printed, and whether it raised."""
    texts = [
        output.get('text') or output.get('data', {}).get('text/plain', '')
        for output in cell.outputs
        if output.get('name') != 'stderr'
    ]
    raised = [o.ename for o in cell.outputs if o.output_type == 'error']
    return ''.join(texts), raised


def differences(path, orders=10):
    """Yield (the cell run again first, a cell, before, after) of each that
    says something else than in the run from top to bottom."""
    notebook = nbformat.read(path, 4)
    for cell in notebook.cells:
        cell.source = small_source(cell)
    codes = [
        (index, cell)
        for index, cell in enumerate(notebook.cells)
        if cell.cell_type == 'code' and not NOT_AGAIN & set(tags(cell))
    ]
    client = NotebookClient(
        notebook,
        timeout=200,
        allow_errors=True,
        resources={'metadata': {'path': str(path.parent)}},
    )
    with client.setup_kernel():
        for index, cell in enumerate(notebook.cells):
            client.execute_cell(cell, index)
        before = {index: said_by(cell) for index, cell in codes}
        for seed in range(orders):
            start = random.Random(f'{path.stem} {seed}').randrange(len(codes))
            for index, cell in codes[start : start + 1 + FOLLOWERS]:
                client.execute_cell(cell, index)
                after = said_by(cell)
                compared = 'nbval-ignore-output' not in tags(cell)
                if after[1] or (compared and after != before[index]):
                    yield codes[start][0], index, before[index], after


@pytest.mark.ci
@pytest.mark.parametrize('path', NOTEBOOKS[:5], ids=lambda path: path.stem)
def test_a_cell_that_is_run_again_says_the_same(path):
    assert not [*differences(path, orders=1)]


@pytest.mark.long
@pytest.mark.parametrize('path', NOTEBOOKS[:8], ids=lambda path: path.stem)
def test_it_says_the_same_in_ten_orders(path):
    assert not [*differences(path)]


def test_a_name_that_a_later_cell_takes_is_found(tmp_path):
    path = tmp_path / '01_a.ipynb'
    new = nbformat.v4.new_code_cell
    cells = [new('a = 1'), new('print(a)'), new('a = 2')]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    assert [*differences(path)]


def test_a_missing_name_is_explained():
    new = nbformat.v4.new_code_cell
    cells = [new('import d2lmulti'), new('lenet'), new('1 / 0')]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=100, allow_errors=True).execute()
    said = [
        (said_by(cell)[1], [o.text for o in cell.outputs if 'text' in o])
        for cell in cells
    ]
    assert said[0] == ([], [])
    assert said[1] == (['NameError'], [f'{jupyter.ADVICE}\n'])
    assert said[2] == (['ZeroDivisionError'], [])
