"""Integers, numbers, and words such as '2 devices': for messages."""

import numbers
from typing import Any


def is_integer(value: Any) -> bool:
    """Return whether `value` is an integer, of Python or NumPy."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether `value` is a real number, of Python or NumPy."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def number_line(kind: Any, value: Any) -> str:
    """Return "; use int('2')", the end of a message, if that makes a number of
    a string, or an integer of 2.0, and else ''."""
    try:
        number = kind(value) if isinstance(value, (str, float)) else None
    except (ValueError, OverflowError):
        return ''
    if number is None or isinstance(value, float) and number != value:
        return ''
    return f'; use {kind.__name__}({value!r})'


def check_integer(least: int, **values: Any) -> None:
    """Raise TypeError or ValueError unless each is an integer >= `least`."""
    for name, value in values.items():
        if not is_integer(value):
            raise TypeError(
                f'{name} must be an integer, not {value!r:.60}'
                f'{number_line(int, value)}'
            )
        if value < least:
            raise ValueError(f'{name} must be at least {least}, not {value}')


def counted(n: int, noun: str) -> str:
    """Return '1 layer' or '2 layers'."""
    return f'{n} {noun if n == 1 else plural(noun)}'


def plural(noun: str) -> str:
    """Return 'layers' for 'layer', 'batches' for 'batch'."""
    return f'{noun}es' if noun.endswith('ch') else f'{noun}s'
