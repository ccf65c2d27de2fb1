"""The questions that `same_step` asks of each step."""

from typing import Any, NamedTuple

import numpy as np

from .causes import Case, apart, cast, distance, moves_from
from .comparison import Comparison, Difference
from .decays import owners_of
from .explain import explain, with_names
from .measure import check_reference, check_shapes, check_that_it_moves
from .parts import low_gradients, low_update_spreads
from .progress import shown
from .trees import labels_of
from .updates import pushed, right_update, update_causes, update_spreads

LOST = (
    'Only new arrays were compared: what clipping or the optimizer hides of '
    'the gradients is not seen. Let the step return Taken(gradients, params).'
)
ADAM = (
    'Rounding alone moves some numbers by {:.0%} of the largest move, as with '
    'Adam where a gradient is near 0: it may be a false alarm, or hide a bug. '
    'Give `update`.'
)
APART = (
    'The replicas are not bit for bit alike, and drift apart unless something '
    'copies one to the others.'
)


class Asked(NamedTuple):
    """What is compared, and how."""

    given: Any  # Functions
    batches: list
    how: Any  # Measure
    num_devices: int

    def differences(self, n, replicas, names, right, bounds, of=''):
        """Return the Difference of each array of each replica."""
        found = []
        for i, replica in enumerate(replicas):
            for j, (a, name) in enumerate(zip(replica, names)):
                error, bound = worst(a, right[j], bounds[j])
                found.append(Difference(n, i, j, error, bound, '', name, of))
        return found

    def case(self, starts, places):
        """Return the last of several steps, for its causes."""
        return Case(
            self.given.reference,
            starts,
            self.batches[: len(starts)],
            places,
            self.num_devices,
        )

    def bounds(self, spreads):
        """Return how far each number may be off."""
        return [self.how.factor * spread for spread in spreads]


def worst(found, right, bound):
    """Return how far the number is off that is furthest for its own bound,
    and that bound."""
    off = apart(found, right)
    if not off.size:
        return 0.0, float(bound.max(initial=1e-30))
    at = (off / bound if bound.ndim else off).argmax()
    bound = np.broadcast_to(bound, off.shape)
    return float(off.flat[at]), float(bound.flat[at])


def compare_results(asked, gradients):
    """Return how what a step makes of each minibatch differs from what the
    reference makes of it, each going on from its own arrays."""
    given, batches, how, _ = asked

    def run(function, batches, dtype, start):
        results, arrays = [], cast(start, dtype)
        for batch in batches:
            found = function(arrays, batch.cast(dtype))
            results.append([cast(own, dtype) for own in found])
            arrays = arrays if gradients else results[-1][0]
        return results

    def alone(function):
        return lambda *arguments: [function(*arguments)]

    def of_step(*arguments):
        return [
            new if taken is None or not gradients else taken
            for taken, new in given.step(*arguments)
        ]

    right = run(alone(given.reference), batches, 'float64', given.start)
    if (
        not gradients
        and len(batches) > 1
        and given.result_names != given.names
    ):
        raise ValueError(
            'with several minibatches the reference must return all arrays: '
            f'{given.names}, not {given.result_names}'
        )
    if not gradients:
        in_orders = [*zip(*(how.orders_of(batch) for batch in batches))]
        others = [
            run(alone(given.low), own, how.dtype, how.start(given.start, i))
            for i, own in enumerate(
                shown(in_orders, 'orders of the minibatches')
            )
        ]
    found = run(of_step, batches, how.dtype, given.start)
    first: list = []
    moves = False
    for n, (exact,) in enumerate(right):
        check_reference(exact, n)
        if gradients:
            lows = low_gradients(given, how, given.start, batches[n], exact, n)
        else:
            lows = [check_reference(other[n][0], n) for other in others]
        check_shapes(found[n], exact)
        starts = [cast(given.start, 'float64'), *(r[0] for r in right[:n])]
        places = [*range(len(exact))]
        if gradients:
            starts, places = starts[:1] * (n + 1), [None] * len(exact)
        moved = [*moves_from(starts[n], exact, places)]
        spreads = how.spreads_of(exact, lows, moved)
        bounds = asked.bounds(spreads)
        sizes = [distance(move, 0) for move in moved]
        moves |= any(s > b.max() for s, b in zip(sizes, bounds))
        largest = [float(spread.max()) for spread in spreads]
        median = float(np.median(largest))
        first = first or [max(s, median) for s in largest]
        comparison = Comparison(
            asked.differences(n, found[n], given.labels, exact, bounds),
            max(now / then for now, then in zip(largest, first)),
            still=names_of_still(given.labels, sizes),
        )
        if not gradients:
            comparison.notes.extend(adam_notes(exact, sizes, largest, how))
        if not comparison:
            case = asked.case(starts, places)
            return explain(comparison, found[n], exact, bounds, case)
    check_that_it_moves(moves)
    return comparison


def names_of_still(names, moved):
    """Return which arrays should not move."""
    return [name for name, move in zip(names, moved) if move == 0]


def adam_notes(exact, moved, spreads, how):
    """Return a note if rounding moves an array by much of its move, and by
    more than its own roundings."""
    parts = [
        spread / move
        for new, move, spread in zip(exact, moved, spreads)
        if spread > 16 * how.rounding * abs(new).max(initial=0) and move
    ]
    worst = max(parts, default=0)
    return [ADAM.format(worst)] if worst > 0.05 else []


def ask_both(asked):
    """Return the Comparison of the gradients, or of the update made of them.

    Each step is judged from where the step before has really ended. Models
    may be large: arrays in float64 are made where they are needed.
    """
    given, batches, how, _ = asked
    arrays, moves = cast(given.start, how.dtype, copy=False), False
    for n, batch in enumerate(batches):
        exact = cast(arrays, 'float64'), batch.cast('float64')
        grads = cast(given.reference(*exact), 'float64')
        check_reference(grads, n)
        if n == 0:
            given.find_params(*exact, grads)
        del exact
        lows = low_gradients(given, how, arrays, batch, grads, n)
        bounds = asked.bounds(how.spreads_of(grads, lows))
        # It gets a copy, which it may change.
        taken = given.step(cast(arrays, how.dtype), batch.cast(how.dtype))
        if all(own is not None for own, _ in taken):
            found = [cast(own, how.dtype) for own, _ in taken]
            check_shapes(found, grads)
            comparison = Comparison(
                asked.differences(
                    n, found, given.labels, grads, bounds, 'gradient'
                )
            )
            if not comparison:
                starts = [cast(arrays, 'float64')] * (n + 1)
                case = asked.case(starts, places_of(given, *taken[0]))
                return explain(comparison, found, grads, bounds, case)
            del found
            grads = None
        after = [(own, cast(new, how.dtype)) for own, new in taken]
        check_shapes([new for _, new in after], arrays)
        del taken
        comparison, moved = judge_updates(
            asked, n, arrays, after, grads, bounds
        )
        moves |= moved
        if not comparison:
            return comparison
        arrays = after[0][1]
    check_that_it_moves(moves)
    return comparison


def places_of(given, found, new):
    """Return for each gradient None, or where the array stands of which it is
    the new value itself: that of a running mean, which has no gradient."""
    after = dict(zip(given.names, enumerate(new)))
    places = []
    for name, own in zip(given.result_names, found):
        at, array = after.get(name, (None, None))
        places.append(at if np.array_equal(own, array) else None)
    return places


def judge_updates(asked, n, arrays, after, grads, bounds):
    """Return the Comparison of the new arrays with what the update makes of
    the gradients; and whether something moves further than rounding hides,
    and a parameter at all. `after`: (gradients, new arrays) of each replica;
    those that have no gradients are within `bounds` of `grads`."""
    given, batches, how, k = asked
    found: list = []
    still: list = []
    moves = False
    low_spreads = low_update_spreads(given, how, arrays, batches[n])
    names = labels_of(given.names)
    owners = enumerate(owners_of(given, arrays))
    params = [j for j, (owner, _) in owners if owner == j]
    params = params or [*range(len(arrays))]  # their names do not tell
    for i, (own, new) in enumerate(after):
        seen = own is not None
        own = own if seen else grads
        right = right_update(given, arrays, own)
        check_reference(right, n)
        spreads = update_spreads(given, how, arrays, own, right, low_spreads)
        limits = asked.bounds(spreads)
        moved = [distance(a, s) for a, s in zip(right, arrays)]
        # In bfloat16 what an optimizer keeps may be all that is seen to move.
        if any(moved[j] for j in params):
            moves |= any(m > b.max() for m, b in zip(moved, limits))
        if not seen:
            far = pushed(given, arrays, grads, bounds, right)
            limits = [limit + f for limit, f in zip(limits, far)]
        of = 'update' if seen else ''
        differences = asked.differences(n, [new], names, right, limits, of)
        if seen and not Comparison(differences):
            update = given, arrays, own, batches[n], k
            causes = update_causes(update, new, right, limits)
            differences = [
                d._replace(cause=with_names(causes.get(d.array, ''), names))
                for d in differences
            ]
        found += [d._replace(replica=i) for d in differences]
        still = still if i else names_of_still(names, moved)
    seen = after[0][0] is not None
    notes = [] if seen else [LOST]
    if any(
        not np.array_equal(a, b)
        for _, new in after[1:]
        for a, b in zip(after[0][1], new)
    ):
        notes.append(APART)
    return Comparison(found, 1, notes, still), moves
