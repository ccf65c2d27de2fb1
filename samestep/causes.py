"""Where to look: an array's wrong move, beside those of known bugs."""

import contextlib

import numpy as np


def cast(arrays, dtype):
    """Return the arrays with floats of `dtype`; others stay as they are."""
    arrays = [np.asarray(array) for array in arrays]
    return [a.astype(dtype) if a.dtype.kind == 'f' else a for a in arrays]


def replicas_of(result):
    """Return a step's result as a list of replicas."""
    alone = not isinstance(result[0], (list, tuple))
    return [result] if alone else result


def distance(found, right):
    """Return the largest difference of two arrays, in float64."""
    return float(
        abs(found.astype('float64') - right.astype('float64')).max(initial=0)
    )


def moves_of(reference, starts, batches, n, gradients, k):
    """Return pairs of words and moves: how far each array goes in step `n`,
    first the right way, then with known bugs. A gradient starts at 0."""

    def move(part, n=n):
        X, y = cast(batches[n], 'float64')
        start = starts[0 if gradients else n]
        result = replicas_of(reference(start, X[part], y[part]))
        arrays = cast(result[0], 'float64')
        return arrays if gradients else [a - s for a, s in zip(arrays, start)]

    rows = np.arange(len(batches[n][0]))
    moves = [('the right one', move(rows))]

    def add(words, part, n=n):
        with contextlib.suppress(Exception):  # the reference may want more
            moves.append((words, move(part, n)))

    if n:
        add('that of the step before', slice(None), n - 1)
    if len(rows) > 1:
        add('one without the last example', rows[:-1])
        add('one without the first example', rows[1:])
    for shards in splits_of(rows, k):
        first = len(moves)
        for i, shard in enumerate(shards):
            add(f'that of shard {i} alone', shard)
        alone = [arrays for _, arrays in moves[first:]]
        means = [sum(arrays) / len(arrays) for arrays in zip(*alone)]
        if len(alone) == len(shards):
            moves.insert(first, ("the mean of the shards' own", means))
        for i, shard in enumerate(shards if len(shards) > 2 else []):
            add(f'one without shard {i}', np.setdiff1d(rows, shard))
    return moves


def splits_of(rows, k):
    """Return the ways to split rows into k shards, the longer ones first or
    last; none if there would be one shard."""
    longer_first = np.array_split(rows, k)
    longer_last = [part[::-1] for part in np.array_split(rows[::-1], k)][::-1]
    splits = [
        [shard for shard in split if len(shard)]
        for split in (longer_first, longer_last)
    ]
    return [split for split in splits if len(split) > 1]


def likely_cause(move, moves, bound, k):
    """Return in words what an array's wrong move is, or ''."""
    right = moves[0][1]
    if not np.isfinite(move).all():
        return 'It has numbers that are not finite.'
    if abs(move).max() <= bound:
        return 'It has not moved.'
    for what, known in moves:
        scale = (move * known).sum() / max((known * known).sum(), 1e-300)
        rest = abs(move - scale * known).max()
        differs = known is right or abs(known - right).max() > bound
        if differs and rest <= max(bound, abs(move).max() / 1e4):
            return f'The move is {what}{times(scale, k)}.'.replace('?.', '?')
    if distance(np.sort(move, None), np.sort(right, None)) <= bound:
        return 'The move has the right numbers in another order.'
    return ''


def times(scale, k):
    """Return a factor in words."""
    for factor, words in (
        (k, f', times the {k} devices: a sum where a mean is due?'),
        (1 / k, f', divided by the {k} devices: a mean where a sum is due?'),
        (2, ', twice: added to what was there?'),
        (-1, ', backward'),
    ):
        if factor != 1 and abs(scale - factor) < 1e-4:
            return words
    return '' if abs(scale - 1) < 1e-6 else f' times {scale:.6g}'
