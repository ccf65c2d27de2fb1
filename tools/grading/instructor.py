"""Write what only instructors have, and a zip of it.

    make instructor COURSE=../course

Chapters with our solutions, hidden checks, and the exam with numbers that the
course's secret draws; without COURSE, the usual numbers.
"""

import pathlib
import shutil
import sys

from tools.notebooks import NOTEBOOKS

from .exam import exam, questions
from .secret import read_secret

HERE = pathlib.Path(__file__).parent


def make_instructor(folder, course=None):
    """Write the folder anew, and return its zip beside it."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / 'solutions').mkdir(parents=True)
    for path in NOTEBOOKS:
        shutil.copy(path, folder / 'solutions')
    shutil.copytree(
        HERE / 'hidden',
        folder / 'hidden',
        ignore=shutil.ignore_patterns('__pycache__'),
    )
    secret = read_secret(course / 'secret.txt') if course else None
    text = exam(secret)
    (folder / 'exam-answers.md').write_text(text, encoding='utf-8')
    (folder / 'exam.md').write_text(questions(text), encoding='utf-8')
    return shutil.make_archive(str(folder), 'zip', folder.parent, folder.name)


if __name__ == '__main__':
    target, course = sys.argv[1:]
    make_instructor(
        pathlib.Path(target), pathlib.Path(course) if course else None
    )
