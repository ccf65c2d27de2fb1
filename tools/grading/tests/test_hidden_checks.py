"""Hidden checks accept right answers, and none that knows the check."""

import pathlib
import re

import pytest
from helpers import HAS_FRAMEWORKS, needs_frameworks, read_answers

from tools.notebooks import name_of
from tools.notebooks.exercises import read_chapters

pytest.importorskip('nbgrader', reason='make grading')
from judging import Bench  # noqa: E402

from tools.grading import judge  # noqa: E402

ROOT = pathlib.Path(__file__).parents[3]
NOTEBOOKS = ROOT / 'notebooks'
CHAPTERS = [
    path.stem
    for path in sorted(NOTEBOOKS.glob('*.ipynb'))
    if needs_frameworks(path) == HAS_FRAMEWORKS
]
# Right while the visible check runs; afterwards what it returned last.
BY_HEART = """{solution}

_right, _last = {name}, []

def {name}(*args, **kwargs):
    import sys
    if 'hidden checks' not in sys.modules:
        _last[:] = [_right(*args, **kwargs)]
    return _last[0]
"""
MARK = "import sys\nsys.modules['hidden checks'] = sys"
# Puts new arrays into the lists that it got, and leaves the old ones.
REBINDS = """{solution}

_right, _written = {name}, []

def {name}(*args):
    def copied(value):
        if type(value) in (list, tuple):
            return type(value)(map(copied, value))
        if not hasattr(value, 'copyto'):
            return value
        new = value.copy()
        if value.grad is not None:
            new.attach_grad()
        return new
    def put(old, new):
        if type(old) is list:
            for i, (one, other) in enumerate(zip(old, new)):
                put(one, other)
                if hasattr(one, 'copyto'):
                    if one.asnumpy().tobytes() != other.asnumpy().tobytes():
                        _written.append(one)
                    old[i] = other
            old += new[len(old):]
        elif type(old) is tuple:
            for one, other in zip(old, new):
                put(one, other)
    copies = [copied(value) for value in args]
    result = _right(*copies)
    for old, new in zip(args, copies):
        put(old, new)
    return result
"""
SCRATCH = ('sync_batch_norm-exercise-1',)  # whose arrays may be overwritten
WRITES = "assert not _written, 'it writes into arrays'"


@pytest.fixture(scope='module')
def chapters():
    return {chapter.stem: chapter for chapter in read_chapters(NOTEBOOKS)}


def test_every_exercise_has_a_hidden_check(chapters):
    without = {
        exercise.id
        for chapter in chapters.values()
        for exercise in chapter.exercises
        if not judge.hidden_checks(exercise, chapter, 'a secret')
    }
    assert not without
    for stem, chapter in chapters.items():
        source = (judge.HERE / 'hidden' / f'{name_of(stem)}.py').read_text()
        names = re.findall(r'^def (?:hidden|watched)_(\w+)', source, re.M)
        assert {*names} <= {e.function for e in chapter.exercises}, stem


def attempts(chapter, number):
    """Yield (answer, whether it is right, a part of the message) of answers to
    an exercise."""
    exercise = chapter.exercises[number]
    ours = exercise.solution.split(f'\n\ncheck_{number + 1}()')[0]
    yield ours, True, ''
    written = [
        answer
        for answer in read_answers(name_of(chapter.stem))
        if answer.exercise == number + 1
    ]
    for answer in written:
        if answer.right:
            yield answer.source, True, ''
    for answer in [a for a in written if not a.right][:2]:
        yield answer.source, False, ''
    filled = {'solution': ours, 'name': exercise.function}
    yield BY_HEART.format(**filled), False, 'hidden check'
    if exercise.id not in SCRATCH:
        yield REBINDS.format(**filled), None, ''


def mistakes(chapter, numbers, secret):
    """Yield what the checks say of answers, where that is not true."""
    bench = Bench(chapter)
    for number in numbers:
        exercise = chapter.exercises[number]
        for source, right, said in attempts(chapter, number):
            after = MARK if right is not None else WRITES
            verdict, message = bench.judge(exercise, source, secret, after)
            if right is None:  # refused if there is something to write
                true = 'writes' not in message
            else:
                true = verdict == ('passed' if right else 'wrong')
            if not true or said not in message:
                yield exercise.id, verdict, message, source


@pytest.mark.long
@pytest.mark.parametrize('stem', CHAPTERS)
@pytest.mark.parametrize('secret', ['one', 'two'])
def test_hidden_checks_tell_right_from_learned_by_heart(
    stem, secret, chapters
):
    chapter = chapters[stem]
    found = [*mistakes(chapter, range(len(chapter.exercises)), secret)]
    assert not found, '\n\n'.join(map(str, found))


@pytest.mark.parametrize('stem, number', [('04_data', 0), ('03_replicas', 2)])
def test_the_hidden_check_of_an_exercise_tells_right_from_wrong(
    stem, number, chapters
):
    """The test above for a few exercises."""
    found = [*mistakes(chapters[stem], [number], 'one')]
    assert not found, '\n\n'.join(map(str, found))
