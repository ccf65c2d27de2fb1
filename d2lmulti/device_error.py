"""The error of an operator whose arrays are on two devices: which line it is,
and which line copies."""

import contextlib
import linecache
import re
import sys
import types
from typing import Any, Optional

from mxnet import base, nd

OURS = __name__, 'd2lmulti.strict_devices'


class DeviceError(base.MXNetError):
    """An operator was given arrays of two devices."""


def how_to_copy(array: Any, other: Any) -> str:
    """Return which line has arrays of two devices, and the one that copies."""
    frame: Any = sys._getframe(1)
    is_out = False
    while is_inside(frame) and frame.f_back:
        is_out |= frame.f_locals.get('out') is other
        frame = frame.f_back
    line = linecache.getline(
        frame.f_code.co_filename, frame.f_lineno, frame.f_globals
    ).strip()
    first, second = (written(one, line, frame) for one in (array, other))
    fix = f'{second or "array"}.copyto(mx.{array.ctx})'
    if is_out:
        fix = f'result.copyto({second or "out"}) instead of out='
    place = f', in "{line:.70}"' if line else ''
    return (
        f'{first or described(array)} is on {array.ctx}, but '
        f'{second or described(other)} is on {other.ctx}{place}: no device '
        f"can use another's memory; copy: {fix}"
    )


def of_stand_in(name: str, array: Any, other: Any) -> DeviceError:
    """Return the error of an operator: numpy_mxnet calls this."""
    return DeviceError(how_to_copy(array, other))


def is_inside(frame: types.FrameType) -> bool:
    """Return whether code of MXNet runs in a frame, or ours that it calls."""
    module = frame.f_globals.get('__name__', '')
    return module.split('.')[0] == 'mxnet' or module in OURS


def written(array: Any, line: str, frame: types.FrameType) -> Optional[str]:
    """Return how a line writes an array, such as data[1] or param.grad."""
    for text in re.findall(r'[A-Za-z_]\w*(?:\.\w+|\[\w+\])*', line):
        with contextlib.suppress(Exception):
            value = eval(text, frame.f_globals, frame.f_locals)
            if value is array or (
                isinstance(value, nd.NDArray)
                and (value.shape, value.ctx) == (array.shape, array.ctx)
            ):
                return text
    return None


def described(array: Any) -> str:
    """Return what to call an array without a name."""
    return f'an array of shape {array.shape}'


def without_mxnet(trace: Optional[types.TracebackType]) -> Any:
    """Return the frames of a traceback that are not MXNet's or of these
    modules: they end with the line that called an operator."""
    if trace is None:
        return None
    rest = without_mxnet(trace.tb_next)
    if is_inside(trace.tb_frame):
        return rest
    return types.TracebackType(
        rest, trace.tb_frame, trace.tb_lasti, trace.tb_lineno
    )
