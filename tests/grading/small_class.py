"""A chapter of one exercise, and what three students hand in."""

import nbformat
from nbformat.v4 import new_code_cell, new_notebook

STUB = "def double(n):\n    raise NotImplementedError('add it to itself')"
CHECK = """def check_1():
    assert double(3) == 6, '3 twice is 6'

check_1()"""
SOLUTION = 'def double(n):\n    return 2 * n'
ANSWERS = {
    'ann': (SOLUTION, 'passed'),
    'bob': ('def double(n):\n    return 3 * n', 'wrong'),
    'eve': (STUB, 'not answered'),
}


def notebook(answer=STUB, solution=False):
    """Return a chapter of one exercise, with our solution or without."""
    stub = new_code_cell(answer)
    stub.metadata.update(
        tags=['exercise'],
        nbgrader={'grade_id': 'small-exercise-1', 'solution': True},
    )
    check = new_code_cell(CHECK)
    check.metadata.update(
        tags=['check', 'raises-exception'],
        nbgrader={
            'grade_id': 'small-exercise-1-check',
            'grade': True,
            'points': 1,
        },
    )
    ours = new_code_cell(f'{SOLUTION}\n\ncheck_1()')
    ours.metadata.tags = ['solution']
    return new_notebook(cells=[stub, check] + [ours] * solution)


def hand_in(folder):
    """Write what the class hands in."""
    for student, (answer, _) in ANSWERS.items():
        (folder / student).mkdir(parents=True)
        nbformat.write(notebook(answer), folder / student / '99_small.ipynb')
