"""The judge: hidden checks in a process that has never run the answer.

`Judged` stands in the place of nbgrader's Execute. It runs a student's whole
notebook in an isolated kernel, with a judge beside it, whom nbgrader's hidden
tests ask (see `calls.py`). A check has its points if its cell raises nothing
and the judge has said "passed": what a student's code makes of the cell does
not decide alone.
"""

import hashlib
import json
import os
import pathlib
import select
import shutil
import socket
import subprocess
import sys

from nbclient.exceptions import DeadKernelError
from nbformat.v4 import new_output
from nbgrader import utils
from nbgrader.preprocessors import Execute
from traitlets import Unicode

from tools.notebooks import NOTEBOOKS, ROOT, name_of
from tools.notebooks.cells import plain
from tools.notebooks.exercises import chapter_of

from .calls import ADDRESS, judge, receive, send
from .isolated import IsolatedKernelManager
from .secret import read_secret

HERE = pathlib.Path(__file__).parent
ENDED = 'the kernel ended before this check: out of memory, or ended by a cell'
NOT_JUDGED = 'the hidden check of this exercise has not passed'
# One source: the answer and our solution, on the same cases.
HIDDEN_CHECK = """\
def _hidden_check(names):
    import numpy, sys, types
    module = sys.modules['compare'] = types.ModuleType('compare')
    exec({compare!r}, vars(module))
    ours, checks = dict(names), {{}}
    exec({solution!r}, ours)
    exec(compile({checks!r}, '<hidden check>', 'exec'), checks)
    del sys.modules['compare']  # an answer could change it
    rng = numpy.random.RandomState({seed})
    checks['{kind}_{name}'](rng, names[{name!r}], ours[{name!r}])

_hidden_check(globals())
"""


class Judged(Execute):
    """Nbgrader's Execute, in an isolated kernel, with a judge."""

    secret_file = Unicode(
        'secret.txt', help='The file whose text draws the hidden cases'
    ).tag(config=True)

    def __init__(self, *args, **kwargs):
        kwargs.setdefault('kernel_manager_class', IsolatedKernelManager)
        super().__init__(*args, **kwargs)

    def preprocess(self, nb, resources, **kwargs):
        """Run a notebook; leave an error at each check that has no verdict."""
        self.process, ended = None, ''
        self.chapter = resources['nbgrader']['notebook']
        try:
            nb, resources = super().preprocess(nb, resources, **kwargs)
        except DeadKernelError:
            ended = ENDED
            self.log.warning('The kernel of this notebook has ended')
        finally:
            passed = self.end_judge()
        for cell in filter(is_check, nb.cells):
            for output in cell.outputs:
                # For nbgrader, what a progress bar or a warning writes to
                # stderr is a failure.
                if output.get('name') == 'stderr':
                    output.name = 'stdout'
                # The lines around an error show the hidden test.
                if 'hidden_check' in ''.join(output.get('traceback', '')):
                    output.traceback = [f'{output.ename}: {output.evalue}']
            if cell.metadata.nbgrader.grade_id not in passed and not any(
                output.output_type == 'error' for output in cell.outputs
            ):
                cell.outputs.append(error_output(ended or NOT_JUDGED))
        return nb, resources

    def start_new_kernel(self, **kwargs):
        """Start the kernel, and the judge before it."""
        folder = self.km.folder
        shutil.copy(HERE / 'calls.py', folder)
        address = os.path.join(folder, 'judge')
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(address)
            listener.listen()
            number = listener.fileno()
            self.process = subprocess.Popen(
                [sys.executable, '-m', 'tools.grading.judge', str(number)],
                cwd=ROOT,
                pass_fds=[number],
                start_new_session=True,  # Ctrl-C is nbgrader's
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        secret = read_secret(self.secret_file)
        self.process.stdin.write(json.dumps([self.chapter, secret]) + '\n')
        self.process.stdin.flush()
        self.km.variables[ADDRESS] = address
        super().start_new_kernel(**kwargs)

    def end_judge(self):
        """Return the ids of the checks that have passed."""
        if self.process is None:
            return []
        try:
            said, _ = self.process.communicate(timeout=60)
            return json.loads(said or '[]')
        except subprocess.TimeoutExpired:
            return []
        finally:
            self.process.kill()
            self.process.wait()


def is_check(cell):
    """Return whether a cell is a check that the judge decides, too."""
    return (
        cell.cell_type == 'code'
        and utils.is_grade(cell)
        and 'hidden_check(' in cell.source
    )


def error_output(message):
    """Return the output of a cell that has failed."""
    return new_output(
        'error', ename='NotChecked', evalue=message, traceback=[message]
    )


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


def serve(listener, chapter, secret, names):
    """Judge the answers of a kernel, one connection after the other, until
    stdin ends; return the ids of the checks that have passed."""
    exercises = {one.id: one for one in chapter.exercises}
    passed = set()
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return passed
        channel, _ = listener.accept()
        with channel:
            try:
                exercise = exercises[receive(channel)]
                found = hidden_checks(exercise, chapter, secret)
                verdict, message = judge(
                    channel,
                    exercise.function,
                    found.get('hidden', []),
                    found.get('watched', []),
                    names,
                )
                if verdict == 'passed':
                    passed.add(f'{exercise.id}-check')
                send(channel, ['verdict', verdict, message])
            except Exception as error:  # what a student's code sends
                print(f'judge: {error!r}', file=sys.stderr)


def main():
    """Judge the answers that come through a socket; print who has passed."""
    stem, secret = json.loads(sys.stdin.readline())
    (path,) = (one for one in NOTEBOOKS if one.stem == stem)
    chapter = chapter_of(path)
    names = {'__name__': '__main__'}
    with open(os.devnull, 'w') as nothing:
        printed, sys.stdout = sys.stdout, nothing
        for source in chapter.before:
            exec(compile(plain(source), '<cell>', 'exec'), names)
        with socket.socket(fileno=int(sys.argv[1])) as listener:
            passed = serve(listener, chapter, secret, names)
    print(json.dumps(sorted(passed)), file=printed)
    printed.flush()
    os._exit(0)  # whatever threads the book's cells have left


if __name__ == '__main__':
    main()
