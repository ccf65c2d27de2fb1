"""`mx.util`: arrays have NumPy's semantics always."""

from .base import missing
from .npx import is_np_array, set_np

__all__ = ['is_np_array', 'set_np']
__getattr__ = missing('mxnet.util')
