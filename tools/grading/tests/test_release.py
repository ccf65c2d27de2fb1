"""The course that `make release` writes."""

import re

import nbformat
import pytest

from tools.grading import release
from tools.grading.release import make_course
from tools.notebooks import NOTEBOOKS
from tools.notebooks.cells import code_cells
from tools.notebooks.exercises import chapter_of


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp('beside') / 'new' / 'course'
    make_course(folder)
    return folder


def read(folder, path):
    """Return the source of an assignment."""
    return nbformat.read(folder / 'source' / path.stem / path.name, 4)


@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
def test_each_check_asks_the_judge_for_its_own_exercise(path, folder):
    checks = [*code_cells(read(folder, path), 'check')]
    exercises = chapter_of(path).exercises
    assert len(checks) == len(exercises)
    for check, exercise in zip(checks, exercises):
        visible, hidden = check.source.split('### BEGIN HIDDEN TESTS\n')
        assert visible == f'{exercise.check}\n'
        found = re.findall(r"^hidden_check\('(.+)', (\w+)\)$", hidden, re.M)
        assert found == [(exercise.id, exercise.function)]
        assert hidden.endswith('### END HIDDEN TESTS')
        assert check.metadata.nbgrader.grade_id == f'{exercise.id}-check'


@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
def test_there_is_no_solution(path, folder):
    cells = read(folder, path).cells
    texts = {cell.source for cell in cells}
    for exercise in chapter_of(path).exercises:
        assert exercise.solution not in texts
    assert not any('Our solution' in text for text in texts)


def test_what_is_there_stays_but_the_sources(folder, monkeypatch):
    monkeypatch.setattr(release, 'NOTEBOOKS', NOTEBOOKS[:1])
    secret = (folder / 'secret.txt').read_text()
    kept = 'nbgrader_config.py', 'gradebook.db', 'submitted.txt'
    for name in kept:
        (folder / name).write_text(f'my {name}')
    path = NOTEBOOKS[0]
    source = folder / 'source' / path.stem / path.name
    before = source.read_text()
    source.write_text('changed')
    make_course(folder)
    assert [(folder / name).read_text() for name in kept] == [
        f'my {name}' for name in kept
    ]
    assert (folder / 'secret.txt').read_text() == secret
    assert source.read_text() == before


def test_each_course_has_a_secret_that_others_cannot_read(
    folder, tmp_path, monkeypatch
):
    monkeypatch.setattr(release, 'NOTEBOOKS', [])
    make_course(tmp_path)
    secret = tmp_path / 'secret.txt'
    assert secret.read_text() != (folder / 'secret.txt').read_text()
    assert len(secret.read_text().strip()) >= 16
    assert not secret.stat().st_mode & 0o077
