"""Answers of different students that are alike, side by side.

Compared is what Python reads: comments, docstrings, annotations and the names
that an answer itself gives do not count. Right answers to a short exercise
are alike without a reason, so short ones are left out, and each group says
how like our solution it is.
"""

import ast
import dataclasses
import difflib
import re

from chapters.cells import runnable

from .pages import group, render

THRESHOLD = 0.9  # of the tokens, by difflib.SequenceMatcher.ratio
MIN_TOKENS = 30  # of the shortest answer that is compared
MAX_SHOWN = 8  # answers of a group, side by side
DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
PAGE = """{% extends 'page' %}{% block body %}
<p>Answers whose tokens agree to {{ '%d' % (100 * threshold) }} % or more, of
those with at least {{ least }} tokens. Comments, docstrings, annotations and
the names that an answer gives do not count. Groups that are least like our
solution come first. Being alike proves nothing: read them.</p>
{% for g in groups %}
<h2>{{ g.exercise }}: {{ g.students | join(', ') }}</h2>
<p>{{ '%d' % (100 * g.least) }} %{{ ' or more' if g.least < 1 }} alike
{%- if g.verbatim %}, word for word with all comments:
{{ g.verbatim | join(', ') }}{% endif %};
{% if g.ours is none %}our solution is not known here.
{% else %}at most {{ '%d' % (100 * g.ours) }} % like our solution.{% endif %}
</p>
<div class="beside">
{% for a in g.answers[:shown] %}
<div><h3>{{ a.student }}{% if a.identical %}, identical to our solution
{%- endif %}</h3>{{ code(a.sources) }}</div>
{% endfor %}
</div>
{% if g.answers | length > shown %}
<p>The first {{ shown }} of {{ g.answers | length }} are shown.</p>{% endif %}
{% else %}
<p>There are none.</p>
{% endfor %}
<h2>Identical to our solution</h2>
<p>In all tokens. Of a short answer that means little.</p>
<div class="scroll"><table>
<tr><th>exercise<th class="number">tokens<th>students
{% for row in identical %}
<tr><td>{{ row.exercise }}<td class="number">{{ row.tokens }}
<td>{{ row.students | join(', ') }}
{% else %}
<tr><td>none<td><td>
{% endfor %}
</table></div>
{% endblock %}"""


def tokens_of(sources):
    """Return the tokens of an answer, or its words if it is not Python."""
    try:
        tree = ast.parse('\n'.join(map(runnable, sources)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return re.findall(r'\w+|[^\w\s]', '\n'.join(sources))
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.setdefault(node.id, None)
        elif isinstance(node, ast.arg):
            names.setdefault(node.arg, None)
        elif isinstance(node, DEFINING):
            names.setdefault(node.name, None)
    try:
        return [*read(tree, dict.fromkeys(names))]
    except RecursionError:
        return re.findall(r'\w+|[^\w\s]', '\n'.join(sources))


def read(node, names):
    """Yield the tokens of a node; `names`: those that the answer gives, and
    what stands for them, in the order in which they appear."""
    yield type(node).__name__
    for field, value in ast.iter_fields(node):
        if field in ('ctx', 'annotation', 'returns', 'type_comment', 'kind'):
            continue
        values = value if isinstance(value, list) else [value]
        if field == 'body' and values and is_text(values[0]):
            values = values[1:]
        for one in values:
            if isinstance(one, ast.AST):
                yield from read(one, names)
            elif isinstance(one, str) and one in names:
                if names[one] is None:
                    names[one] = f'name {len([*filter(None, names.values())])}'
                yield names[one]
            elif one is not None:
                yield repr(one)


def is_text(node):
    """Return whether a statement is a docstring."""
    value = getattr(node, 'value', None)
    return (
        isinstance(node, ast.Expr)
        and isinstance(value, ast.Constant)
        and isinstance(value.value, str)
    )


def likeness(one, other):
    """Return the part of two answers' tokens that agrees; 0 if it is surely
    below `THRESHOLD`."""
    if 2 * min(len(one), len(other)) < THRESHOLD * (len(one) + len(other)):
        return 0
    if one == other:
        return 1.0
    match = difflib.SequenceMatcher(None, one, other, autojunk=False)
    return match.ratio() if match.quick_ratio() >= THRESHOLD else 0


@dataclasses.dataclass
class Answer:
    """An answer, its tokens, and whether they are our solution's."""

    student: str
    sources: list
    tokens: list
    identical: bool

    @property
    def text(self):
        """Return the sources without the spaces at the ends of lines."""
        return [re.sub(r'\s+$', '', s, flags=re.M) for s in self.sources]


def find_groups(results, solutions):
    """Return (groups of similar answers, rows of those identical to ours).

    `solutions`: {exercise: its source}.
    """
    answered = [r for r in results if r.exercise and r.sources]
    groups, identical = [], []
    for exercise, own in group(answered, lambda r: r.exercise).items():
        ours = exercise in solutions and tokens_of([solutions[exercise]])
        answers = []
        for r in own:
            tokens = tokens_of(r.sources)
            answers.append(
                Answer(r.student, r.sources, tokens, tokens == ours)
            )
        groups += [
            {'exercise': exercise, **describe(some, least, ours)}
            for some, least in alike(answers)
        ]
        names = [a.student for a in answers if a.identical]
        if names:
            row = {'exercise': exercise, 'tokens': len(ours)}
            identical.append({**row, 'students': names})
    groups.sort(key=lambda g: (g['ours'] or 0, g['exercise']))
    return groups, sorted(identical, key=lambda row: -row['tokens'])


def describe(answers, least, ours):
    """Return what the page says of a group; `ours`: tokens, or False."""
    texts = [answer.text for answer in answers]
    return {
        'students': [answer.student for answer in answers],
        'answers': answers,
        'least': least,
        'verbatim': [a.student for a in answers if texts.count(a.text) > 1],
        'ours': max(ratio(a.tokens, ours) for a in answers) if ours else None,
    }


def ratio(one, other):
    """Return the part of two answers' tokens that agrees."""
    return difflib.SequenceMatcher(None, one, other, autojunk=False).ratio()


def alike(answers):
    """Return [(answers, the least likeness of one that joined them)]."""
    groups = []
    for answer in answers:
        if len(answer.tokens) < MIN_TOKENS:
            continue
        joined, least, rest = [answer], 1.0, []
        for members, smallest in groups:
            found = max(likeness(m.tokens, answer.tokens) for m in members)
            if found >= THRESHOLD:
                joined = members + joined
                least = min(least, smallest, found)
            else:
                rest.append((members, smallest))
        groups = [*rest, (joined, least)]
    return [(members, least) for members, least in groups if members[1:]]


def solutions_of(chapters):
    """Return {exercise: our solution, without the call of its check}."""
    return {
        exercise.id: re.sub(
            r'^check_\d+\(\)$', '', exercise.solution, flags=re.MULTILINE
        )
        for chapter in chapters
        for exercise in chapter.exercises
        if exercise.solution
    }


def write_similar(results, chapters, path):
    """Write the page, and return how many groups it has."""
    groups, identical = find_groups(results, solutions_of(chapters))
    render(
        PAGE,
        path,
        'Similar answers',
        groups=groups,
        identical=identical,
        threshold=THRESHOLD,
        least=MIN_TOKENS,
        shown=MAX_SHOWN,
    )
    return len(groups)
