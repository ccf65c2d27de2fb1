"""Gradients as low precision rounds them, of a minibatch and of its parts.

Low precision may round each sum over a minibatch once, such as to bfloat16.
That is one rounding, the same in any order of the examples, and it can be
small by chance: of an array of few numbers it says little of the next. A step
that adds up the gradients of parts rounds each of them.
"""

import contextlib
import itertools

import numpy as np

from .causes import cast, distance
from .counts import weights_of
from .measure import check_reference
from .progress import shown
from .updates import right_update

NUM_PARTS = 2, 3, 4  # of a minibatch, of which each is rounded
NEAR = 2  # orders, of which the second begins a rounding away
NUM_UPDATES = 3  # of parts, beside that of the whole
MOST = 512  # numbers of an array by which parts are weighed


def low_gradients(given, how, arrays, batch, right, n):
    """Yield the gradients in low precision, in one order of the examples
    after the other. If low precision is other than `how.dtype` and parts add
    up to `right`, that is one order of the whole, and `right` off by as
    much as parts are rounded."""
    orders, low_arrays = how.orders_of(batch), cast(arrays, how.dtype)
    if given.has_low:
        for k in shown(NUM_PARTS, 'parts of the minibatch'):
            parts = parts_of(batch, k)
            found = rounded_in_parts(
                given, how, arrays, low_arrays, parts, right
            )
            if found is None:
                break
            yield found
            del found  # before the next is computed
        else:
            orders = orders[:NEAR]  # the whole is rounded alike in any
    for i, own in enumerate(shown(orders, 'orders of the minibatch')):
        start = cast(how.start(low_arrays, i, batch), how.dtype, copy=False)
        found = cast(given.low(start, own.cast(how.dtype)), how.dtype)
        yield check_reference(found, n)
        del found


def rounded_in_parts(given, how, arrays, low_arrays, parts, right):
    """Return the right gradients, each number off by as much as low precision
    rounds those of all parts; or None if the gradients of parts in float64
    do not add up to the right ones."""
    exact, total = cast(arrays, 'float64'), None
    some, roundings = [], []
    with contextlib.suppress(Exception):  # a part may have too few rows
        for part in parts:
            found = given.reference(exact, part.cast('float64'))
            low = given.low(low_arrays, part.cast(how.dtype))
            check_reference([*found, *low], 0)
            some.append(some_of(found))
            roundings.append(
                [
                    np.subtract(a, b, dtype='float64').astype(how.dtype)
                    for a, b in zip(low, found)
                ]
            )
            del found, low  # before the next are computed
        least = how.rounding * max(distance(whole, 0) for whole in right)
        sure = [
            max(least, *(distance(a, 0) for a in own))
            for own in zip(*roundings)
        ]
        weights = weigh(some, some_of(right), sure)
        total = check_reference(
            [
                whole + sum(abs(w * a) for w, a in zip(weights, own))
                for whole, *own in zip(right, *roundings)
            ],
            0,
        )
    return total


def parts_of(batch, k):
    """Return k parts of a minibatch, without those that have no rows."""
    splits = np.array_split(np.arange(batch.rows), k)
    return [batch.take(rows) for rows in splits if len(rows)]


def low_update_bounds(given, how, arrays, batch):
    """Return how far the numbers of each array of an update in low precision
    may be from what its own gradients make of it; or None if `low` does not
    say both. Parts of the minibatch have other gradients, and so other
    roundings."""
    bounds = None
    for part in (batch, *parts_of(batch, NUM_UPDATES)):
        taken = given.low_step(cast(arrays, how.dtype), part.cast(how.dtype))
        if taken is None:
            return None
        with contextlib.suppress(ValueError):  # a part that is not finite
            grads, new = taken
            right = check_reference(right_update(given, arrays, grads), 0)
            own = how.bounds_of(right, [check_reference(new, 0)])
            bounds = [*map(np.maximum, bounds or own, own)]
    return bounds


def weigh(parts, whole, sure):
    """Return by what the gradients of parts are multiplied so that their sum
    is that of the whole: some numbers of each array.

    A mean needs the fractions of rows or of tokens, a sum needs ones. `sure`:
    what low precision rounds of each array, and at least of the largest.
    Roundings within the reference are far below it: of an array that is 0 but
    for them, and those of float32, to which some networks cast even in
    float64. Raises ValueError if nothing
    fits, as for batch normalization in training."""
    varies = [  # else it is no gradient, as a buffer that stays
        any(not np.array_equal(a, exact) for a in own)
        for exact, *own in zip(whole, *parts)
    ]

    def flat(arrays):
        own = itertools.compress(zip(arrays, sure), varies)
        return np.concatenate([a / max(most, 1e-300) for a, most in own])

    weights, _ = weights_of(np.stack([*map(flat, parts)], 1), flat(whole))
    if weights is None:
        raise ValueError('the gradients of parts do not add up')
    return weights


def some_of(arrays):
    """Return some numbers of each array, evenly spaced, in float64."""
    flat = [np.asarray(array, 'float64').reshape(-1) for array in arrays]
    return [a[:: -(-a.size // MOST) | 1].copy() for a in flat]
