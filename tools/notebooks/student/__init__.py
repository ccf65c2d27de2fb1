"""The student edition: chapters without solutions, and what tells of them.

As a command, it makes the whole edition (`make student`): see __main__.py.
"""

import re

import nbformat

from tools.notebooks import name_of
from tools.notebooks.cells import in_place, is_machinery, tags, without_marks
from tools.notebooks.exercises import import_of

OF_SOLUTIONS = ' Our solution is in the folded cell after the check.'
# Nothing is exported in a class, and the cells have no marks.
OF_EXPORTS = re.compile(
    r'A cell that begins with `#\| export`.* chapters import\.'
)
FOR_STUDENTS = (
    'Later chapters import what this one builds from the package `d2lmulti`; '
    'if you change a function, the change holds in this notebook only.'
)

# With it, Jupyter starts the kernel without asking which one.
KERNEL = {
    'kernelspec': {
        'display_name': 'Python 3 (ipykernel)',
        'language': 'python',
        'name': 'python3',
    },
    'language_info': {'name': 'python', 'pygments_lexer': 'ipython3'},
}


def for_students(notebook, stem):
    """Return a chapter without solutions, and what tells of them.

    A question to think about has a cell for the answer instead; a function
    that is written in its place is imported. What need not be read is folded
    in JupyterLab.
    """
    cells, question = [], ''
    for cell in notebook.cells:
        solution = 'solution' in tags(cell)
        if cell.cell_type == 'markdown' and solution:
            cells.append(answer_cell(stem, question))
        elif in_place(cell):
            cells.append(
                nbformat.v4.new_code_cell(
                    import_of(notebook, cell), id=cell.id, metadata={}
                )
            )
        elif not solution:
            cells.append(cell)
        if cell.cell_type == 'markdown':
            question = cell.source
            cell.source = OF_EXPORTS.sub(
                FOR_STUDENTS, cell.source.replace(OF_SOLUTIONS, '')
            )
        elif 'check' in tags(cell):
            cell.outputs, cell.execution_count = [], None
    notebook.cells = cells
    fold_machinery(notebook)
    notebook.metadata.update(KERNEL)
    return notebook


def fold_machinery(notebook):
    """Fold what need not be read in JupyterLab, and remove nbdev's marks."""
    for cell in notebook.cells:
        if cell.cell_type == 'code':
            if is_machinery(cell):
                cell.metadata.setdefault('jupyter', {})['source_hidden'] = True
            cell.source = without_marks(cell.source)


def answer_cell(stem, question):
    """Return the cell for the answer to a question, which a person grades."""
    number = re.findall(r'^\*\*(\d+)\. ', question, flags=re.MULTILINE)[-1]
    return nbformat.v4.new_markdown_cell(
        '*Write your answer here.*',
        id=f'answer-{number}',
        metadata={
            'nbgrader': {
                'cell_type': 'markdown',
                'grade': True,
                'grade_id': f'{name_of(stem)}-exercise-{number}',
                'locked': False,
                'points': 1,
                'schema_version': 3,
                'solution': True,
                'task': False,
            },
            'tags': ['answer'],
        },
    )
