"""An operator of our own that writes the time, for the engine to run.

Like any operator it runs when its input is ready, on the device of its
input.
"""

import time
from typing import Any, List, Tuple

import mxnet as mx
import numpy as onp


class Clock(mx.operator.CustomOp):
    """An operator that writes the time, in seconds."""

    def forward(
        self,
        is_train: bool,
        req: list,
        in_data: list,
        out_data: list,
        aux: list,
    ) -> None:
        """Write the time when the input is ready."""
        out_data[0][:] = time.perf_counter()


@mx.operator.register('d2lmulti_clock')
class ClockProperties(mx.operator.CustomOpProp):
    """What the engine must know about it."""

    def infer_shape(self, in_shapes: list) -> Tuple[list, list, list]:
        """Return the shapes of inputs, outputs and states."""
        return in_shapes, [(1,)], []

    def infer_type(self, in_types: List[Any]) -> Tuple[list, list, list]:
        """Return the dtypes of inputs, outputs and states."""
        return in_types, [onp.float64], []

    def create_operator(
        self, device: Any, in_shapes: list, in_types: list
    ) -> Clock:
        """Return the operator."""
        return Clock()


def time_when_ready(array: Any) -> Any:
    """Return an array with the time, in seconds, when `array` was ready."""
    return mx.nd.Custom(
        array.as_nd_ndarray(), op_type='d2lmulti_clock'
    ).as_np_ndarray()
