"""Whose a file is, for `nbgrader zip_collect`: in archives of Canvas, Moodle,
Brightspace and Blackboard, in folders of Drive, or named after the student.

A student is known by what `nbgrader db student import` has read: id, names,
e-mail address, and the system's own number (`lms_user_id`). A file that fits
nobody is not collected, and the log says so; before anybody has been imported,
students are called as their files are.
"""

import datetime
import filecmp
import json
import os
import re
import unicodedata

from nbgrader.api import Gradebook
from nbgrader.plugins import FileNameCollectorPlugin
from traitlets import List

# How systems call the folder or file of a submission.
LAYOUTS = {
    # smithann_LATE_123_456_03_replicas-1.ipynb
    'Canvas': r'(?P<who>[^\W_]+)_(LATE_)?(?P<number>\d+)_\d+_.+',
    # Ann Smith_123_assignsubmission_file_
    'Moodle': r'(?P<who>.+)_\d+_assignsubmission_(file|onlinetext).*',
    # 12-34 - Ann Smith - Nov 30, 2026 633 PM
    'Brightspace': r'(?P<number>\d+)-\d+ ?- ?(?P<who>.+?) ?- ?'
    r'(?P<time>\w{3,9} \d\d?, \d{4} \d{3,4} ?[AP]M)',
    # Week 2_ann_attempt_2026-11-30-10-33-12_03_replicas.ipynb
    'Blackboard': r'.*_(?P<who>[^_]+)_attempt_(?P<time>\d{4}(-\d\d){5})[_.].+',
    # Ann Smith - 03_replicas.ipynb, of Google Classroom
    'Classroom': r'(?P<who>.+) - .+\.ipynb',
}
LAYOUTS = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in LAYOUTS.items()
}
# What a system puts before or behind the name of a copy.
COPY = re.compile(
    r'^(copy|kopie|copi[ae]) (of|von|de|di) |( ?\(\d+\)| - copy)$',
    re.IGNORECASE,
)
IGNORED = re.compile(r'(^|/)(\.ipynb_checkpoints|__MACOSX|\._[^/]*)(/|$)')


class LmsCollector(FileNameCollectorPlugin):
    """Finds the student of a file, and of several attempts the last one."""

    valid_ext = List(['.ipynb', '.IPYNB']).tag(config=True)

    def collect(self, submitted_file):
        """Return {student_id, file_id, perhaps timestamp}, or None for what is
        no notebook of the assignment, and for earlier attempts."""
        if not hasattr(self, 'chosen'):
            self.chosen = self.choose()
        return self.chosen.get(os.path.abspath(submitted_file))

    def choose(self):
        """Return {path: what `collect` returns} of all files."""
        app = self.parent
        folder = app._format_collect_path(app.extracted_directory)
        assignment = app.coursedir.assignment_id
        with Gradebook(app.coursedir.db_url) as gradebook:
            students = [
                (keys_of(one), one.lms_user_id, one.id)
                for one in gradebook.students
            ]
        known = {one for *_, one in students}
        best = {}
        for root, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(root, name)
                within = os.path.relpath(path, folder).replace(os.sep, '/')
                within = unicodedata.normalize('NFC', within)
                if IGNORED.search(within) or not self.is_of(path, assignment):
                    continue
                student, time = whose(within, assignment, students)
                if known and student not in known:
                    self.log.warning(
                        '%s fits nobody in the roster: copy it into %s under '
                        "the student's id, and collect again",
                        path,
                        app._format_collect_path(app.archive_directory),
                    )
                    continue
                rank = time, copy_number(name), within
                if student in best:
                    self.log.warning(
                        '%s: several attempts, of which the last is taken: '
                        '%s and %s',
                        *(student, best[student][0][-1], within),
                    )
                if student not in best or rank > best[student][0]:
                    best[student] = rank, path
        return {
            os.path.abspath(path): {
                'student_id': student,
                'file_id': assignment,
                **self.time_of(path, student, assignment, rank[0]),
            }
            for student, (rank, path) in best.items()
        }

    def time_of(self, path, student, assignment, time):
        """Return {'timestamp': when a file came}. Without a `time`, that is
        now if it differs from what was collected before, so that autograde
        takes it; else {}, or what it was."""
        coursedir = self.parent.coursedir
        folder = coursedir.format_path(
            coursedir.submitted_directory, student, assignment
        )
        before = os.path.join(folder, f'{assignment}.ipynb')
        if not time and os.path.exists(before):
            if not filecmp.cmp(path, before, shallow=False):
                time = datetime.datetime.now().isoformat(' ', 'seconds')
            elif os.path.exists(os.path.join(folder, 'timestamp.txt')):
                with open(os.path.join(folder, 'timestamp.txt')) as file:
                    time = file.read().strip()
        return {'timestamp': time} if time else {}

    def is_of(self, path, assignment):
        """Return whether a file is a notebook of an assignment: by the ids of
        its exercises, or, if it has none, by its name or for want of any."""
        if os.path.splitext(path)[1] not in self.valid_ext:
            self.log.warning('%s is no .ipynb file', path)
            return False
        name = assignment.partition('_')[2] or assignment
        try:
            with open(path, encoding='utf-8-sig') as file:
                text = file.read()
            json.loads(text)
        except (ValueError, OSError) as error:
            self.log.error('%s is not a notebook: %s', path, error)
            return False
        ids = {*re.findall(r'"(\w+)-exercise-\d+(?:-check)?"', text)}
        if ids and name not in ids:
            self.log.warning('%s is another assignment: %s', path, ids)
        return not ids or name in ids


def whose(path, assignment, students):
    """Return (the student's id, the time of the attempt or '') of a file.

    `students`: (names, the system's number, id) of each. Who is none of them
    is called as the file says.
    """
    parts = path.split('/')
    for part in parts:
        for layout, pattern in LAYOUTS.items():
            match = pattern.fullmatch(part)
            if match:
                found = {'number': '', 'time': '', **match.groupdict()}
                who = COPY.sub('', found['who'])
                student = find_student(who, found['number'], students)
                time = standard(found['time'], layout)
                return student or '_'.join(who.split()), time
    *folders, name = parts
    name = COPY.sub('', os.path.splitext(name)[0]).replace(assignment, '')
    names = [*folders, name.strip(' _-')]
    found = (find_student(one, '', students) for one in names if one)
    return next(
        filter(None, found), '_'.join(' '.join(names[-2:]).split())
    ), ''


def standard(time, layout):
    """Return a time such as 2026-11-30 18:33:00, whatever it was."""
    if not time:
        return ''
    if layout == 'Blackboard':
        form = '%Y-%m-%d-%H-%M-%S'
    else:  # Nov 30, 2026 633 PM
        time = re.sub(r' (\d?\d)(\d\d) ?([AP]M)$', r' \1:\2 \3', time)
        form = '%b %d, %Y %I:%M %p'
    return datetime.datetime.strptime(time, form).isoformat(' ')


def copy_number(name):
    """Return 2 of `03_replicas (2).ipynb` and of Canvas's
    `03_replicas-2.ipynb`."""
    found = re.search(r'[-(](\d+)\)?$', os.path.splitext(name)[0])
    return int(found[1]) if found else 0


def find_student(who, number, students):
    """Return the id of the one student that fits, or None.

    `students`: (names, the system's number, id) of each.
    """
    name = squeeze(who)
    for fits in (
        lambda keys, theirs: bool(number) and theirs == number,
        lambda keys, theirs: name in keys,
        lambda keys, theirs: any(len(k) > 3 and k in name for k in keys),
    ):
        found = {one for keys, theirs, one in students if fits(keys, theirs)}
        if len(found) == 1:
            return found.pop()
    return None


def keys_of(student):
    """Return how the files of a student may be called, squeezed."""
    first, last = student.first_name or '', student.last_name or ''
    email = student.email or ''
    names = [student.id, email, email.partition('@')[0]]
    if first and last:
        names += [first + last, last + first]
    return {squeeze(name) for name in names if name}


def squeeze(name):
    """Return a name without case, accents, spaces and signs."""
    plain = unicodedata.normalize('NFKD', name.casefold())
    return ''.join(one for one in plain if one.isalnum())
