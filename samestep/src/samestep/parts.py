"""Gradients as low precision rounds them, of a minibatch and of its parts.

Low precision may round each sum over a minibatch once, such as to bfloat16.
That is one rounding, the same in any order of the examples, and it can be
small by chance: of an array of few numbers it says little of the next. A step
that adds up the gradients of parts rounds each of them.
"""

import contextlib

import numpy as np

from .causes import cast
from .measure import check_reference
from .updates import right_update

MOST = 512  # numbers of an array by which parts are weighed
NUM_PARTS = 2, 3  # of which each is a minibatch for one more update
AS_GIVEN = 3  # times the parts are of the rows as given, perhaps sorted


def low_gradients(given, how, arrays, batch, right, n):
    """Yield the gradients in low precision, in one order of the examples
    after the other. After the first they are those of parts, added up, if
    low precision is other than `how.dtype` and parts add up to `right`."""
    in_parts = given.has_low
    for i, own in enumerate(how.orders_of(batch)):
        found = None  # before the next is computed
        if in_parts and i:
            rows = batch if i <= AS_GIVEN else own
            found = added_up(given, how, arrays, rows, 2 + i % 3, right)
            in_parts = found is not None
        if found is None:
            found = cast(given.low(arrays, own.cast(how.dtype)), how.dtype)
        yield check_reference(found, n)


def added_up(given, how, arrays, batch, k, right):
    """Return the gradients in low precision of k parts of a minibatch, added
    up as those in float64 must be; or None if these do not add up."""
    parts, total = parts_of(batch, k), None
    with contextlib.suppress(Exception):  # a part may have too few rows
        exact = cast(arrays, 'float64')
        weights, vary = weigh(given, how, exact, parts, right)
        del exact
        sums = [np.zeros(array.shape) for array in right]
        for weight, part in zip(weights, parts):
            found = given.low(arrays, part.cast(how.dtype))
            for own, array, varies in zip(sums, found, vary):
                if varies:
                    own += weight * np.asarray(array, 'float64')
                else:
                    own[...] = array
        total = check_reference(sums, 0)
    return total


def parts_of(batch, k):
    """Return k parts of a minibatch, without those that have no rows."""
    splits = np.array_split(np.arange(batch.rows), k)
    return [batch.take(rows) for rows in splits if len(rows)]


def low_update_spreads(given, how, arrays, batch):
    """Return how far each array of an update in low precision is from what
    its own gradients make of it; or None if `low` does not say both. Parts
    of the minibatch have other gradients, and so other roundings."""
    spreads = None
    parts = [part for k in NUM_PARTS for part in parts_of(batch, k)]
    for part in (batch, *parts):
        taken = given.low_step(cast(arrays, how.dtype), part.cast(how.dtype))
        if taken is None:
            return None
        with contextlib.suppress(ValueError):  # a part that is not finite
            grads, new = taken
            right = check_reference(right_update(given, arrays, grads), 0)
            own = how.spreads_of(right, [check_reference(new, 0)])
            spreads = [max(pair) for pair in zip(spreads or own, own)]
    return spreads


def weigh(given, how, arrays, parts, right):
    """Return by what the gradients of parts are multiplied so that their sum
    is the right one, and which arrays differ from part to part.

    A mean needs the fractions of rows or of tokens, a sum needs ones. Raises
    ValueError if nothing fits, as for batch normalization in training."""
    vary = [False] * len(right)
    table = []
    for part in parts:
        found = given.reference(arrays, part.cast('float64'))
        vary = [
            varies or not np.array_equal(own, exact)
            for varies, own, exact in zip(vary, found, right)
        ]
        table.append(some_of(found))
        del found  # before the next is computed
    wanted = some_of(right)
    sizes = [max(abs(a).max(initial=0), 1e-300) for a in wanted]

    def flat(some):
        return np.concatenate(
            [a / size for a, size, own in zip(some, sizes, vary) if own]
        )

    table, wanted = np.stack([flat(some) for some in table], 1), flat(wanted)
    weights = np.linalg.lstsq(table, wanted, None)[0]
    off = abs(table @ weights - wanted).max()
    # As many numbers as parts, or fewer, any weights would fit.
    if table.any(axis=1).sum() <= len(parts) or not off <= how.rounding:
        raise ValueError('the gradients of parts do not add up')
    return weights, vary


def some_of(arrays):
    """Return some numbers of each array, evenly spaced, in float64."""
    flat = [np.asarray(array, 'float64').reshape(-1) for array in arrays]
    return [a[:: -(-a.size // MOST) | 1].copy() for a in flat]
