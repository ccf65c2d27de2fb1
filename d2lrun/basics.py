"""What checks and messages of both packages are made of: integers, numbers,
lists, and words such as '2 devices'. Imports nothing of ours."""

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
    """Return ': int('2')', the end of a message, if this line makes a number
    of a string, or an integer of 2.0, and else ''."""
    try:
        number = kind(value) if isinstance(value, (str, float)) else None
    except (ValueError, OverflowError):
        return ''
    if number is None or isinstance(value, float) and number != value:
        return ''
    return f': {kind.__name__}({value!r})'


def check_integer(least: int, **values: Any) -> None:
    """Raise TypeError or ValueError unless each is an integer >= `least`."""
    for name, value in values.items():
        if not is_integer(value):
            raise TypeError(
                f'{name} must be an integer, not {value!r}'
                f'{number_line(int, value)}'
            )
        if value < least:
            raise ValueError(f'{name} must be at least {least}, not {value}')


check_positive_int = functools.partial(check_integer, 1)


def check_integers(least: int, most: float, **arrays: Any) -> None:
    """Raise TypeError or ValueError unless NumPy arrays have integers from
    `least` to `most` only."""
    for name, values in arrays.items():
        if values.dtype.kind not in 'iu':
            raise TypeError(f'{name} must be an integer, not {values.dtype}')
        if not least <= values.min() <= values.max() <= most:
            raise ValueError(f'{name} must be from {least} to {most}')


def check_number(
    is_valid: Callable[[Any], bool], needed: str, **values: Any
) -> None:
    """Raise TypeError or ValueError unless each is a valid number; `needed`
    says in words which are."""
    for name, value in values.items():
        if not is_number(value):
            raise TypeError(
                f'{name} must be a number, not {value!r}'
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


def check_count(owners: str, needed: int, **values: Any) -> None:
    """Raise ValueError unless each has as many entries as are needed."""
    for name, value in values.items():
        if len(value) != needed:
            raise ValueError(
                f'{owners} need {needed} {name}, not {len(value)}'
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


def is_list_of(kind: Any, values: Any) -> bool:
    """Return whether `values` is a list or tuple with this kind only."""
    return isinstance(values, (list, tuple)) and all(
        isinstance(value, kind) for value in values
    )


def has_twice(values: Collection[Any]) -> bool:
    """Return whether an object is in `values` more than once."""
    return len({id(value) for value in values}) < len(values)


def check_alike(what: str, kinds: Collection[Any]) -> None:
    """Raise ValueError unless arrays are alike."""
    if len(set(kinds)) > 1:
        raise ValueError(
            f'arrays of more than one {what}, {kinds}: they must be alike on '
            'all devices'
        )


def check_no_bool(dtype: str) -> None:
    """Raise TypeError for arrays of bool."""
    if dtype == 'bool':
        raise TypeError(
            'a sum of bool arrays would be bool again, not a count: convert '
            "them with astype('int32')"
        )


def check_tokens(num_words: int, limit: str, **tokens: Any) -> None:
    """Raise ValueError unless arrays have tokens of a vocabulary only."""
    for name, array in tokens.items():
        if array.size and not 0 <= array.min() <= array.max() < num_words:
            raise ValueError(
                f'{name} must be from 0 to {num_words - 1}, below {limit}, '
                f'not {array.min()} to {array.max()}'
            )


def check_next_words(X: Any, y: Any, params: Any) -> None:
    """Raise ValueError unless tokens, those to predict too, have a row."""
    if y.shape != X.shape or not (y != 0).any():
        raise ValueError(f'y must be {X.shape} like X, with words to predict')
    check_tokens(len(params[0]), 'the rows of params[0]', X=X, y=y)


def check_divides(what: str, n: int, **values: int) -> None:
    """Raise ValueError unless each divides a number of things evenly."""
    for name, value in values.items():
        if n % value:
            raise ValueError(
                f'{n} {what} cannot be divided evenly by {value}: {name} '
                'must divide their number'
            )


def check_partition(
    source: str, parts: List[List[int]], n: int, k: int
) -> None:
    """Raise TypeError or ValueError unless `source` gives each position
    below `n` to one of `k` devices, in ascending order."""
    if not is_list_of(list, parts) or not all(
        is_integer(i) for part in parts for i in part
    ):
        raise TypeError(f'{source} must return integers, not {parts!r:.60}')
    check_count(f'{k} devices', k, **{f'arrays from {source}': parts})
    if any(part != sorted({*part}) for part in parts):
        raise ValueError(
            f'{source} must return the positions of each device in ascending '
            f'order, each once, not {parts!r:.60}'
        )
    if sorted(i for part in parts for i in part) != [*range(n)]:
        raise ValueError(
            f'{source} must give each position from 0 to {n - 1} to one '
            f'device, not {parts!r:.60}'
        )


def counted(n: int, noun: str) -> str:
    """Return '1 layer' or '2 layers'."""
    return f'{n} {noun if n == 1 else plural(noun)}'


def plural(noun: str) -> str:
    """Return 'layers' for 'layer', 'batches' for 'batch'."""
    return f'{noun}es' if noun.endswith('ch') else f'{noun}s'


def check_slices(n: Any, k: Any) -> None:
    """Raise TypeError or ValueError unless n items can be cut for k."""
    check_integer(0, n=n)
    check_integer(1, k=k)


def check_num_rows(
    num_rows: int, num_owners: int, who: str = 'device'
) -> None:
    """Raise ValueError unless everyone can get a row."""
    remedy = ' or a larger minibatch'
    check_enough(num_rows, 'example', num_owners, who, remedy)


def check_batch(X: Sized, y: Sized) -> None:
    """Raise ValueError unless there are as many labels as examples."""
    if len(X) != len(y):
        raise ValueError(
            f'{len(X)} examples but {len(y)} labels: X and y must have the '
            'same length, as X[rows] and y[rows] have'
        )


def check_not_empty(count: int, what: str) -> None:
    """Raise ValueError if an iterator gave nothing."""
    if not count:
        raise ValueError(f'no {what}: data_iter is empty')


def as_limits(
    limits: Any, num_devices: int, name: str, default: Any = None
) -> List[Any]:
    """Return a limit for each device; without `limits`, `default` for all.

    Raises TypeError or ValueError unless each is an integer >= 1; None is
    allowed where it is the default.
    """
    if limits is None:
        return [default] * num_devices
    check_count(f'{num_devices} devices', num_devices, **{name: limits})
    entries = numbered(name, limits)
    check_positive_int(**(given(**entries) if default is None else entries))
    return list(limits)


def check_rate(lr: Any, step: Any = 0, power: Any = 1, **counts: Any) -> None:
    """Raise TypeError or ValueError unless a learning rate can be computed;
    `counts` are from 1."""
    check_learning_rate(lr)
    check_positive_int(**counts)
    check_integer(0, step=step)
    check_positive_number(power=power)


def check_simulated(algorithm: str, k: int) -> None:
    """Raise ValueError unless an allreduce of `k` devices can be simulated."""
    if algorithm == 'halving-doubling' and k & (k - 1):
        raise ValueError(
            'the simulation of halving-doubling needs a power of two, not '
            f'{k} devices: take another k, or another algorithm'
        )


def check_axes(mesh: Dict[str, int]) -> None:
    """Raise TypeError or ValueError unless it is the mesh of chapter 18."""
    if [*mesh] != ['data', 'pipeline', 'tensor']:
        raise ValueError(
            "mesh must be {'data': D, 'pipeline': P, 'tensor': T}, in this "
            f'order, because ranks count so, not {mesh}'
        )
    check_positive_int(**mesh)
