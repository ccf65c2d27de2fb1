"""What `train` holds a user's functions and its replicas to.

A function that breaks its contract, or replicas that differ, would train in
silence, with wrong steps. So the results of the first step are looked at,
where each costs a wait, and the replicas at the start and after each epoch.
"""

import collections
import functools
from typing import Any, Callable, List

import numpy as onp
from mxnet import np

from .check_values import is_list_of
from .checks import CALLED, check_finite, is_pair, kind_of, need

# Of an array's largest number: more than another order of sums explains.
APART = 1e-3
STARTED_APART = (
    'they start apart, as init(seed) returns other parameters each time: draw '
    'them from numpy.random.RandomState(seed)'
)
MOVED_APART = (
    'allreduce, net, loss or update do not do the same for all replicas in '
    'every step: they must not depend on what they keep between calls, or on '
    'the device'
)


def hold_to_contract(replicas, net, loss, split, allreduce) -> tuple:
    """Return functions that check the results of `net`, `loss`, `split` and
    `allreduce` in the first step; compare the replicas now.

    They raise TypeError or ValueError, and FloatingPointError for a loss
    that is not finite.
    """
    check_equal(replicas, STARTED_APART)
    need(callable(loss), 'a function', CALLED, loss=loss)
    need(callable(split), 'a function', CALLED, split=split)
    need(callable(allreduce), 'a function', CALLED, allreduce=allreduce)
    devices = [params[0].ctx for params in replicas]
    check_cut = functools.partial(check_covered, devices)
    return (
        first_calls(len(devices), net, check_scores),
        first_calls(len(devices), loss, check_losses),
        first_calls(1, split, check_cut),
        first_calls(len(replicas[0]), allreduce, check_sum, numbers_of),
    )


def first_calls(
    count: int,
    function: Callable,
    check: Callable,
    before: Callable = lambda *args: args,
) -> Callable:
    """Return a function whose first `count` results are given to `check`,
    with what `before` makes of the arguments."""
    left = [None] * count

    def checked(*args: Any) -> Any:
        if not left:
            return function(*args)
        left.pop()
        kept = before(*args)
        result = function(*args)
        check(result, *kept)
        return result

    return checked


def check_trained(replicas: List[list], lr: float) -> None:
    """Raise FloatingPointError if training has diverged, ValueError if the
    replicas differ."""
    check_finite(replicas[0], lr)
    check_equal(replicas, MOVED_APART)


def check_equal(replicas: List[list], cause: str) -> None:
    """Raise ValueError if a parameter is not the same in all replicas.

    One without a gradient may differ if others have one: it may be a mean
    of batch normalization, which each device keeps for itself.
    """
    learned = have_gradients(replicas)
    for i, params in enumerate(zip(*replicas)):
        first, *others = (param.asnumpy() for param in params)
        for param, other in zip(params[1:], others):
            if not is_close(other, first) and (learned[i] or not any(learned)):
                raise ValueError(
                    f'params[{i}], of shape {param.shape}, differs by up to '
                    f'{abs(other - first).max():.2g} between {params[0].ctx} '
                    f'and {param.ctx}: {cause}'
                )


def have_gradients(replicas: List[list]) -> List[bool]:
    """Return of each parameter whether one of its gradients is not zero."""
    return [
        any(param.grad.asnumpy().any() for param in params)
        for params in zip(*replicas)
    ]


def check_workers(replicas: List[list], workers: Any) -> None:
    """Raise ValueError if the replicas of a job differ, here or between
    workers, which compare a random sum of each parameter. All call it."""
    check_equal(replicas, MOVED_APART)
    rng = onp.random.RandomState(0)
    table = workers.gather(
        [
            float((param.asnumpy() * rng.normal(size=param.shape)).sum())
            * learned
            for param, learned in zip(replicas[0], have_gradients(replicas))
        ]
    )
    for rank, row in enumerate(table):
        for i, param in enumerate(replicas[0]):
            size = (param.asnumpy() ** 2).sum() ** 0.5
            if not abs(row[i] - table[0][i]) <= APART * size:
                raise ValueError(
                    f'params[{i}], of shape {param.shape}, is not the same in '
                    f'workers 0 and {rank}: {MOVED_APART}'
                )


def is_close(array: Any, right: Any, share: float = APART) -> bool:
    """Return whether two arrays of NumPy differ by a small share at most."""
    apart = abs(array - right).max(initial=0)
    return bool(apart <= share * abs(right).max(initial=0))


def check_scores(scores: Any, X: Any, params: Any) -> None:
    """Raise TypeError or ValueError unless `net` has scored each example."""
    check_result(scores, f'net returns {kind_of(scores)}')
    if scores.shape[:1] != (len(X),):
        raise ValueError(
            f'net returns the shape {scores.shape} for {len(X)} examples: it '
            'must return a row of scores for each'
        )


def check_losses(losses: Any, scores: Any, y: Any) -> None:
    """Raise TypeError, ValueError or FloatingPointError unless `loss` has
    returned a finite number for each example."""
    check_one_each(losses, scores)
    finite = onp.isfinite(losses.asnumpy().reshape(-1))
    if not finite.all():
        raise FloatingPointError(
            f'in the first step, the loss of example {finite.argmin()} on '
            f'{losses.ctx} is {losses.reshape(-1)[int(finite.argmin())]}: '
            'look in net and loss for a division by 0 and for a logarithm or '
            'an exponential of what is too large or too small'
        )


def check_one_each(losses: Any, scores: Any) -> None:
    """Raise TypeError or ValueError unless `loss` has returned a number for
    each example."""
    check_result(losses, f'loss returns {kind_of(losses)}')
    if losses.shape[:1] != (len(scores),) or losses.size != len(scores):
        raise ValueError(
            f'loss returns the shape {losses.shape} for {len(scores)} '
            'examples: it must return a number for each, without mean() or '
            'sum(), as train divides by their number itself'
        )


def check_result(result: Any, returned: str) -> None:
    """Raise TypeError unless a function has returned an MXNet array."""
    if not isinstance(result, np.ndarray):
        raise TypeError(f'{returned}, but must return an MXNet array')


def check_covered(devices: list, shards: Any, X: Any, y: Any, *_: Any) -> None:
    """Raise TypeError or ValueError unless each example is in one shard, with
    its label, and each shard on its device."""
    are_lists = is_list_of((list, tuple), shards) and len(shards) == 2
    if not are_lists or is_pair(shards[0]):
        raise TypeError(
            f'split returns {kind_of(shards)}, but must return two lists, '
            'X_shards and y_shards'
        )
    for name, parts in zip(('X_shards', 'y_shards'), shards):
        if len(parts) != len(devices):
            raise ValueError(
                f'split returns {len(parts)} {name}, but there must be one '
                f'for each of the {len(devices)} devices'
            )
        for i, (part, device) in enumerate(zip(parts, devices)):
            check_result(part, f'split returns {kind_of(part)} in {name}')
            if part.ctx != device:
                raise ValueError(
                    f'split leaves {name}[{i}] on {part.ctx}, but it must be '
                    f'on {device}: {name}[{i}].copyto(mx.{device})'
                )
    lengths = [[len(part) for part in parts] for parts in shards]
    if lengths[0] != lengths[1] or sum(lengths[0]) != len(X):
        raise ValueError(
            f'split makes shards of {lengths[0]} examples and {lengths[1]} '
            f'labels from {len(X)}: each must be in one shard, with its label'
        )
    rows, pairs = count_rows([X], [y])
    found_rows, found_pairs = count_rows(*shards)
    if found_rows == rows and found_pairs != pairs:
        raise ValueError(
            'split gives examples the labels of others: cut X and y alike'
        )
    if found_rows != rows and not found_rows.keys() - rows.keys():
        raise ValueError(
            'split puts an example into two shards, or twice into one, and '
            'leaves out another: each must be in one shard'
        )  # else it has changed the examples, which it may


def count_rows(X_shards: list, y_shards: list) -> tuple:
    """Return how often each example, and each with its label, appears."""
    X_rows, y_rows = (
        [row.tobytes() for part in parts for row in part.asnumpy()]
        for parts in (X_shards, y_shards)
    )
    pairs = zip(X_rows, y_rows)
    return collections.Counter(X_rows), collections.Counter(pairs)


def numbers_of(data: list) -> tuple:
    """Return the list that `allreduce` is given, its arrays, which it may
    replace in the list, and their numbers."""
    return data, [*data], [array.asnumpy() for array in data]


def check_sum(result: Any, data: list, arrays: list, before: list) -> None:
    """Raise ValueError unless all `arrays` hold the sum of those `before`.

    An approximate sum, of compressed arrays, is let through.
    """
    after = [array.asnumpy() for array in arrays]
    for array, numbers in zip(arrays, after):
        if not is_close(numbers, after[0]):
            raise ValueError(
                f'allreduce leaves different gradients on {arrays[0].ctx} and '
                f'{array.ctx}, as it {what_it_does(result, data, arrays)}: '
                'write into each array, as in total.copyto(array)'
            )
    total = onp.sum(before, axis=0, dtype='float64')
    if is_close(after[0], total, 0.01) or total.size <= 2 * len(before):
        return
    columns = onp.stack([numbers.ravel() for numbers in before], axis=1)
    counts = onp.linalg.lstsq(columns, after[0].ravel(), rcond=None)[0]
    if is_close(columns @ counts, after[0].ravel(), 0.01):
        terms = (
            f'{count:.2g} x that of {array.ctx}'
            for count, array in zip(counts.round(2) + 0, arrays)
        )
        raise ValueError(
            f'allreduce leaves {" + ".join(terms)}, but must leave the sum, '
            '1 x each: train divides by the number of examples itself'
        )


def what_it_does(result: Any, data: list, arrays: list) -> str:
    """Return why `allreduce` may leave different arrays, in words."""
    if any(new is not old for new, old in zip(data, arrays)):
        return 'puts new arrays into the list, as data[i] = ... does'
    if result is not None:
        return 'returns new arrays'
    return 'does not write the sum into all of them'
