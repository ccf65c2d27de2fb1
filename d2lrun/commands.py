"""Run the processes of other frameworks' jobs, and leave none behind.

`launch` is for MXNet's roles. PyTorch and TensorFlow bring launchers of
their own or need none; what they lack is a limit that always holds.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from typing import IO, Mapping, Sequence

from .agent import free_port
from .report import explain_status

SHOWN = 50  # lines of a process that an error shows
# Runs a command, and ends it with all that it started.
AGENT = str(pathlib.Path(__file__).with_name('agent.py'))


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
    limit: float = 300,
    check: bool = True,
) -> list[Finished]:
    """Run all `commands` at once, each with its `variables` in the
    environment; return how each ended. A bare `python` is this one.

    As soon as one fails, or after `limit` seconds, all are killed, with
    every process that they started. Raises CommandFailed, with the last
    lines, if the time was up, and, unless `check` is False, if one failed.
    """
    with contextlib.ExitStack() as stack:
        files = [[open_file(stack) for _ in 'oe'] for _ in commands]
        processes: list[subprocess.Popen] = []
        stack.callback(end, processes)
        for job in zip(commands, [*variables] or [{}] * len(commands), files):
            processes.append(start(*job))
        in_time = wait(processes, time.monotonic() + limit)
        before = [process.poll() for process in processes]
        end(processes)
        ends = [*map(finish, processes, files)]
        if not in_time:
            raise CommandFailed(explain_limit(limit, before, files))
        if check:
            raise_if_failed(before, ends, files)
    return ends


def open_file(stack: contextlib.ExitStack) -> IO[str]:
    """Return a new file that is removed when the stack is left."""
    return stack.enter_context(tempfile.TemporaryFile('w+'))


def start(
    command: Sequence[str],
    variables: Mapping[str, str],
    files: Sequence[IO[str]],
) -> subprocess.Popen:
    """Start a process below an agent."""
    first = sys.executable if command[0] == 'python' else command[0]
    return subprocess.Popen(
        [sys.executable, AGENT, str(os.getpid()), first, *command[1:]],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=files[0],
        stderr=files[1],
        start_new_session=True,
    )


def finish(process: subprocess.Popen, files: Sequence[IO[str]]) -> Finished:
    """Return how a process ended that has been killed if it had not."""
    return Finished(process.wait(), read_all(files[0]).splitlines())


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


def end(processes: Sequence[subprocess.Popen]) -> None:
    """Let the agents end their commands, and all that those started."""
    for process in processes:
        with contextlib.suppress(OSError):
            process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + 10
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0, deadline - time.monotonic()))


def read_all(file: IO[str]) -> str:
    """Return all that is in the file."""
    file.seek(0)
    return file.read()


def raise_if_failed(
    before: Sequence[int | None],
    ends: Sequence[Finished],
    files: Sequence[Sequence[IO[str]]],
) -> None:
    """Raise CommandFailed for the process that explains the failure: one that
    had failed `before` the others were killed, if there is one."""
    for statuses in (before, [end.status for end in ends]):
        for i, status in enumerate(statuses):
            if status:
                reason = f'process {i} {explain_status(status)}'
                raise CommandFailed(f'{reason}:\n{last_lines(i, files[i])}')


def explain_limit(
    limit: float,
    before: Sequence[int | None],
    files: Sequence[Sequence[IO[str]]],
) -> str:
    """Return what the processes printed that had not ended."""
    late = [i for i, status in enumerate(before) if status is None]
    texts = [last_lines(i, files[i]) for i in late]
    return '\n'.join([f'no end after {limit} s, so it was killed', *texts])


def last_lines(number: int, files: Sequence[IO[str]]) -> str:
    """Return what a process printed last, on stderr and before that on
    stdout."""
    lines = []
    for name, file in zip(('stdout', 'stderr'), files):
        found = read_all(file).splitlines()[-SHOWN:]
        if found:
            lines += [f'last lines of process {number}, {name}:', *found]
    return '\n'.join(lines)


def free_ports(count: int) -> list[int]:
    """Return the numbers of ports that nobody listens on just now."""
    ports: set[int] = set()
    while len(ports) < count:
        ports.add(free_port(0))
    return list(ports)
