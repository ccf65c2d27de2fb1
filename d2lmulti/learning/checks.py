"""The argument checks of part III."""

import math
from typing import Any, Tuple

import numpy as onp

from ..check_values import (
    as_limits,
    check_count,
    check_divides,
    check_fraction,
    check_integer,
    check_learning_rate,
    check_number,
    check_positive_int,
    check_positive_number,
    counted,
    is_number,
    numbered,
)
from ..checks import (
    check_minibatch,
    check_num_rows,
    check_split,
    check_train_batch,
    shapes_of,
)

# Chapter 11: schedules


def check_warmup(lr, step, num_warmup, start):
    """Raise TypeError or ValueError unless a warm-up can be computed."""
    check_rate(lr, step, num_warmup=num_warmup)
    check_number(lambda s: 0 <= s <= lr, f'from 0 to {lr}', start=start)


def check_warmup_and_decay(step, num_warmup, num_steps):
    """Raise TypeError or ValueError unless the warm-up leaves a step."""
    check_integer(0, step=step)
    check_positive_int(num_warmup=num_warmup, num_steps=num_steps)
    if num_warmup >= num_steps:
        raise ValueError(
            f'a warm-up of {counted(num_warmup, "step")} leaves none of '
            f'{num_steps} for the decay: make it shorter'
        )


def check_accumulation(X, y, device_params, devices, lr, num_micro_batches):
    """Raise TypeError or ValueError unless each device gets an example."""
    check_train_batch(X, y, device_params, devices, lr)
    check_positive_int(num_micro_batches=num_micro_batches)
    if len(X) < num_micro_batches * len(devices):
        raise ValueError(
            f'{counted(len(X), "example")} cannot be split over '
            f'{counted(num_micro_batches, "micro-batch")} and '
            f'{counted(len(devices), "device")}: every device needs one of '
            'each micro-batch; use fewer micro-batches'
        )


# Chapter 12: batch normalization


def check_batch_norm(shards, gammas, betas, sync, epsilon):
    """Raise TypeError or ValueError unless all shards can be normalized."""
    check_positive_number(epsilon=epsilon)
    lengths = [len(shards), len(gammas), len(betas)]
    if not shards or len(set(lengths)) > 1:
        raise ValueError(
            'shards, gammas and betas must each have an array for each '
            f'device, but have {as_series(lengths)}'
        )
    for i, x in enumerate(shards):
        if x.ndim < 2 or x.size == 0 or onp.dtype(x.dtype).kind != 'f':
            raise TypeError(
                'each shard must be an array of floats, of shape (examples, '
                f'channels, ...), but shards[{i}] holds '
                f'{onp.dtype(x.dtype)} and has the shape {x.shape}'
            )
    c = shards[0].shape[1]
    shapes = shapes_of([*gammas, *betas])
    if set(shapes) != {(c,)}:
        raise ValueError(
            f'gammas and betas must have the shape ({c},), a number for each '
            f'channel, not the shapes {shapes}'
        )
    counts = [x.size // x.shape[1] for x in shards]
    if (sum(counts) if sync else min(counts)) < 2:
        local = f' on every device (here {counts} numbers per channel), or '
        local += 'synchronize the statistics'
        raise ValueError(
            'batch normalization of a single example would return only zeros: '
            f'give two or more{"" if sync else local}'
        )


def check_gradients_bn(
    X_shards, y_shards, device_params, device_averages, num_layers, momentum
):
    """Raise TypeError or ValueError unless each shard has all it needs."""
    check_fraction(momentum=momentum)
    lists = X_shards, y_shards, device_params, device_averages
    if len(set(map(len, lists))) > 1:
        raise ValueError(
            'X_shards, y_shards, device_params and device_averages must each '
            'have an entry for each device, but have '
            f'{as_series([*map(len, lists)])}'
        )
    for params, averages in zip(device_params, device_averages):
        devices = {array.ctx for array in (*params, *averages)}
        message = 'each device needs two running averages for each layer'
        check_count(message, 2 * num_layers, averages)
        if len(devices) > 1:
            raise ValueError(
                'the averages and parameters of a device are on '
                f'{" and ".join(sorted(map(str, devices)))}: list both in '
                'the order of the devices'
            )


# Chapter 13: heterogeneous devices


def check_shares(shares, num_rows, k, name='shares', who='device'):
    """Raise TypeError or ValueError unless each of `k` can get a row."""
    check_num_rows(num_rows, k, who)
    if not all(map(is_number, shares)):
        raise TypeError(f'{name} must be numbers, not {shares}')
    if not 0 < len(shares) == k or not all(
        0 < share < math.inf for share in shares
    ):
        raise ValueError(
            f'{name} must be finite numbers above 0, one for each {who}, '
            f'{max(1, k)} in all, not {shares}: leave out a {who} that should '
            'get nothing'
        )


def check_split_by_shares(X, y, devices, shares):
    """Raise TypeError or ValueError unless the shares fit the rows."""
    check_minibatch(X, y)
    check_split(X, devices)
    check_split(y, devices)
    check_shares(shares, len(X), len(devices))


def as_capacities(capacities, batch_size, num_devices) -> Tuple[float, ...]:
    """Return the capacities, infinite where None; raise TypeError or
    ValueError unless they are valid and hold `batch_size`."""
    limits = as_limits(capacities, num_devices, 'capacities')
    filled = tuple(math.inf if n is None else n for n in limits)
    if sum(filled) < batch_size:
        raise ValueError(
            f'{counted(batch_size, "example")} cannot fit where the '
            f'capacities are {sum(filled)} in all: take a smaller minibatch, '
            'or accumulate gradients'
        )
    return filled


def check_adapt(shares, recent, margin):
    """Raise TypeError or ValueError unless each step has a cost per device."""
    check_fraction(margin=margin)
    check_positive_int(**numbered('shares', shares))
    k = len(shares)
    if not len(recent) or any(len(costs) != k for costs in recent):
        raise ValueError(
            'recent must have a list for one step or more, with the seconds '
            f'of {counted(k, "device")} in each, not {list(recent)!r:.60}'
        )
    for i, costs in enumerate(recent):
        check_positive_number(**numbered(f'recent[{i}]', costs))


# Chapter 14: tokens


def check_mask_words(tokens, vocab_size, fraction):
    """Raise TypeError or ValueError unless words can be hidden in `tokens`."""
    if not isinstance(tokens, onp.ndarray) or tokens.dtype.kind not in 'iu':
        raise TypeError(
            'tokens must be a NumPy array of integers, as from encode, not '
            f'{tokens!r:.60}'
        )
    if tokens.ndim != 2 or not (tokens != 0).any(axis=1).all():
        raise ValueError(
            'tokens must have the shape (n, length), and a word, a number '
            f'above 0, in every row, not {tokens.tolist()!r:.60}'
        )
    check_integer(4, vocab_size=vocab_size)
    check_tokens(vocab_size, f'vocab_size is {vocab_size}', tokens=tokens)
    check_fraction(fraction=fraction)


def check_transformer(X, params, num_heads):
    """Raise TypeError or ValueError unless `params` fit the tokens `X`."""
    check_positive_int(num_heads=num_heads)
    if len(params) < 5 or (len(params) - 5) % 12:
        raise ValueError(
            f'{counted(len(params), "parameter")}, but a transformer has 5 '
            'and 12 more for each layer: make them with init_transformer'
        )
    max_length, width = params[1].shape
    if X.ndim != 2 or X.shape[1] > max_length:
        raise ValueError(
            'X must have the shape (n, length) with at most '
            f'{counted(max_length, "position")}, not {X.shape}: cut the rows, '
            'or give init_transformer a larger max_length'
        )
    check_divides('num_heads must divide the width', width, num_heads)


def as_series(counts) -> str:
    """Return '2, 2 and 1' for [2, 2, 1]."""
    *others, last = map(str, counts)
    return f'{", ".join(others)} and {last}'


def check_tokens(num_words: int, reason: str, **tokens: Any) -> None:
    """Raise ValueError unless arrays have tokens of a vocabulary only."""
    for name, array in tokens.items():
        if array.size and not 0 <= array.min() <= array.max() < num_words:
            wrong = array.min() if array.min() < 0 else array.max()
            raise ValueError(
                f'{name} must be from 0 to {num_words - 1}, as {reason}, not '
                f'{wrong}'
            )


def check_rate(lr: Any, step: Any = 0, power: Any = 1, **counts: Any) -> None:
    """Raise TypeError or ValueError unless a learning rate can be computed;
    `counts` are from 1."""
    check_learning_rate(lr)
    check_positive_int(**counts)
    check_integer(0, step=step)
    check_positive_number(power=power)
