"""Tables that learning platforms import."""

import csv
import os
import sys

import pytest

pytest.importorskip('nbgrader', reason='make grading')
from nbgrader.api import Gradebook  # noqa: E402

from tools.grading.export import ColumnExporter  # noqa: E402

CHAPTER, OTHER = '03_replicas', '04_data'


@pytest.fixture(scope='module')
def gradebook():
    with pytest.MonkeyPatch.context() as patch:
        # nbgrader calls alembic by its name.
        here = os.path.dirname(sys.executable)
        patch.setenv('PATH', here, prepend=os.pathsep)
        book = Gradebook('sqlite:///:memory:')
    with book:
        for assignment in (CHAPTER, OTHER):
            book.add_assignment(assignment)
            book.add_notebook(assignment, assignment)
            book.add_grade_cell(
                'check',
                assignment,
                assignment,
                max_score=3,
                cell_type='code',
            )
        for student, last, number in (
            ('ann', 'Smith', '101'),
            ('bob', 'Jönes', '102'),
            ('max', 'Nobody', '103'),
            ('eve', 'Late', '104'),
        ):
            book.add_student(
                student,
                first_name=student.title(),
                last_name=last,
                email=f'{student}@x.edu',
                lms_user_id=number,
            )
        for student, points in (('ann', 2), ('bob', 0), ('eve', None)):
            book.add_submission(CHAPTER, student)
            grade = book.find_grade('check', CHAPTER, CHAPTER, student)
            grade.auto_score, grade.needs_manual_grade = points, False
        book.db.commit()
        yield book


def table(gradebook, folder, **options):
    """Return the rows that are exported."""
    exporter = ColumnExporter(to=str(folder / 'grades.csv'), **options)
    exporter.export(gradebook)
    with open(folder / 'grades.csv', newline='', encoding='utf-8') as file:
        return list(csv.reader(file))


def test_absentees_are_blank_and_who_has_no_point_has_0(gradebook, tmp_path):
    head, *rows = table(
        gradebook, tmp_path, columns={CHAPTER: 'Replicas (1042)'}
    )
    assert head == ['Student', 'ID', 'SIS Login ID', 'Section'] + [
        'Replicas (1042)'
    ]
    assert {row[2]: row[4] for row in rows} == {
        'ann': '2.0',
        'bob': '0.0',
        'max': '',
        'eve': '',  # handed in, not graded yet
    }
    assert ['Jönes, Bob', '102', 'bob', '', '0.0'] in rows


def test_all_assignments_have_columns_by_default(gradebook, tmp_path):
    head, *_ = table(gradebook, tmp_path)
    assert head[4:] == [CHAPTER, OTHER]


def test_moodle_and_brightspace_have_their_own_heads(gradebook, tmp_path):
    options = {'columns': {CHAPTER: 'Chapter 3'}}
    head, first, *_ = table(gradebook, tmp_path, lms='moodle', **options)
    assert head == ['Email address', 'ID number', 'Name', 'Chapter 3']
    head, *rows = table(gradebook, tmp_path, lms='brightspace', **options)
    assert head == [
        'Username',
        'Chapter 3 Points Grade',
        'End-of-Line Indicator',
    ]
    assert ['#ann', '2.0', '#'] in rows


def test_a_student_alone(gradebook, tmp_path):
    _, *rows = table(gradebook, tmp_path, student=['ann'])
    assert [row[2] for row in rows] == ['ann']
