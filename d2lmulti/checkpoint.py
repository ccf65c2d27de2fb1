"""Checkpoints: all that training needs to go on exactly where it was."""
import dataclasses
import hashlib
import io
import json
import os
import pathlib
import socket
import warnings

import mxnet as mx
import numpy as onp

MAGIC = b'd2lmulti checkpoint 1\n'  # then the SHA-256 of what follows, npz
KEPT = 2  # should the last one be damaged, the one before serves


@dataclasses.dataclass
class Checkpoint:
    """What is known after `step` steps of epoch `epoch`, both from 0.

    `params` and `optimizer` are lists of arrays; `settings` what must be the
    same when training goes on; `history` what it has shown so far. Both are
    dictionaries that JSON can hold.
    """
    params: list
    epoch: int = 0
    step: int = 0
    settings: dict = dataclasses.field(default_factory=dict)
    optimizer: list = dataclasses.field(default_factory=list)
    history: dict = dataclasses.field(default_factory=dict)


def save_checkpoint(folder, checkpoint):
    """Write a `Checkpoint`, of MXNet or NumPy arrays; return its path.

    The file appears under its name when it is whole and on the disk; the
    last two are kept. NumPy's random state is saved, too. MXNet's cannot be
    read, so it is seeded here, and in the same way when the checkpoint is
    loaded: both go on with the same numbers.

    Raises OSError if it cannot be written; the earlier ones stay as they
    are.
    """
    kind, keys, *position = onp.random.get_state()
    seed_mxnet(checkpoint)
    arrays = {'random': keys}
    about = {field.name: getattr(checkpoint, field.name)
             for field in dataclasses.fields(checkpoint)}
    for name in ('params', 'optimizer'):
        for i, array in enumerate(about.pop(name)):
            arrays[f'{name}{i}'] = array.asnumpy() if isinstance(
                array, mx.np.ndarray) else array
    arrays['about'] = onp.array(json.dumps(
        {**about, 'random': [kind, *position]}))
    content = io.BytesIO()
    onp.savez(content, **arrays)
    content = content.getvalue()
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (f'checkpoint-{checkpoint.epoch:06}-'
                     f'{checkpoint.step:08}.d2l')
    write_whole(path, MAGIC + digest(content) + content)
    for old in checkpoint_paths(folder)[:-KEPT]:
        old.unlink(missing_ok=True)
    return path


def write_whole(path, content):
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
        raise OSError(error.errno, f'{path} could not be written '
                      f'({error.strerror}); make room, or give another '
                      'folder') from None
    entry = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(entry)  # the new name, too
    finally:
        os.close(entry)


def load_checkpoint(folder, settings=None):
    """Return the newest whole `Checkpoint` in `folder`; None if none is there.

    Sets NumPy's and MXNet's random state to what they were. A damaged or
    foreign file is passed over with a warning. Raises ValueError if no file
    is whole, or if `settings` are given and differ from the saved ones.
    """
    for part in pathlib.Path(folder).glob('*.part'):  # of a killed process
        part.unlink(missing_ok=True)
    paths = checkpoint_paths(folder)
    for path in reversed(paths):
        try:
            checkpoint, random = read(path)
        except ValueError as error:
            warnings.warn(f'{error}; the checkpoint before it is used',
                          stacklevel=2)
            continue
        compare(path, checkpoint.settings, settings)
        onp.random.set_state(random)
        seed_mxnet(checkpoint)
        return checkpoint
    if paths:
        raise ValueError(f'no checkpoint in {folder} is whole: remove them to '
                         'begin anew, or give another folder')
    return None


def read(path):
    """Return (checkpoint, NumPy's random state) from a file.

    Raises ValueError if it is damaged or none of ours.
    """
    content = path.read_bytes()
    start = len(MAGIC) + len(digest(b''))
    if content[:len(MAGIC)] != MAGIC:
        raise ValueError(f'{path} is no checkpoint')
    if content[len(MAGIC):start] != digest(content[start:]):
        raise ValueError(f'{path} is damaged')
    with onp.load(io.BytesIO(content[start:])) as arrays:
        about = json.loads(str(arrays['about']))
        kind, *position = about.pop('random')
        for name in ('params', 'optimizer'):
            count = sum(key.startswith(name) for key in arrays.files)
            about[name] = [arrays[f'{name}{i}'] for i in range(count)]
        return Checkpoint(**about), (kind, arrays['random'], *position)


def digest(content):
    """Return the line that tells whether the content is whole."""
    return hashlib.sha256(content).hexdigest().encode() + b'\n'


def compare(path, saved, wanted):
    """Raise ValueError if training cannot go on exactly with `wanted`."""
    for name in wanted or {}:
        if saved.get(name) != wanted[name]:
            raise ValueError(
                f'{path} was written with {name} = {saved.get(name)}, this '
                f'run has {wanted[name]}: use the same to go on exactly, or '
                'another folder to begin anew')


def checkpoint_paths(folder):
    """Return the checkpoints in a folder, the newest as the last."""
    return sorted(pathlib.Path(folder).glob('checkpoint-*.d2l'))


def seed_mxnet(checkpoint):
    """Seed MXNet's generators by the position in the training."""
    mx.random.seed((checkpoint.epoch * 1_000_003 + checkpoint.step) % 2 ** 31)
