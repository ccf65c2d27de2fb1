"""Cells that have lost nbgrader's metadata, or are gone."""

import pytest

pytest.importorskip('nbgrader', reason='make grading')
import course  # noqa: E402
from nbformat.v4 import new_code_cell  # noqa: E402
from nbgrader import utils  # noqa: E402

from tools.grading.restore import Restore  # noqa: E402
from tools.notebooks.cells import code_cells  # noqa: E402


@pytest.fixture(scope='module')
def folder(released):
    return released


def metadata(cell):
    """Return what nbgrader knows of a cell, without the checksum."""
    found = dict(cell.metadata.get('nbgrader', {}))
    found.pop('checksum', None)
    return found


def restored(folder, notebook):
    """Return a notebook as it is graded."""
    about = {
        'db_url': f'sqlite:///{folder}/gradebook.db',
        'notebook': course.CHAPTER,
        'assignment': course.CHAPTER,
    }
    return Restore().preprocess(notebook, {'nbgrader': about})[0]


def forget(*cells):
    for cell in cells:
        del cell.metadata['nbgrader']


def test_only_the_cells_that_were_released_have_metadata(folder):
    """Copies have what nbgrader leaves of it, and a class would stop there."""
    wanted = course.answered(folder, course.solutions())
    notebook = course.answered(folder, course.solutions())
    check, *_ = code_cells(notebook, 'check')
    check.metadata.nbgrader.update(schema_version=99, points=100, locked=False)
    for number, left in enumerate(({}, {'grade_id': 'mine', 'grade': True})):
        copy = new_code_cell('1', id=f'copy{number}')
        copy.metadata['nbgrader'] = left
        notebook.cells.insert(number, copy)
    restored(folder, notebook)
    first, second, *rest = notebook.cells
    assert 'nbgrader' not in {**first.metadata, **second.metadata}
    assert [*map(metadata, rest)] == [*map(metadata, wanted.cells)]


def test_every_cell_has_again_what_it_had(folder):
    wanted = course.answered(folder, course.solutions())
    notebook = course.answered(folder, course.solutions())
    forget(*(c for c in notebook.cells if 'nbgrader' in c.metadata))
    restored(folder, notebook)
    assert len(notebook.cells) == len(wanted.cells)
    for found, right in zip(notebook.cells, wanted.cells):
        assert metadata(found) == metadata(right), right.source


def test_the_last_of_several_answers_is_the_answer(folder):
    notebook = course.answered(folder, course.solutions())
    answer, *_ = code_cells(notebook, 'exercise')
    wanted = metadata(answer)
    forget(answer)
    at = notebook.cells.index(answer) + 1
    last = answer.copy()
    last.metadata = type(answer.metadata)()
    notebook.cells.insert(at, last)
    restored(folder, notebook)
    assert 'nbgrader' not in answer.metadata and metadata(last) == wanted


def test_of_what_is_commented_out_or_nested_nothing_is_an_answer(folder):
    notebook = course.answered(folder, course.solutions())
    answer, *_ = code_cells(notebook, 'exercise')
    right = answer.source
    forget(answer)
    last = answer.copy()
    last.metadata = type(answer.metadata)()
    last.source = (
        '# def implied_price(dollars, flop, flops):\n'
        'if True:\n    def implied_price(x):\n        return 0'
    )
    notebook.cells.append(last)
    restored(folder, notebook)
    (found,) = (c for c in notebook.cells if c.source == right)
    assert utils.is_solution(found) and 'nbgrader' not in last.metadata


@pytest.mark.parametrize('minor', [4, 5])
def test_what_was_deleted_is_added_at_the_end(minor, folder):
    notebook = course.answered(folder, course.solutions())
    notebook.nbformat_minor = minor
    check = [*code_cells(notebook, 'check')][0]
    wanted = metadata(check)
    notebook.cells.remove(check)
    restored(folder, notebook)
    assert metadata(notebook.cells[-1]) == wanted
    assert 'def check_1' in notebook.cells[-1].source
    assert ('id' in notebook.cells[-1]) == (minor == 5)


def test_an_answer_as_text_is_found_where_it_was_not_changed(folder):
    notebook = course.answered(folder, course.solutions())
    (text,) = (
        cell
        for cell in notebook.cells
        if cell.cell_type == 'markdown' and utils.is_solution(cell)
    )
    wanted = metadata(text)
    forget(text)
    restored(folder, notebook)
    assert metadata(text) == wanted
