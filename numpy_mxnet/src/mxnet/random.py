"""`np.random` and `mx.random`: a separate stream, not MXNet's numbers.

Each call takes a seed from the stream when it is made, and the device draws
with that: the numbers depend on the order of the calls alone.
"""

import threading
from typing import Any, Callable

import numpy as onp

from . import context
from .array import FLOAT32, INT64, dtype_of, invoke
from .base import missing

_lock = threading.Lock()
_stream = onp.random.RandomState()


def seed(seed_state: int, ctx: Any = 'all') -> None:
    """Let the numbers from now on be those that follow from this seed."""
    with _lock:
        _stream.seed(int(seed_state))


def _drawn(
    draw: Callable, size: Any, dtype: Any, ctx: Any, name: str = 'random'
) -> Any:
    """Queue `draw(generator, shape)` on a device."""
    with _lock:
        start = int(_stream.randint(2**31 - 1))
    shape = () if size is None else size
    shape = (int(shape),) if isinstance(shape, (int, onp.integer)) else shape
    shape = tuple(int(n) for n in shape)
    return invoke(f'_npi_{name}',
                  lambda: draw(onp.random.RandomState(start), shape), (),
                  shape, dtype, ctx or context.current_context())  # fmt: skip


def uniform(
    low: float = 0.0,
    high: float = 1.0,
    size: Any = None,
    dtype: Any = None,
    ctx: Any = None,
) -> Any:
    """Return numbers from `low` to below `high`."""
    return _drawn(lambda rng, shape: rng.uniform(low, high, shape), size,
                  FLOAT32 if dtype is None else dtype_of(dtype), ctx,
                  'uniform')  # fmt: skip


def normal(
    loc: float = 0.0,
    scale: float = 1.0,
    size: Any = None,
    dtype: Any = None,
    ctx: Any = None,
) -> Any:
    """Return numbers with a mean and a standard deviation."""
    return _drawn(lambda rng, shape: rng.normal(loc, scale, shape), size,
                  FLOAT32 if dtype is None else dtype_of(dtype), ctx,
                  'normal')  # fmt: skip


def randint(
    low: int,
    high: Any = None,
    size: Any = None,
    dtype: Any = None,
    ctx: Any = None,
) -> Any:
    """Return integers from `low` to below `high`, int64."""
    low, high = (0, low) if high is None else (low, high)
    return _drawn(lambda rng, shape: rng.randint(low, high, shape), size,
                  INT64 if dtype is None else dtype_of(dtype), ctx,
                  'randint')  # fmt: skip


def rand(*size: int) -> Any:
    """Return numbers from 0 to below 1."""
    return uniform(size=size)


def randn(*size: int) -> Any:
    """Return standard normal numbers."""
    return normal(size=size)


__getattr__ = missing('mxnet.np.random')
