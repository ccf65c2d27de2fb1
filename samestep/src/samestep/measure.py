"""How far rounding alone moves an array: its spread."""

from typing import NamedTuple

import numpy as np

from .causes import distance


class Measure(NamedTuple):
    """With which floats, how many spreads, of how many orders."""

    dtype: str
    factor: float
    num_orders: int

    def orders_of(self, batch):
        """Return the minibatch in several orders of its examples."""
        return [
            batch.take(np.random.RandomState(seed).permutation(batch.rows))
            for seed in range(self.num_orders)
        ]

    def spreads_of(self, right, others):
        """Return each array's spread, at least a rounding of its largest: in
        float64 two, since the right one is rounded, too. `others` may be
        computed one at a time: no two are held at once."""
        least = self.rounding * (2 if self.dtype == 'float64' else 1)
        spreads = [
            least * float(abs(exact).max(initial=1e-30)) for exact in right
        ]
        for other in others:
            spreads = [
                max(spread, distance(found, exact))
                for spread, found, exact in zip(spreads, other, right)
            ]
            del other  # before the next is computed
        return spreads

    @property
    def rounding(self):
        """The largest relative error of a rounding, doubled."""
        return float(np.finfo(self.dtype).eps)

    def nearby(self, arrays, seed):
        """Return arrays of which each number is off by up to a rounding."""
        rng = np.random.RandomState(seed)
        return [
            a * (1 + self.rounding * rng.uniform(-1, 1, a.shape))
            if a.dtype.kind == 'f' and not is_count(a)
            else a.copy()
            for a in arrays
        ]


def is_count(array):
    """Return whether an array is one whole number, such as that of steps."""
    return array.size == 1 and float(array.reshape(-1)[0]).is_integer()


def check_reference(arrays, n):
    """Return the reference's arrays, or raise ValueError unless all of their
    numbers are finite."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError(
            f'the reference itself is not finite in step {n}: take a smaller '
            'learning rate or fewer steps'
        )
    return arrays


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


class NothingMoves(ValueError):
    """A step cannot be judged: it moves nothing further than its rounding."""


def check_that_it_moves(moved):
    """Raise NothingMoves if no array has moved further than rounding hides."""
    if not moved:
        raise NothingMoves(
            'nothing moves further than its rounding, so nothing can be '
            'judged: take a learning rate that is not 0, and larger; or '
            'compare gradients'
        )
