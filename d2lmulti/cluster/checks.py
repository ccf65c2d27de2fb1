"""The argument checks of part V."""

import numpy as onp
from mxnet import np

from ..check_values import (
    check_not_negative,
    check_positive_int,
    check_positive_number,
    given,
    is_number,
)
from ..learning.checks import check_shares

# Chapter 19: several machines


def check_worker_shares(num_rows, shares, num_workers):
    """Raise TypeError or ValueError unless every worker can get a row."""
    check_shares(shares, num_rows, num_workers, who='worker')


def check_exchange_array(array):
    """Raise TypeError unless MPI can sum this array in place."""
    if not isinstance(array, onp.ndarray) or array.dtype.kind not in 'iuf':
        kind = type(array).__name__
        if isinstance(array, onp.ndarray):
            kind = f'of {array.dtype}'
        if isinstance(array, np.ndarray):
            kind = 'one of MXNet: use array.asnumpy()'
        raise TypeError(f'exchange needs a NumPy array of numbers, not {kind}')
    if not array.flags.carray:
        raise TypeError(
            'exchange writes into the array, which must be contiguous and '
            'writable: use array.copy()'
        )


def as_scalar(name, value) -> float:
    """Return a number, or an array with a single one, as a float; raise
    TypeError for anything else."""
    if isinstance(value, (np.ndarray, onp.ndarray)) and value.size == 1:
        value = value.item()
    if not is_number(value):
        raise TypeError(f'{name} must be a number, not {value!r:.60}')
    return float(value)


def as_weight(value, name='count(y)') -> float:
    """Return what a function has returned as a float; raise TypeError or
    ValueError unless it is a finite number of at least 0."""
    number = as_scalar(name, value)
    check_not_negative(**{name: number})
    return number


def check_cluster(
    counts, speed, num_micro_batches=1, max_norm=None, **functions
):
    """Raise TypeError or ValueError unless `train_on_cluster` can begin."""
    check_positive_int(**counts, num_micro_batches=num_micro_batches)
    check_positive_number(**given(speed=speed, max_norm=max_norm))
    if speed is not None:
        check_positive_number(**{'speed, in float32,': onp.float32(speed)})
    needed = ['init', 'evaluate', 'net', 'loss', 'count']
    such = {
        'update': 'adam',
        'schedule': 'lambda step: 0.1',
        'allreduce': 'functools.partial(allreduce_processes, comm=comm)',
    }
    for name, value in functions.items():
        if name not in [*needed, *such]:
            raise TypeError(
                f'train_on_cluster has no argument {name!r}: the options are '
                'net, loss, update, num_micro_batches, max_norm, count'
            )
        if not callable(value) and not (name in such and value is None):
            hint = f', such as {such[name]}, or None' if name in such else ''
            raise TypeError(
                f'{name} must be a function{hint}, not {value!r:.60}'
            )
