"""Run commands at the same time, with a limit, and leave no process behind."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from typing import IO, Mapping, NamedTuple, Sequence

SHOWN = 50  # lines of a process that an error shows
GRACE = 10  # seconds from SIGTERM to SIGKILL


class CommandFailed(RuntimeError):
    """A process failed, or the time was up."""


class Finished(NamedTuple):
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

    As soon as one fails, or after `limit` seconds, all others are ended.
    Raises CommandFailed, with the last lines, if the time was up, and, unless
    `check` is False, if one failed; OSError if one cannot be started.
    """
    with contextlib.ExitStack() as stack:
        files = [[open_file(stack) for _ in 'oe'] for _ in commands]
        processes: list[subprocess.Popen] = []
        stack.callback(end_all, processes)
        for job in zip(commands, [*variables] or [{}] * len(commands), files):
            processes.append(start_command(*job))
        statuses = wait_for_all(processes, limit)
        end_all(processes)
        if any(statuses) and check:
            i = next(i for i, status in enumerate(statuses) if status)
            reason = f'process {i} {explain_end(statuses[i])}:'
            raise CommandFailed('\n'.join([reason, *last_lines(i, files[i])]))
        if not any(statuses) and None in statuses:
            lines = [f'no end after {limit} s, so it was ended:']
            for i, status in enumerate(statuses):
                lines += last_lines(i, files[i]) if status is None else []
            raise CommandFailed('\n'.join(lines))
        return [
            Finished(process.returncode, read_lines(output))
            for process, (output, _) in zip(processes, files)
        ]


def open_file(stack: contextlib.ExitStack) -> IO[str]:
    """Return a new file that is removed when the stack is left."""
    file = tempfile.TemporaryFile('w+', errors='replace')
    return stack.enter_context(file)


def start_command(
    command: Sequence[str],
    variables: Mapping[str, str],
    files: Sequence[IO[str]],
) -> subprocess.Popen:
    """Start a process in a separate group."""
    first = sys.executable if command[0] == 'python' else command[0]
    return subprocess.Popen(
        [first, *command[1:]],
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=files[0],
        stderr=files[1],
        start_new_session=True,
    )


def wait_for_all(
    processes: Sequence[subprocess.Popen], limit: float
) -> list[int | None]:
    """Wait until all have ended, one has failed, or `limit` seconds have
    passed; return each one's status, None if it runs."""
    deadline = time.monotonic() + limit
    while True:
        statuses = [poll_group(process) for process in processes]
        running = None in statuses and not any(statuses)
        if not running or time.monotonic() > deadline:
            return statuses
        time.sleep(0.02)


def poll_group(process: subprocess.Popen) -> int | None:
    """Return the status of a process, None if it runs; if it has just ended,
    end what it has left in its group, while nobody else has its number."""
    if process.returncode is None and process.poll() is not None:
        signal_group(process, signal.SIGKILL)
    return process.returncode


def signal_group(process: subprocess.Popen, number: int) -> None:
    """Send a signal to a process and to those of its group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def end_all(processes: Sequence[subprocess.Popen]) -> None:
    """End the processes that run, and their groups. SIGTERM comes first: then
    torchrun ends its workers, which are in other groups."""
    running = [process for process in processes if poll_group(process) is None]
    for process in running:
        signal_group(process, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    for process in running:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0, deadline - time.monotonic()))
        signal_group(process, signal.SIGKILL)
        process.wait()


def explain_end(status: int | None) -> str:
    """Return in words how a process ended badly."""
    if status is not None and status < 0:
        return f'was killed by signal {-status} ({signal.strsignal(-status)})'
    return f'ended with status {status}'


def last_lines(number: int, files: Sequence[IO[str]]) -> list[str]:
    """Return what a process printed last, on stdout and then on stderr."""
    lines = []
    for name, file in zip(('stdout', 'stderr'), files):
        last_lines = read_lines(file)[-SHOWN:]
        if last_lines:
            lines += [f'last lines of process {number}, {name}:', *last_lines]
    return lines


def read_lines(file: IO[str]) -> list[str]:
    """Return all lines of a file."""
    file.seek(0)
    return file.read().splitlines()


def free_ports(count: int) -> list[int]:
    """Return the numbers of ports that nobody listens on just now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(('', 0))  # a free port, which no other gets meanwhile
        return [each.getsockname()[1] for each in sockets]
