"""Ctrl-C, held back while something must not be left half done."""

import contextlib
import signal
import threading
import types
from typing import Iterator, List, Optional

from .jupyter import jupyter_shell


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Hold back Ctrl-C (SIGINT) until the block ends; let a second through.

    Otherwise an interrupt could leave a step half done: some parameters
    updated, on some devices. Also a decorator.
    """
    before = signal.getsignal(signal.SIGINT)
    if (
        threading.current_thread() is not threading.main_thread()
        or not callable(before)
    ):  # Python would interrupt nothing
        yield
        return
    held: List[int] = []

    def hold(number: int, frame: Optional[types.FrameType]) -> None:
        if held:
            before(number, frame)
        held.append(number)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            signal.raise_signal(signal.SIGINT)


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Let Jupyter's stop button end the block alone, so that what it has made
    so far can be used; elsewhere, Ctrl-C ends the program as ever."""
    try:
        yield
    except KeyboardInterrupt:
        if jupyter_shell() is None:
            raise
        print('stopped: here is the result so far')
