"""The engine: a queue and a thread for each device.

`push` hands over work and returns at once. What it returns, an `Operation`,
is a future: later it holds a value, or the error that the work raised.

- An operation waits until the operations that it reads are done. Those are
  older than itself, so a circle, in which all wait for each other, cannot be.
- The thread of a device takes the oldest of its operations that are ready: one
  that still waits for another device does not keep the others waiting.
- A value never changes once it is there, so nobody needs a lock to read it.
  An array that is written into gets another operation (see `array.py`).
- Where no thread can start, as in a browser, `push` itself does the work.
"""

from __future__ import annotations

import heapq
import itertools
import os
import threading
from time import perf_counter  # a test may put another into `time`
from typing import Any, Callable, Sequence

import numpy as onp

from .base import MXNetError, error_of

QUIET: Any = {'all': 'ignore'}  # as MXNet: inf and nan, without a warning
PATIENCE = 1.0  # seconds; Windows hears Ctrl-C only between two waits


class State:
    """What all threads share; `lock` is held to read or change it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.all_done = threading.Condition(self.lock)
        self.numbers = itertools.count()
        self.queues: dict[Any, Queue] = {}
        self.num_pending = 0
        self.failed: list[Operation] = []  # whose error nobody has seen
        self.trace: list[tuple[str, str, float, float]] | None = None


class Operation:
    """Work of a device; when it is done, its value or its error.

    `number`: its place among all operations, in the order of the calls.
    """

    __slots__ = (
        'name', 'device', 'work', 'inputs', 'number',
        'num_missing', 'readers', 'event', 'is_done', 'value', 'error',
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        device: Any,
        work: Callable | None,
        inputs: Sequence[Operation],
    ) -> None:
        self.name, self.device = name, device
        self.work, self.inputs = work, inputs
        self.number = -1
        self.num_missing = 0  # inputs that are not done
        self.readers: list[Operation] = []  # those that miss this one
        self.event: threading.Event | None = None  # for `wait`
        self.is_done, self.value = False, None
        self.error: BaseException | None = None

    def __lt__(self, other: Operation) -> bool:
        return self.number < other.number

    def run(self) -> None:
        """Compute the value; an error of an input is an error of this."""
        try:
            for operation in self.inputs:
                if operation.error is not None:
                    raise operation.error
            assert self.work is not None
            self.value = self.work(*[i.value for i in self.inputs])
        except BaseException as error:
            self.error = error

    def wait_until_done(self) -> None:
        """Return when there is a value or an error."""
        if not self.is_done:
            with state.lock:
                if not self.is_done and self.event is None:
                    self.event = threading.Event()
            while not self.is_done:
                self.event.wait(PATIENCE)  # type: ignore[union-attr]

    def wait(self) -> Any:
        """Return the value when it is there; raise what the work raised."""
        self.wait_until_done()
        if self.error is None:
            return self.value
        with state.lock:
            state.failed = [o for o in state.failed if o.error != self.error]
        raise error_of(self.error)


class Queue:
    """The operations of a device that are ready, and the thread that runs
    them, oldest first."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self.ready: list[Operation] = []  # a heap
        self.changed = threading.Condition(state.lock)
        thread = threading.Thread(
            target=self.work, name=f'mxnet {device}', daemon=True
        )
        try:
            thread.start()
            self.has_thread = True
        except RuntimeError:  # "can't start new thread"
            self.has_thread = False

    def add(self, operation: Operation) -> None:
        """Put an operation into the queue; the caller holds the lock."""
        heapq.heappush(self.ready, operation)
        self.changed.notify()

    def work(self) -> None:
        """Run what is ready and never return: the thread's function."""
        onp.seterr(**QUIET)
        while True:
            with self.changed:
                while not self.ready:
                    self.changed.wait()
                operation = heapq.heappop(self.ready)
            execute(operation)
            del operation  # it may hold the last reference to large values


def execute(operation: Operation) -> None:
    """Run an operation whose inputs are done, and tell who waits for it."""
    start = perf_counter()
    operation.run()
    finish(operation, start)


def finish(operation: Operation, start: float) -> None:
    """Tell those who wait for an operation that it is done."""
    operation.work = None  # with all that it refers to
    operation.inputs = ()
    with state.lock:
        if state.trace is not None:
            times = start, perf_counter()
            state.trace.append((operation.name, operation.device, *times))
        operation.is_done = True
        if operation.error is not None:
            state.failed.append(operation)
        for reader in operation.readers:
            reader.num_missing -= 1
            if not reader.num_missing:
                queue_of(reader.device).add(reader)
        operation.readers = []
        if operation.event is not None:
            operation.event.set()
        state.num_pending -= 1
        if not state.num_pending:
            state.all_done.notify_all()


def queue_of(device: Any) -> Queue:
    """Return a device's queue; the caller holds the lock."""
    if device not in state.queues:
        state.queues[device] = Queue(device)
    return state.queues[device]


def push(
    name: str, device: Any, work: Callable, inputs: Sequence[Operation] = ()
) -> Operation:
    """Queue `work(*values of inputs)` on a device; return its future."""
    operation = Operation(name, device, work, inputs)
    with state.lock:
        operation.number = next(state.numbers)
        state.num_pending += 1
        queue = queue_of(device)
        if queue.has_thread:
            for given in inputs:
                if not given.is_done:
                    given.readers.append(operation)
                    operation.num_missing += 1
            if not operation.num_missing:
                queue.add(operation)
    if not queue.has_thread:
        for given in inputs:  # of a device that has a thread, if any
            given.wait_until_done()
        with onp.errstate(**QUIET):
            execute(operation)
    return operation


def done(device: Any, value: Any) -> Operation:
    """Return a future whose value is there already."""
    operation = Operation('', device, None, ())
    operation.value, operation.is_done = value, True
    return operation


def waitall() -> None:
    """Return when no device has work; raise the first error that nobody has
    seen yet."""
    with state.lock:
        while state.num_pending:
            state.all_done.wait(PATIENCE)
        failed, state.failed = state.failed, []
    if failed:
        raise error_of(min(failed).error)


def start() -> None:
    """Begin without any queue: at the import, and in a forked process, which
    inherits no thread."""
    global state
    state = State()


def before_fork() -> None:
    """Let no device work while the process is copied."""
    try:
        waitall()
    except MXNetError:
        pass  # those who read the value will see it


state: State
start()
if hasattr(os, 'register_at_fork'):
    os.register_at_fork(before=before_fork, after_in_child=start)
