"""Answers in words: a page per question, with points and comments by hand.

For each chapter, texts/NAME.html has the answers to its question to think
about, with fields for points and comments, and texts/NAME.csv has both. The
page saves a new NAME.csv, to be put in that folder; a spreadsheet can edit
the file as well. The next run reads it, and keeps what a person wrote.
"""

import csv
import dataclasses
import json
import math
import os
import re

from chapters import name_of
from chapters.answers import nbgrader_of
from chapters.cells import is_python, tags
from chapters.exercises import THINK

from .pages import as_cell, render
from .roster import read_rows, squeeze

PLACEHOLDER = 'Write your answer here.'
COLUMNS = ['student', 'points', 'comment', 'answer']
PAGE = """{% extends 'page' %}{% block body %}
<p class="text">{{ question }}</p>
{% if ours %}<details><summary>Our answer</summary>
<p class="text">{{ ours }}</p></details>{% endif %}
<p>Type points, of {{ '%g' % of }}, and comments; then save
<code>{{ name }}.csv</code> and put it in the folder of this page, over the
one that is there. The next <code>make grade</code> reads it.
<button id="save">Save {{ name }}.csv</button>
<span id="state" role="status"></span></p>
{% for t in texts %}
<section data-student="{{ t.student }}">
<h2>{{ t.student }}</h2>
<p class="text">{{ t.text }}</p>
{% if t.before is not none %}<details open><summary class="failed">The points
are for an earlier answer</summary><p class="text">{{ t.before }}</p></details>
{% endif %}
<p><label>Points <input class="points" inputmode="decimal" size="5"
value="{{ '' if t.points is none else '%g' % t.points }}"></label>
<label>Comment<textarea class="comment" rows="2">
{{ t.comment }}</textarea></label></p>
</section>
{% else %}
<p>Nobody has written an answer.</p>
{% endfor %}
<script type="application/json" id="texts">{{ data | safe }}</script>
<script>{{ script | safe }}</script>
{% endblock %}"""
SCRIPT = """
'use strict';
const texts = JSON.parse(document.getElementById('texts').textContent);
const state = document.getElementById('state');
let saved = true;
document.addEventListener('input', () => {
  saved = false;
  state.textContent = 'not saved yet';
});
window.addEventListener('beforeunload', event => {
  if (!saved) event.preventDefault();
});
// No spreadsheet takes what people write for a formula.
function cell(text) {
  if (/^[=+@\\t-]/.test(text)) text = "'" + text;
  return '"' + text.replaceAll('"', '""') + '"';
}
function table() {
  const rows = [['student', 'points', 'comment', 'answer']];
  for (const section of document.querySelectorAll('section')) {
    const student = section.dataset.student;
    rows.push([student, section.querySelector('.points').value.trim(),
      section.querySelector('.comment').value.trim(), texts.answers[student]]);
  }
  return rows.map(row => row.map(cell).join(',') + '\\r\\n').join('');
}
function wrong(input) {
  const value = Number(input.value.trim().replace(',', '.'));
  return !(value >= 0 && value <= texts.of);
}
document.getElementById('save').addEventListener('click', () => {
  const first = [...document.querySelectorAll('.points')].find(wrong);
  if (first) {
    state.textContent = 'points are numbers from 0 to ' + texts.of;
    first.focus();
    return;
  }
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([table()], {type: 'text/csv'}));
  link.download = texts.name + '.csv';
  link.click();
  saved = true;
  state.textContent = 'saved, as a download';
});
"""


@dataclasses.dataclass
class Text:
    """What a student wrote to a question, and what a person says of it.

    `points`: None before there are any, of `of`. `before`: the text that they
    are for, if it is another one.
    """

    student: str
    exercise: str
    text: str
    points: 'float | None' = None
    comment: str = ''
    of: float = 1
    before: 'str | None' = None


def find_text(notebook, chapter):
    """Return what a notebook has as an answer to the chapter's question, ''
    if there is nothing: wherever it stands, in its cell or after it."""
    if not chapter.question:
        return ''
    found, after = [], False
    ours = {squeeze(s) for s in (*chapter.words, chapter.our_answer)}
    for cell in notebook['cells']:
        source = cell['source']
        if 'answer' in tags(cell) or (
            nbgrader_of(cell).get('grade_id') == chapter.question_id
        ):
            found.append(source)
        elif cell['cell_type'] != 'code' and THINK.search(source):
            after = True  # an answer may stand in the question's cell
            found.append(source.replace(chapter.question, ''))
        elif after and is_prose(cell, chapter) and squeeze(source) not in ours:
            found.append(source)
    kept = [
        re.sub(rf'\*?{PLACEHOLDER}\*?', '', text).strip() for text in found
    ]
    return '\n\n'.join(filter(None, kept))


def is_prose(cell, chapter):
    """Return whether a cell has words: no code, or comments alone."""
    if cell['cell_type'] != 'code':
        return 'solution' not in tags(cell)
    source = cell['source']
    if source in chapter.ours or not source.strip():
        return False
    lines = [line for line in source.splitlines() if line.strip()]
    comments = all(line.startswith('#') for line in lines)
    return comments or (
        not is_python(source)
        and not re.search(
            r'^\s*(def |import |from |class |[%!@]|return )', source, re.M
        )
    )


def read_texts(folder, chapters, of):
    """Return {stem: {student: `Text`}} of what was written by hand.

    `of`: the points of a question. Raises ValueError if points are no number
    from 0 to `of`.
    """
    return {
        chapter.stem: read_marks(folder, chapter, of)
        for chapter in chapters
        if chapter.question
    }


def read_marks(folder, chapter, of):
    """Return {student: `Text`} of the newest table for a chapter."""
    name = name_of(chapter.stem)
    wanted = re.compile(rf'{name} ?(\(\d+\))?\.csv')  # a browser adds (1)
    paths = [p for p in folder.glob('*.csv') if wanted.fullmatch(p.name)]
    if not paths:
        return {}
    path, found = max(paths, key=lambda p: p.stat().st_mtime_ns), {}
    for row in read_rows(path):
        row = {key: from_cell(value) for key, value in row.items()}
        student = row.get('student')
        if student:
            found[student] = Text(
                student,
                chapter.question_id,
                row.get('answer', ''),
                to_points(row.get('points', ''), of, f'{path}, {student}'),
                row.get('comment', ''),
                of,
            )
    return found


def to_points(text, of, where):
    """Return points that a person typed; None if there are none."""
    if not text:
        return None
    try:
        value = float(text.replace(',', '.'))
    except ValueError:
        value = math.nan
    if not 0 <= value <= of:
        raise ValueError(
            f'{where}: points {text!r}: write a number from 0 to {of:g} '
            '(--text-points changes the largest)'
        )
    return value


def from_cell(text):
    """Return what `as_cell` or the page was given."""
    return text[1:] if text[:1] == "'" and as_cell(text[1:]) == text else text


def merge(earlier, files, chapters, of, keep=False):
    """Return {stem: [`Text`]}: what `files` have now, with points and
    comments of `earlier`, which `read_texts` returns.

    What has points or a comment stays although no file has it any more; with
    `keep`, all does.
    """
    found = {}
    for chapter in chapters:
        if not chapter.question:
            continue
        old = earlier.get(chapter.stem, {})
        texts = {
            student: text
            for student, text in old.items()
            if keep or text.points is not None or text.comment
        }
        for file in files:
            if file.chapter == chapter.stem and file.text:
                new = Text(file.student, chapter.question_id, file.text, of=of)
                texts[file.student] = carry(old.get(file.student), new)
        order = sorted(texts, key=lambda name: (name.lower(), name))
        found[chapter.stem] = [texts[student] for student in order]
    return found


def carry(old, new):
    """Return a new `Text` with what a person wrote about the old one."""
    if old is None or (old.points is None and not old.comment):
        return new
    same = squeeze(old.text) in ('', squeeze(new.text))
    return dataclasses.replace(
        new,
        points=old.points,
        comment=old.comment,
        before=None if same else old.text,
    )


def write_texts(found, chapters, folder):
    """Write the page and the table of each question that has an answer, and
    return [(name, file)] of the pages."""
    pages = []
    for chapter in chapters:
        texts = found.get(chapter.stem)
        if not texts:
            continue
        folder.mkdir(parents=True, exist_ok=True)
        name = name_of(chapter.stem)
        write_marks(texts, folder / f'{name}.csv')
        data = {
            'name': name,
            'of': texts[0].of,
            'answers': {text.student: text.text for text in texts},
        }
        render(
            PAGE,
            folder / f'{name}.html',
            f'{chapter.question_id}: answers in words',
            question=re.sub(r'^\*\*.*?\*\* ', '', chapter.question),
            ours=chapter.our_answer,
            texts=texts,
            name=name,
            of=texts[0].of,
            data=json.dumps(data).replace('<', '\\u003c'),  # no </script>
            script=SCRIPT,
        )
        pages.append((f'answers to {chapter.question_id}', f'{name}.html'))
    return pages


def write_marks(texts, path):
    """Write the table; a crash leaves the one that was there."""
    part = path.with_suffix('.part')
    with open(
        part, 'w', newline='', encoding='utf-8', errors='replace'
    ) as file:
        table = csv.writer(file)
        table.writerow(COLUMNS)
        for text in texts:
            points = '' if text.points is None else f'{text.points:g}'
            kept = text.text if text.before is None else text.before
            row = [text.student, points, text.comment, kept]
            table.writerow([as_cell(value) for value in row])
    os.replace(part, path)
