"""The argument checks of update rules, which are tried before the first step.

A rule is `update(params, grads, state, lr)` (chapter 11).
"""

import contextlib
import copy
import inspect
import math
from typing import Any, List

import numpy as onp
from mxnet import np

from .check_values import (
    check_learning_rate,
    has_twice,
    is_list_of,
)
from .checks import shapes_of


def check_update(params, grads, state, lr, shapes=()):
    """Raise TypeError or ValueError unless there is a gradient for each
    parameter, and a `state` that is empty or has these `shapes`."""
    check_learning_rate(lr)
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
    check_states(states, device_params)
    if not any(states):
        check_moves(update, device_params[0])


def check_states(states, devices, name='states'):
    """Raise ValueError unless each device has its own state."""
    if not is_list_of(list, states) or len(states) != len(devices):
        raise ValueError(
            f'{name} must have a list for each of {len(devices)} devices, as '
            f'[[] for device in devices] has, not {states!r:.60}'
        )
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
    try:  # NumPy, as it waits for no device
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
    arrays = []
    for param in params:
        shape = [min(length, 2) for length in param.shape]
        values = onp.linspace(1, 2, math.prod(shape), dtype='float32')
        if parts is None:
            arrays.append(values.reshape(shape))
        else:
            arrays.append(onp.concatenate(onp.array_split(values, 2)[parts]))
    return arrays


def take_steps(update, params, num_steps) -> None:
    """Update parameters, in place, by made-up gradients."""
    state: List[Any] = []
    for step in range(num_steps):
        # of changing sign and size, so that two rules differ
        grads = [0.1 * (-2) ** step * param**2 for param in params]
        update(params, grads, state, 0.125)


def name_of(update) -> str:
    """Return the name of a function, also of a partial one."""
    return getattr(getattr(update, 'func', update), '__name__', repr(update))
