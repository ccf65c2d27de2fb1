"""What argument checks are made of: checks of numbers and lists.

Those of chapter 1 are here, too: `checks` imports `split_slices` from it.
"""

import functools
import math
from typing import Any, Dict, List

import numpy as onp

from d2lrun.basics import check_integer, counted, is_number, plural

MAX_CPU_DEVICES = 64  # as many as d2lrun/settings.py makes workspaces


check_positive_int = functools.partial(check_integer, 1)


def check_number(is_valid, needed, **values):
    """Raise TypeError or ValueError unless each is a valid number; `needed`
    says in words which are."""
    for name, value in values.items():
        if not is_number(value):
            raise TypeError(f'{name} must be a number, not {value!r}')
        if not is_valid(value):
            raise ValueError(f'{name} must be {needed}, not {value}')


check_positive_number = functools.partial(
    check_number, lambda x: 0 < x < math.inf, 'a finite number above 0'
)
check_not_negative = functools.partial(
    check_number, lambda x: 0 <= x < math.inf, 'a finite number of at least 0'
)
check_fraction = functools.partial(
    check_number, lambda x: 0 <= x < 1, 'at least 0 and below 1'
)
check_share = functools.partial(
    check_number, lambda x: 0 < x <= 1, 'above 0 and at most 1'
)


def numbered(name, values) -> Dict[str, Any]:
    """Return {'costs[0]': 1.5, ...}, for the messages of the checks above."""
    return {f'{name}[{i}]': value for i, value in enumerate(values)}


def check_learning_rate(lr):
    """Raise TypeError or ValueError unless `lr` is finite and above 0."""
    check_positive_number(**{'the learning rate lr': lr})


def given(**values) -> Dict[str, Any]:
    """Return those that are not None."""
    return {name: value for name, value in values.items() if value is not None}


# Lists


def check_count(owners, needed, **values):
    """Raise ValueError unless each has as many entries as are needed."""
    for name, value in values.items():
        if len(value) != needed:
            raise ValueError(
                f'{owners} need {needed} {name}, not {len(value)}'
            )


def check_enough(n, what, k, part, remedy=''):
    """Raise ValueError unless each of `k` parts can get one of `n`."""
    if n < k:
        raise ValueError(
            f'{counted(n, what)} cannot be split over {counted(k, part)}: '
            f'every {part} needs one; use fewer {plural(part)}{remedy}'
        )


def is_list_of(kind, values) -> bool:
    """Return whether `values` is a list or tuple with this kind only."""
    return isinstance(values, (list, tuple)) and all(
        isinstance(value, kind) for value in values
    )


def has_twice(values) -> bool:
    """Return whether an object is in `values` more than once."""
    return len({id(value) for value in values}) < len(values)


def shapes_of(arrays) -> List[tuple]:
    """Return the shape of each array."""
    return [array.shape for array in arrays]


def check_alike(what, kinds):
    """Raise ValueError unless arrays are alike."""
    if len(set(kinds)) > 1:
        raise ValueError(
            f'arrays of more than one {what}, {kinds}: they must be alike on '
            'all devices'
        )


def dtypes_of(arrays) -> List[str]:
    """Return the name of each array's dtype."""
    return [onp.dtype(array.dtype).name for array in arrays]


# Chapter 1: devices


def check_slices(n, k):
    """Raise TypeError or ValueError unless n items can be cut for k."""
    check_integer(0, n=n)
    check_integer(1, k=k)


def check_num_devices(k, gpus, faults):
    """Raise TypeError or ValueError unless there are `k` devices.

    `gpus`: those that work; with none of them, CPU devices are meant.
    `faults`: what is wrong with other GPUs.
    """
    check_positive_int(**{'k, the number of devices,': k})
    if gpus and k > len(gpus):
        works = 'GPU works' if len(gpus) == 1 else 'GPUs work'
        raise ValueError(
            f'{k} devices asked for, but {len(gpus)} '
            f'{works}{"".join(f" ({fault})" for fault in faults)}: ask for at '
            f'most {len(gpus)}, or set D2LMULTI_DEVICES=cpu to use CPUs'
        )
    if not gpus and k > MAX_CPU_DEVICES:
        raise ValueError(
            f'{k} CPU devices asked for, at most {MAX_CPU_DEVICES} work side '
            "by side: beyond that they wait for each other's workspaces"
        )
