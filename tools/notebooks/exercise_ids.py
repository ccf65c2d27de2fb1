"""Give each exercise its id and points, and fold its check and solution.

    python -m tools.notebooks.exercise_ids notebooks

Exercise 2 of 06_causes.ipynb is causes-exercise-2, and its check has that
name and '-check': the id stays when the chapter gets another number. Points
that a check has already stay; a new exercise is worth one. JupyterLab folds
the check, which is as tall as the screen, and our solution with its output.
`make export` calls this.
"""

import pathlib
import sys

import nbformat

from . import name_of
from .cells import code_cells

COMMON = {'cell_type': 'code', 'schema_version': 3, 'task': False}


def number(notebook, stem):
    """Number the exercises of the chapter `stem`, in place."""
    chapter = name_of(stem)
    stubs = code_cells(notebook, 'exercise')
    checks = code_cells(notebook, 'check')
    for check in checks:
        check.metadata.jupyter = {'source_hidden': True}
    for solution in code_cells(notebook, 'solution'):
        solution.metadata.jupyter = {
            'outputs_hidden': True,
            'source_hidden': True,
        }
    for i, (stub, check) in enumerate(zip(stubs, checks), 1):
        name = f'{chapter}-exercise-{i}'
        points = check.metadata.get('nbgrader', {}).get('points', 1)
        stub.metadata.nbgrader = in_order(
            **COMMON, grade_id=name, grade=False, locked=False, solution=True
        )
        check.metadata.nbgrader = in_order(
            **COMMON,
            grade_id=f'{name}-check',
            grade=True,
            locked=True,
            points=points,
            solution=False,
        )


def in_order(**metadata):
    """Return metadata in the order in which notebooks are written."""
    return nbformat.from_dict(dict(sorted(metadata.items())))


def main(folder):
    """Number the exercises of all notebooks in a folder."""
    for path in sorted(pathlib.Path(folder).glob('*.ipynb')):
        before = path.read_text(encoding='utf-8')
        notebook = nbformat.reads(before, 4)
        number(notebook, path.stem)
        after = nbformat.writes(notebook).rstrip('\n') + '\n'
        if after != before:
            path.write_text(after, encoding='utf-8')


if __name__ == '__main__':
    main(sys.argv[1])
