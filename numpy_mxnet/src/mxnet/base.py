"""Errors, and the calls that a program can watch."""

from typing import Any


class MXNetError(RuntimeError):
    """What MXNet raises for a shape, dtype or device that does not fit."""


class NotInStandIn(AttributeError, MXNetError):
    """A name of MXNet that the stand-in has not."""


def device_error(name: str, array: Any, other: Any) -> MXNetError:
    """Return the error of an operator whose arrays are on two devices.

    A program may put its own function here, as d2lmulti does.
    """
    return MXNetError(
        f'{name}: its arrays are on {array.ctx} and {other.ctx}; copy one '
        f'first, for example: x.copyto(mx.{array.ctx})'
    )


def missing(module: str) -> Any:
    """Return the `__getattr__` of a module: it names what is not there."""

    def __getattr__(name: str) -> Any:
        if name.startswith('__'):  # Python and its tools ask for these
            raise AttributeError(name)
        raise NotInStandIn(
            f'{module}.{name} is not in numpy_mxnet, the stand-in for MXNet '
            'where MXNet has no package. It needs MXNet itself, on Linux with '
            'an x86-64 processor'
        )

    return __getattr__


def error_of(error: Any) -> BaseException:
    """Return what a reader of a value gets for what the work raised."""
    if isinstance(error, (MXNetError, ValueError, IndexError)):
        kind: Any = type(error)
    else:
        kind = MXNetError
    if kind.__module__ != 'builtins' and kind is not MXNetError:
        kind = MXNetError  # NumPy's own
    new = kind(str(error) or type(error).__name__)
    new.__cause__ = error
    return new


class Calls:
    """Through here goes each wait for a device, and each operator.

    MXNet's library has calls of these names. A program that replaces one, as
    chapter 6 of d2lmulti does, sees every wait.
    """

    def MXImperativeInvokeEx(self, call: Any, *arguments: Any) -> Any:
        """Hand an operator to a device."""
        return call(*arguments)

    def MXAutogradBackwardEx(self, call: Any, *arguments: Any) -> Any:
        """Hand a backward pass to the devices."""
        return call(*arguments)

    def MXNDArraySyncCopyToCPU(self, operation: Any) -> Any:
        """Wait for a value, and return it."""
        return operation.wait()

    def MXNDArrayWaitToRead(self, operation: Any) -> None:
        """Wait for a value."""
        operation.wait()

    def MXNDArrayWaitAll(self, waitall: Any) -> None:
        """Wait for all devices."""
        waitall()

    def MXNDArraySave(self, operation: Any) -> Any:
        """Wait for a value that is to be saved, and return it."""
        return operation.wait()


_LIB = Calls()
