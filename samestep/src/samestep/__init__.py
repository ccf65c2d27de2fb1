"""Is it a bug, or is it rounding? `same_step` compares a training step, of
any framework and on any number of devices, with a reference on one device.

It needs NumPy alone.
"""

from typing import Any, Callable, Optional, Sequence

from .comparison import Comparison, Difference
from .files import judge, record
from .functions import Functions, Taken
from .measure import Measure, NeedsLow, NothingMoves
from .questions import Asked, ask_both, compare_results
from .trees import Batch

__all__ = [
    'Comparison',
    'Difference',
    'NeedsLow',
    'NothingMoves',
    'Taken',
    'judge',
    'record',
    'same_step',
]


def same_step(
    step: Callable,
    reference: Callable,
    params: Any,
    batches: Sequence,
    low: Optional[Callable] = None,
    dtype: str = 'float32',
    gradients: bool = False,
    num_devices: int = 1,
    factor: float = 4,
    num_orders: int = 8,
    update: Optional[Callable] = None,
    packed: bool = False,
) -> Comparison:
    """Return a Comparison of `step` with `reference`.

    Both are functions of (params, X, y), arrays and a minibatch, that return
    the new arrays; `step` may return a list of them, one for each replica.
    With `gradients` they return gradients instead. What an optimizer keeps
    may be among `params`.

    With `update`, a function of (params, gradients) that returns the new
    arrays, two questions are asked: `reference` returns the gradients, before
    they are clipped, and `step` returns Taken(gradients, params). The
    gradients must be right, and then the new arrays those that `update` makes
    of the step's own gradients. If `step` returns the new arrays alone, they
    may be as far off as `update` lets rounding in the gradients move them.
    Where right ones would hardly be others if the gradients were 1.1 times as
    large, as with AdamW or clipping, that is refused.

    `params`: arrays in a list, or in dicts and lists in one another, of which
    each result has the form. `batches`: a list of minibatches (X, y), one for
    each step, with a row for each example; X and y may be dicts and lists of
    arrays, too. `dtype`: the floats that `step` gets. The reference computes
    in those that it gets: in float64 its result is the right one. In `dtype`,
    with the examples of a minibatch in `num_orders` orders, its largest error
    is the spread: what rounding alone does to an array. The bound is `factor`
    spreads, and at least so many roundings of the largest number. For a step
    that rounds in another way, as in bfloat16, `low` is that step on one
    device, which takes the place of the reference in `dtype`; its gradients
    are also those of parts of a minibatch, if parts add up to the whole.
    `num_devices` helps to name a cause. `packed`: a minibatch is one whole,
    such as texts one after the other, without rows that could be reordered;
    what rounding does is then seen from nearby parameters alone.

    Raises ValueError if there is no minibatch, if the reference diverges, if
    the step returns arrays of other names or shapes, or right ones alone that
    hide gradients; NothingMoves, which is one, if the reference moves nothing;
    TypeError for complex arrays.
    """
    if not batches:
        raise ValueError('batches is empty: give at least one (X, y)')
    given = Functions(step, reference, low, update, params)
    batches = [Batch(batch, packed=packed) for batch in batches]
    how = Measure(dtype, factor, num_orders)
    asked = Asked(given, batches, how, num_devices)
    if gradients or update is not None:
        return ask_both(asked)
    return compare_results(asked)
