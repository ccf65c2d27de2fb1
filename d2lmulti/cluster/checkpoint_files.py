"""Checkpoints as files: their names, and that each is whole.

A file is a zip archive that `numpy.load` opens; its comment holds a checksum.
"""

import contextlib
import hashlib
import os
import pathlib
import re
import struct
from typing import List, Union

from .files import answer_within, claim_folder, write_whole

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
            f'{path} cannot be read ({error.strerror}), and '
            'may be whole: get permission to read it or repair the disk; to '
            'resume from an earlier one, move it away',
        ) from None
    end = len(file) - len(zip_comment(b''))
    if not file.startswith(b'PK'):
        raise ValueError(f'{path} is not a checkpoint')
    if file[end:] != zip_comment(file[:end]):
        raise ValueError(f'{path} is damaged, or not a checkpoint')
    return file


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
