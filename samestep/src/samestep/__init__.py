"""Is it a bug, or is it rounding? `same_step` compares a training step, of
any framework and on any number of devices, with a reference on one device.

It needs NumPy alone.
"""

import numpy as np

from .causes import cast, distance, replicas_of
from .comparison import Comparison, Difference
from .explain import explain

__all__ = ['Comparison', 'Difference', 'same_step']


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

    Raises ValueError if there is no minibatch, if the reference diverges,
    or if the step returns arrays of other numbers or shapes than it.
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
        lows = [other[n][0] for other in others]
        check_reference([exact, *lows], n)
        check_shapes(found[n], exact)
        spreads = spreads_of(exact, lows, dtype)
        first = first or [max(s, np.median(spreads)) for s in spreads]
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
            starts = [cast(params, 'float64'), *(r[0] for r in right[:n])]
            return explain(
                *(comparison, found[n], reference, starts, batches),
                *(gradients, num_devices),
            )
    return comparison


def run(step, params, batches, dtype, gradients):
    """Return what the step makes of each minibatch: lists of replicas."""
    results, params = [], cast(params, dtype)
    for batch in batches:
        replicas = replicas_of(step(params, *cast(batch, dtype)))
        results.append([cast(replica, dtype) for replica in replicas])
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


def spreads_of(right, others, dtype):
    """Return each array's spread, at least a rounding of its largest."""
    return [
        max(
            np.finfo(dtype).eps * float(abs(exact).max(initial=1e-30)),
            *(distance(other[j], exact) for other in others),
        )
        for j, exact in enumerate(right)
    ]


def check_reference(results, n):
    """Raise ValueError unless all of the reference's numbers are finite."""
    if not all(np.isfinite(array).all() for own in results for array in own):
        raise ValueError(
            f'the reference itself is not finite in step {n}: take a smaller '
            'learning rate or fewer steps'
        )


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
