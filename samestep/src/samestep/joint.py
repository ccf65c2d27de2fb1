"""Causes that only several arrays, or several replicas, show together."""

import numpy as np

from .causes import distance, splits_of


def numbers_cause(move, rights, bound):
    """Return in words from where in the right moves `rights` of all arrays
    a move's numbers come, or ''. They may be anywhere in the arrays one
    after the other, first to last or last to first, as in a buffer."""
    move = np.ravel(move)
    close = max(bound, abs(move).max(initial=0) / 1e4)
    if move.size < 4 or abs(move).max() <= bound:
        return ''
    at = abs(move).argmax()
    first_to_last = list(range(len(rights)))
    for order in (first_to_last, first_to_last[::-1]):
        flat = np.concatenate([np.ravel(rights[i]) for i in order])
        last = len(flat) - len(move)
        places = np.nonzero(abs(flat[at:] - move[at]) <= close)[0]
        for place in places[places <= last][:1000]:
            if distance(flat[place : place + len(move)], move) <= close:
                for i in order:
                    if place < np.size(rights[i]):
                        return (
                            f'The move has the numbers of array {i}, from '
                            f'number {place} on: a buffer used again, or '
                            'read elsewhere?'
                        )
                    place -= np.size(rights[i])
    return ''


def starts_cause(replicas, reference, start, batch, bounds):
    """Return in words that the replicas started from parameters of their
    own and took the same step, or ''.

    `replicas`: their moves, as if all had begun at `start`, where the first
    must have begun. So the others began where their moves differ from its
    move; the step must then be that of their shards from there.
    """
    first = replicas[0]
    apart = [[b - a for a, b in zip(first, own)] for own in replicas]
    gaps = [
        max(distance(own[j], first[j]) for own in replicas)
        for j in range(len(first))
    ]
    if not any(gap > bound for gap, bound in zip(gaps, bounds)):
        return ''
    batch = batch.cast('float64')
    for shards in splits_of(np.arange(batch.rows), len(replicas)):
        step = [0] * len(start)
        for rows, gap in zip(shards, apart):
            own = [s + g for s, g in zip(start, gap)]
            new = reference(own, batch.take(rows))
            part = len(rows) / batch.rows
            step = [t + part * (n - o) for t, n, o in zip(step, new, own)]
        off = [distance(a, b) for a, b in zip(first, step)]
        if all(o <= 2 * bound for o, bound in zip(off, bounds)):
            return (
                'The replicas started from parameters that differ by up to '
                f'{max(gaps):.2g}, and took the same step.'
            )
    return ''
