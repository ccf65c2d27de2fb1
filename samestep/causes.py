"""Where to look: an array's wrong move, beside those of known bugs."""

import numpy as np


def cast(arrays, dtype):
    """Return the arrays with floats of `dtype`; others stay as they are."""
    arrays = [np.asarray(array) for array in arrays]
    return [a.astype(dtype) if a.dtype.kind == 'f' else a for a in arrays]


def distance(found, right):
    """Return the largest difference of two arrays, in float64."""
    return float(
        abs(found.astype('float64') - right.astype('float64')).max(initial=0)
    )


def moves_of(reference, starts, batches, n, gradients, k):
    """Return {what: moves}: how far each array goes in step `n`, first the
    right way, then as in steps with a known bug. A gradient starts at 0."""

    def move(part, n=n):
        X, y = cast(batches[n], 'float64')
        start = starts[0 if gradients else n]
        arrays = cast(reference(start, X[part], y[part]), 'float64')
        return arrays if gradients else [a - s for a, s in zip(arrays, start)]

    rows = np.arange(len(batches[n][0]))
    shards = [part for part in np.array_split(rows, k) if len(part)]
    moves = {'the right one': move(rows)}
    if n:
        moves['that of the step before'] = move(slice(None), n - 1)
    if len(shards) > 1:
        alone = [move(part) for part in shards]
        for i, arrays in enumerate(alone):
            moves[f'that of shard {i} alone'] = arrays
        moves["the mean of the shards' own"] = [
            sum(arrays) / len(arrays) for arrays in zip(*alone)
        ]
    if len(rows) > 1:
        moves['one without the last example'] = move(rows[:-1])
        moves['one without the first example'] = move(rows[1:])
    return moves


def likely_cause(move, moves, bound, k):
    """Return in words what an array's wrong move is, or ''."""
    right = moves['the right one']
    if not np.isfinite(move).all():
        return 'It has numbers that are not finite.'
    if abs(move).max() <= bound:
        return 'It has not moved.'
    for what, known in moves.items():
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
