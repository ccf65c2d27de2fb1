"""Checkpoints as files: their names, and that each is whole.

A file is a zip archive that `numpy.load` opens; its comment holds a checksum.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import pathlib
import queue
import re
import socket
import struct
import threading
from typing import Any, Callable, List, Union

KIND = b'd2lmulti checkpoint 3, SHA-256 '  # begins the comment
NAME = re.compile(r'checkpoint-(\d{6,})-(\d{8,})\.npz')  # epoch and step
DISK_TIMEOUT = 300.0  # seconds for a file, or a folder, until it fails
StrPath = Union[str, 'os.PathLike[str]']


def path_of(folder: StrPath, epoch: int, step: int) -> pathlib.Path:
    """Return the path of the checkpoint after `step` steps of an epoch."""
    return pathlib.Path(folder) / f'checkpoint-{epoch:06}-{step:08}.npz'


def checkpoint_paths(folder: StrPath) -> List[pathlib.Path]:
    """Return the checkpoints in a folder, the newest as the last."""
    with contextlib.suppress(FileNotFoundError):
        names = answer_within(folder, lambda: os.listdir(folder), DISK_TIMEOUT)
        paths = [pathlib.Path(folder) / name for name in names]
        return sorted(
            (path for path in paths if NAME.fullmatch(path.name)),
            key=position_of,
        )
    return []


def position_of(path: pathlib.Path) -> List[int]:
    """Return [epoch, step] of a checkpoint, from its name."""
    return [int(number) for number in re.findall(r'\d+', path.stem)]


def zip_comment(content: bytes) -> bytes:
    """Return the end of a zip file: the comment, after its length.

    It holds the checksum of all that precedes it, the zip's own structure
    too, so no byte of the file can change unnoticed.
    """
    comment = KIND + hashlib.sha256(content).hexdigest().encode()
    return struct.pack('<H', len(comment)) + comment


def read_whole(path: pathlib.Path) -> bytes:
    """Return what a file holds; raise ValueError if it is gone, damaged or
    not one of ours, OSError if it cannot be read: it may be whole."""
    try:
        file = answer_within(path, lambda: read_file(path), DISK_TIMEOUT)
    except FileNotFoundError:
        raise ValueError(f'{path} is gone') from None
    except OSError as error:
        raise OSError(
            error.errno,
            f'{path}{owner_of(path)} cannot be read ({error.strerror}), and '
            'may be whole: get permission to read it or repair the disk; to '
            'resume from an earlier one, move it away',
        ) from None
    end = len(file) - len(zip_comment(b''))
    if not file.startswith(b'PK'):
        raise ValueError(f'{path} is not a checkpoint')
    if file[end:] != zip_comment(file[:end]):
        raise ValueError(f'{path} is damaged, or not a checkpoint')
    return file


def owner_of(path: pathlib.Path) -> str:
    """Return whose file this is, in words; '' if it is this user's, or if
    the system does not tell."""
    with contextlib.suppress(OSError):
        owner = path.stat().st_uid
        return '' if owner == os.getuid() else f', a file of user {owner},'
    return ''


def read_file(path: pathlib.Path) -> bytes:
    """Return what a file holds; raise ValueError if it is none."""
    if path.exists() and not path.is_file():  # a pipe would never end
        raise ValueError(f'{path} is not a file')
    return path.read_bytes()


def write_checkpoint(path: pathlib.Path, content: bytes) -> None:
    """Write a checkpoint's file; raise OSError, with a remedy, if it cannot
    be written, TimeoutError if the disk does not answer."""
    try:
        answer_within(path, lambda: write_whole(path, content), DISK_TIMEOUT)
    except OSError as error:
        raise OSError(
            error.errno,
            f'{path} could not be written '
            f'({error.strerror}); make room, or give another '
            'folder',
        ) from None


def claim_checkpoints(folder: str) -> int:
    """Return the open folder; until it is closed, no other job can write
    checkpoints there. Raises OSError if one does, or if nothing can."""
    try:
        return answer_within(
            folder, lambda: claim_folder(folder), DISK_TIMEOUT
        )
    except OSError as error:
        fix = 'change its permissions, or give another folder'
        if isinstance(error, BlockingIOError):
            fix = 'another job writes there: wait until it ends, or give '
            fix += 'another folder'
        raise OSError(
            error.errno,
            f'no checkpoint can be written in {folder} ({error.strerror}): '
            f'{fix}',
        ) from None


# Any file: whole or not there; any folder: for one job at a time


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
    path: StrPath,
    work: Callable[[], Any],
    seconds: float,
) -> Any:
    """Return what `work` does with a path, or raise what it raises.

    Raises TimeoutError if the file system has not answered after `seconds`;
    the thread that waits for it is left behind.
    """
    answers: queue.Queue[Any] = queue.Queue()

    def run() -> None:
        try:
            answers.put((work(), None))
        except Exception as error:
            answers.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    try:
        answer, error = answers.get(timeout=seconds)
    except queue.Empty:
        reason = f'the file system has not answered for {seconds:g} seconds'
        raise TimeoutError(errno.ETIMEDOUT, reason, str(path)) from None
    if error:
        raise error
    return answer


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


def claim_folder(folder: StrPath) -> int:
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
