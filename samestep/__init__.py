"""Is it a bug, or is it rounding? `same_step` compares a training step, of
any framework and on any number of devices, with a reference on one device.

It needs NumPy alone.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

__all__ = ['Comparison', 'Difference', 'same_step']


class Difference(NamedTuple):
    """How far one array of one replica is from the right one, in one step."""

    step: int
    replica: int
    array: int
    error: float  # the largest difference from the reference in float64
    bound: float  # the largest that rounding explains
    cause: str = ''  # a likely one

    def __str__(self):
        return (
            f'step {self.step}, replica {self.replica}, array {self.array}: '
            f'off by {self.error:.2g}, {self.error / self.bound:.3g} times '
            f'the bound. {self.cause}'
        ).rstrip()


@dataclass(frozen=True)
class Comparison:
    """What `same_step` found; true if all differences are rounding.

    `differences`: those of the first step that is wrong, or of the last.
    `growth`: how many times the bound has grown since the first step.
    """

    differences: list
    growth: float

    def __bool__(self):
        return not self.failures()

    def failures(self):
        """Return the differences beyond their bounds, the worst first."""
        beyond = [d for d in self.differences if not d.error <= d.bound]
        return sorted(beyond, key=lambda d: d.bound / d.error)

    def __str__(self):
        failures = self.failures()
        lines = [*map(str, failures[:6])] or ['equal up to rounding']
        if len(failures) > 6:
            lines.append(f'and {len(failures) - 6} more')
        wrong = {d.replica for d in failures}
        if wrong and wrong != {d.replica for d in self.differences}:
            lines.append(f'Only some replicas are wrong: {sorted(wrong)}.')
        if self.growth > 1000:
            lines.append(
                f'Rounding has grown {self.growth:.0f} times since the first '
                'step, and hides small bugs: take fewer steps, or a smooth '
                'activation such as tanh in place of relu.'
            )
        return '\n'.join(lines)

    __repr__ = __str__


def same_step(
    step,
    reference,
    params,
    batches,
    low=None,
    dtype='float32',
    gradients=False,
    num_devices=1,
    factor=4,
    num_orders=8,
):
    """Return a Comparison of `step` with `reference`.

    Both are functions of (params, X, y), a list of NumPy arrays and a
    minibatch, that return the list of the new arrays; `step` may return a
    list of such lists, one of each replica. With `gradients` they return
    gradients instead. What an optimizer keeps may be among `params`.

    `params`: a list of arrays. `batches`: a list of minibatches (X, y), one
    for each step, with a row for each example. `dtype`: the floats that
    `step` gets. The reference computes in those that it gets: in float64
    its result is the right one. In `dtype`, with the examples of a minibatch
    in `num_orders` orders, its largest error is the spread: what rounding
    alone does to an array. The bound is `factor` spreads, and at least so
    many roundings of the largest number. For a step that rounds in another
    way, as in bfloat16, `low` is that step on one device, which takes the
    place of the reference in `dtype`. `num_devices` helps to name a cause.

    Raises ValueError if there is no minibatch, or if the step returns
    arrays of other numbers or shapes than the reference.
    """
    if not batches:
        raise ValueError('batches is empty: give at least one (X, y)')
    right = run(reference, params, batches, 'float64', gradients)
    others = [
        run(low or reference, params, shuffle(batches, i), dtype, gradients)
        for i in range(num_orders)
    ]
    found = run(step, params, batches, dtype, gradients)
    first = None
    for n, (exact,) in enumerate(right):
        check_shapes(found[n], exact)
        spreads = spreads_of(exact, [other[n][0] for other in others], dtype)
        first = first or spreads
        growth = max(now / then for now, then in zip(spreads, first))
        comparison = Comparison(
            [
                Difference(n, i, j, distance(a, exact[j]), factor * spreads[j])
                for i, replica in enumerate(found[n])
                for j, a in enumerate(replica)
            ],
            growth,
        )
        if not comparison:
            starts = [cast(params, 'float64'), *(r[0] for r in right)]
            moves = moves_of(
                reference, starts, batches, n, gradients, num_devices
            )
            start = [0 * a for a in exact] if gradients else starts[n]
            return explain(comparison, found[n], start, moves, num_devices)
    return comparison


def cast(arrays, dtype):
    """Return the arrays with floats of `dtype`; others stay as they are."""
    arrays = [np.asarray(array) for array in arrays]
    return [a.astype(dtype) if a.dtype.kind == 'f' else a for a in arrays]


def run(step, params, batches, dtype, gradients):
    """Return what the step makes of each minibatch: lists of replicas."""
    results, params = [], cast(params, dtype)
    for batch in batches:
        result = step(params, *cast(batch, dtype))
        if not isinstance(result[0], (list, tuple)):
            result = [result]
        results.append([cast(replica, dtype) for replica in result])
        if not gradients:
            params = results[-1][0]
    return results


def shuffle(batches, seed):
    """Return the minibatches, each with its rows in another order."""
    rng, shuffled = np.random.RandomState(seed), []
    for X, y in batches:
        rows = rng.permutation(len(X))
        shuffled.append((np.asarray(X)[rows], np.asarray(y)[rows]))
    return shuffled


def distance(found, right):
    """Return the largest difference of two arrays, in float64."""
    return float(
        abs(found.astype('float64') - right.astype('float64')).max(initial=0)
    )


def spreads_of(right, others, dtype):
    """Return each array's spread, at least a rounding of its largest."""
    return [
        max(
            np.finfo(dtype).eps * float(abs(exact).max(initial=1e-30)),
            *(distance(other[j], exact) for other in others),
        )
        for j, exact in enumerate(right)
    ]


def check_shapes(replicas, right):
    """Raise ValueError unless each replica has the reference's shapes."""
    wanted = [array.shape for array in right]
    for i, replica in enumerate(replicas):
        shapes = [array.shape for array in replica]
        if shapes != wanted:
            raise ValueError(
                f'replica {i} of the step has arrays of shapes {shapes}, the '
                f'reference of {wanted}: return the same arrays'
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


def explain(comparison, replicas, start, moves, k):
    """Return the comparison with likely causes."""
    differences = [
        d._replace(
            cause=likely_cause(
                replicas[d.replica][d.array] - start[d.array],
                {what: arrays[d.array] for what, arrays in moves.items()},
                d.bound,
                k,
            )
        )
        if not d.error <= d.bound
        else d
        for d in comparison.differences
    ]
    return Comparison(differences, comparison.growth)


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
