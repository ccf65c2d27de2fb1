"""Run a command, and let nothing that it started outlive it.

`commands` starts this file as a script: python guard.py PARENT COMMAND ...

This process adopts what the command's processes leave behind, wherever they
hide: in other sessions, or without the variables of the job. When the command
has ended, on SIGTERM, or when the parent is gone, it kills them all, and ends
as the command did. It needs the standard library alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
import types

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # options of Linux's prctl


def main() -> None:
    """Run the command in the arguments."""
    is_linux = sys.platform == 'linux'
    signal.signal(signal.SIGTERM, stop)
    if is_linux:
        prctl = ctypes.CDLL(None).prctl
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if os.getppid() != int(sys.argv[1]):
        return  # it has ended already
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if is_linux:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        run(sys.argv[2:])
    status = wait_for(child)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    kill_descendants()
    end_as(status)


def stop(number: int, frame: types.FrameType | None) -> None:
    """Kill everything below this process, and end."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    kill_descendants()
    end_as(signal.SIGKILL)


def run(command: list[str]) -> None:
    """Become the command, or say why not."""
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f'{command[0]}: {error}', file=sys.stderr, flush=True)
    os._exit(127)


def wait_for(child: int) -> int:
    """Return how the child ended; take the status of orphans, too."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return status


def kill_descendants() -> None:
    """Kill every process below this one, until there is none."""
    give_up = time.monotonic() + 8
    while time.monotonic() < give_up:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        found = descendants()
        if not found:
            return
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def descendants() -> list[int]:
    """Return the processes below this one (Linux)."""
    parents = {}
    for name in os.listdir('/proc') if os.path.isdir('/proc') else ():
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f'/proc/{int(name)}/stat', errors='replace') as file:
                fields = file.read().rpartition(')')[2].split()
            if fields[0] != 'Z':
                parents[int(name)] = int(fields[1])
    found = [os.getpid()]
    for pid in found:  # it grows meanwhile
        found += [child for child, parent in parents.items() if parent == pid]
    return found[1:]


def end_as(status: int) -> None:
    """End with the status of the command, or killed by the same signal."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


if __name__ == '__main__':
    main()
