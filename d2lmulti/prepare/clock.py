"""An operator of our own that writes the time, for the engine to run.

Like any operator it runs when its input is ready, on the device of its
input.
"""

import time
from typing import Any

import mxnet as mx
import numpy as onp


class Clock(mx.operator.CustomOp):
    """An operator that writes the time, in seconds."""

    def forward(self, is_train, req, in_data, out_data, aux):
        """Write the time when the input is ready."""
        out_data[0][:] = time.perf_counter()


@mx.operator.register('d2lmulti_clock')
class ClockProperties(mx.operator.CustomOpProp):
    """What the engine must know about it."""

    def infer_shape(self, in_shapes):
        """Return the shapes of inputs, outputs and states."""
        return in_shapes, [(1,)], []

    def infer_type(self, in_types):
        """Return the dtypes of inputs, outputs and states."""
        return in_types, [onp.float64], []

    def create_operator(self, device, in_shapes, in_types):
        """Return the operator."""
        return Clock()


def time_when_ready(array: Any) -> Any:
    """Return an array with the time, in seconds, when `array` was ready."""
    array = array.as_nd_ndarray()
    return mx.nd.Custom(array, op_type='d2lmulti_clock').as_np_ndarray()
