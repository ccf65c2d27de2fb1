"""`mx.operator`: operators in Python, without gradients.

The thread of the device calls `forward`, with arrays of NumPy.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy as onp

from .array import dtype_of, invoke
from .base import missing

registered: dict[str, Any] = {}


class CustomOp:
    """What an operator does: the base of its class."""

    def forward(
        self, is_train: bool, req: Any, in_data: Any, out_data: Any, aux: Any
    ) -> None:
        """Write into `out_data`."""
        raise NotImplementedError('forward of a CustomOp')


class CustomOpProp:
    """What must be known of an operator before it runs."""

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad = need_top_grad


def register(name: str) -> Callable:
    """Return the decorator of a CustomOpProp; the name is its `op_type`."""

    def note(prop: Any) -> Any:
        registered[name] = prop
        return prop

    return note


def custom(*inputs: Any, op_type: str) -> Any:
    """Queue an operator with one output: `mx.nd.Custom`."""
    prop = registered[op_type]()
    shapes, types = [x.shape for x in inputs], [x.dtype for x in inputs]
    (shape,) = prop.infer_shape([list(shape) for shape in shapes])[1]
    (kind,) = prop.infer_type(types)[1]
    dtype, ctx = dtype_of(kind), inputs[0].ctx
    operator = prop.create_operator(ctx, shapes, types)

    def work(*values: Any) -> Any:
        found = onp.zeros(shape, dtype)
        operator.forward(False, ['write'], list(values), [found], [])
        return found

    return invoke('Custom', work, inputs, tuple(shape), dtype)


__getattr__ = missing('mxnet.operator')
