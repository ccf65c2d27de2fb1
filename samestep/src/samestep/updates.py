"""Whether an update is right, given the gradients that the step had."""

import re

import numpy as np

from .causes import (
    Computed,
    Move,
    Sample,
    cast,
    distance,
    likely_cause,
    precision_cause,
    said_of_some,
    wrong_numbers,
)
from .decays import decay_causes, owners_of
from .measure import is_count
from .progress import shown

NEARBY = 4  # copies of the arrays, each number off by up to a rounding
PARTS = -1, -0.5, -0.25, 0.25, 0.5, 1  # of the bound of a gradient
PATTERNS = 4  # of which numbers are up and which are down
PLAIN = re.compile(r'the right one times ([\d.]+)\.$')  # says nothing of why


def right_update(given, arrays, grads):
    """Return what the update makes of the arrays and gradients in float64."""
    exact = cast(arrays, 'float64'), cast(grads, 'float64')
    return cast(given.update(*exact), 'float64')


def update_spreads(given, how, arrays, grads, right, low_spreads):
    """Return how far rounding alone moves each array of an update."""

    def nearby(seed):
        near = how.nearby([*arrays, *grads], seed)
        return given.update(near[: len(arrays)], near[len(arrays) :])

    def others():
        yield given.update(cast(arrays, how.dtype), cast(grads, how.dtype))
        for seed in shown(range(NEARBY), 'roundings of the update'):
            yield nearby(seed)

    spreads = how.spreads_of(right, others())
    if low_spreads:  # of what rounds in another way
        spreads = [*map(np.maximum, spreads, low_spreads)]
    return spreads


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


def update_causes(update, replica, right, bounds):
    """Return the likely causes of arrays whose update is wrong, by their
    numbers. `update`: (Functions, arrays, gradients, minibatch, number of
    devices) that it is made of."""
    given, arrays, grads, batch, k = update
    start, grads = cast(arrays, 'float64'), cast(grads, 'float64')
    sample = Sample([replica], right)
    begin = sample.take(start)

    def moves_to(found):
        return [a - s for a, s in zip(sample.take(found), begin)]

    def to_update(*arguments):  # which are large: none is kept
        return moves_to(given.update(*arguments))

    def tried():
        counts = [
            is_count(a) and distance(new - a, 1) == 0
            for a, new in zip(start, right)
        ]
        for words, other in (
            ('0', lambda c: 0 * c),
            ('one less', lambda c: np.maximum(c - 1, 0)),
            ('one more', lambda c: c + 1),
            (f'{k} times as large', lambda c: k * c),
        ):
            if any(counts):
                changed = [
                    other(a) if is_one else a
                    for a, is_one in zip(start, counts)
                ]
                moved = to_update(changed, grads)
                yield f'one as if the count of steps were {words}', moved

    moves = [
        Move(*own)
        for own in zip(
            moves_to(replica),
            moves_to(right),
            sample.take_bounds(bounds),
            begin,
        )
    ]
    wrong = [j for j, move in enumerate(moves) if move.is_wrong()]
    known = Computed(shown(tried(), 'causes'))
    owners = owners_of(given, arrays)
    bases = owned(start, owners, sample)
    causes = decay_causes(moves, bases, owners, [np.ndim(a) for a in arrays])
    for j in wrong:
        others = [(words, own[j]) for words, own in known]
        causes[j] = causes.get(j) or cause_of(moves[j], others, k, batch)
    factors = {j: PLAIN.search(causes[j]) for j in wrong}
    if any(factors.values()) and clips(to_update, start, grads, moves):
        for j, factor in factors.items():
            if factor:
                times = f'{1 / float(factor[1]):.4g} times'
                causes[j] += f' Clipped by {times} the norm that is due?'
    return {j: sample.said(causes[j], j) for j in wrong}


def owned(start, owners, sample):
    """Return for each array the numbers of its parameter that stand where
    the sample of the array has its own; or its own, if it has none."""
    return sample.take(
        [
            a if own is None else start[own]
            for a, (own, _) in zip(start, owners)
        ]
    )


def cause_of(move, others, k, batch):
    """Return the cause of the wrong update of an array, or of some of its
    numbers, or ''."""
    cause = likely_cause(move, others, k, batch)
    which = None if cause else wrong_numbers(move)
    if which is not None:
        some = [(words, own[which]) for words, own in others]
        cause = likely_cause(move.part(which), some, k, batch)
        cause = said_of_some(which, move, cause)
    return cause or precision_cause(move)


def clips(to_update, start, grads, moves):
    """Return whether the update of twice the gradients is about the same: it
    clips them by their norm."""
    doubled = to_update(start, [2 * g for g in grads])
    return any(
        distance(own, move.right) <= 0.01 * distance(move.right, 0) > 0
        for own, move in zip(doubled, moves)
    )
