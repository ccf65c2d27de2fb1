"""Checkpoints: all that training needs to go on exactly where it was.

A checkpoint is a plain `.npz` file: `numpy.load` opens it and shows the
parameters as params0, params1, ... Its zip comment holds a checksum. What it
holds is that of one device: `reshard` (chapter 16) gives it to any number.
"""

import contextlib
import dataclasses
import hashlib
import io
import json
import os
import pathlib
import random
import re
import struct
import warnings
from typing import Any, Dict, List, Optional, Union

import mxnet as mx
import numpy as onp

from d2lrun.files import answer_within, claim_folder, write_whole

__all__ = ['Checkpoint', 'save_checkpoint', 'load_checkpoint']

KIND = b'd2lmulti checkpoint 3, SHA-256 '  # begins the comment
NAME = re.compile(r'checkpoint-(\d{6,})-(\d{8,})\.npz')  # epoch and step
DISK_TIMEOUT = 300.0  # seconds for a file, or a folder, until it fails
NEWEST = 2  # should the last one be damaged, the one before serves
# Settings that decide only how a step is split, so how sums are rounded.
ROUNDING = ('workers', 'devices', 'speeds', 'deterministic')
# What functions did with some numbers: not to the last digit on another
# processor.
TRIED = ('tried loss', 'tried update')
StrPath = Union[str, 'os.PathLike[str]']


@dataclasses.dataclass
class Checkpoint:
    """What is known after `step` steps of epoch `epoch`, both from 0.

    `params` and `optimizer` are lists of arrays; `settings` what must be the
    same when training goes on; `history` the results so far. Both are
    dictionaries that JSON can hold. `shares`: how many examples of a
    minibatch each worker takes.
    """

    params: List[Any]
    epoch: int = 0
    step: int = 0
    settings: Dict[str, Any] = dataclasses.field(default_factory=dict)
    optimizer: List[Any] = dataclasses.field(default_factory=list)
    history: Dict[str, Any] = dataclasses.field(default_factory=dict)
    shares: List[int] = dataclasses.field(default_factory=list)


def save_checkpoint(
    folder: StrPath, checkpoint: Checkpoint, keep_every: Optional[int] = None
) -> pathlib.Path:
    """Write a `Checkpoint`, of MXNet or NumPy arrays; return its path.

    The file appears under its name when it is whole and on the disk. The
    newest two are kept, and those after every `keep_every` steps of an
    epoch. Random generators cannot all be read, so they are seeded here, and
    in the same way when the checkpoint is loaded: both go on with the same
    numbers.

    Raises FloatingPointError if a number is not finite, OSError if it cannot
    be written; the earlier ones stay as they are.
    """
    path = pathlib.Path(folder) / (
        f'checkpoint-{checkpoint.epoch:06}-{checkpoint.step:08}.npz'
    )
    content = to_bytes(checkpoint)
    seed_random(checkpoint)
    write_checkpoint(path, content)
    for old in checkpoint_paths(folder)[:-NEWEST]:
        if not keep_every or position_of(old)[1] % keep_every:
            with contextlib.suppress(OSError):  # training can go on
                old.unlink()
    return path


def load_checkpoint(
    folder: StrPath, settings: Optional[Dict[str, Any]] = None, rank: int = 0
) -> Optional[Checkpoint]:
    """Return the newest whole `Checkpoint` in `folder`; None if none is there.

    Seeds the random generators of the worker `rank`. What cannot be read is
    passed over with a warning. Writes and deletes nothing, so it can run
    beside a training. Raises ValueError if no file is whole, or if
    `settings` are given and differ from the saved ones, OSError if the
    folder cannot be read.
    """
    paths = checkpoint_paths(folder)
    for path in reversed(paths):
        try:
            checkpoint = read_checkpoint(path)
        except ValueError as error:
            if not os.path.lexists(path):  # there are newer ones by now
                return load_checkpoint(folder, settings, rank)
            message = f'{error}; the checkpoint before it is used'
            warnings.warn(message, stacklevel=2)
            continue
        check_settings(path, checkpoint.settings, settings or {})
        seed_random(checkpoint, rank)
        return checkpoint
    if not paths:
        return None
    raise ValueError(
        f'no checkpoint in {folder} is whole: remove them to start over, or '
        'give another folder'
    )


def check_settings(
    path: pathlib.Path, saved: Dict[str, Any], wanted: Dict[str, Any]
) -> None:
    """Raise ValueError if training cannot go on exactly with `wanted`."""
    for name in wanted:
        if not agree(name, saved.get(name), wanted[name]):
            other = (
                ', or elastic=True to go on with sums that are rounded '
                'differently'
            )
            raise ValueError(
                f'{path} was written with {name} = {saved.get(name)}, this '
                f'run has {wanted[name]}: use the same to resume exactly, or '
                'another folder to start over'
                f'{other if name in ROUNDING else ""}'
            )


def agree(name: str, saved: Any, wanted: Any) -> bool:
    """Return whether a setting is the same as the saved one."""
    if name in TRIED and onp.shape(saved) == onp.shape(wanted):
        return onp.allclose(saved, wanted, rtol=1e-4, equal_nan=True)
    if name == 'schedule' and saved and wanted:  # one may be longer
        return all(old == new for old, new in zip(saved, wanted))
    return saved == wanted


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


def seed_random(checkpoint: Checkpoint, rank: int = 0) -> None:
    """Seed MXNet, NumPy and Python's `random` by the position in the
    training, differently in each worker and for each seed of the training."""
    seed = checkpoint.settings.get('seed') or 0
    numbers = [seed, checkpoint.epoch, checkpoint.step, rank]
    onp.random.seed(numbers)
    random.seed(repr(numbers))
    mx.random.seed(onp.random.randint(2**31))


# The file


def to_bytes(checkpoint: Checkpoint) -> bytes:
    """Return the content of a checkpoint's file.

    Raises FloatingPointError if a number is not finite.
    """
    arrays = {}
    about = {
        field.name: getattr(checkpoint, field.name)
        for field in dataclasses.fields(checkpoint)
    }
    for name in ('params', 'optimizer'):
        for i, array in enumerate(about.pop(name)):
            if isinstance(array, mx.np.ndarray):
                array = array.asnumpy()
            arrays[f'{name}{i}'] = array
            if not onp.isfinite(array).all():
                raise FloatingPointError(
                    f'after step {checkpoint.step} of epoch '
                    f'{checkpoint.epoch}, {name}[{i}], of shape '
                    f'{array.shape}, has numbers that are not finite: '
                    'nothing was saved, and earlier checkpoints stay; a '
                    'learning rate that is too large is a likely cause'
                )
    arrays['about'] = onp.array(json.dumps(about))
    file = io.BytesIO()
    onp.savez(file, **arrays)  # type: ignore[arg-type,unused-ignore]
    content = file.getvalue()[:-2]  # without the length of its comment, 0
    return content + zip_comment(content)


def zip_comment(content: bytes) -> bytes:
    """Return the end of a zip file: the comment, after its length.

    It holds the checksum of all that precedes it, the zip's own structure
    too, so no byte of the file can change unnoticed.
    """
    comment = KIND + hashlib.sha256(content).hexdigest().encode()
    return struct.pack('<H', len(comment)) + comment


def read_checkpoint(path: pathlib.Path) -> Checkpoint:
    """Return what a file holds; raise ValueError if it cannot be read, is
    damaged or not one of ours."""
    try:
        file = answer_within(path, lambda: read_file(path), DISK_TIMEOUT)
    except OSError as error:
        raise ValueError(f'{path} cannot be read ({error.strerror})') from None
    end = len(file) - len(zip_comment(b''))
    if not file.startswith(b'PK'):
        raise ValueError(f'{path} is not a checkpoint')
    if file[end:] != zip_comment(file[:end]):
        raise ValueError(f'{path} is damaged, or not a checkpoint')
    with onp.load(io.BytesIO(file)) as arrays:
        about = json.loads(str(arrays['about']))
        for name in ('params', 'optimizer'):
            count = sum(key.startswith(name) for key in arrays.files)
            about[name] = [arrays[f'{name}{i}'] for i in range(count)]
        return Checkpoint(**about)


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
