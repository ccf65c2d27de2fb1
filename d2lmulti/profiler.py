"""What is seen of some work: the operators on each device, by MXNet's
profiler, and the copies between devices."""

import collections
import json
import os
import re
import tempfile
from unittest import mock

import mxnet as mx
import numpy as onp
from mxnet import np, npx

from .findings import count_cores

__all__ = ['profile']

Operator = collections.namedtuple('Operator', 'device name start end')  # ms
HOUSEKEEPING = ('Delete', 'Resource')  # the engine's own work


def profile(work):
    """Return what the devices do in `work()`: a list of `Operator`.

    Milliseconds count from the first operator. The engine is drained before
    and after. Raises ValueError if `work` runs no operator. Work on a device
    beyond cpu(number of cores + 1) ends the process: the profiler lacks it.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'profile.json')
        npx.waitall()
        mx.profiler.set_config(
            profile_imperative=True,
            profile_symbolic=True,
            filename=path,
            continuous_dump=False,  # True: a thread writes every second
        )
        mx.profiler.set_state('run')
        try:
            work()
            npx.waitall()
        finally:
            mx.profiler.set_state('stop')
            mx.profiler.dump(finished=False)  # True: it cannot run again
        return read_profile(path)


def read_profile(path):
    """Return the operators in a file that MXNet's profiler has written.

    Raises ValueError if it contains none, or is not such a file.
    """
    began, operators = {}, []
    # A device runs one operator at a time: the one that ends began last.
    for event in read_events(path):
        key = event.get('pid'), event.get('name')
        if event.get('ph') == 'B':
            began[key] = event['ts'] / 1000
        elif event.get('ph') == 'E' and key in began:
            operators.append(
                Operator(
                    device_name(event['pid']),
                    event['name'],
                    began.pop(key),
                    event['ts'] / 1000,
                )
            )
    operators = [o for o in operators if not o.name.startswith(HOUSEKEEPING)]
    if not operators:
        raise ValueError(
            'no operators: nothing ran on MXNet while the profiler was on'
        )
    first = min(operator.start for operator in operators)
    return [
        o._replace(start=o.start - first, end=o.end - first) for o in operators
    ]


def read_events(path):
    """Return the events in the file; ValueError if it is not MXNet's."""
    with open(path) as file:
        # In a process's files but the first, a comma precedes the events.
        text = re.sub(r'\[[\s,]+', '[', file.read(), count=1)
    try:
        return json.loads(text)['traceEvents']
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(
            f"{path} is not a profile of MXNet's: have profile(work) write it"
        ) from None


def device_name(number):
    """Return a device's name; GPUs are numbered after a CPU per core."""
    gpu = number - count_cores()
    return (
        f'gpu({gpu})' if 0 <= gpu < mx.context.num_gpus() else f'cpu({number})'
    )


def busy_time(operators):
    """Return the ms covered by operators; overlaps count once."""
    busy, reached = 0, 0
    for operator in sorted(operators, key=lambda o: o.start):
        busy += max(0, operator.end - max(operator.start, reached))
        reached = max(reached, operator.end)
    return busy


def operator_kind(operator):
    """Return the part of a training step to which an operator belongs."""
    if 'Copy' in operator.name:
        return 'copy'
    if '_backward' in operator.name:
        return 'backward'
    arithmetic = ('_npi_add', '_npi_subtract', '_npi_multiply_scalar')
    return 'sum, update' if operator.name in arithmetic else 'forward'


def record_copies(work):
    """Run `work()`; return (sender, receiver, bytes) of each explicit copy
    between devices. Arrays of no bytes do not count."""
    copies, copyto = [], np.ndarray.copyto

    def recorded(array, target):
        receiver = getattr(target, 'ctx', target)  # of an array, or a device
        if receiver != array.ctx and array.size > 0:
            itemsize = onp.dtype(array.dtype).itemsize
            copies.append((array.ctx, receiver, array.size * itemsize))
        return copyto(array, target)

    with mock.patch.multiple(
        np.ndarray, copyto=recorded, as_in_context=np.ndarray.as_in_ctx
    ):
        work()
    return copies
