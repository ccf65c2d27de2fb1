"""The argument checks of part III.

Update rules are tried before the first step.
"""

import contextlib
import copy
import inspect
import math
from typing import Any, List, Tuple

import numpy as onp
from mxnet import np

from ..check_values import (
    as_limits,
    check_count,
    check_divides,
    check_fraction,
    check_integer,
    check_learning_rate,
    check_not_negative,
    check_number,
    check_positive_int,
    check_positive_number,
    counted,
    has_twice,
    is_list_of,
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


# Chapter 11: update rules


def check_update(params, grads, state, lr, shapes=()):
    """Raise TypeError or ValueError unless there is a gradient for each
    parameter, and a `state` that is empty or has these `shapes`."""
    check_learning_rate(lr)
    if not isinstance(state, list):
        raise TypeError(
            'state must be a list, [] before the first step, not '
            f'{state!r:.60}'
        )
    if shapes_of(grads) != shapes_of(params):
        raise ValueError(
            'params and grads must have the same shapes, not '
            f'{shapes_of(params)} and {shapes_of(grads)}'
        )
    if state and shapes_of(state) != list(shapes):
        raise ValueError(
            f'a state of shapes {shapes_of(state)} belongs to other '
            f'parameters or another update rule; {list(shapes)} are '
            'needed: keep one state for each list of parameters, [] before '
            'its first step'
        )


def check_momentum(
    params, grads, state, lr, momentum, trust_coefficient=1, norms=()
):
    """Raise TypeError or ValueError unless momentum can update anything."""
    check_update(params, grads, state, lr, shapes_of(params))
    check_fraction(momentum=momentum)
    check_positive_number(trust_coefficient=trust_coefficient)
    for each in norms or ():
        message = 'norms must have a number for each parameter'
        check_count(message, len(params), each)


def check_adam(params, grads, state, lr, beta1, beta2, epsilon):
    """Raise TypeError or ValueError unless Adam can update anything."""
    check_fraction(beta1=beta1, beta2=beta2)
    check_positive_number(epsilon=epsilon)
    if not len(params):
        raise ValueError('params is empty: Adam needs a parameter to update')
    shapes = [*shapes_of([*params, *params]), (1,)]
    check_update(params, grads, state, lr, shapes)


def check_weight_decay(params, grads, lr, update, weight_decay):
    """Raise TypeError or ValueError unless `update` can have this decay."""
    if not callable(update):
        raise TypeError(f'update must be a function, not {update!r:.60}')
    check_update(params, grads, [], lr)
    check_not_negative(weight_decay=weight_decay)
    check_fraction(**{'lr * weight_decay': lr * weight_decay})


def check_rule(update, states, device_params):
    """Raise TypeError or ValueError unless `update` keeps its contract; try
    it on other numbers before the first step."""
    if update is None and states is not None:
        raise ValueError(
            'states are for an update rule: pass update, too, such as '
            'update=sgd_momentum'
        )
    if update is None:
        return
    if not callable(update):
        raise TypeError(f'update must be a function, not {update!r:.60}')
    check_states(states, device_params)
    if not any(states):
        check_moves(update, device_params[0])


def check_states(states, devices, name='states'):
    """Raise TypeError or ValueError unless each device has its own state."""
    if not is_list_of(list, states):
        raise TypeError(
            f'{name} must be a list with a list for each device, such as [[] '
            f'for device in devices], not {states!r:.60}'
        )
    message = f'{name} must have a list for each device, as [[] for device in '
    check_count(f'{message}devices] has', len(devices), states)
    if has_twice(states):
        raise ValueError(
            'two devices share one state, as in [[]] * 2: make one for each, '
            '[[] for device in devices]'
        )


def check_moves(update, params):
    """Raise ValueError unless a rule moves all parameters of some shapes."""
    moves = try_rule(update, params)
    still = [
        param.shape
        for param, move in zip(params, moves)
        if param.size and not move.any()
    ]
    if still:
        raise ValueError(
            f'{name_of(update)} does not move parameters of shape {still[0]}: '
            'a rule update(params, grads, state, lr) changes params in place, '
            'as in param -= lr * grad, and fills an empty state itself'
        )


def check_elementwise(update, params):
    """Raise ValueError if a rule does not treat each number on its own and
    does not take `norms`, so that it cannot update parts of parameters."""
    if 'norms' in inspect.signature(update).parameters:
        return
    whole = try_rule(update, params)
    first = try_rule(update, params, parts=slice(0, 1))
    second = try_rule(update, params, parts=slice(1, 2))
    for move, *halves in zip(whole, first, second):
        if not onp.allclose(onp.concatenate(halves), move.ravel(), 1e-4):
            raise ValueError(
                f'{name_of(update)} does not treat each number on its own, so '
                'it cannot update parts of parameters: use '
                'train_batch_replicated, or give the rule the argument norms, '
                'as lars has'
            )


def try_rule(update, params, parts=None, num_steps=1) -> List[onp.ndarray]:
    """Return how a rule moves parameters like these, or one of two parts."""
    with contextlib.suppress(Exception):  # a copy, as it may count its steps
        update = copy.deepcopy(update)
    before = small_values(params, parts)
    after: Any
    try:  # which waits for no device
        after = [param.copy() for param in before]
        take_steps(update, after, num_steps)
    except Exception:  # a rule for MXNet's arrays only
        after = [
            np.array(old, ctx=param.ctx) for old, param in zip(before, params)
        ]
        take_steps(update, after, num_steps)
        after = [param.asnumpy() for param in after]
    return [new - old for new, old in zip(after, before)]


def small_values(params, parts) -> List[onp.ndarray]:
    """Return numbers in arrays of at most two rows, columns, ..., for the
    memory; or the numbers of one of two parts, a slice."""
    found = []
    for param in params:
        shape = [min(length, 2) for length in param.shape]
        values = onp.linspace(1, 2, math.prod(shape), dtype='float32')
        if parts is None:
            found.append(values.reshape(shape))
        else:
            found.append(onp.concatenate(onp.array_split(values, 2)[parts]))
    return found


def take_steps(update, params, num_steps) -> None:
    """Update parameters, in place, by made-up gradients."""
    state: List[Any] = []
    for step in range(num_steps):
        grads = [0.1 * (-2) ** step * param**2 for param in params]
        update(params, grads, state, 0.125)


def as_series(counts) -> str:
    """Return '2, 2 and 1' for [2, 2, 1]."""
    *others, last = map(str, counts)
    return f'{", ".join(others)} and {last}'


def name_of(update) -> str:
    """Return the name of a function, also of a partial one."""
    return getattr(getattr(update, 'func', update), '__name__', repr(update))


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
