"""Make the edition for a class: everything but our solutions.

    python -m tools.notebooks.student build/student

writes the folder, and build/student.zip beside it.
"""

import os
import pathlib
import re
import shutil
import sys

import nbformat

from tools.notebooks import NOTEBOOKS, ROOT
from tools.notebooks.atomic import atomically
from tools.notebooks.check import EXERCISES
from tools.notebooks.exercises import read_chapters, write_chapters
from tools.notebooks.student import for_students

PARTS = (
    'CITATION.cff',
    'd2lmulti',
    'LICENSE',
    'LICENSE-TEXT',
    'environment.yml',
    'pyproject.toml',
    'numpy_mxnet',
    'samestep',
    'tools/__init__.py',
    'tools/containers',
    'tools/setup',
)
# What a chapter reads of our measurements or names, and the pages about it.
MEASURED = [
    f'tools/speed/results/{name}'
    for name in (
        'h100.json',
        'h200.json',
        'network_work.json',
        'GPU_OR_CPU.md',
        'FALSE_ALARMS.md',
    )
]
# Of what reads notebooks: what a student runs, and what that needs.
CHECKS = (
    '__init__',
    'cells',
    'check',
    'exercises',
    'names',
)


def make_student(folder):
    """Write the edition to a new `folder`, and return its zip beside it."""
    ignore = shutil.ignore_patterns('__pycache__', '*.egg-info', 'tests')
    shutil.copytree(pathlib.Path(__file__).with_name('files'), folder)
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=ignore)
        else:
            (folder / part).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / part, folder / part)
    shutil.copytree(
        ROOT / 'img',
        folder / 'img',
        ignore=shutil.ignore_patterns('__pycache__', '*.py'),
    )
    (folder / 'notebooks').mkdir()
    shutil.copy(ROOT / 'notebooks' / 'README.md', folder / 'notebooks')
    for path in NOTEBOOKS:
        notebook = for_students(nbformat.read(path, 4), path.stem)
        nbformat.write(notebook, folder / 'notebooks' / path.name)
        for page in re.findall(
            r'\]\(\.\./(tools/site/\w+\.md)', path.read_text()
        ):
            (folder / 'tools/site').mkdir(exist_ok=True)
            shutil.copy(ROOT / page, folder / page)
    for file in MEASURED:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, folder / file)
    checks = folder / 'tools/notebooks'
    checks.mkdir()
    for name in CHECKS:
        shutil.copy(ROOT / 'tools/notebooks' / f'{name}.py', checks)
    write_chapters(read_chapters(ROOT / 'notebooks'), checks / EXERCISES.name)
    return shutil.make_archive(folder, 'zip', folder.parent, folder.name)


if __name__ == '__main__':
    with atomically(sys.argv[1]) as student:
        os.replace(make_student(student), f'{sys.argv[1]}.zip')
