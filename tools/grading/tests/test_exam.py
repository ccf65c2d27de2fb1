"""The exam, and the archive that only instructors have."""

import re
import zipfile

import pytest

from tools.grading.exam import exam, questions
from tools.grading.instructor import make_instructor
from tools.notebooks import NOTEBOOKS


@pytest.mark.parametrize('secret', [None, 'one', 'two', 'three'])
def test_every_number_is_filled_in(secret):
    text = exam(secret)
    assert not re.search(r'[{}]|<!--|draw\(', text)
    assert len(re.findall(r'^\d+\. \*\*', text, re.M)) == 34


def test_a_secret_draws_the_numbers():
    assert exam('one') == exam('one') != exam('two')


def test_the_numbers_of_an_answer_are_those_of_its_question():
    """Computed here in another way."""
    for secret in (None, 'one', 'two', 'three'):
        text = exam(secret)
        f, n = re.search(
            r'A step takes (\d+) ms of.* minibatch of (\d+) ex', text
        ).groups()
        found = re.search(r'/\(\d+ \+ \d+\) = ([\d.]+)\. The fixed', text)[1]
        one, two = int(f) + 0.2 * int(n), int(f) + 0.1 * int(n)
        assert float(found) == pytest.approx(one / two, abs=0.01)
        stages, part, least = re.search(
            r'pipeline of (\d+) stages has .* most ([\d.]+)\. .*≥ (\d+)', text
        ).groups()
        waits, m = int(stages) - 1, int(least)
        assert waits / (m + waits) <= float(part) + 1e-9
        assert waits / (m - 1 + waits) > float(part)


def test_the_questions_have_no_answers():
    asked = questions(exam('one'))
    assert len(re.findall(r'^\d+\. \*\*.+\*\*$', asked, re.M)) == 34
    assert 'A mean of means' not in asked and 'given_step' not in asked


def test_the_archive_has_all_that_students_do_not_get(tmp_path):
    (tmp_path / 'secret.txt').write_text('one\n')
    path = make_instructor(tmp_path / 'instructor', tmp_path)
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        answers = archive.read('instructor/exam-answers.md').decode()
    assert answers == exam('one')
    for chapter in NOTEBOOKS:
        assert f'instructor/solutions/{chapter.name}' in names
    assert 'instructor/hidden/compare.py' in names
    assert 'instructor/exam.md' in names
