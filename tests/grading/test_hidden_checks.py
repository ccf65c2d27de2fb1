"""Hidden checks accept right answers, and none that knows the check."""

import pathlib
import re
import runpy

import pytest
from helpers import HAS_FRAMEWORKS, needs_frameworks

from chapters import name_of
from chapters.cells import runnable
from chapters.exercises import read_chapters
from grading import grading
from grading.sandbox import run_answers

TESTS = pathlib.Path(__file__).parents[1]
NOTEBOOKS = TESTS.parent / 'notebooks'
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


@pytest.fixture(scope='module')
def chapters():
    return {chapter.stem: chapter for chapter in read_chapters(NOTEBOOKS)}


def test_every_exercise_has_a_hidden_check(chapters):
    without = {
        exercise.id
        for chapter in chapters.values()
        for exercise in chapter.exercises
        if not grading.hidden_checks(exercise, chapter, 'a secret')
    }
    assert not without
    for stem, chapter in chapters.items():
        source = (grading.HERE / 'hidden' / f'{name_of(stem)}.py').read_text()
        names = re.findall(r'^def (?:hidden|watched)_(\w+)', source, re.M)
        assert {*names} <= {e.function for e in chapter.exercises}, stem


def by_heart(source):
    """Return whether a source is one of `BY_HEART`."""
    return '_right, _last =' in source


def attempts(chapter):
    """Yield (exercise, answer, whether it is right)."""
    table = runpy.run_path(
        str(TESTS / 'notebooks' / 'answers' / f'{name_of(chapter.stem)}.py')
    )
    for number, exercise in enumerate(chapter.exercises):
        check = f'check_{number + 1}'
        ours = exercise.solution.split(f'\n\n{check}()')[0]
        yield exercise, ours, True
        for change in table['RIGHT'][number]:
            whole = isinstance(change, str) or len(change) == 1
            yield (
                exercise,
                ''.join(change) if whole else ours.replace(*change),
                True,
            )
        for *change, _ in table['WRONG'][number][:2]:
            wrong = ours.replace(*change) if len(change) == 2 else change[0]
            yield exercise, wrong, False
        heart = BY_HEART.format(solution=ours, name=exercise.function)
        yield exercise, heart, False


@pytest.mark.long
@pytest.mark.parametrize('stem', CHAPTERS)
@pytest.mark.parametrize('secret', ['one', 'two'])
def test_hidden_checks_tell_right_from_learned_by_heart(
    stem, secret, chapters
):
    chapter = chapters[stem]
    assert_told_apart(chapter, [*attempts(chapter)], secret)


def test_the_hidden_check_of_an_exercise_tells_right_from_wrong(chapters):
    """The test above for one exercise: each answer takes two seconds."""
    chapter = chapters['04_data']
    first = [a for a in attempts(chapter) if a[0] is chapter.exercises[0]]
    assert {right for _, _, right in first} == {True, False}
    assert_told_apart(chapter, first, 'one')


def assert_told_apart(chapter, tried, secret):
    """Assert that just the right ones of some attempts pass."""
    jobs, wanted = [], {}
    for exercise, source, right in tried:
        answer = type('', (), {'exercise': exercise, 'sources': [source]})
        job = grading.to_job(answer, chapter, secret)
        job['id'] = f'{exercise.id} {len(jobs)}'
        job['checks'].insert(1, MARK)
        jobs.append(job)
        wanted[job['id']] = (source, right)
    before = [runnable(source) for source in chapter.before]
    found = run_answers(before, jobs, 100, 8000)
    mistaken = [
        (name, message, source)
        for name, (source, right) in wanted.items()
        for verdict, message, *_ in [found[name]]
        if (verdict == 'passed') != right
        or (by_heart(source) and not message.startswith('hidden check'))
        or verdict not in ('passed', 'wrong')
    ]
    assert not mistaken, '\n\n'.join(map(str, mistaken))


# Right when they are timed, and not what was asked for.
DISTANT = """def layers_seconds(k):
    args = [[np.ones(shape, ctx=mx.cpu(i)) * 0.01 for shape in shapes]
            for i in range({devices})]
    return median_seconds(lambda: {work})
"""
TIMED = {
    'with three devices at most': DISTANT.format(
        devices='min(k, 3)', work='[twenty_layers(*arg) for arg in args]'
    ),
    'one after the other from four on': DISTANT.format(
        devices='k',
        work='[twenty_layers(*arg).wait_to_read() if k > 3 else '
        'twenty_layers(*arg) for arg in args]',
    ),
}


@pytest.mark.long
@pytest.mark.parametrize('name', TIMED)
def test_what_is_measured_is_checked_without_the_time(name, chapters):
    """The visible check times one and three devices alone."""
    chapter = chapters['01_devices']
    exercise = chapter.exercises[0]
    assert_told_apart(chapter, [(exercise, TIMED[name], False)], 'one')
    job = {
        'id': 'x',
        'function': exercise.function,
        'sources': [TIMED[name]],
        'checks': [exercise.check],
    }
    before = [runnable(source) for source in chapter.before]
    assert run_answers(before, [job], 100, 8000)['x'].verdict == 'passed'
