"""The questions that `same_step` asks of each step."""

from typing import Any, NamedTuple

import numpy as np

from .causes import Case, apart, cast, distance, starts_of
from .comparison import Comparison, Difference
from .explain import explain
from .measure import check_reference, check_shapes, check_that_it_moves
from .parts import low_gradients, low_update_bounds
from .progress import shown
from .trees import in_few, labels_of
from .updates import pushed, right_update, update_bounds, update_causes

LOST = 'No gradients of the step are seen, so only new arrays were compared.'
MORE = 1.1  # times the gradients: a right update shows that
HIDES_MORE = (
    'no gradients of the step are seen, and its new arrays, which are right, '
    f'would hardly be others if the gradients were {MORE} times as large: '
    'clipping or the optimizer hides that. Let the step return '
    'Taken(gradients, params), in PyTorch with an optimizer that is given as '
    '`optimizer` or is one of torch.optim; or take SGD without clipping in '
    'both functions'
)
ADAM = (
    'Rounding alone moves some numbers by {:.0%} of the largest move, as with '
    'Adam where a gradient is near 0: it may be a false alarm, or hide a bug. '
    'Give `update`.'
)
BY_ORDER = (
    'Hardly judged, since rounding or the order of the examples decides: {}.'
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

    def case(self, starts, places):
        """Return the last of several steps, for its causes."""
        own = self.batches[: len(starts)]
        return Case(self.given, starts, own, places, self.num_devices)


def differences_of(n, replicas, labels, right, bounds, of=''):
    """Return the Difference of each array of each replica in step n."""
    differences = []
    for i, replica in enumerate(replicas):
        for j, (a, label) in enumerate(zip(replica, labels)):
            error, bound = worst(a, right[j], bounds[j])
            differences.append(
                Difference(n, i, j, error, bound, '', label, of)
            )
    return differences


def worst(found, right, bound):
    """Return how far the number is off that is furthest for its own bound,
    and that bound."""
    off = apart(found, right)
    if not off.size:
        return 0.0, float(bound.max(initial=1e-30))
    at = (off / bound if bound.ndim else off).argmax()
    bound = np.broadcast_to(bound, off.shape)
    return float(off.flat[at]), float(bound.flat[at])


def compare_results(asked):
    """Return how what a step makes of each minibatch differs from what the
    reference makes of it, each going on from its own arrays."""
    given, batches, how, _ = asked

    def one(function):
        return lambda *own: [function(*own)]

    right = results_of(one(given.reference), given.start, batches, 'float64')
    if len(batches) > 1 and given.result_names != given.names:
        raise ValueError(
            'with several minibatches the reference must return all arrays: '
            f'{given.names}, not {given.result_names}'
        )
    lows = []
    orders = [*zip(*map(how.orders_of, batches))]
    for i, own in enumerate(shown(orders, 'orders of the minibatches')):
        start = how.start(given.start, i, own[0])
        lows.append(results_of(one(given.low), start, own, how.dtype))
    found = results_of(
        lambda *own: [new for _, new in given.step(*own)],
        *(given.start, batches, how.dtype),
    )
    starts, moves = [cast(given.start, 'float64')], False
    labels = labels_of(given.result_names)
    for n, (exact,) in enumerate(right):
        check_reference(exact, n)
        check_shapes(found[n], exact)
        places = [*range(len(exact))]
        begin = starts_of(starts[n], exact, places)
        moved = [a - s for a, s in zip(exact, begin)]
        others = [check_reference(low[n][0], n) for low in lows]
        bounds = how.bounds_of(exact, others, moved)
        largest = [float(bound.max()) for bound in bounds]
        moved = [distance(move, 0) for move in moved]
        moves |= any(map(np.greater, moved, largest))
        if not n:
            first = np.maximum(largest, np.median(largest))
        comparison = Comparison(
            differences_of(n, found[n], labels, exact, bounds),
            float(np.max(largest / first)),
            adam_notes(exact, moved, largest, how),
            names_of_still(labels, moved),
        )
        if not comparison:
            case = asked.case(starts, places)
            return explain(comparison, found[n], exact, bounds, case)
        starts.append(exact)
    check_that_it_moves(moves)
    return comparison


def results_of(function, arrays, batches, dtype):
    """Return what a function makes of each minibatch, for each replica, going
    on from what it has made of the one before."""
    results, arrays = [], cast(arrays, dtype)
    for batch in batches:
        replicas = function(arrays, batch.cast(dtype))
        results.append([cast(own, dtype) for own in replicas])
        arrays = results[-1][0]
    return results


def names_of_still(names, moved):
    """Return which arrays should not move."""
    return [name for name, move in zip(names, moved) if move == 0]


def adam_notes(exact, moved, largest, how):
    """Return a note if rounding moves an array by much of its move, and by
    more than its own roundings."""
    spreads = [bound / how.factor for bound in largest]
    parts = [
        spread / move
        for new, move, spread in zip(exact, moved, spreads)
        if spread > 16 * how.rounding * abs(new).max(initial=0) and move
    ]
    worst = max(parts, default=0)
    return [ADAM.format(worst)] if worst > 0.05 else []


class Turn(NamedTuple):
    """A step's arrays, and the gradients that it should find, within their
    bounds; `grads` is None where those that it found are judged."""

    n: int  # of the minibatch
    arrays: list
    grads: Any
    bounds: list


def due_gradients(given, how, arrays, batch, n=0):
    """Return the right gradients, and how far each number of them may be
    off. Models may be large: arrays in float64 are made where they are
    needed."""
    exact = cast(arrays, 'float64'), batch.cast('float64')
    grads = check_reference(cast(given.reference(*exact), 'float64'), n)
    del exact
    lows = low_gradients(given, how, arrays, batch, grads, n)
    return grads, how.bounds_of(grads, lows)


def ask_both(asked):
    """Return the Comparison of the gradients, or of the update made of them,
    if there is one.

    Each step is judged from where the step before has really ended; without
    an update, from the first arrays.
    """
    given, batches, how, _ = asked
    arrays, moves, notes = given.start, False, []
    if given.has_update:
        arrays = cast(given.start, how.dtype, copy=False)
    for n, batch in enumerate(batches):
        due = due_gradients(given, how, arrays, batch, n)
        turn = Turn(n, arrays, *due)
        del due
        # It gets a copy, which it may change.
        taken = given.step(cast(arrays, how.dtype), batch.cast(how.dtype))
        if not given.has_update:
            taken = [(new if own is None else own, None) for own, new in taken]
            comparison, moved = judge_gradients(asked, turn, taken)
        else:
            seen = True
            if all(own is not None for own, _ in taken):
                comparison, seen = judge_gradients(asked, turn, taken)
                if not comparison:
                    return comparison
                notes = comparison.notes
                turn = turn._replace(grads=None)
            after = [(own, cast(new, how.dtype)) for own, new in taken]
            check_shapes([new for _, new in after], arrays)
            del taken
            comparison, moved = judge_updates(asked, turn, after)
            comparison.notes.extend(notes)
            moved &= seen
            arrays = after[0][1]
        if not comparison:
            return comparison
        moves |= moved
    check_that_it_moves(moves)
    return comparison


def judge_gradients(asked, turn, taken):
    """Return the Comparison of the gradients of each replica, and whether any
    is larger than rounding."""
    given, _, how, _ = asked
    n, arrays, grads, bounds = turn
    labels = labels_of(given.result_names)
    found = [cast(own, how.dtype) for own, _ in taken]
    check_shapes(found, grads)
    of = 'gradient' if given.has_update else ''
    sizes = [distance(g, 0) for g in grads]
    places = places_of(given, *taken[0])
    moves = [*map(distance, grads, starts_of(arrays, grads, places))]
    least = 16 * how.factor * how.rounding * max(sizes)
    hidden = [
        label
        for label, move, bound in zip(labels, moves, bounds)
        if bound.max() >= max(move, least) > 0
    ]
    comparison = Comparison(
        differences_of(n, found, labels, grads, bounds, of),
        notes=[BY_ORDER.format(in_few(hidden))] if hidden else [],
        still=names_of_still(labels, sizes),
    )
    if not comparison:
        starts = [cast(arrays, 'float64')] * (n + 1)
        case = asked.case(starts, places)
        comparison = explain(comparison, found, grads, bounds, case)
    return comparison, any(m > b.max() for m, b in zip(moves, bounds))


def places_of(given, found, new):
    """Return for each gradient None, or where the array stands of which it is
    the new value itself: that of a running mean, which has no gradient."""
    after = dict(zip(given.names, enumerate(new or ())))
    places = []
    for name, own in zip(given.result_names, found):
        at, array = after.get(name, (None, None))
        places.append(at if np.array_equal(own, array) else None)
    return places


def judge_updates(asked, turn, after):
    """Return the Comparison of the new arrays with what the update makes of
    the gradients; and whether something moves that should. `after`:
    (gradients, or None, and new arrays) of each replica. Raises ValueError
    if they are right, and hide the gradients, which are not seen."""
    given, batches, how, _ = asked
    low = low_update_bounds(given, how, turn.arrays, batches[turn.n])
    differences, moves = [], False
    for i, taken in enumerate(after):
        own, moved, still = judge_update(asked, turn, taken, low)
        differences += [d._replace(replica=i) for d in own]
        moves |= moved
    notes = [] if after[0][0] is not None else [LOST]
    if notes and Comparison(differences):
        more = [MORE * grad for grad in turn.grads]
        new = right_update(given, turn.arrays, more)
        if Comparison(judge_update(asked, turn, (None, new), low)[0]):
            raise ValueError(HIDES_MORE)
    if any(
        not np.array_equal(a, b)
        for _, new in after[1:]
        for a, b in zip(after[0][1], new)
    ):
        notes.append(APART)
    return Comparison(differences, 1, notes, still), moves


def judge_update(asked, turn, taken, low_bounds):
    """Return the Differences of the new arrays of one replica; whether a
    parameter moves at all, and something further than rounding; and the names
    of arrays that should not move."""
    given, batches, how, _ = asked
    n, arrays, due, off = turn
    grads, new = taken
    own = due if grads is None else grads
    right = check_reference(right_update(given, arrays, own), n)
    bounds = update_bounds(given, how, arrays, own, right, low_bounds)
    moved = [distance(a, s) for a, s in zip(right, arrays)]
    labels, of = labels_of(given.names), '' if grads is None else 'update'
    still = names_of_still(labels, moved)
    # In bfloat16 what an optimizer keeps may be all that is seen to move.
    moves = any(m > b.max() for m, b in zip(moved, bounds)) and (
        not still or given.moves(arrays, right, batches[n])
    )
    if grads is None:
        far = pushed(given, arrays, own, off, right)
        bounds = [bound + f for bound, f in zip(bounds, far)]
    differences = differences_of(n, [new], labels, right, bounds, of)
    if of and not Comparison(differences):
        causes = update_causes(given, arrays, grads, new, right, bounds)
        differences = [
            d._replace(cause=causes.get(d.array, '')) for d in differences
        ]
    return differences, moves, still
