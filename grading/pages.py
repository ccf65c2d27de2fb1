"""grades.csv, a page for each student, and a summary for the class."""

import collections
import csv
import dataclasses
import hashlib
import re

import jinja2

from .sandbox import VERDICTS

NOT_LISTED = 'not in the roster: add the name there, or rename the file'
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto;
    max-width: 60rem; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid #ddd; padding: .4rem .6rem;
    text-align: left; vertical-align: top; }
td.number, th.number { text-align: right; }
.passed { color: #00694f; }
.failed { color: #a33f00; }
.scroll { overflow-x: auto; }
pre { background: #f6f6f4; border: 1px solid #ddd; padding: .5rem;
    overflow-x: auto; font: .85rem/1.45 ui-monospace, monospace;
    counter-reset: line; tab-size: 4; }
pre span { counter-increment: line; }
pre span::before { content: counter(line); display: inline-block;
    width: 1.6rem; margin-right: .8rem; text-align: right; color: #6b6b6b; }
.text { white-space: pre-wrap; border-left: 3px solid #bbb;
    padding-left: .8rem; overflow-wrap: anywhere; }
.beside { display: grid; gap: 1rem; overflow-x: auto; grid-auto-flow: column;
    grid-auto-columns: minmax(min(24rem, 90vw), 1fr); }
.beside > div { min-width: 0; }
label { display: block; }
textarea { width: 100%; box-sizing: border-box; font: inherit; }
@media (min-width: 40rem) { td:first-child { white-space: nowrap; } }
.beside pre { white-space: pre-wrap; }
h3 { font-size: 1rem; margin-bottom: .3rem; }
@media print { body { margin: 0; } }
"""
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{ title }}</title>
<style>{{ style }}</style>
<h1>{{ title }}</h1>
{% macro code(cells) %}
{% for cell in cells %}
{% if cells|length > 1 %}<p>Cell {{ loop.index }}</p>{% endif %}

<pre tabindex="0">
{%- for line in cell.rstrip().split('\n') %}<span></span>{{ line ~ '\n' }}
{%- endfor %}</pre>
{% endfor %}
{% endmacro %}
{% block body scoped %}{% endblock %}
"""
STUDENT = """{% extends 'page' %}{% block body %}
{% if possible != '0' %}
<p>{{ points }} of {{ possible }} points.</p>
{% endif %}
<div class="scroll"><table>
<tr><th>exercise<th class="number">points<th>result<th>what the check says
{% for r in results %}
<tr><td>{% if r.sources %}<a href="#{{ r.exercise }}">{{ r.exercise }}</a>
{% else %}{{ r.exercise or r.file }}{% endif %}

<td class="number">{{ '%g' % r.earned }} of
{{ '%g' % r.points }}
<td class="{{ 'passed' if r.passed else 'failed' }}">
{{ r.verdict }}{% if r.late %}, late: {{ r.late }}{% endif %}
{% if r.given is not none %}, points by hand{% endif %}
<td>{{ r.message }}{% if r.note %} ({{ r.note }}){% endif %}
{% endfor %}
{% for t in texts %}
<tr><td>{{ t.exercise }}
<td class="number">
{% if t.points is not none %}{{ '%g' % t.points }} of {{ '%g' % t.of }}
{% endif %}
<td>in words<td>{{ t.comment }}
{% endfor %}
</table></div>
{% for r in results if r.sources %}
<h2 id="{{ r.exercise }}">{{ r.exercise }}: {{ r.verdict }}</h2>
{% if r.message %}<p>{{ r.message }}</p>{% endif %}
{% if r.comment %}<p><strong>Comment:</strong> {{ r.comment }}</p>{% endif %}
{{ code(r.sources) }}
{% endfor %}
{% for t in texts %}
<h2>{{ t.exercise }}</h2>
<p class="text">{{ t.text }}</p>
{% if t.comment %}<p><strong>Comment:</strong> {{ t.comment }}</p>{% endif %}
{% endfor %}
{% endblock %}"""
CLASS = """{% extends 'page' %}{% block body %}
<p>{{ rows | length }} student{{ 's' if rows | length != 1 }},
{{ exercises | length }} exercise{{ 's' if exercises | length != 1 }}.
<a href="grades.csv">grades.csv</a> has every result.
{% for name, address in pages %}
<a href="{{ address }}">{{ name }}</a>{{ '' if loop.last else ', ' }}
{% endfor %}
</p>
{% if look %}<p>{{ look }} to look at: they come first.</p>{% endif %}
{% if ran_in %}<p>{{ ran_in }}</p>{% endif %}
{% if changes %}
<h2>What has changed since the last run</h2>
<ul>{% for one in changes %}<li>{{ one }}{% endfor %}</ul>
{% endif %}
<h2>Students</h2>
<div class="scroll"><table>
<tr><th>student<th class="number">points<th>to look at
{% for row in rows %}
<tr><td><a href="{{ row.page }}">{{ row.name or row.student }}</a>
{% if row.name %}<br>{{ row.student }}{% endif %}

<td class="number">
{% if row.possible != '0' %}{{ row.points }} of {{ row.possible }}{% endif %}

<td>{% for one in row.problems %}{{ one }}<br>{% endfor %}
{% if row.flagged %}<a href="flags.html#{{ row.anchor }}">flagged</a>:
{{ row.flagged | join(', ') }}{% endif %}
{% endfor %}
</table></div>
<h2>Exercises</h2>
<div class="scroll"><table>
<tr><th>exercise{% for verdict in verdicts %}<th class="number">
{{ verdict }}{% endfor %}<th>most frequent message of wrong answers
{% for e in exercises %}
<tr><td>{{ e.id }}{% for verdict in verdicts %}<td class="number">
{{ e.counts[verdict] }}{% endfor %}
<td>{{ e.message }}
{% endfor %}
</table></div>
{% endblock %}"""
FLAGS = """{% extends 'page' %}{% block body %}
<p>For you alone: no student's page says any of this. A flag is something
that few honest answers do, with the line; it has taken no points. Read the
answer, ask the student, and then decide: <code>--marks</code> sets points by
hand.</p>
{% for r in results %}
<h2 id="{{ anchor(r.student) }}">{{ names[r.student] or r.student }},
{{ r.exercise }}: {{ r.verdict }}</h2>
<ul>{% for flag in r.flags %}<li>{{ flag }}{% endfor %}</ul>
{{ code(r.sources) }}
{% else %}
<p>There are none.</p>
{% endfor %}
{% endblock %}"""
environment = jinja2.Environment(
    loader=jinja2.DictLoader({'page': PAGE}),
    autoescape=True,
    trim_blocks=True,
)


def write_report(
    results, folder, ran_in='', texts=(), pages=(), roster=None, changes=()
):
    """Write grades.csv, index.html, flags.html and students/*.html into a
    folder.

    `texts`: with student, exercise, text, points and comment. `pages`: (name,
    address) of other pages, to which index.html has links. `roster`:
    {student: `Person`}; who is not in it comes first, then who has a flag
    or needs a message. `changes`: sentences.
    """
    (folder / 'students').mkdir(parents=True, exist_ok=True)
    for old in (folder / 'students').glob('*.html'):
        old.unlink()
    write_csv(results, folder / 'grades.csv')
    roster = roster or {}
    handed_in = group(results, lambda r: r.student)
    of_students = {**dict.fromkeys(roster, ()), **handed_in}
    rows, names = [], {}
    for student, own in of_students.items():
        name = names[student] = (
            roster[student].name if student in roster else ''
        )
        page = f'students/{file_name(student)}.html'
        written = [text for text in texts if text.student == student]
        marked = [text for text in written if text.points is not None]
        points = sum(one.points for one in marked)
        possible = sum(one.of for one in marked)
        totals = {
            'student': student,
            'points': f'{points + sum(r.earned for r in own):g}',
            'possible': f'{possible + sum(r.points for r in own):g}',
        }
        data = {**totals, 'results': own, 'texts': written}
        render(STUDENT, folder / page, name or student, **data)
        problems = [f'{r.file}: {r.message}' for r in own if not r.exercise]
        if roster and student not in roster:
            problems.insert(0, NOT_LISTED)
        if not own:
            problems.append('nothing handed in')
        if own and all(r.verdict == 'not answered' for r in own):
            problems.append('handed in without an answer')
        flagged = [r.exercise for r in own if r.flags]
        extra = {'page': page, 'problems': problems, 'flagged': flagged}
        extra['look'] = bool(problems or flagged)
        extra.update(name=name, anchor=file_name(student))
        rows.append({**totals, **extra})
    rows.sort(
        key=lambda row: (
            bool(not roster or row['student'] in roster),
            not row['look'],
        )
    )
    flagged = [result for result in results if result.flags]
    render(
        FLAGS,
        folder / 'flags.html',
        'Flags',
        results=flagged,
        names=names,
        anchor=file_name,
    )
    if flagged:
        pages = [(f'flags ({len(flagged)})', 'flags.html'), *pages]
    render(
        CLASS,
        folder / 'index.html',
        'Grades',
        rows=rows,
        look=sum(row['look'] for row in rows),
        exercises=per_exercise(results),
        verdicts=VERDICTS[:-1],  # a damaged file has no exercise
        ran_in=ran_in,
        pages=pages,
        changes=changes,
    )


def write_csv(results, path):
    """Write a row for each student and exercise."""
    fields = [field.name for field in dataclasses.fields(results[0])]
    fields = [f for f in fields if f not in ('sources', 'time')]
    with open(
        path, 'w', newline='', encoding='utf-8', errors='replace'
    ) as file:
        table = csv.writer(file)
        table.writerow(fields)
        for result in results:
            values = {**vars(result), 'flags': '; '.join(result.flags)}
            table.writerow([as_cell(values[field]) for field in fields])


def as_cell(value):
    """Return a value that no spreadsheet takes for a formula."""
    if isinstance(value, str) and value[:1] in ('=', '+', '-', '@', '\t'):
        return f"'{value}"
    return value


def per_exercise(results):
    """Return what the class did in each exercise."""
    rows = []
    graded = [result for result in results if result.exercise]
    for name, own in sorted(group(graded, lambda r: r.exercise).items()):
        messages = collections.Counter(
            r.message for r in own if r.verdict == 'wrong'
        )
        rows.append(
            {
                'id': name,
                'counts': collections.Counter(r.verdict for r in own),
                'message': messages.most_common(1)[0][0] if messages else '',
            }
        )
    return rows


def group(results, key):
    """Return {key: its results}, in the order of the first of each."""
    groups = {}
    for result in results:
        groups.setdefault(key(result), []).append(result)
    return groups


def file_name(student):
    """Return a name for a file, different for different students."""
    plain = re.sub(r'[^\w.-]+', '-', student)[:60]
    name = student.encode('utf-8', 'replace')
    return f'{plain}-{hashlib.sha256(name).hexdigest()[:6]}'


def render(template, path, title, **values):
    """Write a page."""
    text = environment.from_string(template).render(
        title=title, style=STYLE, **values
    )
    path.write_text(text, encoding='utf-8', errors='replace')
