"""What a chapter defines, as its cells define it."""

import pathlib
import re
import sys
import types

import nbformat
import pytest

NOTEBOOKS = pathlib.Path(__file__).parents[2] / 'notebooks'


def run_cells(stem, *ids):
    """Run cells of a chapter one after the other; return their module."""
    module = types.ModuleType(f'cells_{stem}')
    sys.modules[module.__name__] = module
    cells = {
        cell.id: cell.source
        for cell in nbformat.read(NOTEBOOKS / f'{stem}.ipynb', 4).cells
    }
    for name in ids:
        source = re.sub('^%.*', '', cells[name], flags=re.MULTILINE)
        exec(compile(source, f'{stem} {name}', 'exec'), vars(module))
    return module


@pytest.fixture(scope='session')
def in_torch():
    """Return chapter 21's functions."""
    return run_cells(
        '21_pytorch',
        'imports',
        'lenet',
        'scores',
        'shared',
        'get-params',
        'parts',
        'step',
        'book-steps',
        'five',
    )
