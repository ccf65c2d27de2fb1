"""What checks and messages of both packages are made of: integers, numbers,
and words such as '2 devices'. Imports nothing of ours."""

import numbers
from typing import Any


def is_integer(value: Any) -> bool:
    """Return whether `value` is an integer, of Python or NumPy."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether `value` is a real number, of Python or NumPy."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_integer(least: int, **values: Any) -> None:
    """Raise TypeError or ValueError unless each is an integer >= `least`."""
    for name, value in values.items():
        if not is_integer(value):
            raise TypeError(f'{name} must be an integer, not {value!r}')
        if value < least:
            raise ValueError(f'{name} must be at least {least}, not {value}')


def counted(n: int, noun: str) -> str:
    """Return '1 layer' or '2 layers'."""
    return f'{n} {noun if n == 1 else plural(noun)}'


def plural(noun: str) -> str:
    """Return 'layers' for 'layer', 'batches' for 'batch'."""
    return f'{noun}es' if noun.endswith('ch') else f'{noun}s'
