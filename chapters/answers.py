"""A student's answers, from a notebook of any tool and in any order."""

import ast
import dataclasses
import json
import re

import nbformat

from .cells import code_cells, is_python, runnable, tags, without_marks
from .names import changed_in, first_line, names_in, needed_for

NO_EXERCISE = 'no exercise of the book is in it'


@dataclasses.dataclass
class Answer:
    """What a student wrote for an exercise: the sources of cells, in order.

    The first define names that the answer uses; then comes the answer, and
    what fills its tables. `own` is the answer itself.
    """

    exercise: object
    sources: list
    own: str = ''
    note: str = ''

    def is_changed(self):
        """Return whether there is more than the stub."""
        return without_marks(self.own).strip() != (
            without_marks(self.exercise.stub).strip()
        )


def parse_notebook(content):
    """Return a notebook of some bytes; raise ValueError if it is none."""
    if not content.strip():
        raise ValueError('not a notebook: the file is empty')
    try:
        # Of UTF-8 and UTF-16, with and without a byte-order mark.
        text = json.dumps(repaired(json.loads(content)))
        notebook = nbformat.reads(text, 4)
        nbformat.validate(notebook)
    except Exception as error:  # of JSON, of its schema, of its encoding
        line = (str(error).splitlines() or [''])[0]
        raise ValueError(f'not a notebook: {line[:100]}') from None
    for cell in notebook.cells:  # some editors end lines as Windows does
        cell.source = cell.source.replace('\r\n', '\n').replace('\r', '\n')
    return notebook


def repaired(content):
    """Return a notebook without what nothing here needs, such as outputs and
    ids of cells: tools leave it out, or write what the format does not have.
    """
    if content.get('nbformat') != 4:
        return content
    cells = []
    for cell in content['cells']:
        found = cell.get('metadata') or {}
        kept = {'metadata': {}, 'source': cell['source']}
        if 'nbgrader' in found:
            kept['metadata']['nbgrader'] = found['nbgrader']
        if isinstance(found.get('tags'), list):
            kept['metadata']['tags'] = [*{*map(str, found['tags'])}]
        if cell['cell_type'] == 'code':
            kept.update(outputs=[], execution_count=None)
        cells.append({**kept, 'cell_type': cell['cell_type']})
    return {'nbformat': 4, 'nbformat_minor': 4, 'metadata': {}, 'cells': cells}


def match(notebook, chapters):
    """Return (chapter, answers) of the chapter that a notebook answers.

    Neither names nor checks count: an exercise is known by its id or its
    function. Raises ValueError if no exercise is found.
    """
    found = {
        chapter.stem: (chapter, find_answers(notebook, chapter))
        for chapter in chapters
    }
    chapter, answers = max(found.values(), key=lambda pair: len(pair[1]))
    if not answers:
        raise ValueError(NO_EXERCISE)
    return chapter, answers


def find_answers(notebook, chapter):
    """Return an `Answer` for each exercise of a chapter that was found."""
    answers = []
    cells = [cell for cell in joined(notebook) if 'solution' not in tags(cell)]
    theirs = [cell for cell in cells if cell['source'] not in chapter.ours]
    for exercise in chapter.exercises:
        stubs = [c['source'] for c in cells if is_answer(c, exercise)]
        own = [c for c in theirs if is_answer(c, exercise)]
        # Our solution below a stub was there before the student; in the
        # place of the stub, it is what the student hands in.
        own = [
            c['source']
            for c in own
            if c['source'] != exercise.solution
            or all(s == c['source'] for s in stubs if defines(s, exercise))
        ]
        note = ''
        if not own:
            own = [c for c in map(in_check(exercise), theirs) if c]
            note = 'the answer stood in the cell of its check' if own else ''
        if own or stubs:
            defining = [s for s in own if defines(s, exercise)]
            last = (defining or own or stubs)[-1]
            others = [
                c['source']
                for c in theirs
                if c['source'] not in (*defining, last)
            ]
            sources = with_tables(last, others)
            sources = [without_calls(source) for source in sources]
            answers.append(Answer(exercise, sources, last, note))
    return answers


def joined(notebook):
    """Return the code cells, with those that are halves of one as one: in the
    first half something is open, or the second one goes on indented."""
    cells = []
    for cell in code_cells(notebook):
        last = cells[-1] if cells else None
        both = last and f'{last["source"]}\n{cell["source"]}'
        if (
            last
            and not (is_python(last['source']) and cell['source'][:1].strip())
            and not is_python(cell['source'])
            and is_python(runnable(both))
        ):
            cells[-1] = {**last, 'source': both}
        else:
            cells.append(cell)
    return cells


def defines(source, exercise):
    """Return whether a cell defines, or means to, an exercise's function."""
    return (
        exercise.function in names_in(source)[0]
        or f'def {exercise.function}(' in source  # not Python, yet
    )


def without_calls(source):
    """Return a source without its calls of checks: the grader has its own."""
    return re.sub(
        r'^([ \t]*)(%time(it)?[ \t]+)?(check_\d+\([^()\n]*\))',
        r'\1pass  # \4',
        source,
        flags=re.MULTILINE,
    )


def with_tables(last, others):
    """Return the sources that an answer needs, in the order to run them."""
    kept = needed_for([last], others)
    fills = []
    for other in others:
        if other in kept:
            continue
        left = set().union(*(names_in(s)[0] for s in [last, *kept]))
        if changed_in(other) & left and not calls_check(other):
            fills.append(other)
    before = needed_for([last, *fills], [o for o in others if o not in fills])
    tables = {name for s in before for name in names_in(s)[0]}
    first = [f for f in fills if changed_in(f) & tables]
    rest = [f for f in fills if f not in first]
    order = [o for o in others if o in before or o in first]
    return [*order, last, *rest]


def calls_check(source):
    """Return whether a cell calls a check."""
    return bool(re.search(r'^\s*check_\d+\(', source, re.MULTILINE))


def in_check(exercise):
    """Return a function that finds an answer in the cell of its check."""

    def find(cell):
        source = runnable(cell['source'])
        if exercise.function not in names_in(source)[0]:
            return ''
        if not is_check(cell) or not is_python(source):
            return ''
        lines, kept = source.split('\n'), []
        for node in ast.parse(source).body:
            text = lines[first_line(node) - 1 : node.end_lineno]
            name = getattr(node, 'name', '')
            if not name.startswith('check_') and not calls_check(text[0]):
                kept += text
        return '\n'.join(kept)

    return find


def is_answer(cell, exercise):
    """Return whether a cell is there to answer an exercise."""
    if is_check(cell):
        return False
    return nbgrader_of(cell).get('grade_id') == exercise.id or defines(
        cell['source'], exercise
    )


def is_check(cell):
    """Return whether a cell is there to check an answer."""
    return 'check' in tags(cell) or bool(nbgrader_of(cell).get('grade'))


def nbgrader_of(cell):
    """Return the metadata of nbgrader, whatever a file has there."""
    metadata = cell.get('metadata', {}).get('nbgrader', {})
    return metadata if isinstance(metadata, dict) else {}
