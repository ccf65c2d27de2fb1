"""Who is in the class, whose a file is, and which files are late."""

import csv
import dataclasses
import datetime
import io
import math
import re
import unicodedata

from chapters import name_of

# Of an attribute of `Person`: the columns that may have it, in lower case.
# The last ones are Canvas's and Moodle's, so that their exports are rosters.
COLUMNS = {
    'student': ('student', 'username', 'sis login id', 'email address'),
    'name': ('name',),
    'canvas_id': ('id',),
    'sis_id': ('sis user id',),
    'login': ('login', 'sis login id', 'username'),
    'section': ('section',),
    'number': ('id number',),
    'email': ('email', 'email address'),
}
# How Canvas and Blackboard name the files, and Moodle and Brightspace the
# folders, of all submissions: smithann_LATE_123_456_network.ipynb,
# Week 2_ann_attempt_2026-11-30-10-33-12_network.ipynb,
# Ann Smith_123_assignsubmission_file_, 12-34 - Ann Smith - Nov 30, 2026 633 PM
CANVAS = re.compile(r'(?P<name>[^\W_]+)_(?P<late>LATE_)?(?P<id>\d+)_\d+_.+')
MOODLE = re.compile(r'(?P<name>.+)_\d+_assignsubmission_(file|onlinetext)_?')
BLACKBOARD = re.compile(
    r'.*_(?P<name>[^_]+)_attempt_\d{4}(-\d\d){5}(_.*|\..*)?', re.DOTALL
)
BRIGHTSPACE = re.compile(r'\d+-\d+ - (?P<name>.+?) - \w.*\d{4}.*')
LAYOUTS = (MOODLE, BLACKBOARD, BRIGHTSPACE, CANVAS)
# What a system puts before or behind the name of a copy.
COPY = re.compile(
    r'^((copy|kopie|copi[ae]) (of|von|de|di) )+|( ?\(\d+\)| - copy)+$',
    re.IGNORECASE,
)


@dataclasses.dataclass
class Person:
    """A student of the roster, with what Canvas and Moodle know them by."""

    student: str
    name: str = ''
    canvas_id: str = ''
    sis_id: str = ''
    login: str = ''
    section: str = ''
    number: str = ''
    email: str = ''


def read_roster(path):
    """Return {student: `Person`} from a CSV file with a header line.

    The column `student` is the name of the student's folder or file, else the
    first column; see `COLUMNS` for others. Raises ValueError if there is no
    row, or a student appears twice.
    """
    people = {}
    for row in read_rows(path):
        person = to_person(row)
        if not person.student or 'Points Possible' in person.name:
            continue  # Canvas has a row that is no student
        if person.student in people:
            raise ValueError(
                f'{path} has {person.student!r} twice: give each student a '
                'different name in the column `student`'
            )
        people[person.student] = person
    if not people:
        raise ValueError(
            f'{path} has no student: write a line `student,name`, and a line '
            'for each student below it'
        )
    return people


def read_rows(path):
    """Return the rows of a CSV file, with its columns in lower case.

    Raises ValueError if it is not text in UTF-8, as of a spreadsheet.
    """
    try:
        with open(path, newline='', encoding='utf-8-sig') as file:
            text = unicodedata.normalize('NFC', file.read())
    except UnicodeDecodeError:
        raise ValueError(
            f'{path} is not text in UTF-8: save it as "CSV UTF-8"'
        ) from None
    head = text.partition('\n')[0]
    separator = ';' if head.count(';') > head.count(',') else ','
    return [
        {
            (key or '').strip().lower(): (value or '').strip()
            for key, value in row.items()
            if not isinstance(value, list)  # fields beyond the header
        }
        for row in csv.DictReader(io.StringIO(text), delimiter=separator)
    ]


def to_person(row):
    """Return the `Person` in a row of a roster."""
    found = {
        attribute: next((row[c] for c in columns if row.get(c)), '')
        for attribute, columns in COLUMNS.items()
    }
    first, last = (
        row.get('first name', ''),
        row.get('last name', '') or row.get('surname', ''),
    )
    found['name'] = found['name'] or f'{first} {last}'.strip()
    if 'sis login id' in row:  # Canvas's: 'Student' is a name
        found['name'] = row.get('student', '')
        found['student'] = found['login'] or found['sis_id'] or found['name']
    if not {*COLUMNS['student']} & {*row}:
        found['student'] = next(iter(row.values()), '')
    return Person(**found)


def student_in(name, roster, stems=()):
    """Return whose a folder or file is: a student of the roster, if one fits,
    else the name without what Canvas or Moodle add to it.

    `stems`: of the chapters, which may stand behind a student's name.
    """
    name = unicodedata.normalize('NFC', name)
    if name in roster:
        return name
    name = COPY.sub('', name)
    found = next(filter(None, (one.fullmatch(name) for one in LAYOUTS)), None)
    plain = found['name'] if found else name
    number = found['id'] if found and found.re is CANVAS else None
    for fits in (
        lambda p: squeeze(plain) in keys_of(p) or number == (p.canvas_id or 0),
        lambda p: name_words(plain) & ids_of(p),
        lambda p: has_name(plain, p),
    ):
        some = [one for one, person in roster.items() if fits(person)]
        if some:
            return some[0] if len(some) == 1 else plain
    begins = [one for one in roster if begins_with(name, one, stems)]
    return max(begins, key=len) if begins else plain


def name_words(text):
    """Return the words of a name, squeezed."""
    return {squeeze(word) for word in re.split(r'[\W_]+', text) if word}


def ids_of(person):
    """Return what stands for a person wherever it stands: words with a digit,
    which no name has."""
    found = {squeeze(one) for one in (person.student, person.login)}
    found |= {squeeze(one) for one in (person.number, person.sis_id)}
    return {one for one in found if len(one) > 3 and re.search(r'\d', one)}


def has_name(text, person):
    """Return whether all words of a person's name are in a text."""
    words = name_words(person.name)
    return len(words) > 1 and words <= name_words(text)


def begins_with(name, student, stems):
    """Return whether a name is a student's, and a number or a chapter's."""
    start, rest = name[: len(student)], name[len(student) :]
    if squeeze(start) != squeeze(student) or rest[:1].isalnum():
        return False
    chapters = {squeeze(name_of(stem)) for stem in stems}
    return any(c.isdigit() for c in rest) or squeeze(rest) in chapters


def keys_of(person):
    """Return how a person's files may be called, squeezed."""
    first, _, last = person.name.rpartition(' ')
    names = (person.student, person.name, f'{last} {first}', person.login)
    return {squeeze(name) for name in names if name}


def squeeze(text):
    """Return letters and digits alone, in lower case, composed."""
    text = unicodedata.normalize('NFKC', text).casefold()
    return ''.join(c for c in text if c.isalnum())


def parse_due(text):
    """Return the seconds since 1970 of a time such as 2026-11-30T18:00, in
    the zone of this machine; a day ends at midnight. Raises ValueError."""
    try:
        due = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f'{text!r} is not a time: write 2026-11-30 or 2026-11-30T18:00'
        ) from None
    if len(text) == len('2026-11-30'):
        due += datetime.timedelta(days=1)
    return due.timestamp()


def read_late(path):
    """Return {(student, chapter): how late} from a CSV file with the columns
    `student` and, if you like, `chapter` and `late`.

    Without a chapter, it is for all; 'no' excuses. Raises ValueError.
    """
    rows = read_rows(path)
    if rows and 'student' not in rows[0]:
        raise ValueError(f'{path} needs a header line: student,chapter,late')
    return {
        (row['student'], row.get('chapter', '')): row.get('late') or 'late'
        for row in rows
        if row['student']
    }


def read_marks(path):
    """Return {(student, exercise): (points or None, comment)} from a CSV
    file with the columns `student`, `exercise`, `points` and, if you like,
    `comment`. Raises ValueError."""
    rows, marks = read_rows(path), {}
    if not rows or not {'student', 'exercise', 'points'} <= {*rows[0]}:
        raise ValueError(
            f'{path} needs a header line: student,exercise,points,comment'
        )
    for row in rows:
        key = row['student'], row['exercise']
        try:
            points = float(row['points']) if row['points'] else None
        except ValueError:
            points = math.nan
        if points is not None and not math.isfinite(points):
            raise ValueError(
                f'{path}: {row["points"]!r} of {" in ".join(key)} is not a '
                'number of points'
            )
        if key in marks:
            raise ValueError(f'{path} has {" in ".join(key)} twice')
        marks[key] = points, row.get('comment', '')
    return marks


def how_late(file, stem, due, listed):
    """Return how late a `File` for a chapter is, or ''.

    `due`: seconds since 1970, or None. `listed`: what `read_late` returns,
    which counts before all else; then what Canvas says; then file times.
    """
    for (student, chapter), late in listed.items():
        if student == file.student and chapter in ('', stem, name_of(stem)):
            return '' if late.lower() == 'no' else late
    if file.marked_late:
        return 'late'
    if due is None or not file.time or file.time <= due:
        return ''
    days, hours = divmod(math.ceil((file.time - due) / 3600), 24)
    return f'{days} d {hours} h' if days else f'{hours} h'
