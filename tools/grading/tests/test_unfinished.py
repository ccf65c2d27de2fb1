"""After a run that was killed, the next one grades what is not finished."""

import os
import signal
import subprocess
import sys
import time

import course

from tools.grading.unfinished import remove_unfinished


def graded(course, student, text='{}', mode=0o444):
    """Write a graded notebook; return its folder."""
    folder = course / 'autograded' / student / '03_replicas'
    folder.mkdir(parents=True)
    path = folder / '03_replicas.ipynb'
    path.write_text(text)
    path.chmod(mode)
    return folder


def test_what_is_finished_stays(tmp_path):
    ann = graded(tmp_path, 'ann')
    half = graded(tmp_path, 'bob', mode=0o644)
    cut = graded(tmp_path, 'eve', text='{"cells": [')
    remove_unfinished(tmp_path)
    assert ann.exists() and not half.exists() and not cut.exists()


def test_a_course_without_grades_is_fine(tmp_path):
    remove_unfinished(tmp_path)


def test_the_next_run_goes_on(released, tmp_path):
    """Killed as by a power cut, in the middle of a class."""
    folder = course.new_course(released, tmp_path / 'course')
    for student in ('a', 'b'):
        notebook = course.answered(folder, course.solutions())
        course.submit(folder, student, notebook)
    kill_at_the_second(folder, course.CHAPTER)
    first = course.points(folder)['a']
    said = course.nbgrader(folder, 'autograde', course.CHAPTER)
    assert said.count('Skipping existing') == 1
    found = course.points(folder)
    assert found['a'] == found['b'] == first
    assert sum(filter(None, first.values())) == 3


def kill_at_the_second(folder, chapter):
    """Autograde, and kill it when the second student's notebook is there."""
    run = subprocess.Popen(
        [sys.executable, '-m', 'nbgrader', 'autograde', chapter],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    second = folder / 'autograded' / 'b' / chapter
    deadline = time.monotonic() + 300
    while not [*second.glob('*.ipynb')]:
        assert run.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait(60)
