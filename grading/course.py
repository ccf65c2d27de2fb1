"""Write a course for nbgrader, an assignment for each chapter.

    python -m grading.course build/nbgrader
    python -m grading.course build/nbgrader --secret-file file

The sources are the student edition's notebooks: solutions are not in them.
With a secret, the hidden checks are, between nbgrader's marks; students get
the notebooks in release/, from which nbgrader has taken them.
"""

import argparse
import pathlib
import shutil

import nbformat

from chapters import ROOT
from chapters.cells import code_cells
from chapters.exercises import read_chapters
from chapters.without_solutions import for_students

from .grading import HERE, hidden_checks, read_secret

MARKS = '\n### BEGIN HIDDEN TESTS\n{}\n### END HIDDEN TESTS'


def make_course(folder, secret=None):
    """Write the sources and the configuration; keep all else that is there."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / 'nbgrader_config.py', folder)
    for chapter in read_chapters(ROOT / 'notebooks'):
        name = f'{chapter.stem}.ipynb'
        source = folder / 'source' / chapter.stem / name
        source.parent.mkdir(parents=True, exist_ok=True)
        notebook = for_students(
            nbformat.read(ROOT / 'notebooks' / name, 4), chapter.stem
        )
        if secret is not None:
            hide_checks(notebook, chapter, secret)
        nbformat.write(notebook, source)


def hide_checks(notebook, chapter, secret):
    """Add the hidden checks to the checks of a notebook, in place."""
    checks = code_cells(notebook, 'check')
    for cell, exercise in zip(checks, chapter.exercises):
        for sources in hidden_checks(exercise, chapter, secret).values():
            cell.source += MARKS.format('\n'.join(sources))


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('--secret', help='draws the hidden checks')
    parser.add_argument('--secret-file', help='has the secret')
    options = parser.parse_args()
    if options.secret_file:
        options.secret = read_secret(options.secret_file)
    make_course(options.folder, options.secret)
