"""A row for each student of the roster, and weeks that add up."""

import csv
import types

import pytest

from grading.gradebook import add_earlier, read_roster, write_gradebook
from grading.grading import Result

CHAPTERS = [
    types.SimpleNamespace(
        stem=stem, exercises=[types.SimpleNamespace(points=2)] * 3
    )
    for stem in ('01_devices', '02_network')
]


def result(student, stem, number, verdict):
    """Return a result worth two points."""
    name = f'{stem[3:]}-exercise-{number}'
    return Result(student, 'x.ipynb', stem, name, 2, verdict)


def rows_of(path):
    """Return the rows of a CSV file."""
    with open(path, newline='') as file:
        return list(csv.DictReader(file))


def test_who_handed_in_nothing_has_a_row_and_the_total_is_fixed(tmp_path):
    path = tmp_path / 'roster.csv'
    path.write_text('student,name\nann,Ann A.\nbob,Bob B.\n')
    results = [
        result('ann', '01_devices', 1, 'passed'),
        result('ann', '02_network', 1, 'passed'),
        result('ann', '02_network', 2, 'wrong'),
        result('eve', '02_network', 2, 'tampered'),
    ]
    book = tmp_path / 'gradebook.csv'
    write_gradebook(results, CHAPTERS, read_roster(path), book)
    ann, bob, eve = rows_of(book)
    assert (ann['name'], ann['points'], ann['of']) == ('Ann A.', '4', '12')
    assert (ann['devices'], ann['network']) == ('2', '2')
    assert (bob['student'], bob['points'], bob['of']) == ('bob', '0', '12')
    assert eve['points'] == '0' and eve['note'] == 'not in the roster'


def test_a_second_week_adds_up_and_overwrites_nothing(tmp_path):
    path = tmp_path / 'out' / 'results.json'
    first = [
        result('ann', '01_devices', 1, 'passed'),
        result('ann', '01_devices', 2, 'wrong'),
    ]
    second = [
        result('ann', '02_network', 1, 'passed'),
        result('ann', '01_devices', 1, 'wrong'),  # handed in again
        result('ann', '01_devices', 2, 'passed'),
    ]
    assert add_earlier(first, path) == first
    both = add_earlier(second, path)
    assert [one.verdict for one in both] == ['passed'] * 3
    assert add_earlier([], path) == both


@pytest.mark.parametrize('text', ['', 'student,name\n'])
def test_a_roster_without_a_student_says_what_to_write(text, tmp_path):
    (tmp_path / 'roster.csv').write_text(text)
    with pytest.raises(ValueError, match='write a line `student,name`'):
        read_roster(tmp_path / 'roster.csv')


def test_the_first_column_names_the_student(tmp_path):
    path = tmp_path / 'roster.csv'
    path.write_text('\ufeffLogin,Section\nann,1\n', encoding='utf-8')
    assert read_roster(path) == {'ann': ''}
