"""Add likely causes to what is wrong."""

import contextlib

import numpy as np

from .causes import cast, likely_cause, moves_of
from .comparison import Comparison
from .examples import MOST_EXAMPLES, example_counts


def explain(comparison, replicas, reference, starts, batches, gradients, k):
    """Return the comparison with likely causes. `starts`: the right arrays
    before each step; the last is the wrong one."""
    n = len(starts) - 1
    rows = len(batches[n][0])
    moves = moves_of(reference, starts, batches, n, gradients, k)
    start = [0 * a if gradients else a for a in starts[n]]
    replicas = [[a - s for a, s in zip(own, start)] for own in replicas]
    found = [
        d
        if d.error <= d.bound
        else d._replace(
            cause=likely_cause(
                replicas[d.replica][d.array],
                moves_of_array(moves, d.array),
                d.bound,
                k,
                rows,
                start[d.array],
            )
        )
        for d in comparison.differences
    ]
    open_ones = [d for d in found if not (d.error <= d.bound or d.cause)]
    for i in {d.replica for d in open_ones} if rows <= MOST_EXAMPLES else ():
        own = [d for d in open_ones if d.replica == i]
        cause = ''
        with contextlib.suppress(Exception):  # the reference may want more
            alone = moves_alone(reference, starts[n], batches[n], gradients)
            cause = count_cause(own, replicas[i], moves[0][1], alone, k)
        found = [d._replace(cause=cause) if d in own else d for d in found]
    return Comparison(found, comparison.growth)


def moves_of_array(moves, j):
    """Return the words and moves for array `j`, and the right moves of the
    others that have its shape."""
    right = moves[0][1]
    return [(what, arrays[j]) for what, arrays in moves] + [
        (f'that of array {i}', other)
        for i, other in enumerate(right)
        if i != j and other.shape == right[j].shape
    ]


def moves_alone(reference, start, batch, gradients):
    """Return the moves of all arrays for each example alone."""
    X, y = cast(batch, 'float64')
    alone = []
    for i in range(len(X)):
        arrays = reference(start, X[i : i + 1], y[i : i + 1])
        alone.append(
            [a - (0 if gradients else s) for a, s in zip(arrays, start)]
        )
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
