"""A course with a class, graded by nbgrader's own commands."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import nbformat

from tools.grading.release import make_course
from tools.notebooks.cells import code_cells

ROOT = pathlib.Path(__file__).parents[3]
CHAPTER = '25_claims'  # the quickest


def nbgrader(folder, *arguments, check=True):
    """Run a command of nbgrader in a course; return what it prints."""
    done = subprocess.run(
        [sys.executable, '-m', 'nbgrader', *arguments],
        cwd=folder,
        env={**os.environ, 'JUPYTER_CONFIG_DIR': str(folder / 'no-config')},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=500,
    )
    assert not check or done.returncode == 0, done.stdout
    return done.stdout


def make_released(folder):
    """Write a course, and generate its assignment."""
    make_course(folder)
    nbgrader(folder, 'generate_assignment', CHAPTER)


def new_course(released, folder, isolated=False):
    """Copy a course; return its folder. `isolated`: its kernels."""
    shutil.copytree(released, folder)
    if not isolated:
        settings = folder / 'nbgrader_config.py'
        settings.write_text(
            settings.read_text() + 'c.IsolatedKernelManager.isolated = False\n'
        )
    return folder


def solutions():
    """Return our solutions, without the calls of the checks."""
    notebook = nbformat.read(ROOT / 'notebooks' / f'{CHAPTER}.ipynb', 4)
    return [
        re.sub(r'\ncheck_\d\(\)$', '', cell.source)
        for cell in code_cells(notebook, 'solution')
    ]


def answered(course, answers):
    """Return the released notebook with answers; None leaves a stub."""
    path = course / 'release' / CHAPTER / f'{CHAPTER}.ipynb'
    notebook = nbformat.read(path, 4)
    for cell, answer in zip(code_cells(notebook, 'exercise'), answers):
        cell.source = answer or cell.source
    return notebook


def submit(course, student, notebook):
    """Put a notebook where nbgrader collects it to."""
    path = course / 'submitted' / student / CHAPTER / f'{CHAPTER}.ipynb'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(notebook))


def points(course):
    """Return {student: {exercise: points}} of the gradebook."""
    from nbgrader.api import Gradebook

    with Gradebook(f'sqlite:///{course}/gradebook.db') as gradebook:
        return {
            submission.student.id: {
                grade.name.replace('-check', ''): grade.auto_score
                for notebook in submission.notebooks
                for grade in notebook.grades
            }
            for submission in gradebook.assignment_submissions(CHAPTER)
        }
