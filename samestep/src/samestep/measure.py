"""How far rounding alone moves an array: its spread."""

from typing import NamedTuple

import numpy as np

from .causes import apart

LEAST = 8  # numbers of a slice: fewer may be small by chance
ALIKE = 4  # slices whose sizes are within this factor have one spread
LEVELS = 12  # of such sizes; all that is smaller is alike
FEW_ROWS = 4  # of which there are hardly other orders
SLACK = 2  # times the relative spread of the array, for any slice


class Spread:
    """How far rounding moves an array, and slices of it that are small.

    A rare expert, head or word is a slice whose numbers are small beside the
    others: rounding moves it in proportion to its size, unless it is seen to
    move it further. Slices of about one size have one spread, since a single
    one may be rounded by little by chance.
    """

    def __init__(self, right, moved, least):
        self.right, self.axes = right, []
        self.whole = least * float(abs(right).max(initial=1e-30))
        self.least, most = self.whole, float(abs(moved).max(initial=0))
        for axis, length in enumerate(right.shape if right.ndim > 1 else ()):
            if right.size < LEAST * length or not most:
                continue
            sizes = largest_of_slices(moved, axis)
            with np.errstate(divide='ignore'):
                levels = np.log(most / sizes) / np.log(ALIKE)
            levels = np.minimum(levels, LEVELS).astype(int)
            if levels.any():
                self.axes.append((axis, levels, np.zeros(length)))

    def see(self, found):
        """Take what is seen of its rounding from the same array, rounded."""
        off = apart(found, self.right)
        self.whole = max(self.whole, float(off.max(initial=0)))
        for axis, _, seen in self.axes:
            np.maximum(seen, largest_of_slices(off, axis), out=seen)

    def of_numbers(self):
        """Return the spread of each number, as an array to be broadcast."""
        limits = np.array(self.whole)
        for axis, levels, seen in self.axes:
            own = np.full(len(levels), self.whole)
            for level in {*levels} - {0}:
                alike = levels == level
                least = self.whole * min(1, SLACK / ALIKE**level)
                own[alike] = max(self.least, least, seen[alike].max())
            if own.min() < self.whole / 2:  # else it tells nothing
                shape = [1] * self.right.ndim
                shape[axis] = -1
                limits = np.minimum(limits, own.reshape(shape))
        return limits


def largest_of_slices(array, axis):
    """Return the largest absolute value of each slice along an axis."""
    others = tuple(i for i in range(array.ndim) if i != axis)
    return abs(array).max(axis=others, initial=0)


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

    def bounds_of(self, right, others, moves=None):
        """Return how far the numbers of each array may be off: by `factor`
        spreads, at least a rounding of its largest; in float64 two, since the
        right one is rounded, too. It is an array that can be broadcast: small
        slices have smaller ones, as Spread tells. `others` may be computed
        one at a time: no two are held at once. `moves`: how far arrays have
        moved, by which their slices are large or small, if not by their
        numbers."""
        least = self.rounding * (2 if self.dtype == 'float64' else 1)
        spreads = [
            Spread(exact, move, least)
            for exact, move in zip(right, moves or right)
        ]
        for other in others:
            for spread, found in zip(spreads, other):
                spread.see(found)
            del other  # before the next is computed
        return [self.factor * spread.of_numbers() for spread in spreads]

    @property
    def rounding(self):
        """The largest relative error of a rounding, doubled."""
        return float(np.finfo(self.dtype).eps)

    def start(self, arrays, run, batch):
        """Return where a run of the reference begins: half of them are off
        by up to a rounding, since rounding is also within each example; of
        few rows, which have few orders, nearly all."""
        near = run % 2 or run and batch.rows < FEW_ROWS
        return self.nearby(arrays, run) if near else arrays

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


class NeedsLow(ValueError):
    """A step cannot be judged: it rounds more than its reference does."""


def check_that_it_moves(moved):
    """Raise NothingMoves if no array has moved further than what hides it."""
    if not moved:
        raise NothingMoves(
            'nothing moves further than its rounding, or than another order '
            'of the examples moves it, so nothing can be judged: take a '
            'learning rate that is not 0, and larger, or compare gradients; '
            'let each row be a separate example, and turn dropout off'
        )
