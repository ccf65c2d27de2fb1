"""Make the edition for a class: everything but our solutions.

    python book/make_student.py build/student

writes the folder, and build/student.zip beside it.
"""

import ast
import os
import pathlib
import re
import shutil
import sys

import nbformat
from chapters import NOTEBOOKS
from whole import whole

from grading.cells import name_of, plain, without_marks
from grading.exercises import read_chapters, write_chapters

ROOT = pathlib.Path(__file__).parent.parent
PARTS = (
    'CITATION.cff',
    'd2lbase',
    'd2lmulti',
    'd2lrun',
    'deploy',
    'img',
    'requirements',
    'LICENSE',
    'environment-cpu.yml',
    'environment.yml',
    'pyproject.toml',
    'samestep',
)
OF_SOLUTIONS = ' Our solution is in the folded cell after the check.'
# With it, Jupyter starts the kernel without asking which one.
KERNEL = {
    'kernelspec': {
        'display_name': 'Python 3 (ipykernel)',
        'language': 'python',
        'name': 'python3',
    },
    'language_info': {'name': 'python', 'pygments_lexer': 'ipython3'},
}


def make_student(folder):
    """Write the edition to a new `folder`, and return its zip beside it."""
    ignore = shutil.ignore_patterns('__pycache__', '*.egg-info', 'tests')
    shutil.copytree(ROOT / 'book' / 'student', folder)
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=ignore)
        else:
            shutil.copy(ROOT / part, folder)
    (folder / 'notebooks').mkdir()
    shutil.copy(ROOT / 'notebooks' / 'README.md', folder / 'notebooks')
    for path in NOTEBOOKS:
        notebook = for_students(nbformat.read(path, 4), path.stem)
        fold_machinery(notebook)
        notebook.metadata.update(KERNEL)
        nbformat.write(notebook, folder / 'notebooks' / path.name)
        for page in re.findall(r'\]\(\.\./(book/\w+\.md)', path.read_text()):
            (folder / 'book').mkdir(exist_ok=True)
            shutil.copy(ROOT / page, folder / page)
    shutil.copytree(
        ROOT / 'grading',
        folder / 'grading',
        ignore=shutil.ignore_patterns('__pycache__', 'hidden'),
    )
    write_chapters(
        read_chapters(ROOT / 'notebooks'),
        folder / 'grading' / 'chapters.json',
    )
    return shutil.make_archive(folder, 'zip', folder.parent, folder.name)


def for_students(notebook, stem):
    """Return a chapter without solutions, and what tells of them.

    A question to think about has a cell for the answer instead.
    """
    cells, question = [], ''
    for cell in notebook.cells:
        solution = 'solution' in cell.metadata.get('tags', [])
        if cell.cell_type == 'markdown' and solution:
            cells.append(answer_cell(stem, question))
        elif not solution:
            cells.append(cell)
        if cell.cell_type == 'markdown':
            question = cell.source
            cell.source = cell.source.replace(OF_SOLUTIONS, '')
        elif 'check' in cell.metadata.get('tags', []):
            cell.outputs, cell.execution_count = [], None
    notebook.cells = cells
    return notebook


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


def fold_machinery(notebook):
    """Fold what need not be read in JupyterLab, and remove nbdev's marks."""
    for cell in notebook.cells:
        if cell.cell_type == 'code':
            if is_machinery(cell):
                cell.metadata.setdefault('jupyter', {})['source_hidden'] = True
            cell.source = without_marks(cell.source)


def is_machinery(cell):
    """Return whether a cell is tagged as supporting code, or only imports."""
    if cell['metadata'].get('tags'):
        return 'hide-input' in cell['metadata']['tags']
    try:
        body = ast.parse(plain(''.join(cell['source']))).body
    except SyntaxError:
        return False
    return bool(body) and all(
        isinstance(node, (ast.Import, ast.ImportFrom)) for node in body
    )


if __name__ == '__main__':
    with whole(sys.argv[1]) as student:
        os.replace(make_student(student), f'{sys.argv[1]}.zip')
