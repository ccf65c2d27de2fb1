"""Let CPU devices refuse what GPUs cannot do: read each other's arrays.

Logical CPU devices share one memory, so MXNet's operators would take arrays
of two of them. Once `turn_on` was called they raise `DeviceError`, in every
thread. What copies on purpose is allowed, as on GPUs: `copyto`, `as_in_ctx`,
the key-value store, and `a[:] = b` and an array as index, which MXNet copies
to the device of `a`. D2LMULTI_STRICT=0 in the environment switches it off.
"""

import ctypes
from typing import Any, Callable, Iterable, List, Optional

from mxnet import autograd, base
from mxnet._ctypes.ndarray import NDArrayBase
from mxnet._ffi.function import Function
from mxnet.ndarray import NDArray, register

from .device_error import DeviceError, how_to_copy

MEMORIES = 1, 2  # CPU, GPU; what is pinned or shared, every device can read
COPIES = '_copyto', '_CrossDeviceCopy'  # on purpose
READS_NO_NUMBERS = ('_npi_share_memory',)
# As `_LIB` has it, but Python's lock is kept, which is quicker.
read_context = ctypes.PyDLL(base._LIB._name).MXNDArrayGetContext


def turn_on() -> Callable[[], None]:
    """Check the devices of all operators; return what turns that off."""
    before = [(owner, name, getattr(owner, name)) for owner, name in HOOKS]
    for (owner, name, call), hook in zip(before, HOOKS.values()):
        setattr(owner, name, hook(call))

    def turn_off() -> None:
        for owner, name, call in before:
            setattr(owner, name, call)

    return turn_off


def check_operator(call: Any) -> Any:
    """Return `call`, which invokes an operator by its number, with a check."""
    allowed = {*map(operator_number, COPIES + READS_NO_NUMBERS)}

    def checked(operator, arrays, keys, values, out, *rest):
        if out is None:
            if len(arrays) > 1 and operator not in allowed:
                check_one_device(arrays)
        elif operator not in allowed:
            check_one_device([*arrays, *as_list(out)])
        return call(operator, arrays, keys, values, out, *rest)

    return checked


def operator_number(name: str) -> Optional[int]:
    """Return the number by which MXNet's generated code calls an operator."""
    handle = ctypes.c_void_p()
    base.check_call(
        base._LIB.NNGetOpHandle(name.encode(), ctypes.byref(handle))
    )
    return handle.value


def check_function(call: Any) -> Any:
    """Return `call`, which calls a newer operator, with a check."""

    def checked(function, *args):
        check_one_device(args)
        return call(function, *args)

    return checked


def check_head_gradient(call: Any) -> Any:
    """Return `NDArray.backward` with a check of the head gradient."""

    def backward(self, out_grad=None, *args, **kwargs):
        check_one_device([self, out_grad])
        return call(self, out_grad, *args, **kwargs)

    return backward


def check_pairs(call: Any) -> Any:
    """Return a function of `autograd`, whose first two arguments are arrays
    that belong together, or lists of them, with a check."""

    def checked(arrays, others=None, *args, **kwargs):
        for pair in zip(*map(as_list, (arrays, others))):
            check_one_device(pair)
        return call(arrays, others, *args, **kwargs)

    return checked


def as_list(arrays: Any) -> List[Any]:
    """Return a list of arrays, if it is a single one or None."""
    return [*arrays] if isinstance(arrays, (list, tuple)) else [arrays]


# Where MXNet's Python hands arrays to its library. A hybridized block does so
# elsewhere: there the library itself compares devices, as on GPUs.
HOOKS = {
    (register, '_imperative_invoke'): check_operator,
    (Function, '__call__'): check_function,
    (NDArray, 'backward'): check_head_gradient,
    (autograd, '_parse_head'): check_pairs,
    (autograd, 'mark_variables'): check_pairs,
}


def check_one_device(values: Iterable[Any]) -> None:
    """Raise DeviceError unless the arrays among `values` share a device."""
    first = None
    for value in values:
        if isinstance(value, NDArrayBase):
            both = ctypes.c_int64()  # the kind of device, then its number
            place = ctypes.byref(both)
            read_context(value.handle, place, ctypes.byref(both, 4))
            if both.value & 0xFFFFFFFF not in MEMORIES:
                continue
            if first is None:
                first, array = both.value, value
            elif both.value != first:
                raise DeviceError(how_to_copy(array, value))
