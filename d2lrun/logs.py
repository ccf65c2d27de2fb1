"""The logs of a job, in a folder that the user names.

A thread writes them: a disk that is full, or does not answer, takes the logs
away, but not the training.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import queue
import threading
import time
from typing import IO, Iterable, Sequence

from d2lbase.files import claim_folder

from .agent import start_thread

STALLED = 10  # seconds in which a disk should take a line
WAITING = 100_000  # lines that may wait for it; more are dropped


class Logs:
    """A log of each role, appended to; without a folder, nothing."""

    def __init__(self, folder: str | os.PathLike[str] | None) -> None:
        self.folder = None if folder is None else pathlib.Path(folder)
        self.lines: queue.Queue[tuple[str, str] | None] = queue.Queue(WAITING)
        self.files: dict[str, IO[str]] = {}
        self.error: OSError | None = None
        self.is_ready, self.is_over = threading.Event(), self.folder is None
        self.busy_since, self.told_stall = time.monotonic(), False
        self.thread = threading.Thread()

    def open(self) -> None:
        """Make the folder; raise OSError if that fails, ValueError if another
        job writes its logs there."""
        if self.folder is None:
            return
        self.thread = start_thread(self.run)
        self.is_ready.wait(STALLED)
        if isinstance(self.error, BlockingIOError):
            raise ValueError(
                f'{self.folder} has the logs of another job, which runs: '
                'give each job its own --log-dir'
            )
        if self.error:
            raise OSError(self.explain())

    def begin(self, names: Iterable[str]) -> None:
        """Make a log of each role, which may stay empty."""
        for name in names:
            self.write(name, [])

    def write(self, name: str, lines: Sequence[str]) -> None:
        """Append lines to the log of a role, soon."""
        if not self.is_over:
            text = ''.join(f'{line}\n' for line in lines)
            with contextlib.suppress(queue.Full):
                self.lines.put_nowait((name, text))

    def close(self) -> None:
        """Write what is left, if the disk takes it."""
        if self.thread.is_alive():
            with contextlib.suppress(queue.Full):
                self.lines.put_nowait(None)
            self.thread.join(STALLED)

    def find_problem(self) -> str:
        """Return why there are no logs any more, once; '' if there are."""
        if self.error and not self.is_over:
            self.is_over = True
            return self.explain()
        waits = time.monotonic() - self.busy_since
        if self.is_over or self.told_stall or waits < STALLED:
            return ''
        self.told_stall = True
        return (
            f'the disk of {self.folder} has not answered for {STALLED} '
            'seconds: the job goes on, and logs are written when it answers; '
            'otherwise name another folder with --log-dir'
        )

    def explain(self) -> str:
        """Return what the error means."""
        assert self.error
        where = self.error.filename or self.folder
        return (
            f'no logs in {self.folder}: {where} cannot be written '
            f'({self.error.strerror}). Make room or get permission, or name '
            'another folder with --log-dir; without it, there are no logs'
        )

    def run(self) -> None:
        """Do all that may take long, in a thread."""
        try:
            with contextlib.ExitStack() as stack:
                self.lock(stack)
                self.is_ready.set()
                self.busy_since = float('inf')
                for item in iter(self.lines.get, None):
                    self.busy_since = time.monotonic()
                    self.append(stack, *item)
                    self.busy_since = float('inf')
        except OSError as error:
            self.error = self.error or error
            self.busy_since = float('inf')
            self.is_ready.set()

    def lock(self, stack: contextlib.ExitStack) -> None:
        """Make the folder, and take it as long as the job runs."""
        assert self.folder
        stack.callback(os.close, claim_folder(self.folder))

    def append(
        self, stack: contextlib.ExitStack, name: str, text: str
    ) -> None:
        """Append to the log of a role."""
        assert self.folder
        path = self.folder / f'{name}.log'
        try:
            if name not in self.files:
                file = open(path, 'a', encoding='utf-8')
                self.files[name] = stack.enter_context(file)
            if not os.fstat(self.files[name].fileno()).st_nlink:
                raise FileNotFoundError(errno.ENOENT, 'it has been removed')
            self.files[name].write(text)
            self.files[name].flush()
        except OSError as error:
            error.filename = error.filename or str(path)
            self.error = error  # closing the file raises another one
            raise
