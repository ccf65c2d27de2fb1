"""`mx.nd`: MXNet's older arrays are not here, only their class,
operators in Python, and waiting."""

from .array import NDArray
from .base import missing
from .npx import waitall
from .operator import custom as Custom

__all__ = ['Custom', 'NDArray', 'waitall']
__getattr__ = missing('mxnet.nd')
