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
from ..checks import check_data, need


def check_exchange_array(array):
    """Raise TypeError unless MPI can sum this array in place."""
    is_right = isinstance(array, onp.ndarray) and array.dtype.kind in 'iuf'
    is_right = is_right and array.flags.c_contiguous
    fix = 'array.asnumpy()' if isinstance(array, np.ndarray) else ''
    need(is_right, 'a NumPy array of numbers, C-contiguous,', fix, array=array)


def as_scalar(name, value) -> float:
    """Return a number, or an array with a single one, as a float; raise
    TypeError for anything else."""
    if isinstance(value, (np.ndarray, onp.ndarray)) and value.size == 1:
        value = value.item()
    need(is_number(value), 'a number', **{name: value})
    return float(value)


def as_weight(value, name='count(y)') -> float:
    """Return what a function has returned as a float; raise TypeError or
    ValueError unless it is a finite number of at least 0."""
    number = as_scalar(name, value)
    check_not_negative(**{name: number})
    return number


def check_cluster(
    counts, speed, data, num_micro_batches=1, max_norm=None, **functions
):
    """Raise TypeError or ValueError unless `train_on_cluster` can begin, so
    that no worker starts MPI and leaves the others waiting."""
    check_positive_int(**counts, num_micro_batches=num_micro_batches)
    check_positive_number(**given(speed=speed, max_norm=max_norm))
    check_data(data)
    optional = 'update', 'schedule', 'allreduce'
    for name, value in functions.items():
        if name not in (*optional, 'init', 'evaluate', 'net', 'loss', 'count'):
            raise TypeError(f'train_on_cluster has no argument {name!r}')
        is_right = callable(value) or value is None and name in optional
        need(is_right, 'a function', **{name: value})
