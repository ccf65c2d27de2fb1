"""The guide for instructors agrees with the chapters and the clock."""

import collections
import re

from tools.lint.files import notebook_at, text_of
from tools.notebooks import NOTEBOOKS, name_of, number_of
from tools.notebooks.minutes import core_minutes, minutes_of, stated_minutes

INSTALLING, PROJECT = 60, 30  # minutes, the second per week
# Minutes by which the guide may differ from the clock: it is no timetable.
OF_A_CHAPTER, OF_A_WEEK = 10, 15
NUMBERS = [number_of(path.stem) for path in NOTEBOOKS]
HOURS = 'three and a half hours'
CORE = rf'takes {HOURS}: (\d+) minutes to read, and (\d+) for its exercises\.'


def check_minutes(text, clock):
    """Yield the chapters whose minutes in the table are not the clock's,
    {number: (to read, for the exercises)}."""
    stated = stated_minutes(text)
    for number, right in clock.items():
        written = stated.get(number, [])
        if not written or any(
            abs(a - b) > OF_A_CHAPTER for a, b in zip(written, right)
        ):
            yield f'chapter {number} takes {right} minutes, not {written}'


def check_core(text, readme, clock):
    """Yield what is wrong with the time of the core; `clock`: its minutes to
    read, and for exercises."""
    written = re.search(CORE, ' '.join(text.split()))
    if not written or any(
        abs(int(a) - b) > OF_A_CHAPTER for a, b in zip(written.groups(), clock)
    ):
        yield f'the core takes {clock} minutes: read, exercises'
    if round(sum(clock) / 30) != 7 or readme.count(HOURS) != 1:
        yield f'README says {HOURS}, the clock {sum(clock)} minutes'


def schedules(text):
    """Return [(what, minutes)] of each table whose last column is minutes."""
    tables = re.findall(r'((?:^\|.*\|\n)+)', text, re.M)
    return [
        [
            (cells[-2].strip(), int(cells[-1]))
            for row in table.splitlines()[2:]
            for cells in [row.strip('|').split('|')]
        ]
        for table in tables
        if table.splitlines()[0].endswith('| minutes |')
    ]


def chapters_in(text):
    """Return the numbers in 'chapters 6 and 7' or 'chapters 1 to 3'; of
    'chapter 13 or 14' the first."""
    numbers = [int(number) for number in re.findall(r'\d+', text)]
    if ' to ' in text:
        return [n for n in NUMBERS if numbers[0] <= n <= numbers[1]]
    return numbers[:1] if ' or ' in text else numbers


def check_schedules(text, clock):
    """Yield the weeks and days whose minutes are not the clock's."""
    for table in schedules(text):
        for what, minutes in table:
            least = sum(sum(clock[number]) for number in chapters_in(what))
            least += INSTALLING * ('installation' in what)
            most = least + 2 * PROJECT * ('project' in what)
            least += PROJECT * ('project' in what)
            if not least - OF_A_WEEK <= minutes <= most + OF_A_WEEK:
                yield f'{what} takes {least} minutes, not {minutes}'


def check_places(text):
    """Yield the chapters that have no place, or two, in the thirteen weeks:
    in a week, or, in the paragraph below, among the chapters of choice."""
    plan = text.split('**Thirteen weeks**')[1].split('**Two weeks**')[0]
    weeks = re.findall(r'^\| \d+ \| (.+) \| \d+ \|$', plan, re.M)
    choice = re.findall(r'^Chapters ([\d, and]+) are for', plan, re.M)
    places = collections.Counter(
        number
        for part in [*weeks, *choice]
        for number in (
            chapters_in(part)
            if ' to ' in part
            else map(int, re.findall(r'\d+', part))
        )
    )
    for number in NUMBERS:
        if places[number] != 1:
            yield f'chapter {number} is {places[number]} times in 13 weeks'


def check_lab(text, exercises):
    """Yield the chapters whose exercises are not each for the lab or for
    home, or have wrong stars; `exercises`: {chapter: [such as '1', '2*']}."""
    rows = re.findall(
        r'^\| chapter (\d+) \|.*\| ([\d*, ]+) \| ([\d*, ]+) \|$', text, re.M
    )
    stated = {
        int(chapter): sorted(re.findall(r'\d+\*?', f'{lab},{home}'))
        for chapter, lab, home in rows
    }
    for number, wanted in exercises.items():
        if stated.get(number) != wanted:
            yield f'chapter {number}: each of {wanted} is for lab or home'


def check_exam(text):
    """Yield the chapters that no question of the exam is about, and the
    questions without an answer."""
    parts = re.split(r'^(\d+)\. ', text.split('\n## ')[0], flags=re.M)
    asked = set()
    for number, part in zip(parts[1::2], parts[2::2]):
        match = re.fullmatch(
            r'\*\*.+?\*\* .+ \((Chapters? .+?)\)\s*', part, re.S
        )
        if match:
            asked |= {int(n) for n in re.findall(r'\d+', match[1])}
        else:
            yield f'{number}. needs an answer and its chapters'
    for number in sorted({*NUMBERS} - asked):
        yield f'no question about chapter {number}'


def exercises_of(path):
    """Return the numbers of a chapter's exercises, with a star if the hidden
    check runs beside the answer."""
    cells = notebook_at(f'notebooks/{path.name}').cells
    text = '\n'.join(cell.source for cell in cells)
    hidden = text_of(f'tools/grading/hidden/{name_of(path.stem)}.py')
    watched = {*re.findall(r'^def watched_(\w+)', hidden, re.M)}
    beside = {
        cell.metadata.nbgrader.grade_id[-1]
        for cell in cells
        if 'exercise' in cell.metadata.get('tags', ())
        and watched & {*re.findall(r'^def (\w+)', cell.source, re.M)}
    }
    numbers = re.findall(r'^\*\*(\d)\. ', text, re.M)
    return sorted(n + '*' * (n in beside) for n in numbers)


def check():
    """Yield the findings in the guide and the exam."""
    text = text_of('tools/site/teaching.md')
    clock = {number_of(path.stem): minutes_of(path) for path in NOTEBOOKS}
    exercises = {
        number_of(path.stem): exercises_of(path) for path in NOTEBOOKS
    }
    for finding in (
        *check_minutes(text, clock),
        *check_core(text, text_of('README.md'), core_minutes()),
        *check_schedules(text, clock),
        *check_places(text),
        *check_lab(text, exercises),
    ):
        yield f'tools/site/teaching.md: {finding}'
    exam = re.sub('<!-- .*? --> ', '', text_of('tools/grading/exam.md'))
    for finding in check_exam(exam):
        yield f'tools/grading/exam.md: {finding}'
