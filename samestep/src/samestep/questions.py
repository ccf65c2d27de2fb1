"""The questions that `same_step` asks of each step."""

from typing import Any, NamedTuple

import numpy as np

from .causes import Case, apart, cast, distance, moves_from
from .comparison import Comparison, Difference
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
        differences = []
        for i, replica in enumerate(replicas):
            for j, (a, name) in enumerate(zip(replica, names)):
                error, bound = worst(a, right[j], bounds[j])
                differences.append(
                    Difference(n, i, j, error, bound, '', name, of)
                )
        return differences

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


class Due(NamedTuple):
    """What is due of a minibatch, a list for each array."""

    exact: list
    bounds: list  # of each number
    spreads: list  # the largest
    moved: list  # how far from its start


def compare_results(asked, gradients):
    """Return how what a step makes of each minibatch differs from what the
    reference makes of it, each going on from its own arrays."""
    given, batches, how, _ = asked

    def reference(*arguments):
        return [given.reference(*arguments)]

    def step(*arguments):
        return [
            new if taken is None or not gradients else taken
            for taken, new in given.step(*arguments)
        ]

    right = results_of(reference, asked, gradients, 'float64')
    several = not gradients and len(batches) > 1
    if several and given.result_names != given.names:
        raise ValueError(
            'with several minibatches the reference must return all arrays: '
            f'{given.names}, not {given.result_names}'
        )
    others = [] if gradients else low_results(asked)
    found = results_of(step, asked, gradients, how.dtype)
    first: list = []
    moves = False
    for n, (exact,) in enumerate(right):
        check_reference(exact, n)
        if gradients:
            lows = low_gradients(given, how, given.start, batches[n], exact, n)
            starts = [cast(given.start, 'float64')] * (n + 1)
            places = [None] * len(exact)
        else:
            lows = [check_reference(other[n][0], n) for other in others]
            starts = [cast(given.start, 'float64'), *(r[0] for r in right[:n])]
            places = [*range(len(exact))]
        check_shapes(found[n], exact)
        due = due_of(asked, exact, lows, starts[n], places)
        moves |= any(m > b.max() for m, b in zip(due.moved, due.bounds))
        median = float(np.median(due.spreads))
        first = first or [max(spread, median) for spread in due.spreads]
        comparison = Comparison(
            asked.differences(n, found[n], given.labels, exact, due.bounds),
            max(now / then for now, then in zip(due.spreads, first)),
            still=names_of_still(given.labels, due.moved),
        )
        if not gradients:
            comparison.notes.extend(adam_notes(due, how))
        if not comparison:
            case = asked.case(starts, places)
            return explain(comparison, found[n], exact, due.bounds, case)
    check_that_it_moves(moves)
    return comparison


def results_of(function, asked, gradients, dtype, batches=None, start=None):
    """Return what a function makes of each minibatch, for each replica: of
    the same arrays in each, if these are gradients."""
    results = []
    arrays = cast(asked.given.start if start is None else start, dtype)
    for batch in batches or asked.batches:
        replicas = function(arrays, batch.cast(dtype))
        results.append([cast(own, dtype) for own in replicas])
        arrays = arrays if gradients else results[-1][0]
    return results


def low_results(asked):
    """Return the reference's results in the step's precision, in each order
    of the minibatches."""
    given, batches, how, _ = asked

    def low(*arguments):
        return [given.low(*arguments)]

    orders = [*zip(*(how.orders_of(batch) for batch in batches))]
    return [
        results_of(
            low,
            asked,
            False,
            how.dtype,
            own,
            how.start(given.start, i, own[0]),
        )
        for i, own in enumerate(shown(orders, 'orders of the minibatches'))
    ]


def due_of(asked, exact, lows, start, places):
    """Return what is due where the exact results are `exact`, and `lows` are
    those in the step's precision."""
    moves = [*moves_from(start, exact, places)]
    spreads = asked.how.spreads_of(exact, lows, moves)
    return Due(
        exact,
        asked.bounds(spreads),
        [float(spread.max()) for spread in spreads],
        [distance(move, 0) for move in moves],
    )


def names_of_still(names, moved):
    """Return which arrays should not move."""
    return [name for name, move in zip(names, moved) if move == 0]


def adam_notes(due, how):
    """Return a note if rounding moves an array by much of its move, and by
    more than its own roundings."""
    parts = [
        spread / move
        for new, move, spread in zip(due.exact, due.moved, due.spreads)
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
        turn = Turn(n, arrays, grads, bounds)
        comparison, moved = judge_updates(asked, turn, after)
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


class Turn(NamedTuple):
    """A step's arrays, and the gradients that it should find, within their
    bounds; `grads` is None where those that it found are judged."""

    n: int  # of the minibatch
    arrays: list
    grads: Any
    bounds: list


class Judged(NamedTuple):
    """What was seen of the update of a replica."""

    differences: list
    moves: bool  # a parameter at all, and something further than rounding
    still: list  # the names of arrays that should not move


def judge_updates(asked, turn, after):
    """Return the Comparison of the new arrays with what the update makes of
    the gradients; and whether something moves that should. `after`:
    (gradients, or None, and new arrays) of each replica."""
    given, batches, how, _ = asked
    low = low_update_spreads(given, how, turn.arrays, batches[turn.n])
    judged = [
        judge_update(asked, turn, i, after[i], low) for i in range(len(after))
    ]
    notes = [] if after[0][0] is not None else [LOST]
    if any(
        not np.array_equal(a, b)
        for _, new in after[1:]
        for a, b in zip(after[0][1], new)
    ):
        notes.append(APART)
    differences: list = sum((each.differences for each in judged), [])
    moves = any(each.moves for each in judged)
    found = Comparison(differences, 1, notes, judged[0].still)
    return found.without_guesses(), moves


def judge_update(asked, turn, replica, taken, low_spreads):
    """Return what is Judged of the update of one replica."""
    given, batches, how, k = asked
    n, arrays, *_ = turn
    grads, new = taken
    seen = grads is not None
    grads = grads if seen else turn.grads
    right = right_update(given, arrays, grads)
    check_reference(right, n)
    spreads = update_spreads(given, how, arrays, grads, right, low_spreads)
    bounds = asked.bounds(spreads)
    moved = [distance(a, s) for a, s in zip(right, arrays)]
    # In bfloat16 what an optimizer keeps may be all that is seen to move.
    moves = any(moved[j] for j in params_of(given, arrays)) and any(
        m > b.max() for m, b in zip(moved, bounds)
    )
    if not seen:
        far = pushed(given, arrays, grads, turn.bounds, right)
        bounds = [bound + f for bound, f in zip(bounds, far)]
    names = labels_of(given.names)
    of = 'update' if seen else ''
    differences = asked.differences(n, [new], names, right, bounds, of)
    causes = {}
    if seen and not Comparison(differences):
        update = given, arrays, grads, batches[n], k
        causes = update_causes(update, new, right, bounds)
    differences = [
        d._replace(
            replica=replica, cause=with_names(causes.get(d.array, ''), names)
        )
        for d in differences
    ]
    return Judged(differences, moves, names_of_still(names, moved))


def params_of(given, arrays):
    """Return the places of the parameters: of all arrays, where names do not
    tell which belong to another one."""
    places = {at for at in given.places.values() if at is not None}
    return sorted(places) or [*range(len(arrays))]
