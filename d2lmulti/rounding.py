"""Whether two results are equal up to rounding; tools/site/rounding.md says
where the bound comes from."""

from typing import Any, Callable, List

import numpy as onp

__all__ = ['rounding_ratio', 'all_close', 'in_several_orders']

SPREADS, ROUNDINGS = 8, 64  # how often right results are further apart was
# measured: tools/speed/results/FALSE_ALARMS.md


def rounding_ratio(found: list, results: List[list]) -> float:
    """Return how far `found` is from the first of `results`, in spreads.

    `results`: lists of arrays, from a computation that is known to be right
    and differs from one to the next by rounding only: from
    `in_several_orders`, or once in float64. The spread of an array is how
    far they are from the first, and at least one rounding of its largest
    number. Returns the largest ratio of all arrays; inf or nan if one of the
    numbers is not finite.
    """
    assert {len(found)} == set(map(len, results)), 'as many arrays in each'
    ratios = []
    for arrays in zip(found, *results):
        array, right, *others = map(to_numpy, arrays)
        assert array.shape == right.shape, 'the same shapes'
        spreads = [abs(other - right).max(initial=0) for other in others]
        floor = onp.finfo(array.dtype).eps * abs(right).max(initial=1e-30)
        spread = onp.max([floor, *spreads])
        ratios.append(
            abs(array - right).max(initial=0) / spread
            if onp.isfinite(spread)
            else onp.nan
        )
    return float(onp.max(ratios))


def all_close(found: list, results: List[list]) -> bool:
    """Return whether `found` is the first of `results` up to rounding: at
    most SPREADS spreads away. A single result has no spread: there it is
    ROUNDINGS roundings of each array's largest number."""
    limit = SPREADS if results[1:] else ROUNDINGS
    return rounding_ratio(found, results) <= limit


def to_numpy(array: Any) -> Any:
    """Return an array, or a number, as an array of NumPy."""
    return onp.asarray(array.asnumpy() if hasattr(array, 'asnumpy') else array)


def in_several_orders(
    reference: Callable, batches: list, num_orders: int = 4
) -> List[list]:
    """Return a list of results of `reference`, which sums over examples.

    `batches`: a list of minibatches (X, y). The first result is
    `reference(batches)`, a list of arrays; for the others, the examples of
    each minibatch are shuffled.
    """
    results = [reference(batches)]
    for seed in range(1, num_orders):
        rng = onp.random.RandomState(seed)
        orders = [rng.permutation(len(X)) for X, y in batches]
        results.append(
            reference(
                [
                    (X[order], y[order])
                    for (X, y), order in zip(batches, orders)
                ]
            )
        )
    return results
