"""One row for each student, of a roster, with points of a fixed total; and
the same for Canvas and Moodle to import.

The header lines are those of their documentation:
https://community.canvaslms.com/t5/Instructor-Guide/How-do-I-import-grades-in-the-Gradebook/ta-p/807
https://docs.moodle.org/405/en/Grade_import
"""

import csv
import dataclasses
import json

from chapters import name_of

from .grading import Result, best_of, key_of
from .pages import as_cell
from .roster import Person

CANVAS_HEADER = ['Student', 'ID', 'SIS User ID', 'SIS Login ID', 'Section']
MOODLE_HEADER = ['First name', 'Last name', 'ID number', 'Email address']


def with_earlier(results, path, add):
    """Return (the results, what changed); save the results in `path`.

    With `add`, those that are saved there stay if nothing newer came: a new
    answer replaces an earlier one, with its flags, whatever it brings; a stub
    or a file that cannot be read replaces none. The same answer is in time if
    it once was.
    """
    earlier = {}
    if path.exists():
        rows = json.loads(path.read_text())
        earlier = {key_of(row): row for row in (Result(**r) for r in rows)}
    both = {key_of(result): result for result in best_of(results)}
    changes = []
    for key, old in earlier.items():
        new = both.get(key)
        if add and (not new or is_nothing(new) > is_nothing(old)):
            both[key] = old
        elif add and new.sources == old.sources and new.time > old.time > 0:
            if old.counts >= new.counts:
                new.late, new.counts = old.late, old.counts
        if new and both[key] is new:
            changes += change(old, new)
    found = sorted(
        both.values(), key=lambda r: (r.student.lower(), r.exercise, r.file)
    )
    rows = [dataclasses.asdict(result) for result in found]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, indent=1))
    return found, changes


def is_nothing(result):
    """Return whether a result says that there is no answer."""
    return result.verdict in ('not answered', 'damaged')


def change(old, new):
    """Return a list with what has changed in a result, or an empty one."""
    told = [
        f'{one.verdict}, {one.points * one.counts * one.passed:g} of '
        f'{one.points:g}'
        for one in (old, new)
    ]
    same = told[0] == told[1]
    if same or not new.exercise:
        return []
    cause = 'graded again' if old.sources == new.sources else 'a new answer'
    return [f'{new.student}, {new.exercise}: {" → ".join(told)} ({cause})']


def with_marks(results, marks):
    """Give the results the points and comments of `read_marks`; return the
    (student, exercise) of marks for which there is no result."""
    left = dict(marks)
    for result in results:
        mark = left.pop((result.student, result.exercise), None)
        if mark:
            result.given, result.comment = mark
    return [*left]


def add_points(results, texts):
    """Return {(student, stem of the chapter): points}."""
    brought = [(r.student, r.chapter, r.earned) for r in results]
    for stem, written in texts.items():
        brought += [(t.student, stem, t.points or 0) for t in written]
    points: dict = {}
    for student, stem, value in brought:
        points[student, stem] = points.get((student, stem), 0) + value
    return points


def possible(chapter, texts):
    """Return the points of a chapter: those of its question to think about,
    too, if anyone has some."""
    counted = [
        t.of for t in texts.get(chapter.stem, []) if t.points is not None
    ]
    return sum(e.points for e in chapter.exercises) + sum(counted[:1])


def write_gradebook(results, chapters, roster, path, texts):
    """Write a row for each student: points by chapter, their sum, the points
    that all `chapters` have, and in which chapters something was late.

    `roster`: {student: `Person`}. Who handed in nothing has 0; students who
    are not in it follow, with a note that says so. `texts`: {stem: [`Text`]}.
    """
    points = add_points(results, texts)
    total = sum(possible(chapter, texts) for chapter in chapters)
    found = sorted({student for student, _ in points})
    stems = [chapter.stem for chapter in chapters]
    names = [name_of(stem) for stem in stems]
    rows = [['student', 'name', 'points', 'of', *names, 'late', 'note']]
    for student in [*roster, *(s for s in found if s not in roster)]:
        person = roster.get(student, Person(student))
        own = [points.get((student, stem), 0) for stem in stems]
        late = {
            f'{name_of(result.chapter)}: {result.late}'
            for result in results
            if result.student == student and result.late and result.chapter
        }
        strange = roster and student not in roster
        note = 'not in the roster' if strange else ''
        ends = '; '.join(sorted(late)), note
        rows.append([student, person.name, sum(own), total, *own, *ends])
    write_table(rows, path)


def write_imports(results, chapters, roster, folder, texts):
    """Write canvas.csv and moodle.csv: a column for each chapter that anyone
    has handed in, and a row for each student of the roster."""
    points = add_points(results, texts)
    graded = [c for c in chapters if c.stem in {r.chapter for r in results}]
    names = [name_of(chapter.stem) for chapter in graded]
    canvas = [
        [*CANVAS_HEADER, *names],
        ['    Points Possible', '', '', '', '']
        + [possible(chapter, texts) for chapter in graded],
    ]
    moodle = [[*MOODLE_HEADER, *names]]
    for student, person in roster.items():
        own = [points.get((student, chapter.stem), 0) for chapter in graded]
        name, login = person.name or student, person.login or student
        canvas.append(
            [name, person.canvas_id, person.sis_id, login, person.section]
            + own
        )
        first, last = first_and_last(name)
        number = person.number or ('' if person.email else student)
        moodle.append([first, last, number, person.email, *own])
    write_table(canvas, folder / 'canvas.csv')
    write_table(moodle, folder / 'moodle.csv')


def first_and_last(name):
    """Return the parts of 'Ann Smith', or of 'Smith, Ann'."""
    last, comma, first = name.partition(', ')
    if not comma:
        first, _, last = name.rpartition(' ')
    return first, last


def write_table(rows, path):
    """Write a CSV file; numbers without needless digits."""
    with open(
        path, 'w', newline='', encoding='utf-8', errors='replace'
    ) as file:
        table = csv.writer(file)
        for row in rows:
            table.writerow(
                [
                    as_cell(value)
                    if isinstance(value, str)
                    else f'{round(value, 2):.10g}'
                    for value in row
                ]
            )
