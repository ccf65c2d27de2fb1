"""Write a course for nbgrader, an assignment for each chapter.

    make release COURSE=../course

The sources are the student edition's notebooks, with a hidden test in each
check that asks the judge; nbgrader takes it out of what it releases. The
course has a secret, which draws the hidden cases and the exam's numbers.
"""

import argparse
import pathlib
import secrets

import nbformat

from tools.notebooks import NOTEBOOKS, ROOT
from tools.notebooks.cells import code_cells
from tools.notebooks.names import names_in
from tools.notebooks.student import for_students

MARKS = """
### BEGIN HIDDEN TESTS
from calls import hidden_check
hidden_check({id!r}, {function})
### END HIDDEN TESTS"""
SETTINGS = """\
import sys

sys.path.insert(0, {root!r})
load_subconfig({settings!r})
c = get_config()
"""


def make_course(folder):
    """Write the sources, and the settings and the secret if there are none;
    keep all else that is there."""
    folder.mkdir(parents=True, exist_ok=True)
    settings, secret = folder / 'nbgrader_config.py', folder / 'secret.txt'
    if not settings.exists():
        ours = ROOT / 'tools/grading/nbgrader_config.py'
        settings.write_text(
            SETTINGS.format(root=str(ROOT), settings=str(ours))
        )
    if not secret.exists():
        secret.touch(0o600)
        secret.write_text(f'{secrets.token_hex(16)}\n')
    for path in NOTEBOOKS:
        source = folder / 'source' / path.stem / path.name
        source.parent.mkdir(parents=True, exist_ok=True)
        notebook = for_students(nbformat.read(path, 4), path.stem)
        hide_checks(notebook)
        nbformat.write(notebook, source)


def hide_checks(notebook):
    """Add a hidden test to the checks of a notebook, in place."""
    stubs = code_cells(notebook, 'exercise')
    for stub, check in zip(stubs, code_cells(notebook, 'check')):
        (function,) = names_in(stub.source)[0]
        check.source += MARKS.format(
            id=stub.metadata.nbgrader.grade_id, function=function
        )


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('folder', type=pathlib.Path)
    folder = parser.parse_args().folder
    make_course(folder)
    print(f'The course is in {folder}; keep its secret.txt')
