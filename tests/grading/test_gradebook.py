"""A row for each student of the roster, weeks that add up, who is late, and
what Canvas and Moodle import."""

import argparse
import csv
import datetime
import os
import types
import zipfile

import pytest

from grading.__main__ import name_students
from grading.gradebook import (
    with_earlier,
    with_marks,
    write_gradebook,
    write_imports,
)
from grading.grading import Result, best_of
from grading.pages import environment, write_report
from grading.roster import (
    Person,
    how_late,
    parse_due,
    read_late,
    read_marks,
    read_roster,
    student_in,
)
from grading.submissions import File, find_files

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
        result('eve', '02_network', 2, 'stopped'),
    ]
    book = tmp_path / 'gradebook.csv'
    write_gradebook(results, CHAPTERS, read_roster(path), book, {})
    ann, bob, eve = rows_of(book)
    assert (ann['name'], ann['points'], ann['of']) == ('Ann A.', '4', '12')
    assert (ann['devices'], ann['network']) == ('2', '2')
    assert (bob['student'], bob['points'], bob['of']) == ('bob', '0', '12')
    assert eve['points'] == '0' and eve['note'] == 'not in the roster'


def answered(verdict, text='answer', time=1, **more):
    """Return Ann's result of the first exercise, of a file of a time."""
    found = result('ann', '01_devices', 1, verdict)
    found.sources, found.time = [text], time
    vars(found).update(more)
    return found


def test_a_second_week_adds_up(tmp_path):
    path = tmp_path / 'out' / 'results.json'
    first = [answered('passed'), result('ann', '01_devices', 2, 'wrong')]
    second = [
        result('ann', '02_network', 1, 'passed'),
        result('ann', '01_devices', 2, 'passed'),
    ]
    assert with_earlier(first, path, False) == (first, [])
    both, changes = with_earlier(second, path, True)
    assert [one.verdict for one in both] == ['passed'] * 3
    assert len(changes) == 1 and 'ann, devices-exercise-2' in changes[0]
    assert with_earlier([], path, True) == (both, [])
    found, _ = with_earlier(second[:1], path, False)  # graded anew
    assert found == second[:1]


@pytest.mark.parametrize('old', ['passed', 'wrong', 'stopped'])
@pytest.mark.parametrize('new', ['passed', 'wrong', 'stopped'])
def test_a_new_answer_replaces_an_earlier_one_with_its_flags(
    old, new, tmp_path
):
    path = tmp_path / 'results.json'
    with_earlier([answered(old, flags=['uses x'])], path, False)
    (found,), changes = with_earlier([answered(new, 'new', 2)], path, True)
    assert (found.verdict, found.flags) == (new, [])
    assert bool(changes) == (old != new)


def test_a_regrade_takes_and_gives_points_and_says_so(tmp_path):
    path = tmp_path / 'results.json'
    for old, new, said in (
        ('passed', 'wrong', '2 of 2 → wrong, 0 of 2 (graded again)'),
        ('wrong', 'passed', '0 of 2 → passed, 2 of 2 (graded again)'),
    ):
        for add in (False, True):
            with_earlier([answered(old)], path, False)
            (found,), (change,) = with_earlier([answered(new)], path, add)
            assert found.verdict == new
            assert change == f'ann, devices-exercise-1: {old}, {said}'


@pytest.mark.parametrize('verdict', ['not answered', 'damaged'])
def test_what_holds_no_answer_replaces_none(verdict, tmp_path):
    path = tmp_path / 'results.json'
    old = answered('wrong', flags=['uses x'])
    with_earlier([old], path, False)
    new = answered(verdict, time=2, sources=[])
    assert with_earlier([new], path, True) == ([old], [])


def test_an_answer_that_was_in_time_stays_so(tmp_path):
    """It is handed in again, beside others that are late."""
    path = tmp_path / 'results.json'
    late = {'late': '2 days', 'counts': 0.5}
    for text, earned in (('answer', 2), ('another', 1)):
        with_earlier([answered('passed')], path, False)
        new = answered('passed', text, 9, **late)
        ((found,), _) = with_earlier([new], path, True)
        assert found.earned == earned
    with_earlier([answered('passed')], path, False)  # a new deadline
    ((found,), _) = with_earlier([answered('passed', **late)], path, True)
    assert found.earned == 1


def test_who_needs_a_message_comes_before_who_does_not(tmp_path):
    roster = {name: Person(name, '') for name in ('ann', 'bo', 'cy', 'di')}
    results = [
        result('ann', '01_devices', 1, 'passed'),
        result('bo', '01_devices', 1, 'not answered'),
        result('di', '01_devices', 1, 'wrong'),
        result('di', '01_devices', 2, 'not answered'),
    ]
    write_report(results, tmp_path, roster=roster)
    index = (tmp_path / 'index.html').read_text()
    order = sorted(roster, key=lambda name: index.index(f'>{name}</a>'))
    assert order == ['bo', 'cy', 'ann', 'di']
    assert '2 to look at: they come first.' in index
    assert index.count('handed in without an answer') == 1


def test_flags_are_for_the_instructor_and_strangers_come_first(tmp_path):
    odd = answered('passed', flags=['uses x (line 1 of the answer: y)'])
    stranger = result('zed', '01_devices', 1, 'passed')
    roster = {
        name: Person(name, name.title() + ' X') for name in ('ann', 'bo')
    }
    write_report([odd, stranger], tmp_path, roster=roster, changes=['news'])
    index = (tmp_path / 'index.html').read_text()
    shown = [index.index(f'>{name}</a>') for name in ('zed', 'Ann X', 'Bo X')]
    assert shown == sorted(shown) and 'nothing handed in' in index
    assert 'flags.html#ann' in index and 'news' in index
    assert 'uses x' in (tmp_path / 'flags.html').read_text()
    pages = [*(tmp_path / 'students').glob('*.html')]
    assert len(pages) == 3
    assert not any('uses x' in page.read_text() for page in pages)


def test_of_two_files_the_one_without_flags_counts():
    clean, odd = answered('passed'), answered('passed', flags=['uses x'])
    assert best_of([clean, odd]) == best_of([odd, clean]) == [clean]
    assert best_of([odd, answered('wrong')]) == [odd]


@pytest.mark.parametrize('text', ['', 'student,name\n'])
def test_a_roster_without_a_student_says_what_to_write(text, tmp_path):
    (tmp_path / 'roster.csv').write_text(text)
    with pytest.raises(ValueError, match='write a line `student,name`'):
        read_roster(tmp_path / 'roster.csv')


def test_the_first_column_names_the_student(tmp_path):
    path = tmp_path / 'roster.csv'
    path.write_text('\ufeffLogin,Section\nann,1\n', encoding='utf-8')
    (person,) = read_roster(path).values()
    assert (person.student, person.name, person.section) == ('ann', '', '1')


CANVAS_EXPORT = """\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,HW (7)
    Points Possible,,,,,5
"Smith, Ann",101,s1,ann@x.edu,Lab 1,
"Ødegård, Bo Lee",102,s2,bo@x.edu,Lab 1,3
"""
MOODLE_EXPORT = """First name;Last name;ID number;Email address;Quiz
Ann;Smith;4711;ann@x.edu;3
Bo Lee;Ødegård;4712;bo@x.edu;-
"""


def test_exports_of_canvas_and_moodle_are_rosters(tmp_path):
    path = tmp_path / 'export.csv'
    path.write_text(CANVAS_EXPORT, encoding='utf-8')
    ann, bo = read_roster(path).values()
    assert (ann.student, ann.name) == ('ann@x.edu', 'Smith, Ann')
    assert (ann.canvas_id, ann.sis_id, ann.section) == ('101', 's1', 'Lab 1')
    path.write_text(MOODLE_EXPORT, encoding='utf-8')
    ann, bo = read_roster(path).values()
    assert (bo.student, bo.name) == ('bo@x.edu', 'Bo Lee Ødegård')
    assert bo.number == '4712'


NAMES = {  # what a folder or file is called: the student
    'ann': 'ann',
    'Ann': 'ann',
    'Ann Smith': 'ann',
    'ann_02_network': 'ann',
    'ann-network': 'ann',
    'ann (2)': 'ann',
    'ann-b_network': 'ann-b',
    'annabel_2': 'annabel_2',  # somebody else
    'ann_k': 'ann_k',  # may be somebody else
    'smithann_101_9001_02_network': 'ann',
    'smithann_LATE_101_9001_02_network': 'ann',
    'Ann Smith_55_assignsubmission_file_': 'ann',
    'Ann Smith_55_assignsubmission_file': 'ann',
    'ødegårdbolee_102_9002_hw': 'bo',
    'O\u0308ze_7': 'öze',  # as a Mac writes it
    'eve_7_8_hw': 'eve',
    'Copy of ann_02_network': 'ann',
    'Copy of Copy of Smith, Ann (2)': 'ann',
    'Smith_Ann_02_network': 'ann',
    'Doe_Joe_s1000': 's1000',
    'Copy of s1000_02_network': 's1000',
    'Week 2_ann_attempt_2026-11-30-10-33-12_02_network': 'ann',
    'Week 2_s1000_attempt_2026-11-30-10-33-12': 's1000',
    '12-34 - Ann Smith - Nov 30, 2026 633 PM': 'ann',
    '12-34 - Ann Smith - 30 November, 2026 1833 - hw': 'ann',
    'Ann and Joe': 'Ann and Joe',
}


@pytest.mark.parametrize('name', NAMES)
def test_files_of_one_student_are_joined(name):
    roster = {
        'ann': Person('ann', 'Ann Smith', canvas_id='101'),
        'ann-b': Person('ann-b'),
        'bo': Person('bo', 'Ødegård, Bo Lee', canvas_id='102'),
        'öze': Person('öze'),
        's1000': Person('s1000', 'Joe Doe'),
    }
    assert student_in(name, roster, ['02_network']) == NAMES[name]


def test_whose_a_file_is_stays_open_if_two_students_fit():
    roster = {
        'ann1': Person('ann1', 'Ann Smith'),
        'ann2': Person('ann2', 'Ann Smith'),
    }
    name = 'Ann Smith_55_assignsubmission_file_'
    assert student_in(name, roster) == 'Ann Smith'


@pytest.mark.parametrize(
    'text, message',
    [
        (b'student,name\nann,A\nann,B\n', "'ann' twice"),
        (b'student,name\nann,\xff\n', 'CSV UTF-8'),
    ],
)
def test_a_roster_that_is_wrong_says_so(text, message, tmp_path):
    (tmp_path / 'roster.csv').write_bytes(text)
    with pytest.raises(ValueError, match=message):
        read_roster(tmp_path / 'roster.csv')


def handed_in(tmp_path, name, when):
    """Return the `File` of a notebook that was handed in at a local time."""
    path = tmp_path / name
    path.write_bytes(b'')
    seconds = datetime.datetime.fromisoformat(when).timestamp()
    os.utime(path, (seconds, seconds))
    (file,) = find_files(tmp_path)
    path.unlink()
    return file


def test_a_file_is_late_by_its_time(tmp_path):
    due = parse_due('2026-11-30T18:00')
    for when, late in {
        '2026-11-30 18:00:00': '',
        '2026-11-30 18:00:01': '1 h',
        '2026-12-02 19:30:00': '2 d 2 h',
    }.items():
        file = handed_in(tmp_path, 'ann.ipynb', when)
        assert how_late(file, '02_network', due, {}) == late
        assert how_late(file, '02_network', None, {}) == ''
    assert parse_due('2026-11-30') == parse_due('2026-12-01T00:00')
    with pytest.raises(ValueError, match='write 2026-11-30'):
        parse_due('next week')


def test_in_the_zip_of_the_whole_class_the_times_in_it_count(tmp_path):
    path = tmp_path / 'submissions.zip'
    with zipfile.ZipFile(path, 'w') as archive:
        for name, day in {'ann/1.ipynb': 1, 'bo/1.ipynb': 3}.items():
            info = zipfile.ZipInfo(name, (2026, 12, day, 12, 0, 0))
            archive.writestr(info, b'')
    due = parse_due('2026-12-02')
    late = [how_late(file, '', due, {}) for file in find_files(path)]
    assert late == ['', '12 h']
    # In a student's zip, times are what the student's clock says.
    os.utime(path, (due + 1, due + 1))
    assert [f.time for f in find_files(tmp_path)] == [due + 1] * 2


def test_a_list_of_who_is_late_counts_before_file_times(tmp_path):
    path = tmp_path / 'late.csv'
    path.write_text(
        'Student,Chapter,Late\nann,network,no\nbo,,2 days\ncy,02_network,\n'
    )
    listed, due = read_late(path), 1e9

    def late(student, stem='02_network'):
        return how_late(File(student, 'x', time=due + 9), stem, due, listed)

    assert late('ann') == '' and late('ann', '03_replicas') == '1 h'
    assert late('bo') == '2 days' and late('cy') == 'late'
    path.write_text('name\nann\n')
    with pytest.raises(ValueError, match='student,chapter,late'):
        read_late(path)


def test_canvas_says_in_the_name_who_is_late():
    options = argparse.Namespace(roster={}, student=None)
    names = 'smithann_LATE_1_2_x', 'smithann_1_2_LATE_x'
    files = [File(name, f'{name}.ipynb') for name in names]
    name_students(files, [], options)
    assert [how_late(file, '', None, {}) for file in files] == ['late', '']
    assert {file.student for file in files} == {'smithann'}


def test_a_late_answer_brings_what_counts_and_is_marked(tmp_path):
    late = result('ann', '01_devices', 1, 'passed')
    late.late, late.counts = '1 d 0 h', 0.25
    assert best_of([result('ann', '01_devices', 1, 'wrong'), late]) == [late]
    in_time = result('ann', '01_devices', 1, 'passed')
    assert best_of([late, in_time]) == best_of([in_time, late]) == [in_time]
    write_gradebook([late], CHAPTERS, {}, tmp_path / 'book.csv', {})
    (ann,) = rows_of(tmp_path / 'book.csv')
    assert (ann['points'], ann['late']) == ('0.5', 'devices: 1 d 0 h')


def test_points_by_hand_count_before_the_verdict(tmp_path):
    path = tmp_path / 'marks.csv'
    path.write_text(
        'student,exercise,points,comment\n'
        'ann,devices-exercise-1,1.5,half of it\n'
        'ann,devices-exercise-2,3,elegant\n'
        'ann,devices-exercise-3,,see you\n'
        'bob,devices-exercise-1,0,copied\n'
        'bob,devices-exercise-9,1,\n'
    )
    results = [
        result('ann', '01_devices', 1, 'wrong'),
        result('ann', '01_devices', 2, 'passed'),
        result('ann', '01_devices', 3, 'passed'),
        result('bob', '01_devices', 1, 'passed'),
    ]
    for one in results:
        one.sources = ['answer = 1']
    left = with_marks(results, read_marks(path))
    assert left == [('bob', 'devices-exercise-9')]
    assert [one.earned for one in results] == [1.5, 3, 2, 0]
    write_gradebook(results, CHAPTERS, {}, tmp_path / 'book.csv', {})
    ann, bob = rows_of(tmp_path / 'book.csv')
    assert (ann['points'], bob['points']) == ('6.5', '0')
    write_report(results, tmp_path)
    (page,) = (tmp_path / 'students').glob('ann*')
    text = page.read_text()
    assert 'half of it' in text and 'see you' in text
    assert text.count('points by hand') == 2 and '6.5 of 6 points' in text
    rows = rows_of(tmp_path / 'grades.csv')
    assert [row['given'] for row in rows] == ['1.5', '3.0', '', '0.0']


@pytest.mark.parametrize(
    'text, said',
    [
        ('student,points\nann,1\n', 'student,exercise,points,comment'),
        ('student,exercise,points\nann,a,many\n', "'many' of ann in a is no"),
        ('student,exercise,points\nann,a,nan\n', 'not a number of points'),
        ('student,exercise,points\nann,a,1\nann,a,2\n', 'ann in a twice'),
    ],
)
def test_marks_that_cannot_be_read_are_refused(tmp_path, text, said):
    path = tmp_path / 'marks.csv'
    path.write_text(text)
    with pytest.raises(ValueError, match=said):
        read_marks(path)


def test_canvas_and_moodle_get_the_columns_that_they_know(tmp_path):
    path = tmp_path / 'roster.csv'
    path.write_text(CANVAS_EXPORT, encoding='utf-8')
    roster = read_roster(path)
    done = result('ann@x.edu', '02_network', 1, 'passed')
    write_imports([done], CHAPTERS, roster, tmp_path, {})
    header, possible, ann, bo = csv.reader(open(tmp_path / 'canvas.csv'))
    assert header[:5] == CANVAS_EXPORT[1:].split(',HW')[0].split(',')
    assert header[5:] == ['network']  # nobody handed in the other chapter
    assert possible == ['    Points Possible', '', '', '', '', '6']
    assert ann == ['Smith, Ann', '101', 's1', 'ann@x.edu', 'Lab 1', '2']
    assert bo[-1] == '0'
    path.write_text(MOODLE_EXPORT, encoding='utf-8')
    write_imports([done], CHAPTERS, read_roster(path), tmp_path, {})
    header, ann, bo = csv.reader(open(tmp_path / 'moodle.csv'))
    assert header[:4] == MOODLE_EXPORT.split(';Quiz')[0].split(';')
    assert ann == ['Ann', 'Smith', '4711', 'ann@x.edu', '2']
    assert bo == ['Bo Lee', 'Ødegård', '4712', 'bo@x.edu', '0']


def test_cells_have_the_numbers_that_flags_name():
    page = (
        "{% extends 'page' %}{% block body %}{{ code(cells) }}{% endblock %}"
    )
    template = environment.from_string(page)
    two = template.render(cells=['a = 1', 'b = 2'])
    assert two.index('Cell 1') < two.index('a = 1') < two.index('Cell 2')
    assert 'Cell 1' not in template.render(cells=['a = 1'])
