"""Devices: `cpu(0)`, `cpu(1)`, ..."""

import threading
from typing import Any, List

from .base import missing


class Context:
    """A device; equal to another one of the same kind and number.

    `with cpu(1):` lets arrays be made there.
    """

    __slots__ = 'device_type', 'device_id'

    def __init__(self, device_type: str, device_id: int = 0) -> None:
        self.device_type, self.device_id = device_type, int(device_id)

    def __repr__(self) -> str:
        return f'{self.device_type}({self.device_id})'

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, Context)
            and self.device_id == other.device_id
            and self.device_type == other.device_type
        )

    def __hash__(self) -> int:
        return hash((self.device_type, self.device_id))

    def __reduce__(self) -> Any:
        return Context, (self.device_type, self.device_id)

    def __enter__(self) -> 'Context':
        entered().append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        entered().pop()


local = threading.local()


def entered() -> List[Context]:
    """Return the devices of the `with` blocks that this thread is in."""
    if not hasattr(local, 'devices'):
        local.devices = []
    return local.devices


def cpu(device_id: int = 0) -> Context:
    """Return a logical CPU device."""
    return Context('cpu', device_id)


def gpu(device_id: int = 0) -> Context:
    """Return the name of a GPU. NumPy has none: making an array on it raises
    MXNetError."""
    return Context('gpu', device_id)


def num_gpus() -> int:
    """Return 0."""
    return 0


def current_context() -> Context:
    """Return the device on which arrays are made if none is named."""
    return (entered() or [Context('cpu', 0)])[-1]


__getattr__ = missing('mxnet.context')
