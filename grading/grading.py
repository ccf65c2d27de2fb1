"""From submissions to results: which student passed which exercise."""

import dataclasses
import hashlib
import pathlib
from typing import Optional

from chapters import ROOT, name_of
from chapters.answers import match
from chapters.cells import runnable
from chapters.check import FRAMEWORKS

from .sandbox import Outcome, run_answers
from .submissions import read_notebook
from .texts import find_text

HERE = pathlib.Path(__file__).parent
# What holds solutions or hidden checks; answers see empty folders there.
SECRET_FOLDERS = [
    ROOT / name
    for name in (
        *('.git', 'book', 'build', 'chapters'),
        *('grading', 'notebooks', 'tests'),
    )
]
# One cell: the answer and our solution, on the same cases. It leaves no name
# behind that an answer could use.
HIDDEN_CHECK = """\
def _hidden_check(names):
    import numpy, sys, types
    module = sys.modules['compare'] = types.ModuleType('compare')
    exec({compare!r}, vars(module))
    ours, checks = dict(names), {{}}
    exec({solution!r}, ours)
    exec(compile({checks!r}, '<cell>', 'exec'), checks)
    del sys.modules['compare']  # an answer could change it
    rng = numpy.random.RandomState({seed})
    checks['{kind}_{name}'](rng, names[{name!r}], ours[{name!r}])

_hidden_check(globals())
"""


@dataclasses.dataclass
class Result:
    """What came of one answer; `exercise` is '' for a damaged file.

    `verdict`: one of `sandbox.VERDICTS`. `note`: what the grader did with the
    answer before it ran. `late`: how late it is, or ''; `counts`: the part of
    its points that it then brings. `given`: points by hand, which count before
    those, or None. `flags`: what a person should look at. `time`: of the
    file. `sources`: of the answer's cells.
    """

    student: str
    file: str
    chapter: str = ''
    exercise: str = ''
    points: float = 0
    verdict: str = 'damaged'
    message: str = ''
    seconds: float = 0
    note: str = ''
    late: str = ''
    counts: float = 1
    given: Optional[float] = None
    comment: str = ''
    time: float = 0
    flags: list = dataclasses.field(default_factory=list)
    sources: list = dataclasses.field(default_factory=list)

    @property
    def passed(self):
        """Whether the checks accept the answer."""
        return self.verdict == 'passed'

    @property
    def earned(self):
        """The points that the answer brings."""
        if self.given is not None:
            return self.given
        return self.points * self.counts if self.passed else 0


def read_file(file, chapters):
    """Return (the `File`, a `Result` if it cannot be read, its chapter,
    answers, a note)."""
    try:
        notebook = read_notebook(file)
        chapter, answers = match(notebook, chapters)
        file.chapter, file.text = chapter.stem, find_text(notebook, chapter)
        note = other_name(file.name, chapter, chapters)
    except ValueError as error:
        problem = Result(file.student, file.name, message=str(error))
        return file, problem, None, [], ''
    return file, None, chapter, answers, note


def other_name(name, chapter, chapters):
    """Return a note if a file has the name of another chapter, or ''."""
    for other in chapters:
        if other is not chapter and name_of(other.stem) in name:
            if name_of(chapter.stem) not in name:
                return f'its answers are those of {chapter.stem}'
    return ''


def run_all(
    file, chapter, answers, note, limits, secret=None, hidden=(), kept=None
):
    """Return a `Result` for each exercise of a chapter.

    `limits`: (seconds, megabytes). `secret`: draws the hidden checks.
    `hidden`: folders and files that answers may not see, beside ours.
    `kept`: processes for `run_answers`.
    """
    try:
        found = run_answers(
            [runnable(source) for source in chapter.before],
            [
                to_job(answer, chapter, secret)
                for answer in answers
                if answer.is_changed()
            ],
            *limits,
            [*SECRET_FOLDERS, *hidden],
            kept,
        )
    except RuntimeError as error:  # ours, not the student's
        problem = f'our error: {error}'
        if FRAMEWORKS.search(problem):
            problem = (
                f'{chapter.stem} needs PyTorch or TensorFlow: '
                'make grade BUILD=frameworks'
            )
        return [
            Result(file.student, file.name, verdict='stopped', message=problem)
        ]
    notes = {answer.exercise.id: answer.note for answer in answers}
    sources = {a.exercise.id: a.sources for a in answers if a.is_changed()}
    results = []
    for exercise in chapter.exercises:
        none = Outcome('not answered', 'the stub is as it was', 0, [])
        if exercise.id not in notes:
            none = Outcome('not answered', 'the answer is missing', 0, [])
        verdict, message, seconds, flags = found.get(exercise.id, none)
        results.append(
            Result(
                file.student,
                file.name,
                chapter.stem,
                exercise.id,
                exercise.points,
                verdict,
                message,
                seconds,
                '; '.join(filter(None, [note, notes.get(exercise.id)])),
                time=file.time,
                flags=flags,
                sources=sources.get(exercise.id, []),
            )
        )
    return results


def to_job(answer, chapter, secret):
    """Return what the runner needs for one answer."""
    exercise, found = answer.exercise, {}
    if secret is not None:
        found = hidden_checks(exercise, chapter, secret)
    return {
        'id': exercise.id,
        'function': exercise.function,
        'sources': [runnable(source) for source in answer.sources],
        'checks': [exercise.check, *found.get('watched', [])],
        'judged': found.get('hidden', []),
    }


def read_secret(path):
    """Return the secret in a file; raise ValueError if there is none."""
    text = pathlib.Path(path).read_text(encoding='utf-8').strip()
    if not text:
        raise ValueError(f'{path} is empty: write a secret into it')
    return text


def hidden_checks(exercise, chapter, secret):
    """Return {kind: [source]} of the checks of an exercise on other cases,
    drawn from `secret`.

    A `hidden` check runs where the answer does not; a `watched` one beside
    it, since it gives it functions, or looks at how it works.
    """
    path = HERE / 'hidden' / f'{name_of(chapter.stem)}.py'
    number = 1 + chapter.exercises.index(exercise)
    text = path.read_text() if path.exists() else ''
    seed = hashlib.sha256(f'{secret} {exercise.id}'.encode()).hexdigest()
    return {
        kind: [
            HIDDEN_CHECK.format(
                compare=(HERE / 'hidden' / 'compare.py').read_text(),
                solution=exercise.solution.replace(f'\ncheck_{number}()', ''),
                checks=text,
                seed=int(seed[:8], 16),
                kind=kind,
                name=exercise.function,
            )
        ]
        for kind in ('hidden', 'watched')
        if f'def {kind}_{exercise.function}(' in text
    }


def best_of(results):
    """Return one result per student and exercise: the best, if there are
    several files, of equals one without flags; and those of files that could
    not be read."""
    order = ('damaged', 'not answered', 'stopped', 'wrong', 'passed')
    best = {}
    for result in results:
        key = key_of(result)
        rank = order.index(result.verdict), result.earned, not result.flags
        if key not in best or rank > best[key][0]:
            best[key] = rank, result
    return sorted(
        (result for _, result in best.values()),
        key=lambda r: (r.student.lower(), r.exercise, r.file),
    )


def key_of(result):
    """Return what two results for the same thing have in common."""
    return result.student, result.exercise or result.file
