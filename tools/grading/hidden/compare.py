"""What the hidden checks of all chapters use."""

import copy

import mxnet as mx
import numpy as onp


def is_close(value, right):
    """Return whether two results are equal, up to rounding."""
    if isinstance(right, (list, tuple)):
        if hasattr(value, 'tolist'):  # an array, of any framework
            value = list(value)
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(right)
            and all(map(is_close, value, right))
        )
    if isinstance(right, dict):
        return (
            isinstance(value, dict)
            and value.keys() == right.keys()
            and all(is_close(value[key], right[key]) for key in right)
        )
    if right is None or isinstance(right, str):
        return value == right
    value, right = (
        x.asnumpy() if isinstance(x, mx.np.ndarray) else onp.asarray(x)
        for x in (value, right)
    )
    if value.dtype == object:  # a Fraction or Decimal
        value = value.astype(float)
    if value.size == right.size == 1:
        value = value.reshape(right.shape)
    # Rounding of a few hundred terms in float32, added in any order; or of
    # terms of about 1 in float64, all of which cancel.
    largest = abs(right[onp.isfinite(right)]).max(initial=0)
    bound = 64 * max(onp.finfo('float32').eps * largest, onp.finfo(float).eps)
    return value.shape == right.shape and bool(
        onp.allclose(value, right, rtol=0, atol=bound)
    )


def both(answer, solution, *arguments):
    """Return what an answer and our solution return, each of fresh copies:
    ours first, so that no answer can change what it sees."""
    wanted = solution(*fresh(arguments))
    return answer(*fresh(arguments)), wanted


def fresh(value):
    """Return a copy of a value; an array's is on its device, and a
    parameter's has a gradient, too."""
    if type(value) in (list, tuple):
        return type(value)(map(fresh, value))
    if not isinstance(value, mx.np.ndarray):
        return copy.deepcopy(value)
    found = value.copy()
    if value.grad is not None:
        found.attach_grad()
    return found


def outcome(function, *arguments):
    """Return (what a function returns, its arguments after that, as a caller
    sees them who holds the arrays, its copies between devices, its arguments
    with lists as they are then) of a call with copies of its arguments."""
    if hasattr(function, 'outcome'):  # an answer, in another process
        return function.outcome(*arguments)
    from d2lmulti.profiler import record_copies

    found, arguments = [], fresh(arguments)
    # Our solution writes into the arrays.
    copies = record_copies(lambda: found.append(function(*arguments)))
    return found[0], list(arguments), copies, list(arguments)


def assert_same(answer, solution, *arguments):
    """Assert that an answer returns what our solution returns."""
    value, wanted = both(answer, solution, *arguments)
    try:
        same = is_close(value, wanted)
    except (TypeError, ValueError):
        same = False
    call = f'{answer.__name__}({", ".join(map(repr, arguments))})'
    assert same, f'hidden check: {call} is not {value!r}'[:400]


def assert_unchanged(answer, *arguments):
    """Assert that an answer leaves its arguments, and what they hold."""
    _, after, *_ = outcome(answer, *arguments)
    assert is_close(after, list(arguments)), (
        f'hidden check: {answer.__name__} changes its arguments'
    )
