"""Whether an update is right, given the gradients that the step had."""

import functools
import re

import numpy as np

from .causes import Sample, cast, distance
from .explain import Search
from .measure import is_count
from .progress import shown

NEARBY = 4  # copies of the arrays, each number off by up to a rounding
PARTS = -1, -0.5, -0.25, 0.25, 0.5, 1  # of the bound of a gradient
PATTERNS = 4  # of which numbers are up and which are down
SMALL = 2.0**-10  # times gradients, so that few norms are clipped
PLAIN = re.compile(r'the right one times ([\d.]+)\.$')


def right_update(given, arrays, grads):
    """Return what the update makes of the arrays and gradients in float64."""
    exact = cast(arrays, 'float64'), cast(grads, 'float64')
    return cast(given.update(*exact), 'float64')


def update_bounds(given, how, arrays, grads, right, low_bounds=None):
    """Return how far the numbers of each array of an update may be off:
    `low_bounds` if it rounds in another way."""

    def nearby(seed):
        near = how.nearby([*arrays, *grads], seed)
        return given.update(near[: len(arrays)], near[len(arrays) :])

    def others():
        yield given.update(cast(arrays, how.dtype), cast(grads, how.dtype))
        for seed in shown(range(NEARBY), 'roundings of the update'):
            yield nearby(seed)

    bounds = how.bounds_of(right, others())
    return [*map(np.maximum, bounds, low_bounds or bounds)]


def pushed(given, arrays, grads, bounds, right):
    """Return for each number of the new arrays how far it may be off if each
    number of a gradient is off by up to the bound of its array.

    Each number of a gradient is at the same part of its bound at a time, all
    up or down, or each at random, so that a common norm changes much or
    little: that is enough where each number moves by its gradient's number
    and such a norm, as with Adam and clipping.
    """
    start = cast(arrays, 'float64')
    far = [np.zeros(a.shape) for a in right]
    for pattern in shown(range(PATTERNS), 'updates within the bounds'):
        rng = np.random.RandomState(pattern)
        signs = [rng.choice([-1, 1], g.shape) if pattern else 1 for g in grads]
        for part in PARTS:
            off = [
                g + part * bound * sign
                for g, bound, sign in zip(grads, bounds, signs)
            ]
            new = cast(given.update(start, off), 'float64')
            far = [
                np.maximum(f, abs(a - r)) for f, a, r in zip(far, new, right)
            ]
    return far


def update_causes(given, arrays, grads, replica, right, bounds):
    """Return the likely causes of arrays whose update is wrong, by their
    numbers. The gradients are right, so a factor is not guessed to be that of
    a mistake in them."""
    start, grads = cast(arrays, 'float64'), cast(grads, 'float64')
    sample = Sample([replica], right)

    def moves(found):
        return sample.moves(found, right, bounds, start)

    def found_by(arrays, grads):
        return [move.found for move in moves(given.update(arrays, grads))]

    counts = [
        is_count(a) and distance(new - a, 1) == 0
        for a, new in zip(start, right)
    ]

    @functools.lru_cache(None)
    def counted():
        found = []
        for words, more in ('0', -np.inf), ('one less', -1), ('one more', 1):
            changed = [
                np.maximum(a + more, 0) if is_one else a
                for a, is_one in zip(start, counts)
            ]
            words = f'one as if the count of steps were {words}'
            found.append((words, found_by(changed, grads)))
        return found

    known = counted if any(counts) else lambda: ()
    search = Search(moves(replica), known=known)
    search.close()
    causes = search.found
    factors = {j: PLAIN.search(cause) for j, cause in causes.items()}
    if any(factors.values()):
        scaled = [
            found_by(start, [times * g for g in grads])
            for times in (2, SMALL, 2 * SMALL)
        ]
        for j, factor in factors.items():
            due = search.moves[j].right
            if factor and clips(due, *(found[j] for found in scaled)):
                times = f'{1 / float(factor[1]):.4g} times'
                causes[j] += f' Clipped by {times} the norm that is due?'
    return causes


def clips(due, doubled, small, small_doubled):
    """Return whether these moves of an array are those of a clipped norm: of
    twice the gradients the same, but of small ones in proportion to them, as
    Adam's moves and squares of gradients are not."""
    return all(
        distance(a, b) <= 0.01 * distance(b, 0) > 0
        for a, b in ((doubled, due), (small_doubled, 2 * small))
    )
