"""Checks accept our solutions, and say what is wrong with others."""

import re
import symtable
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from wrong_answers import WRONG

NOTEBOOKS = Path(__file__).parents[2] / 'notebooks'
NAMES = [path.stem for path in sorted(NOTEBOOKS.glob('*.ipynb'))]


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


def attempts(name, number, solution):
    """Return [(answer, what the check is to say), ...]; None: nothing."""
    found = [(solution, None)]
    for old, new, message in WRONG[name][number]:
        assert solution.count(old) == 1, f'{old!r} is not in the solution'
        found.append((solution.replace(old, new), message))
    return found


def forgotten(stub):
    """Return an answer that does and returns nothing, as after a slip."""
    return re.sub(
        r'raise NotImplementedError\(.*', 'pass', stub, flags=re.DOTALL
    )


def error_of(cell):
    """Return the name and the text of the cell's error, or None."""
    return next(
        (
            (output.ename, output.evalue)
            for output in cell.outputs
            if output.output_type == 'error'
        ),
        None,
    )


@pytest.mark.timeout(600)
@pytest.mark.parametrize('name', NAMES)
def test_checks_tell_right_from_wrong(name):
    notebook = nbformat.read(NOTEBOOKS / f'{name}.ipynb', 4)
    cells, wanted = code_before(notebook), []
    triples = zip(
        *(tagged(notebook, tag) for tag in ('exercise', 'solution', 'check'))
    )
    for number, (stub, solution, check) in enumerate(triples):
        reason = re.search(r"NotImplementedError\(\s*'(.{12})", stub.source)
        answers = [
            (stub.source, re.escape(reason[1])),
            (forgotten(stub.source), ''),
        ]
        for answer, message in answers + attempts(
            name, number, solution.source
        ):
            cells.append(nbformat.v4.new_code_cell(answer))
            cells.append(nbformat.v4.new_code_cell(check.source))
            wanted.append((cells[-1], number, answer, message))
    notebook.cells = cells
    NotebookClient(
        notebook,
        timeout=120,
        allow_errors=True,
        kernel_name='python3',
        resources={'metadata': {'path': str(NOTEBOOKS)}},
    ).execute()
    wrong = []
    for cell, number, answer, message in wanted:
        error = error_of(cell)
        if message is None:
            fits = error is None
        else:
            fits = (
                error
                and error[0] in ('AssertionError', 'NotImplementedError')
                and re.search(message, error[1])
            )
        if not fits:
            wrong.append((number + 1, answer[-300:], message, error))
    assert not wrong, '\n\n'.join(map(str, wrong))


@pytest.mark.parametrize('name', NAMES)
def test_there_are_three_to_five_exercises_with_two_mistakes_each(name):
    notebook = nbformat.read(NOTEBOOKS / f'{name}.ipynb', 4)
    assert 3 <= len(tagged(notebook, 'exercise')) <= 5
    assert len(WRONG[name]) == len(tagged(notebook, 'exercise'))
    assert all(len(mistakes) >= 2 for mistakes in WRONG[name])
