"""Files that are whole or not there, and folders for one job at a time."""

import contextlib
import errno
import fcntl
import os
import pathlib
import re
import socket
import threading
from concurrent import futures
from typing import Any, Callable, Union


def write_whole(path: pathlib.Path, content: bytes) -> None:
    """Write a file that has its name only when all of it is on the disk, in a
    folder that need not be there yet. Raises OSError if that fails."""
    host = socket.gethostname()
    part = path.with_name(f'{path.stem}.{host}.{os.getpid()}.part')
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_dead_parts(path, host)
        with open(part, 'wb') as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError:
        with contextlib.suppress(OSError):
            part.unlink()
        raise
    entry = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(entry)  # the new name, too
    finally:
        os.close(entry)


def answer_within(
    path: Union[str, 'os.PathLike[str]'],
    work: Callable[[], Any],
    seconds: float,
) -> Any:
    """Return what `work` does with a path, or raise what it raises.

    Raises TimeoutError if the file system has not answered after `seconds`;
    the thread that waits for it is left behind.
    """
    answer: futures.Future[Any] = futures.Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except Exception as error:
            answer.set_exception(error)

    # Not an executor's: Python would wait for it at exit.
    threading.Thread(target=run, daemon=True).start()
    try:
        return answer.result(timeout=seconds)
    except futures.TimeoutError:
        reason = f'the file system has not answered for {seconds:g} seconds'
        raise TimeoutError(errno.ETIMEDOUT, reason, str(path)) from None


def remove_dead_parts(path: pathlib.Path, host: str) -> None:
    """Remove what processes of this host were writing when they ended: the
    parts of files that are named as this one, but for their numbers."""
    stem = re.sub(r'\d+', r'\\d+', re.escape(path.stem))
    name = re.compile(rf'{stem}\.{re.escape(host)}\.(\d+)\.part')
    for part in path.parent.iterdir():
        match = name.fullmatch(part.name)
        if match:
            try:
                os.kill(int(match[1]), 0)  # which kills nothing
            except ProcessLookupError:
                part.unlink(missing_ok=True)
            except PermissionError:  # it is another user's, and alive
                pass


def claim_folder(folder: Union[str, 'os.PathLike[str]']) -> int:
    """Make a folder and return its descriptor: until that is closed, no
    other process can claim it.

    Raises BlockingIOError if one has, OSError if nothing can be written there.
    """
    os.makedirs(folder, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        reason = os.strerror(errno.EACCES)
        raise PermissionError(errno.EACCES, reason, str(folder))
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:  # this file system has no locks
        pass
    return descriptor
