"""Add likely causes to what is wrong."""

import contextlib
import itertools
import re

import numpy as np

from .causes import (
    Computed,
    Sample,
    distance,
    first_of,
    likely_cause,
    moves_from,
    moves_of,
    without_few_bits,
)
from .comparison import Comparison
from .examples import MOST_EXAMPLES, example_counts
from .joint import numbers_cause, starts_cause
from .progress import shown

ZERO = 'The right one is 0 up to rounding.'


def explain(
    comparison, replicas, exact, reference, starts, batches, places, k
):
    """Return the comparison with likely causes. `exact`: what the reference
    makes of the last step, the wrong one. `starts`: the right arrays before
    each step. `places`: which of them each array goes on from; a gradient has
    None."""
    n = len(starts) - 1
    sample = Sample(replicas, exact)
    known = moves_of(
        *(exact, reference, starts, batches),
        *(n, places, k, sample),
    )
    moves = Computed(shown(known, 'causes'))
    right = first_of(moves)
    start = [a - move for a, move in zip(sample.take(exact), right)]
    replicas = [
        [a - s for a, s in zip(sample.take(own), start)] for own in replicas
    ]
    found = [
        d
        if d.error <= d.bound
        else d._replace(
            cause=likely_cause(
                replicas[d.replica][d.array],
                moves_of_array(moves, d.array),
                d.bound,
                k,
                batches[n],
                start[d.array],
            )
        )
        for d in comparison.differences
    ]
    wrong = [i for i, d in enumerate(found) if not d.error <= d.bound]
    causes = without_few_bits(
        [found[i].cause for i in wrong],
        [right[found[i].array].size for i in wrong],
    )
    for i, cause in zip(wrong, causes):
        found[i] = found[i]._replace(cause=cause)
    fills = (
        [fill_counts] if sample else [fill_starts, fill_numbers, fill_counts]
    )
    for fill in fills:
        with contextlib.suppress(Exception):  # the reference may want more
            batch = (reference, starts[n], batches[n], places, k, sample)
            found = fill(found, replicas, right, *batch)
    found = [
        d._replace(cause=ZERO)
        if is_open(d) and distance(right[d.array], 0) <= d.bound
        else d
        for d in found
    ]
    labels = [d.name for d in found if d.replica == found[0].replica]
    found = [
        d._replace(cause=with_names(sample.said(d.cause, d.array), labels))
        for d in found
    ]
    return Comparison(found, comparison.growth, comparison.notes)


def with_names(cause, labels):
    """Return a cause with the names of the arrays for their numbers."""
    return re.sub(r'\barray (\d+)', lambda m: labels[int(m[1])], cause)


def is_open(difference):
    """Return whether it is wrong and has no cause yet."""
    return not (difference.error <= difference.bound or difference.cause)


def fill_starts(found, replicas, right, reference, start, batch, places, k, _):
    """Return the differences, those without a cause with that of replicas
    that did not start alike."""
    if None in places or len(replicas) < 2 or not any(map(is_open, found)):
        return found
    bounds = [d.bound for d in found if d.replica == 0]
    cause = starts_cause(replicas, reference, start, batch, bounds)
    return [d._replace(cause=cause) if is_open(d) else d for d in found]


def fill_numbers(found, replicas, right, *_):
    """Return them with the places of others' numbers."""
    return [
        d._replace(
            cause=numbers_cause(replicas[d.replica][d.array], right, d.bound)
        )
        if is_open(d)
        else d
        for d in found
    ]


def fill_counts(
    found, replicas, right, reference, start, batch, places, k, sample
):
    """Return them with how often each example is counted."""
    rows, alone = batch.rows, None
    for i in sorted({d.replica for d in found if is_open(d)}):
        if rows <= MOST_EXAMPLES:
            alone = alone or moves_alone(
                reference, start, batch, places, sample
            )
            own = [d for d in found if d.replica == i and is_open(d)]
            cause = count_cause(own, replicas[i], right, alone, k)
            found = [d._replace(cause=cause) if d in own else d for d in found]
    return found


def moves_of_array(moves, j):
    """Return the words and moves for array `j`, and the right moves of the
    others that have its shape."""
    right = first_of(moves)
    others = (
        (f'that of array {i}', other)
        for i, other in enumerate(right)
        if i != j and other.shape == right[j].shape
    )
    own = ((what, arrays[j]) for what, arrays in moves)
    return Computed(itertools.chain(own, others))


def moves_alone(reference, start, batch, places, sample):
    """Return the moves of all arrays for each example alone."""
    batch, alone = batch.cast('float64'), []
    for i in shown(range(batch.rows), 'examples'):
        arrays = reference(start, batch.take(slice(i, i + 1)))
        alone.append(sample.take(moves_from(start, arrays, places)))
    return alone


def count_cause(differences, moves, right, alone, k):
    """Return how often these arrays of a replica count each example."""
    wrong = [d.array for d in differences]

    def flat(arrays):
        return np.concatenate([np.ravel(arrays[j]) for j in wrong])

    bounds = [np.full(np.size(right[d.array]), d.bound) for d in differences]
    return example_counts(
        [flat(arrays) for arrays in alone],
        flat(moves),
        flat(right),
        np.concatenate(bounds),
        k,
    )
