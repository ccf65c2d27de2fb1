"""Make the edition for a class: everything but our solutions.

    python book/make_student.py build/student

writes the folder, and build/student.zip beside it.
"""

import pathlib
import shutil
import sys

import nbformat
from grading.exercises import read_chapters, write_chapters
from nbconvert.preprocessors import TagRemovePreprocessor

ROOT = pathlib.Path(__file__).parent.parent
PARTS = (
    'd2lmulti',
    'deploy',
    'img',
    'requirements',
    'LICENSE',
    'environment-cpu.yml',
    'environment.yml',
    'pyproject.toml',
)
OF_SOLUTIONS = ' Our solution is in the folded cell after the check.'


def make_student(folder):
    """Write the edition to `folder`, anew, and zip it."""
    shutil.rmtree(folder, ignore_errors=True)
    ignore = shutil.ignore_patterns('__pycache__')
    shutil.copytree(ROOT / 'book' / 'student', folder)
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=ignore)
        else:
            shutil.copy(ROOT / part, folder)
    (folder / 'notebooks').mkdir()
    for path in sorted((ROOT / 'notebooks').glob('*.ipynb')):
        nbformat.write(
            without_solutions(nbformat.read(path, 4)),
            folder / 'notebooks' / path.name,
        )
    shutil.copytree(
        ROOT / 'book' / 'grading',
        folder / 'grading',
        ignore=shutil.ignore_patterns('__pycache__', 'hidden'),
    )
    write_chapters(
        read_chapters(ROOT / 'notebooks'),
        folder / 'grading' / 'chapters.json',
    )
    return shutil.make_archive(folder, 'zip', folder.parent, folder.name)


def without_solutions(notebook):
    """Return the notebook without solutions, and what tells of them."""
    remove = TagRemovePreprocessor(remove_cell_tags=['solution'], enabled=True)
    notebook, _ = remove.preprocess(notebook, {})
    for cell in notebook.cells:
        if cell.cell_type == 'markdown':
            cell.source = cell.source.replace(OF_SOLUTIONS, '')
        elif 'check' in cell.metadata.get('tags', []):
            cell.outputs, cell.execution_count = [], None
    return notebook


if __name__ == '__main__':
    make_student(pathlib.Path(sys.argv[1]).resolve())
