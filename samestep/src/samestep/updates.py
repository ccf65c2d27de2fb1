"""Whether an update is right, given the gradients that the step had."""

import itertools
import re

import numpy as np

from .causes import (
    Computed,
    Sample,
    cast,
    distance,
    likely_cause,
    splits_of,
    which_rows,
)
from .decays import decay_causes, owners_of
from .measure import is_count
from .progress import shown
from .trees import said_together

NEARBY = 4  # copies of the arrays, each number off by up to a rounding
PARTS = -1, -0.5, -0.25, 0.25, 0.5, 1  # of the bound of a gradient
PATTERNS = 4  # of which numbers are up and which are down
PLAIN = re.compile(r'the right one times [\d.]+\.$')  # says nothing of why
MOST_UNSURE = 4  # arrays of which it is not seen by what they are scaled
MOST_GROUPS = 12  # arrays whose norms are tried, also in pairs


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
        spreads = [max(pair) for pair in zip(spreads, low_spreads)]
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


def update_causes(given, arrays, grads, batch, replica, right, bounds, k):
    """Return the likely cause of each array's wrong update, or ''."""
    start, grads = cast(arrays, 'float64'), cast(grads, 'float64')
    sample = Sample([replica], right)
    begin = sample.take(start)

    def moves_to(found):
        return [a - s for a, s in zip(sample.take(found), begin)]

    def to_update(*arguments):  # which are large: none is kept
        return moves_to(given.update(*arguments))

    def tried():
        yield 'the right one', wanted
        others = {
            'that of gradients that are 0': 0,
            f'that of {k} times the gradients': k,
            f'that of one {k}-th of the gradients': 1 / k,
        }
        for words, factor in others.items() if k > 1 else ():
            yield words, to_update(start, [factor * g for g in grads])
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

    moves, wanted = moves_to(replica), moves_to(right)
    known = Computed(shown(tried(), 'causes'))
    factors = factors_of(moves, wanted, bounds)
    owners = owners_of(given, arrays)
    decays = decay_causes(
        *(moves, wanted, owned(start, owners, sample), bounds, owners),
        [np.ndim(a) for a in arrays],
    )
    alike = [
        [f for f, (_, own) in zip(factors, owners) if own == kind and f]
        for _, kind in owners
    ]
    causes = []
    for j, move in enumerate(moves):
        cause = ''
        if distance(move, wanted[j]) > bounds[j]:
            cause = decays.get(j) or likely_cause(
                *(move, Computed((words, own[j]) for words, own in known)),
                *(bounds[j], k, batch, begin[j]),
            )
            if not cause or PLAIN.search(cause):
                cause = (
                    norm_cause(
                        *(j, factors, alike[j], given, grads, start, batch, k)
                    )
                    or cause
                )
        causes.append(sample.said(cause, j))
    return causes


def owned(start, owners, sample):
    """Return for each array the numbers of its parameter that stand where
    the sample of the array has its own; or its own, if it has none."""
    return sample.take(
        [
            a if own is None else start[own]
            for a, (own, _) in zip(start, owners)
        ]
    )


def subsets(items, most=None):
    """Return the subsets of items, the smaller ones first."""
    most = len(items) if most is None else most
    return [
        own
        for size in range(most + 1)
        for own in itertools.combinations(items, size)
    ]


def factors_of(moves, wanted, bounds):
    """Return for each array how many times as far as is right it has moved,
    and how sure that is; or None where it has not moved alike."""
    found = []
    for move, right, bound in zip(moves, wanted, bounds):
        size = (right * right).sum()
        scale = (move * right).sum() / size if size else 1
        sure = bound / max(np.sqrt(size), 1e-300)  # roundings are apart
        alike = abs(move - scale * right).max(initial=0) <= bound
        found.append((scale, 4 * sure) if alike and sure < 1e-2 else None)
    return found


def norm_cause(j, factors, kind, given, grads, start, batch, k):
    """Return in words of what a norm was taken, if clipping by it moves the
    array as far as it has moved; or ''. `kind`: the factors of what is of the
    kind of the array, which one norm scales alike."""
    if factors[j] is None or len(grads) != len(given.result_names):
        return ''
    alike = [
        other
        for other in factors
        if other
        and abs(other[0] / factors[j][0] - 1) <= factors[j][1] + other[1]
    ]
    scale, sure = min(alike, key=lambda factor: factor[1])

    def fits(value):
        return value > 0 and abs(value / scale - 1) <= sure + 1e-5

    if sure > 1e-3:
        return ''
    where = [given.places[name] for name in given.result_names]
    squares = [float((g * g).sum()) for g in grads]
    whole = sum(squares)
    near = [
        None
        if at is None or factors[at] is None
        else abs(factors[at][0] / scale - 1) <= sure + factors[at][1]
        for at in where
    ]
    group = [i for i, is_near in enumerate(near) if is_near]
    unsure = [i for i, is_near in enumerate(near) if is_near is None]
    words = 'right one, scaled as if clipped by the norm of'
    for more in subsets(unsure[:MOST_UNSURE]):
        own = sum(squares[i] for i in [*group, *more])
        if own < whole and own and fits(np.sqrt(whole / own)):
            some = {given.labels[i] for i in [*group, *more]}
            what = said_together(some, given.labels)
            return f'The update is the {words} {what} alone.'
    if any(abs(f / scale - 1) > sure + own for f, own in kind):
        return ''
    for shards in splits_of(np.arange(batch.rows), k):
        for i, rows in enumerate(shards):
            local = given.reference(start, batch.cast('float64').take(rows))
            norm = sum(float((g * g).sum()) for g in local)
            for part, also in ((1, ''), (len(rows) / batch.rows, "'s part")):
                if norm and fits(np.sqrt(whole / norm) / part):
                    which = f'shard {i}{also} ({which_rows(rows)})'
                    return f'The update is the {words} {which}.'
    tried = range(min(len(grads), MOST_GROUPS))
    groups = [{*own} for own in subsets(tried, 2) if own]
    everything = set(range(len(grads)))
    for times in sorted({0, 2, k} - {1}):
        for often in [everything, *groups, *(everything - g for g in groups)]:
            counted = whole + (times - 1) * sum(squares[i] for i in often)
            if counted > 0 and fits(np.sqrt(whole / counted)):
                some = {given.labels[i] for i in often}
                what = said_together(some, given.labels)
                how = f'counted {times} times' if times else 'left out'
                return f'The update is the {words} all, with {what} {how}.'
    return ''
