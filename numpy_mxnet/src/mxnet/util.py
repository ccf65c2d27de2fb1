"""`mx.util`: arrays have NumPy's semantics always."""

from .base import missing


def is_np_array() -> bool:
    """Return True."""
    return True


__getattr__ = missing('mxnet.util')
