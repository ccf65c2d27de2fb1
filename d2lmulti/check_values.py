"""What the checks of all chapters are made of: numbers, counts, lists.

Also words for messages, such as '2 devices'.
"""

import functools
import math
import numbers
from typing import Any, Callable, Collection, Dict, Iterable, Sized


def is_integer(value: Any) -> bool:
    """Return whether `value` is an integer, of Python or NumPy."""
    # bool is a kind of int in Python, but try_devices(True) is a mistake
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether `value` is a real number, of Python or NumPy."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_integer(least: int, **values: Any) -> None:
    """Raise TypeError or ValueError unless each is an integer >= `least`."""
    for name, value in values.items():
        if not is_integer(value):
            raise TypeError(f'{name} must be an integer, not {value!r:.60}')
        if value < least:
            raise ValueError(f'{name} must be at least {least}, not {value}')


check_positive_int = functools.partial(check_integer, 1)


def check_number(
    is_valid: Callable[[Any], bool], needed: str, **values: Any
) -> None:
    """Raise TypeError or ValueError unless each is a valid number; `needed`
    says in words which are."""
    for name, value in values.items():
        if not is_number(value):
            raise TypeError(f'{name} must be a number, not {value!r:.60}')
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


def check_learning_rate(lr: Any) -> None:
    """Raise TypeError or ValueError unless `lr` is finite and above 0."""
    check_positive_number(**{'the learning rate lr': lr})


def given(**values: Any) -> Dict[str, Any]:
    """Return those that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def numbered(name: str, values: Iterable[Any]) -> Dict[str, Any]:
    """Return {'costs[0]': 1.5, ...}, for the messages of the checks above."""
    return {f'{name}[{i}]': value for i, value in enumerate(values)}


def counted(n: int, noun: str) -> str:
    """Return '1 layer' or '2 layers'."""
    return f'{n} {noun if n == 1 else plural(noun)}'


def plural(noun: str) -> str:
    """Return 'layers' for 'layer', 'batches' for 'batch'."""
    return f'{noun}es' if noun.endswith('ch') else f'{noun}s'


def check_each(needed: int, what: str, **lists: Sized) -> None:
    """Raise ValueError unless each list has `needed` entries, one for each
    `what`: else `zip` would leave out the last in silence."""
    for name, values in lists.items():
        if len(values) != needed:
            raise ValueError(
                f'{name} needs an entry for each {what}, {needed} in all, but '
                f'has {len(values)}'
            )


def check_enough(
    n: int, what: str, k: int, part: str, remedy: str = ''
) -> None:
    """Raise ValueError unless each of `k` parts can get one of `n`."""
    if n < k:
        raise ValueError(
            f'{counted(n, what)} cannot be split over {counted(k, part)}: '
            f'every {part} needs one; use fewer {plural(part)}{remedy}'
        )


def check_divides(message: str, n: int, divisor: int) -> None:
    """Raise ValueError unless `divisor` is above 0 and divides n; the
    message says what."""
    if divisor < 1 or n % divisor:
        raise ValueError(f'{message}, {n}, but {divisor} does not')


def check_not_empty(count: int, what: str) -> None:
    """Raise ValueError if an iterator gave nothing."""
    if not count:
        raise ValueError(
            f'no {what}: data_iter is empty, or was an iterator, which can be '
            'used only once'
        )


def is_list_of(kind: Any, values: Any) -> bool:
    """Return whether `values` is a list or tuple with this kind only."""
    return isinstance(values, (list, tuple)) and all(
        isinstance(value, kind) for value in values
    )


def has_twice(values: Collection[Any]) -> bool:
    """Return whether an object is in `values` more than once."""
    return len({id(value) for value in values}) < len(values)
