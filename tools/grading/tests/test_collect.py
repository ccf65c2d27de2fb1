"""Whose a file is, in the archives of learning platforms."""

import datetime
import io
import json
import zipfile

import pytest

pytest.importorskip('nbgrader', reason='make grading')
import course  # noqa: E402

from tools.grading.collect import find_student, whose  # noqa: E402

CHAPTER = '03_replicas'
STUDENTS = [
    ({'ann', 'annsmith', 'smithann'}, '101', 'ann'),
    ({'bob', 'bobjones', 'jonesbob'}, '102', 'bob'),
    ({'kim', 'minjikim', 'kimminji', 'kim@x.edu'}, '103', 'kim'),
    ({'zoe', 'zoemuller', 'mullerzoe'}, '104', 'zoe'),
    ({'s1000', 'annlee', 'leeann'}, '105', 's1000'),
    ({'s1001', 'annleeroy', 'leeroyann'}, '106', 's1001'),
]
PATHS = {
    'submissions/smithann_101_9001_03_replicas-1.ipynb': ('ann', ''),
    'submissions/jonesbob_LATE_102_9002_03_replicas.ipynb': ('bob', ''),
    'submissions/other_102_9002_03_replicas.ipynb': ('bob', ''),
    'X-Chapter 3-77/Bob Jones_771_assignsubmission_file_/a.ipynb': ('bob', ''),
    'Zoë Müller_3_assignsubmission_file/work/a.ipynb': ('zoe', ''),
    '9-66 - Ann Smith - Nov 30, 2026 633 PM/a.ipynb': (
        'ann',
        '2026-11-30 18:33:00',
    ),
    '9-66 - Ann Smith - Dec 1, 2026 1101 AM/a.ipynb': (
        'ann',
        '2026-12-01 11:01:00',
    ),
    'Week 2_bob_attempt_2026-11-30-10-33-12_a.ipynb': (
        'bob',
        '2026-11-30 10:33:12',
    ),
    'Drive/Min-ji Kim - 03_replicas.ipynb': ('kim', ''),
    'Copy of 03_replicas_kimminji.ipynb': ('kim', ''),
    '03_replicas_kimminji (2).ipynb': ('kim', ''),
    'ann/03_replicas/03_replicas.ipynb': ('ann', ''),
    'Lee, Ann.ipynb': ('s1000', ''),
    's1001_03_replicas.ipynb': ('s1001', ''),
    'Eve New/03_replicas.ipynb': ('Eve_New', ''),
}


@pytest.mark.parametrize('path', PATHS)
def test_the_student_of_a_file_is_found(path):
    assert whose(path, CHAPTER, STUDENTS) == PATHS[path]


def test_of_two_students_with_one_name_neither_is_taken():
    twice = [({'ann', 'annsmith'}, '1', 'a1'), ({'annsmith'}, '2', 'a2')]
    assert find_student('Ann Smith', '', twice) is None
    assert find_student('Ann Smith', '2', twice) == 'a2'


def zipped(*files):
    """Return a zip with (name, content)."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, 'w') as archive:
        for name, content in files:
            archive.writestr(name, content)
    return file.getvalue()


ROSTER = """id,first_name,last_name,email,lms_user_id
ann,Ann,Smith,ann@x.edu,101
bob,Bob,Jones,bob@x.edu,102
fay,Fay,Oz,fay@x.edu,55
gil,Gil,Paz,gil@x.edu,108
"""


def test_archives_become_submissions(released, tmp_path):
    folder = course.new_course(released, tmp_path / 'course')
    (folder / 'roster.csv').write_text(ROSTER)
    course.nbgrader(folder, 'db', 'student', 'import', 'roster.csv')

    def work(mark):
        notebook = course.answered(folder, [f'# {mark}', None, None])
        return json.dumps(notebook)

    name = f'{course.CHAPTER}.ipynb'
    archive = folder / 'downloaded' / course.CHAPTER / 'archive'
    archive.mkdir(parents=True)
    (archive / 'canvas.zip').write_bytes(
        zipped((f'smithann_101_9_{name}', work('ann')))
    )
    inner = zipped(('Claims.ipynb', work('bob')), ('__MACOSX/._x.ipynb', 'x'))
    (archive / 'moodle.zip').write_bytes(
        zipped(('Bob Jones_7_assignsubmission_file_/a.zip', inner))
    )
    (archive / 'brightspace.zip').write_bytes(
        zipped(
            ('index.html', '<p>'),
            (f'55-6 - Fay Oz - Nov 30, 2026 1101 AM/{name}', work('new')),
            (f'55-6 - Fay Oz - Nov 29, 2026 633 PM/{name}', work('old')),
        )
    )
    first, second = archive / f'gil_{name}', archive / 'gil (1).ipynb'
    first.write_text(work('first'))
    second.write_text(work('second'))
    (archive / 'notes.ipynb').write_text('not a notebook')
    (archive / 'Untitled7.ipynb').write_text(work('nobody'))
    said = course.nbgrader(folder, 'zip_collect', course.CHAPTER)
    assert 'notes.ipynb is not a notebook' in said
    assert 'Untitled7.ipynb fits nobody' in said
    found = {
        path.parts[-3]: path
        for path in (folder / 'submitted').glob(f'*/*/{name}')
    }
    marks = {'ann': 'ann', 'bob': 'bob', 'fay': 'new', 'gil': 'second'}
    assert found.keys() == marks.keys()
    for student, mark in marks.items():
        assert f'# {mark}' in found[student].read_text()
    time = (found['fay'].parent / 'timestamp.txt').read_text()
    assert time.startswith('2026-11-30 11:01')
    # What is handed in again has a time, and is graded again; the rest not.
    first.write_text(work('first, corrected'))
    second.unlink()
    course.nbgrader(folder, 'zip_collect', course.CHAPTER, '--force')
    again = found['gil'].read_text(), found['ann'].parent / 'timestamp.txt'
    assert 'corrected' in again[0] and not again[1].exists()
    time = (found['gil'].parent / 'timestamp.txt').read_text()
    assert datetime.datetime.fromisoformat(time[:19])
