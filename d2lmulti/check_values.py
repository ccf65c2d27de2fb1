"""What the checks of all chapters are made of: numbers, counts, lists.

Also words for messages, such as '2 devices'.
"""

import functools
import math
import numbers
from typing import Any, Callable, Collection, Dict, Iterable, List, Sized


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


check_positive_int = functools.partial(check_integer, 1)


def check_integers(least: int, most: float, **arrays: Any) -> None:
    """Raise TypeError or ValueError unless NumPy arrays have integers from
    `least` to `most` only."""
    for name, values in arrays.items():
        if values.dtype.kind not in 'iu':
            raise TypeError(f'{name} must hold integers, not {values.dtype}')
        wrong = values[(values < least) | (values > most)]
        if wrong.size:
            if most == math.inf:
                limits = f'at least {least}'
            else:
                limits = (
                    f'from {least} to {most}' if least < most else f'{least}'
                )
            raise ValueError(f'{name} must be {limits}, not {wrong[0]}')


def check_number(
    is_valid: Callable[[Any], bool], needed: str, **values: Any
) -> None:
    """Raise TypeError or ValueError unless each is a valid number; `needed`
    says in words which are."""
    for name, value in values.items():
        if not is_number(value):
            raise TypeError(
                f'{name} must be a number, not {value!r:.60}'
                f'{number_line(float, value)}'
            )
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
check_at_least_one = functools.partial(
    check_number, lambda x: x >= 1, 'at least 1'
)


def numbered(name: str, values: Iterable[Any]) -> Dict[str, Any]:
    """Return {'costs[0]': 1.5, ...}, for the messages of the checks above."""
    return {f'{name}[{i}]': value for i, value in enumerate(values)}


def check_learning_rate(lr: Any) -> None:
    """Raise TypeError or ValueError unless `lr` is finite and above 0."""
    check_positive_number(**{'the learning rate lr': lr})


def given(**values: Any) -> Dict[str, Any]:
    """Return those that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def check_count(message: str, needed: int, values: Sized) -> None:
    """Raise ValueError unless there are as many values as are needed; the
    message says what must have them, and for what each is."""
    if len(values) != needed:
        raise ValueError(f'{message}: give {needed}, not {len(values)}')


def check_enough(
    n: int, what: str, k: int, part: str, remedy: str = ''
) -> None:
    """Raise ValueError unless each of `k` parts can get one of `n`."""
    if n < k:
        raise ValueError(
            f'{counted(n, what)} cannot be split over {counted(k, part)}: '
            f'every {part} needs one; use fewer {plural(part)}{remedy}'
        )


def is_list_of(kind: Any, values: Any) -> bool:
    """Return whether `values` is a list or tuple with this kind only."""
    return isinstance(values, (list, tuple)) and all(
        isinstance(value, kind) for value in values
    )


def has_twice(values: Collection[Any]) -> bool:
    """Return whether an object is in `values` more than once."""
    return len({id(value) for value in values}) < len(values)


def check_divides(message: str, n: int, divisor: int) -> None:
    """Raise ValueError unless `divisor` divides n; the message says what."""
    if n % divisor:
        raise ValueError(f'{message}, {n}, but {divisor} does not')


def check_not_empty(count: int, what: str) -> None:
    """Raise ValueError if an iterator gave nothing."""
    if not count:
        raise ValueError(f'no {what}: data_iter is empty')


def check_filled(**lists: Sized) -> None:
    """Raise ValueError unless each has an entry."""
    for name, values in lists.items():
        if not len(values):
            raise ValueError(f'{name} is empty: give at least one entry')


def as_limits(
    limits: Any, num_devices: int, name: str, default: Any = None
) -> List[Any]:
    """Return a limit for each device; without `limits`, `default` for all.

    Raises TypeError or ValueError unless each is an integer >= 1; None is
    allowed where it is the default.
    """
    if limits is None:
        return [default] * num_devices
    message = f'{name} must have an entry for each device'
    check_count(message, num_devices, limits)
    entries = numbered(name, limits)
    check_positive_int(**(given(**entries) if default is None else entries))
    return list(limits)
