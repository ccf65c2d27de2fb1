"""Checks accept our solutions, and say what is wrong with others."""

import re
import runpy
import symtable
import sys
import types
from pathlib import Path

import nbformat
import pytest
from helpers import HAS_FRAMEWORKS, needs_frameworks

from d2lmulti import median_seconds

NOTEBOOKS = Path(__file__).parents[2] / 'notebooks'
ANSWERS = Path(__file__).parent / 'answers'
NAMES = [
    path.stem
    for path in sorted(NOTEBOOKS.glob('*.ipynb'))
    if needs_frameworks(path) == HAS_FRAMEWORKS
]


def tagged(notebook, tag):
    return [
        cell
        for cell in notebook.cells
        if cell.cell_type == 'code' and tag in cell.metadata.get('tags', [])
    ]


def code_before(notebook):
    """Return the cells whose names the exercises use, directly or not."""
    exercises = [
        cell
        for tag in ('exercise', 'solution', 'check')
        for cell in tagged(notebook, tag)
    ]
    slow = tagged(notebook, 'nbval-ignore-output')  # timings, figures
    others = [
        cell
        for cell in notebook.cells
        if cell.cell_type == 'code'
        and cell not in exercises + slow
        and not cell.source.startswith('%%')
    ]  # writes a file
    kept, before = [], None
    while len(kept) != before:
        before = len(kept)
        used = set().union(*(names_in(cell)[1] for cell in exercises + kept))
        kept = [cell for cell in others if names_in(cell)[0] & used]
    return kept


def names_in(cell):
    """Return the names that a cell leaves behind, and others that it uses."""
    source = re.sub('^%.*', '', cell.source, flags=re.MULTILINE)
    tables = [symtable.symtable(source, 'cell', 'exec')]
    left = {
        symbol.get_name()
        for symbol in tables[0].get_symbols()
        if symbol.is_assigned() or symbol.is_imported()
    }
    used = set()
    for table in tables:  # of functions in it, too
        tables += table.get_children()
        used |= {
            symbol.get_name()
            for symbol in table.get_symbols()
            if symbol.is_global() and symbol.is_referenced()
        }
    return left, used - left


def answers(name, number, solution):
    """Yield (answer, what the check says) of each one in answers/; what it
    says is None where it accepts the answer.

    An answer is a whole function, or what to replace in our solution.
    """
    table = runpy.run_path(str(ANSWERS / f'{name}.py'))
    wrong = [(entry[:-1], entry[-1]) for entry in table['WRONG'][number]]
    right = [
        ((entry,) if isinstance(entry, str) else entry, None)
        for entry in table['RIGHT'][number]
    ]
    yield solution, None
    for change, message in wrong + right:
        if len(change) == 2:
            assert solution.count(change[0]) == 1, f'{change[0]!r}, once'
            yield solution.replace(*change), message
        else:
            yield change[0], message


def returning(value, stub):
    """Return an answer that does nothing but return a value."""
    return re.sub(
        r'raise NotImplementedError\(.*',
        f'return {value}',
        stub,
        flags=re.DOTALL,
    )


@pytest.fixture
def run_cell(monkeypatch):
    """Return a function that runs cells one after the other, as a kernel
    does, and gives the error of each, or None."""
    # Whatever an answer measures, once is enough to see what it does.
    monkeypatch.setattr(median_seconds, '__defaults__', (1,))
    module = types.ModuleType('__main__')
    monkeypatch.setitem(sys.modules, '__main__', module)
    monkeypatch.chdir(NOTEBOOKS)

    def run(source):
        plain = re.sub('^%.*', '', source, flags=re.MULTILINE)
        try:
            exec(compile(plain, 'cell', 'exec'), vars(module))
        except Exception as error:
            return error

    return run


def told(error, message):
    """Return whether the error is the one that a check is to raise."""
    if message is None:
        return error is None
    return isinstance(
        error, (AssertionError, NotImplementedError)
    ) and re.search(message, str(error))


def all_attempts(name, notebook):
    """Yield (number, answer, check, what it is to say) of each attempt."""
    triples = zip(
        *(tagged(notebook, tag) for tag in ('exercise', 'check', 'solution'))
    )
    for number, (stub, check, solution) in enumerate(triples):
        reason = re.search(r"NotImplementedError\(\s*'(.{12})", stub.source)
        for answer, message in [
            (stub.source, re.escape(reason[1])),
            (returning(None, stub.source), ''),
            (returning(-1, stub.source), ''),
            *answers(name, number, solution.source),
        ]:
            yield number, answer, check.source, message


@pytest.mark.parametrize('name', NAMES)
def test_checks_tell_right_from_wrong(name, run_cell):
    notebook = nbformat.read(NOTEBOOKS / f'{name}.ipynb', 4)
    for cell in code_before(notebook):
        assert run_cell(cell.source) is None, cell.source
    for check in tagged(notebook, 'check'):
        run_cell(check.source)  # solutions call it
    wrong = []
    for number, answer, check, message in all_attempts(name, notebook):
        error = run_cell(answer) or run_cell(check)
        if not told(error, message):
            wrong.append((number + 1, answer[-300:], message, repr(error)))
    assert not wrong, '\n\n'.join(map(str, wrong))


@pytest.mark.parametrize('name', NAMES)
def test_a_wrong_answer_stays_wrong_when_all_cells_run(name, run_cell):
    notebook = nbformat.read(NOTEBOOKS / f'{name}.ipynb', 4)
    for cell in code_before(notebook):
        run_cell(cell.source)
    for cell in notebook.cells:
        tags = set(cell.metadata.get('tags', []))
        if 'exercise' in tags:
            assert run_cell(returning(-1, cell.source)) is None
        elif cell.cell_type == 'code' and 'check' in tags:
            assert isinstance(run_cell(cell.source), AssertionError)
        elif cell.cell_type == 'code' and 'solution' in tags:
            assert run_cell(cell.source) is None


@pytest.mark.parametrize('name', NAMES)
def test_there_are_three_to_five_exercises_with_enough_answers(name):
    notebook = nbformat.read(NOTEBOOKS / f'{name}.ipynb', 4)
    table = runpy.run_path(str(ANSWERS / f'{name}.py'))
    count = len(tagged(notebook, 'exercise'))
    assert 3 <= count <= 5
    assert len(table['WRONG']) == len(table['RIGHT']) == count
    assert all(len(wrong) >= 6 for wrong in table['WRONG'])
    assert all(len(right) >= 3 for right in table['RIGHT'])
