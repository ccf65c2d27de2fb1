"""Checkpoints: all that training needs to go on exactly where it was.

A checkpoint is a plain `.npz` file: `numpy.load` opens it and shows the
parameters as params0, params1, ... Its zip comment holds a checksum. What it
holds is that of one device: `reshard` (chapter 16) gives it to any number.
"""

import contextlib
import dataclasses
import io
import json
import os
import pathlib
import random
import warnings
from typing import Any, Dict, List, Optional

import mxnet as mx
import numpy as onp

from .checkpoint_files import (
    StrPath,
    checkpoint_paths,
    path_of,
    position_of,
    read_whole,
    write_checkpoint,
    zip_comment,
)
from .same_training import check_settings

__all__ = ['Checkpoint', 'save_checkpoint', 'load_checkpoint']

NEWEST = 2  # should the last one be damaged, the one before serves


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
    newest two are kept, this one, and those after every `keep_every` steps
    of an epoch. Random generators cannot all be read, so they are seeded
    here, and in the same way when the checkpoint is loaded: both go on with
    the same numbers.

    Raises FloatingPointError if a number is not finite, OSError if it cannot
    be written; the earlier ones stay as they are.
    """
    path = path_of(folder, checkpoint.epoch, checkpoint.step)
    content = to_bytes(checkpoint)
    seed_random(checkpoint)
    write_checkpoint(path, content)
    for old in checkpoint_paths(folder)[:-NEWEST]:
        if old != path and (
            not keep_every or position_of(old)[1] % keep_every
        ):  # where later ones are, this one is old from the start
            with contextlib.suppress(OSError):  # training can go on
                old.unlink()
    return path


def load_checkpoint(
    folder: StrPath, settings: Optional[Dict[str, Any]] = None, rank: int = 0
) -> Optional[Checkpoint]:
    """Return the newest whole `Checkpoint` in `folder`; None if none is there.

    Seeds the random generators of the worker `rank`. What is damaged is
    passed over with a warning. Writes and deletes nothing, so it can run
    beside a training. Raises ValueError if no file is whole, or if
    `settings` are given and one of them or of the saved ones is new, gone or
    another, OSError if the folder or the newest file cannot be read.
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
        if settings is not None:
            check_settings(path, checkpoint.settings, settings)
        seed_random(checkpoint, rank)
        return checkpoint
    if not paths:
        return None
    raise ValueError(
        f'no checkpoint in {folder} is whole: remove its files to start over, '
        'or give another folder'
    )


def seed_random(checkpoint: Checkpoint, rank: int = 0) -> None:
    """Seed MXNet, NumPy and Python's `random` by the position in the
    training, differently in each worker and for each seed of the training."""
    seed = checkpoint.settings.get('seed') or 0
    numbers = [seed, checkpoint.epoch, checkpoint.step, rank]
    onp.random.seed(numbers)
    random.seed(repr(numbers))
    mx.random.seed(onp.random.randint(2**31))


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
    arrays['about'] = onp.array(json.dumps(about, default=onp.generic.item))
    file = io.BytesIO()
    onp.savez(file, **arrays)  # type: ignore[arg-type,unused-ignore]
    content = file.getvalue()[:-2]  # without the length of its comment, 0
    return content + zip_comment(content)


def read_checkpoint(path: pathlib.Path) -> Checkpoint:
    """Return what a file holds; raise ValueError if it is gone, damaged or
    not one of ours, OSError if it cannot be read."""
    with onp.load(io.BytesIO(read_whole(path))) as arrays:
        about = json.loads(str(arrays['about']))
        for name in ('params', 'optimizer'):
            count = sum(key.startswith(name) for key in arrays.files)
            about[name] = [arrays[f'{name}{i}'] for i in range(count)]
        return Checkpoint(**about)
