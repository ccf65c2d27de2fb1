"""An answer, its visible check, and the judge, in two processes."""

import contextlib
import os
import signal
import socket
import sys
import types

from tools.grading import calls
from tools.grading.judge import hidden_checks
from tools.notebooks.cells import plain


def run_cells(sources, names):
    """Run cells in a namespace."""
    for source in sources:
        exec(compile(plain(source), '<cell>', 'exec'), names)


class Bench:
    """Judges answers to the exercises of a chapter, whose cells run once."""

    def __init__(self, chapter):
        self.chapter = chapter
        self.main = types.ModuleType('__main__')
        self.names = {'__name__': '__main__'}
        real = sys.modules['__main__']
        sys.modules['__main__'] = self.main
        try:
            run_cells(chapter.before, vars(self.main))
            run_cells(chapter.before, self.names)
        finally:
            sys.modules['__main__'] = real

    def judge(self, exercise, source, secret='one', after=''):
        """Return (verdict, message) of an answer: of the visible check, and if
        it passes, of the hidden one. `after`: runs between them."""
        ours, theirs = socket.socketpair()
        child = os.fork()
        if not child:
            with contextlib.suppress(BaseException):
                self.answer(theirs, exercise, source, after)
            os._exit(0)
        theirs.close()
        try:
            with ours:
                kind, said = calls.receive(ours)
                if kind != 'ready':
                    return kind, said
                found = hidden_checks(exercise, self.chapter, secret)
                return calls.judge(
                    ours,
                    exercise.function,
                    found.get('hidden', []),
                    found.get('watched', []),
                    self.names,
                )
        except calls.Ended:
            return 'stopped', calls.ENDED
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    def answer(self, channel, exercise, source, after):
        """Be the kernel of a student."""
        sys.modules['__main__'] = self.main
        names = vars(self.main)
        try:
            with open(os.devnull, 'w') as nothing:
                with contextlib.redirect_stdout(nothing):
                    run_cells([source, exercise.check, after], names)
        except BaseException as error:
            calls.send(channel, ['wrong', calls.explain(error)])
            return
        calls.send(channel, ['ready', ''])
        calls.answer_calls(channel, names[exercise.function])
