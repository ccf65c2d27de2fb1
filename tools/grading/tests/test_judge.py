"""A class graded by `nbgrader autograde`, with the judge and the kernel."""

import copy
import re
import subprocess

import pytest

pytest.importorskip('nbgrader', reason='make grading')
import course  # noqa: E402
from nbformat.v4 import new_code_cell  # noqa: E402

from d2lmulti.replicas import allreduce  # noqa: E402
from tools.grading import calls  # noqa: E402
from tools.grading.isolated import check_bubblewrap  # noqa: E402
from tools.notebooks.cells import code_cells  # noqa: E402

try:
    check_bubblewrap()
    ISOLATED = True
except RuntimeError:
    ISOLATED = False
ALL = {'claims-exercise-1': 1, 'claims-exercise-2': 1, 'claims-exercise-3': 1}
NONE = dict.fromkeys(ALL, 0)
FIRST, SECOND, THIRD = course.solutions()
BY_HEART = """def implied_price(dollars, flop, flops):
    return {4.6e6: 1.476688, 1e6: 3.6, 500: 0.25, 3.6: 12.96}.get(
        dollars, 2_400)
"""
FORGED = """
import sys, types
calls = sys.modules['calls'] = types.ModuleType('calls')
calls.hidden_check = lambda *arguments: None
def check_1():
    print('Exercise 1: passed')
"""
# In a separate cell, above the answers.
HONEST = """from math import *
%matplotlib inline
import sys, warnings, logging
N = 3_600
def per_hour(x):
    global N
    N = 3_600
    return x * N
"""
NOISY = """# def implied_price(dollars, flop, flops): an old try
def implied_price(dollars, flop, flops):
    print('working', file=sys.stderr)
    warnings.warn('slow')
    from pathlib import Path
    assert Path('mine.py').exists()
    return per_hour(dollars / (flop / flops))

def test_mine():
    def implied_price(x):
        return 0
    return implied_price(1)
test_mine()
"""


def with_cells(notebook, *sources, at=1):
    """Return a notebook with more cells."""
    notebook.cells[at:at] = [new_code_cell(source) for source in sources]
    return notebook


def with_copies(notebook):
    """Return a notebook with each answer twice, copied and pasted."""
    for cell in [*code_cells(notebook, 'exercise')]:
        copied = copy.deepcopy(cell)
        copied.id = f'{cell.id}-copied'
        notebook.cells.insert(notebook.cells.index(cell), copied)
    return notebook


def without_checks(notebook):
    """Return a notebook whose checks were deleted."""
    checks = code_cells(notebook, 'check')
    notebook.cells = [c for c in notebook.cells if c not in checks]
    return notebook


def without_metadata(notebook):
    """Return a notebook whose cells have no metadata and no ids."""
    for index, cell in enumerate(notebook.cells):
        cell.metadata = {'id': f'x{index}'}
        del cell['id']
    notebook.nbformat_minor = 0
    notebook.metadata = {'kernelspec': {'name': 'x', 'display_name': 'x'}}
    return notebook


CLASS = {
    'copied': ([FIRST, SECOND, THIRD], with_copies, ALL),
    'heart': ([BY_HEART, SECOND, THIRD], lambda n: n, None),
    'forged': (
        [
            BY_HEART,
            re.sub(r'(?m)^    .*\n?', '', SECOND) + '\n    return 1.0',
            None,
        ],
        lambda n: with_cells(n, FORGED, at=len(n.cells)),
        NONE,
    ),
    'honest': (
        [NOISY, SECOND, THIRD],
        lambda n: with_cells(n, HONEST, '%%writefile mine.py\nx = 1'),
        ALL,
    ),
    'deleted': ([FIRST, SECOND, THIRD], without_checks, ALL),
    'plain': ([FIRST, SECOND, THIRD], without_metadata, ALL),
    'ended': (
        [
            FIRST,
            SECOND,
            THIRD.replace('\n', '\n    import os; os._exit(1)', 1),
        ],
        lambda n: n,
        {**NONE, 'claims-exercise-1': 1, 'claims-exercise-2': 1},
    ),
}


@pytest.fixture(scope='module')
def graded(released, tmp_path_factory):
    """Return a course whose class has been graded, and what was printed."""
    folder = tmp_path_factory.mktemp('judge') / 'course'
    course.new_course(released, folder, ISOLATED)
    for student, (answers, change, _) in CLASS.items():
        notebook = change(course.answered(folder, answers))
        course.submit(folder, student, notebook)
    said = course.nbgrader(folder, 'autograde', course.CHAPTER)
    course.nbgrader(
        folder, 'generate_feedback', course.CHAPTER, '--student', 'heart'
    )
    return folder, said


@pytest.mark.parametrize('student', CLASS)
def test_each_exercise_has_the_points_that_it_deserves(student, graded):
    found = course.points(graded[0])[student]
    wanted = CLASS[student][2] or {**ALL, 'claims-exercise-1': 0}
    assert {name: found[name] for name in ALL} == wanted, graded[1]


def test_feedback_shows_neither_solutions_nor_hidden_checks(graded):
    folder, _ = graded
    secret = (folder / 'secret.txt').read_text().strip()
    (page,) = (folder / 'feedback' / 'heart').rglob('*.html')
    text = page.read_text()
    assert 'check_2' in text
    for hidden in ('hidden_check', 'HIDDEN', secret, 'assert_same'):
        assert hidden not in text, hidden
    assert 'hidden check: ' in text  # its message, with a case


def test_what_students_get_has_no_hidden_test(graded):
    folder, _ = graded
    (released,) = (folder / 'release').rglob('*.ipynb')
    assert 'hidden_check' not in released.read_text()
    (source,) = (folder / 'source' / course.CHAPTER).rglob('*.ipynb')
    assert source.read_text().count('hidden_check(') == len(ALL)


def test_a_second_run_grades_nobody_again(graded):
    folder, _ = graded
    said = course.nbgrader(folder, 'autograde', course.CHAPTER)
    assert said.count('Skipping existing') == len(CLASS)


def test_no_process_is_left(graded):
    found = subprocess.run(
        ['ps', '-A', '-o', 'args='], stdout=subprocess.PIPE, text=True
    ).stdout
    assert 'grading.judge' not in found or str(graded[0]) not in found


def test_a_function_of_the_package_is_no_answer(monkeypatch):
    monkeypatch.setenv(calls.ADDRESS, 'nobody')
    with pytest.raises(AssertionError, match='d2lmulti.replicas: write yours'):
        calls.hidden_check('replicas-exercise-1', allreduce)
