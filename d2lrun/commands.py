"""Run the processes of other frameworks' jobs, and leave none behind.

`launch` is for MXNet's roles. PyTorch and TensorFlow bring launchers of
their own or need none; what they lack is a limit that always holds.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import subprocess
import sys
import tempfile
import time
import uuid
from typing import IO, Mapping, Sequence

import psutil

from .agent import free_port

MARK = 'D2LMULTI_COMMANDS'  # in the environment of all that a job started

# Becomes the command, and is killed if the process that started it ends: a
# notebook whose kernel is killed can clean up nothing.
GUARD = """
import ctypes, os, signal, sys
if sys.platform == 'linux':
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
if os.getppid() == int(sys.argv[1]):
    os.execvp(sys.argv[2], sys.argv[2:])
"""


class CommandFailed(RuntimeError):
    """A process of the job failed, or the time was up."""


@dataclasses.dataclass
class Finished:
    """How a process ended: its exit status (minus the number of the signal
    that killed it) and the lines that it printed."""

    status: int
    lines: list[str]


def run_commands(
    commands: Sequence[Sequence[str]],
    variables: Sequence[Mapping[str, str]] = (),
    limit: float = 120,
    check: bool = True,
) -> list[Finished]:
    """Run all `commands` at once, each with its `variables` in the
    environment; return how each ended. A bare `python` is this one.

    As soon as one fails, or after `limit` seconds, all are killed, with
    every process that they started. Raises CommandFailed if the time was
    up, and, unless `check` is False, if a process failed.
    """
    mark = uuid.uuid4().hex
    with contextlib.ExitStack() as stack:
        files = [[open_file(stack) for _ in 'oe'] for _ in commands]
        stack.callback(kill_marked, mark)
        settings = [*variables] or [{}] * len(commands)
        jobs = zip(commands, settings, files)
        processes = [start(*job, mark) for job in jobs]
        in_time = wait(processes, time.monotonic() + limit)
        kill_marked(mark)
        if not in_time:
            raise CommandFailed(f'no end after {limit} s, so it was killed')
        ends = [*map(finish, processes, files)]
        if check:
            raise_if_failed(ends, [read(errors) for _, errors in files])
    return ends


def open_file(stack: contextlib.ExitStack) -> IO[str]:
    """Return a new file that is removed when the stack is left."""
    return stack.enter_context(tempfile.TemporaryFile('w+'))


def start(
    command: Sequence[str],
    variables: Mapping[str, str],
    files: Sequence[IO[str]],
    mark: str,
) -> subprocess.Popen:
    """Start a process with a mark that its children inherit."""
    first = sys.executable if command[0] == 'python' else command[0]
    guard = [sys.executable, '-I', '-S', '-c', GUARD, str(os.getpid())]
    return subprocess.Popen(
        [*guard, first, *command[1:]],
        env={**os.environ, **variables, MARK: mark},
        stdin=subprocess.DEVNULL,
        stdout=files[0],
        stderr=files[1],
        start_new_session=True,
    )


def finish(process: subprocess.Popen, files: Sequence[IO[str]]) -> Finished:
    """Return how a process ended that has been killed if it had not."""
    return Finished(process.wait(), read(files[0]).splitlines())


def wait(processes: Sequence[subprocess.Popen], deadline: float) -> bool:
    """Wait until all have ended or one has failed; return False if the
    deadline came first."""
    while True:
        statuses = [process.poll() for process in processes]
        if any(statuses) or None not in statuses:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)


def kill_marked(mark: str) -> None:
    """Kill the processes whose environment has the mark, until none is left;
    they may be in other sessions than those that started them."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        found = [
            process for process in psutil.process_iter() if has(process, mark)
        ]
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()
        if not found:
            return
        psutil.wait_procs(found, timeout=1)


def has(process: psutil.Process, mark: str) -> bool:
    """Return whether a process runs with the mark in its environment."""
    with contextlib.suppress(psutil.Error):
        if process.status() != psutil.STATUS_ZOMBIE:
            return process.environ().get(MARK) == mark
    return False


def read(file: IO[str]) -> str:
    """Return all that is in the file."""
    file.seek(0)
    return file.read()


def raise_if_failed(ends: Sequence[Finished], errors: Sequence[str]) -> None:
    """Raise CommandFailed for the process that explains the failure."""
    for name, end, error in zip(range(len(ends)), ends, errors):
        # The others were killed because this one failed.
        if end.status not in (0, -9):
            last = '\n'.join(error.splitlines()[-50:])
            raise CommandFailed(
                f'process {name} ended with status {end.status}:\n{last}'
            )
    if any(end.status for end in ends):
        raise CommandFailed('a process was killed')


def free_ports(count: int) -> list[int]:
    """Return the numbers of ports that nobody listens on just now."""
    ports: set[int] = set()
    while len(ports) < count:
        ports.add(free_port(0))
    return list(ports)
