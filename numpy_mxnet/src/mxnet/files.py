"""`npx.save` and `npx.load`, in MXNet's own format: files go both ways."""

import struct
from typing import Any, BinaryIO, Dict, List, Tuple

import numpy as onp

from . import base, context, engine
from .array import ndarray
from .base import MXNetError

LIST, ARRAY = 0x112, 0xF993FACA  # how a file and an array begin
NUMBERS = {  # MXNet's numbers of dtypes
    'float32': 0, 'float64': 1, 'float16': 2, 'uint8': 3, 'int32': 4,
    'int8': 5, 'int64': 6, 'bool': 7,
}  # fmt: skip


def save(file: str, arrays: Any) -> None:
    """Write an array, a list of them, or a dictionary; waits for them."""
    if isinstance(arrays, ndarray):
        arrays = [arrays]
    names = list(arrays) if isinstance(arrays, dict) else []
    values = [arrays[name] for name in names] or list(arrays)
    with open(file, 'wb') as target:
        target.write(struct.pack('<QQQ', LIST, 0, len(values)))
        for array in values:
            value = array._value(base._LIB.MXNDArraySave)
            target.write(struct.pack('<Iii', ARRAY, 0, value.ndim))
            target.write(struct.pack(f'<{value.ndim}q', *value.shape))
            target.write(struct.pack('<ii', 1, array.ctx.device_id))
            target.write(struct.pack('<i', NUMBERS[value.dtype.name]))
            target.write(value.tobytes())
        target.write(struct.pack('<Q', len(names)))
        for name in names:
            text = name.encode()
            target.write(struct.pack('<Q', len(text)) + text)


def load(file: str) -> Any:
    """Return what `save` wrote: a list of arrays, or a dictionary."""
    with open(file, 'rb') as source:
        try:
            return read_list(source)
        except struct.error:
            raise MXNetError(f'{file} is cut off') from None


def read_list(source: BinaryIO) -> Any:
    """Return the arrays of an open file."""
    kind, _, count = take(source, '<QQQ')
    if kind != LIST:
        raise MXNetError(f'{source.name} is not a file of MXNet arrays')
    arrays: List[ndarray] = [read_array(source) for _ in range(count)]
    names = []
    for _ in range(*take(source, '<Q')):
        (length,) = take(source, '<Q')
        names.append(source.read(length).decode())
    found: Dict[str, ndarray] = dict(zip(names, arrays))
    return found if names else arrays


def read_array(source: BinaryIO) -> ndarray:
    """Return the array that comes next."""
    magic, storage, ndim = take(source, '<Iii')
    if magic != ARRAY or storage:
        raise MXNetError(f'{source.name} has arrays that numpy_mxnet cannot '
                         'read: older than MXNet 1.6, or sparse')  # fmt: skip
    shape = take(source, f'<{ndim}q')
    _, device_id, number = take(source, '<iii')
    dtype = onp.dtype({n: name for name, n in NUMBERS.items()}[number])
    count = int(onp.prod(shape, dtype='int64'))
    data = source.read(count * dtype.itemsize)
    value = onp.frombuffer(data, dtype, count).reshape(shape)
    ctx = context.cpu(device_id)
    return ndarray._new(engine.done(ctx, value), shape, dtype, ctx)


def take(source: BinaryIO, form: str) -> Tuple[int, ...]:
    """Return the next numbers of the file."""
    return struct.unpack(form, source.read(struct.calcsize(form)))
