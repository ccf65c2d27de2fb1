r"""Grades in a table that Canvas, Moodle or Brightspace imports.

    nbgrader export --ColumnExporter.lms=canvas \
        --ColumnExporter.columns="03_replicas=Replicas (1042)"

A column can be called as one that the system has. Who has handed in nothing
has an empty field, which changes nothing there; 0 is for who has no point.
"""

import csv

from nbgrader.api import MissingEntry
from nbgrader.plugins import ExportPlugin
from traitlets import Dict, Enum

# The columns that say who it is, and the form of those with points.
LAYOUTS = {
    'canvas': (
        {
            'Student': lambda one: name_of(one),
            'ID': lambda one: one.lms_user_id,
            'SIS Login ID': lambda one: one.id,
            'Section': lambda one: '',
        },
        '{}',
    ),
    'moodle': (
        {
            'Email address': lambda one: one.email,
            'ID number': lambda one: one.lms_user_id,
            'Name': lambda one: name_of(one),
        },
        '{}',
    ),
    'brightspace': (
        {'Username': lambda one: f'#{one.id}'},
        '{} Points Grade',
    ),
}
LAST = {'brightspace': ('End-of-Line Indicator', '#')}


class ColumnExporter(ExportPlugin):
    """Writes a row for each student, and a column for each assignment."""

    lms = Enum(
        list(LAYOUTS), default_value='canvas', help='What will import it'
    ).tag(config=True)
    columns = Dict(
        help="The columns' names: {assignment: name}; by default, the "
        "assignment's own"
    ).tag(config=True)

    def export(self, gradebook):
        """Write the table to `--to`, by default grades.csv."""
        who, form = LAYOUTS[self.lms]
        wanted = {*map(str, self.assignment), *self.columns}
        assignments = [
            one.name
            for one in gradebook.assignments
            if not wanted or one.name in wanted
        ]
        titles = [form.format(self.columns.get(a, a)) for a in assignments]
        last = LAST.get(self.lms)
        chosen = {*map(str, self.student)}
        with open(
            self.to or 'grades.csv', 'w', newline='', encoding='utf-8'
        ) as file:
            table = csv.writer(file)
            table.writerow([*who, *titles, *(last[:1] if last else [])])
            for student in gradebook.students:
                if chosen and student.id not in chosen:
                    continue
                table.writerow(
                    [
                        *(find(student) or '' for find in who.values()),
                        *(
                            self.points(gradebook, assignment, student.id)
                            for assignment in assignments
                        ),
                        *(last[1:] if last else []),
                    ]
                )

    def points(self, gradebook, assignment, student):
        """Return a student's points, '' if nothing has been graded."""
        try:
            found = gradebook.find_submission(assignment, student)
        except MissingEntry:
            return ''
        grades = [one for nb in found.notebooks for one in nb.grades]
        if any(
            one.auto_score is None and one.manual_score is None
            for one in grades
            if one.cell.cell_type == 'code'
        ):
            self.log.error('%s, %s: autograde it first', student, assignment)
            return ''
        if found.needs_manual_grade:
            self.log.warning(
                '%s, %s: an answer has no points by hand yet',
                student,
                assignment,
            )
        return max(0.0, found.score - found.late_submission_penalty)


def name_of(student):
    """Return a student's name, as Canvas writes it: Smith, Ann."""
    names = student.last_name, student.first_name
    return ', '.join(filter(None, names))
