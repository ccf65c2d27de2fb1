"""The argument checks of part III."""

import math
from typing import Any, List

from ..check_values import (
    check_each,
    check_enough,
    check_fraction,
    check_integer,
    check_learning_rate,
    check_positive_int,
    counted,
    given,
    is_number,
    numbered,
)
from ..checks import (
    check_home,
    check_minibatch,
    check_num_rows,
    check_split,
    check_train_batch,
)

# Chapter 11: schedules


def check_rate(lr: Any, step: Any = 0, **counts: Any) -> None:
    """Raise TypeError or ValueError unless a learning rate can be computed;
    `counts` are from 1."""
    check_learning_rate(lr)
    check_positive_int(**counts)
    check_integer(0, step=step)


def check_warmup(num_warmup: Any, num_steps: Any) -> None:
    """Raise TypeError or ValueError unless steps are left after a warm-up,
    which may have none."""
    check_integer(0, num_warmup=num_warmup)
    check_integer(num_warmup + 1, num_steps=num_steps)


def check_accumulation(X, y, device_params, devices, lr, num_micro_batches):
    """Raise TypeError or ValueError unless each device gets an example."""
    check_train_batch(X, y, device_params, devices, lr)
    check_positive_int(num_micro_batches=num_micro_batches)
    parts = num_micro_batches * len(devices)
    remedy = ', num_micro_batches times devices'
    check_enough(len(X), 'example', parts, 'shard', remedy)


# Chapter 12: batch normalization


def check_batch_norm(shards, gammas, betas, sync):
    """Raise ValueError unless all shards can be normalized."""
    check_each(len(shards), 'shard', gammas=gammas, betas=betas)
    counts = [x.size // x.shape[1] for x in shards]
    if (sum(counts) if sync else min(counts)) < 2:
        local = f' on every device (here {counts} numbers per channel), or '
        local += 'synchronize the statistics'
        raise ValueError(
            'batch normalization of a single example would return only beta: '
            f'give two or more{"" if sync else local}'
        )


def check_gradients_bn(
    X_shards, y_shards, device_params, device_averages, num_layers, momentum
):
    """Raise TypeError or ValueError unless each shard has all it needs."""
    check_fraction(momentum=momentum)
    check_each(
        len(X_shards),
        'shard',
        y_shards=y_shards,
        device_params=device_params,
        device_averages=device_averages,
    )
    for params, averages in zip(device_params, device_averages):
        check_each(2 * num_layers, 'mean and variance', averages=averages)
        check_home('a running average', averages, params[0].ctx)


# Chapter 13: heterogeneous devices


def check_shares(shares, num_rows, k, name='shares', who='device'):
    """Raise TypeError or ValueError unless each of `k` can get a row."""
    check_num_rows(num_rows, k, who)
    valid = [is_number(each) and 0 < each < math.inf for each in shares]
    if not all(valid) or not 0 < len(valid) == k:
        raise ValueError(
            f'{name} must be finite numbers above 0, one for each {who}, '
            f'{max(1, k)} in all, not {shares}: leave out a {who} that should '
            'get nothing'
        )


def check_split_by_shares(X, y, devices, shares):
    """Raise TypeError or ValueError unless the shares fit the rows."""
    check_minibatch(X, y)
    check_split(X, devices)
    check_shares(shares, len(X), len(devices))


def as_limits(limits: Any, k: int, name: str, default: Any) -> List[Any]:
    """Return a limit for each of `k` devices, where None is given the
    default; raise TypeError or ValueError unless they are from 1."""
    limits = [None] * k if limits is None else limits
    check_each(k, 'device', **{name: limits})
    check_positive_int(**given(**numbered(name, limits)))
    return [default if limit is None else limit for limit in limits]


def as_capacities(capacities, batch_size, num_devices) -> List[float]:
    """Return the capacities, infinite where None; raise TypeError or
    ValueError unless they are valid and hold `batch_size`."""
    filled = as_limits(capacities, num_devices, 'capacities', math.inf)
    if sum(filled) < batch_size:
        raise ValueError(
            f'{counted(batch_size, "example")} cannot fit where the '
            f'capacities are {sum(filled)} in all: take a smaller minibatch, '
            'or accumulate gradients'
        )
    return filled


# Chapter 14: tokens


def check_decoder(X, params, size):
    """Raise TypeError or ValueError unless `params` have heads of `size`."""
    check_positive_int(size=size)
    if X.ndim != 2:
        raise ValueError(f'X must have the shape (n, length), not {X.shape}')
    for W_q, W_k in zip(params[2:-2:9], params[3:-2:9]):
        wide, narrow = W_q.shape[1], W_k.shape[1]
        if size % 2 or wide % size or narrow % size or wide % narrow:
            raise ValueError(
                f'size must be even and fit the weights, not {size} where '
                f'queries have {wide} columns and keys {narrow}'
            )


def check_tokens(num_words: int, reason: str, **tokens: Any) -> None:
    """Raise ValueError unless arrays have tokens of a vocabulary only: an
    embedding would take the last row for others, in silence."""
    for name, array in tokens.items():
        if array.size and not 0 <= array.min() <= array.max() < num_words:
            wrong = array.min() if array.min() < 0 else array.max()
            raise ValueError(
                f'{name} must be from 0 to {num_words - 1}, as {reason}, not '
                f'{wrong}'
            )
