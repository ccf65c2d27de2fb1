"""Checkpoints: all that training needs to go on exactly where it was.

A checkpoint is a plain `.npz` file: `numpy.load` opens it and shows the
parameters as params0, params1, ... Its zip comment holds a checksum.
"""

import dataclasses
import hashlib
import io
import json
import os
import pathlib
import random
import socket
import struct
import warnings
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import mxnet as mx
import numpy as onp

KIND = b'd2lmulti checkpoint 2, SHA-256 '  # begins the comment
KEPT = 2  # should the last one be damaged, the one before serves
# Settings that decide only how a step is split, so how sums are rounded.
ROUNDING = ('workers', 'devices', 'speeds', 'in_rank_order')
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
    folder: StrPath,
    checkpoint: Checkpoint,
    random_states: Union[Sequence[onp.ndarray], onp.ndarray, None] = None,
) -> pathlib.Path:
    """Write a `Checkpoint`, of MXNet or NumPy arrays; return its path.

    The file appears under its name when it is whole and on the disk; the
    last two are kept. The random states of NumPy and of Python's `random`
    are saved, too: those of all workers if `random_states` has one for each
    rank, as `get_random_state` returns it, else those of this process.
    MXNet's cannot be read, so it is seeded here, and in the same way when
    the checkpoint is loaded: both go on with the same numbers.

    Raises OSError if it cannot be written; the earlier ones stay as they
    are.
    """
    if random_states is None:
        random_states = [get_random_state()]
    seed_mxnet(checkpoint)
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (
        f'checkpoint-{checkpoint.epoch:06}-{checkpoint.step:08}.npz'
    )
    write_whole(path, to_bytes(checkpoint, onp.array(random_states)))
    for old in checkpoint_paths(folder)[:-KEPT]:
        old.unlink(missing_ok=True)
    return path


def load_checkpoint(
    folder: StrPath, settings: Optional[Dict[str, Any]] = None, rank: int = 0
) -> Optional[Checkpoint]:
    """Return the newest whole `Checkpoint` in `folder`; None if none is there.

    Sets the random states to those of the worker `rank`. A damaged or
    foreign file is passed over with a warning. Raises ValueError if no file
    is whole, or if `settings` are given and differ from the saved ones.
    """
    for part in pathlib.Path(folder).glob('*.part'):  # of a killed process
        part.unlink(missing_ok=True)
    paths = checkpoint_paths(folder)
    for path in reversed(paths):
        try:
            checkpoint, random_states = read(path)
        except ValueError as error:
            warnings.warn(
                f'{error}; the checkpoint before it is used', stacklevel=2
            )
            continue
        check_settings(path, checkpoint.settings, settings or {})
        set_random_state(random_states, rank)
        seed_mxnet(checkpoint, rank)
        return checkpoint
    if paths:
        raise ValueError(
            f'no checkpoint in {folder} is whole: remove them to '
            'start over, or give another folder'
        )
    return None


def check_settings(
    path: pathlib.Path, saved: Dict[str, Any], wanted: Dict[str, Any]
) -> None:
    """Raise ValueError if training cannot go on exactly with `wanted`."""
    for name in wanted:
        if saved.get(name) != wanted[name]:
            raise ValueError(
                f'{path} was written with {name} = {saved.get(name)}, this '
                f'run has {wanted[name]}: use the same to resume exactly, or '
                f'another folder to start over{other_way(name)}'
            )


def other_way(setting: str) -> str:
    """Return another way to resume, for a setting that only rounds sums in
    another way."""
    if setting not in ROUNDING:
        return ''
    return (
        ', or redistribute=True to go on with sums that are rounded '
        'differently'
    )


def checkpoint_paths(folder: StrPath) -> List[pathlib.Path]:
    """Return the checkpoints in a folder, the newest as the last."""
    return sorted(pathlib.Path(folder).glob('checkpoint-*.npz'))


# Random numbers


def seed_mxnet(checkpoint: Checkpoint, rank: int = 0) -> None:
    """Seed MXNet's generators by the position in the training, differently
    in each worker and for each seed of the training."""
    position = checkpoint.epoch * 1_000_003 + checkpoint.step
    seed = checkpoint.settings.get('seed') or 0
    mx.random.seed(
        (position + rank * 715_827_883 + seed * 178_956_971) % 2**31
    )


def seed_random(numbers: Sequence[int]) -> None:
    """Seed NumPy and Python's `random`."""
    onp.random.seed(list(numbers))
    random.seed(repr(list(numbers)))


def get_random_state() -> onp.ndarray:
    """Return the states of NumPy and Python's `random`: uint32, (1255,)."""
    _, keys, *position, gauss = onp.random.get_state()
    _, words, next_gauss = random.getstate()
    floats = [gauss, onp.nan if next_gauss is None else next_gauss]
    return onp.concatenate(
        [keys, position, words, onp.array(floats).view('uint32')]
    ).astype('uint32')


def set_random_state(states: onp.ndarray, rank: int) -> None:
    """Set what `get_random_state` returned in the worker `rank`.

    `states`: those of all workers. For one more worker, they are mixed.
    """
    if rank >= len(states):
        return seed_random([*states[:, 0].tolist(), rank])
    keys, position, words, floats = onp.split(states[rank], [624, 626, 1251])
    gauss, next_gauss = floats.view('float64').tolist()
    onp.random.set_state(('MT19937', keys, *position.tolist(), gauss))
    random.setstate(
        (
            3,
            tuple(words.tolist()),
            None if onp.isnan(next_gauss) else next_gauss,
        )
    )


# The file


def to_bytes(checkpoint: Checkpoint, random_states: onp.ndarray) -> bytes:
    """Return the content of a checkpoint's file."""
    arrays = {'random': random_states}
    about = {
        field.name: getattr(checkpoint, field.name)
        for field in dataclasses.fields(checkpoint)
    }
    for name in ('params', 'optimizer'):
        for i, array in enumerate(about.pop(name)):
            arrays[f'{name}{i}'] = (
                array.asnumpy() if isinstance(array, mx.np.ndarray) else array
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


def read(path: pathlib.Path) -> Tuple[Checkpoint, onp.ndarray]:
    """Return (checkpoint, random states of all workers) from a file.

    Raises ValueError if it is damaged or not one of ours.
    """
    file = path.read_bytes()
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
        return Checkpoint(**about), arrays['random']


def write_whole(path: pathlib.Path, content: bytes) -> None:
    """Write a file that has its name only when all of it is on the disk."""
    part = path.with_name(f'{socket.gethostname()}-{os.getpid()}.part')
    try:
        with open(part, 'wb') as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OSError(
            error.errno,
            f'{path} could not be written '
            f'({error.strerror}); make room, or give another '
            'folder',
        ) from None
    entry = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(entry)  # the new name, too
    finally:
        os.close(entry)
