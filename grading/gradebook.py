"""One row for each student, of a roster, with points of a fixed total."""

import csv
import dataclasses
import json

from .cells import name_of
from .grading import Result, best_of
from .report import as_cell


def read_roster(path):
    """Return {student: name} from a CSV file with a header line.

    The column `student` is the name of the student's folder or file, else the
    first column; `name` may follow. Raises ValueError if there is no row.
    """
    with open(path, newline='', encoding='utf-8-sig') as file:
        rows = list(csv.DictReader(file))
    if not rows:
        raise ValueError(
            f'{path} has no student: write a line `student,name`, and a line '
            'for each student below it'
        )
    key = 'student' if 'student' in rows[0] else next(iter(rows[0]))
    return {
        row[key].strip(): (row.get('name') or '').strip()
        for row in rows
        if (row[key] or '').strip()
    }


def add_earlier(results, path):
    """Return the results with those of earlier weeks, saved in `path`, and
    save all of them: of two results for an exercise, the best counts."""
    earlier = []
    if path.exists():
        earlier = [Result(**row) for row in json.loads(path.read_text())]
    # What could not be read this week says nothing of another one.
    both = best_of(earlier + results)
    rows = [dataclasses.asdict(result) for result in both]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows, indent=1))
    return both


def write_gradebook(results, chapters, roster, path):
    """Write a row for each student: points by chapter, their sum, and the
    points that all `chapters` have.

    Students of the roster who handed in nothing have 0; others follow, with
    the note that they are not in it.
    """
    points = {}
    for result in results:
        if result.passed:
            key = result.student, result.chapter
            points[key] = points.get(key, 0) + result.points
    total = sum(e.points for chapter in chapters for e in chapter.exercises)
    found = sorted({result.student for result in results})
    students = [*roster, *(s for s in found if s not in roster)]
    stems = [chapter.stem for chapter in chapters]
    with open(
        path, 'w', newline='', encoding='utf-8', errors='replace'
    ) as file:
        table = csv.writer(file)
        table.writerow(
            ['student', 'name', 'points', 'of', *map(name_of, stems), 'note']
        )
        for student in students:
            own = [points.get((student, stem), 0) for stem in stems]
            strange = roster and student not in roster
            note = 'not in the roster' if strange else ''
            row = [student, roster.get(student, ''), sum(own), total, *own]
            table.writerow([as_cell(value) for value in [*row, note]])
