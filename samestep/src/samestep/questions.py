"""The questions that `same_step` asks of each step."""

import numpy as np

from .causes import cast, distance, moves_from
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


def compare_results(given, batches, how, gradients, num_devices):
    """Return how what a step makes of each minibatch differs from what the
    reference makes of it, each going on from its own arrays."""

    def run(function, batches, dtype):
        results, arrays = [], cast(given.start, dtype)
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

    right = run(alone(given.reference), batches, 'float64')
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
            run(alone(given.low), own, how.dtype)
            for own in shown(in_orders, 'orders of the minibatches')
        ]
    found = run(of_step, batches, how.dtype)
    first, moves = None, False
    for n, (exact,) in enumerate(right):
        check_reference(exact, n)
        if gradients:
            lows = low_gradients(given, how, given.start, batches[n], exact, n)
        else:
            lows = [check_reference(other[n][0], n) for other in others]
        check_shapes(found[n], exact)
        spreads = how.spreads_of(exact, lows)
        first = first or [max(s, np.median(spreads)) for s in spreads]
        growth = max(now / then for now, then in zip(spreads, first))
        starts = [cast(given.start, 'float64'), *(r[0] for r in right[:n])]
        places = [*range(len(exact))]
        if gradients:
            starts, places = starts[:1] * (n + 1), [None] * len(exact)
        moved = [
            distance(move, 0) for move in moves_from(starts[n], exact, places)
        ]
        bounds = [how.factor * spread for spread in spreads]
        moves |= any(m > bound for m, bound in zip(moved, bounds))
        comparison = Comparison(
            differences(n, found[n], exact, bounds, given.labels),
            growth,
            notes_of(given.labels, moved),
        )
        if not gradients:
            comparison.notes.extend(adam_notes(exact, moved, spreads, how))
        if not comparison:
            return explain(
                *(comparison, found[n], exact, given.reference, starts),
                *(batches, places, num_devices),
            )
    check_that_it_moves(moves)
    return comparison


def differences(n, replicas, right, bounds, labels, of=''):
    """Return the Difference of each array of each replica."""
    return [
        Difference(n, i, j, distance(a, right[j]), bounds[j], '', name, of)
        for i, replica in enumerate(replicas)
        for j, (a, name) in enumerate(zip(replica, labels))
    ]


def notes_of(labels, moved):
    """Return what else a reader should know."""
    still = [name for name, move in zip(labels, moved) if move == 0]
    notes = []
    if still:
        notes.append(f'Not judged, since they do not move: {in_few(still)}.')
    return notes


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


def in_few(names):
    """Return some of the names, and how many more there are."""
    more = f' and {len(names) - 4} more' if len(names) > 5 else ''
    return ', '.join(names[:4] if more else names) + more


def ask_both(given, batches, how, num_devices):
    """Return the Comparison of the gradients, or of the update made of them.

    Each step is judged from where the step before has really ended. Models
    may be large: arrays in float64 are made where they are needed.
    """
    arrays, moves = cast(given.start, how.dtype, copy=False), False
    for n, batch in enumerate(batches):
        exact = cast(arrays, 'float64'), batch.cast('float64')
        grads = cast(given.reference(*exact), 'float64')
        check_reference(grads, n)
        if n == 0:
            given.find_params(*exact, grads)
        del exact
        lows = low_gradients(given, how, arrays, batch, grads, n)
        spreads = how.spreads_of(grads, lows)
        bounds = [how.factor * spread for spread in spreads]
        # It gets a copy, which it may change.
        taken = given.step(cast(arrays, how.dtype), batch.cast(how.dtype))
        seen = all(own is not None for own, _ in taken)
        if seen:
            found = [cast(own, how.dtype) for own, _ in taken]
            check_shapes(found, grads)
            comparison = Comparison(
                differences(n, found, grads, bounds, given.labels, 'gradient')
            )
            if not comparison:
                starts = [cast(arrays, 'float64')] * (n + 1)
                return explain(
                    *(comparison, found, grads, given.reference, starts),
                    *(batches, places_of(given, *taken[0]), num_devices),
                )
            del found
            grads = None
        after = [cast(new, how.dtype) for _, new in taken]
        taken = [own for own, _ in taken]
        check_shapes(after, arrays)
        low_spreads = low_update_spreads(given, how, arrays, batch)
        comparison, moved = judge_updates(
            *(given, how, n, batch, arrays, grads, bounds),
            *(taken, after, low_spreads, num_devices),
        )
        moves |= moved
        if not comparison:
            return comparison
        arrays = after[0]
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


def judge_updates(
    given, how, n, batch, arrays, grads, bounds, taken, after, low_spreads, k
):
    """Return the Comparison of the new arrays with what the update makes of
    the gradients; and whether something moves further than rounding
    hides, and a parameter at all."""
    found, notes, moves = [], [], False
    names = labels_of(given.names)
    owners = enumerate(owners_of(given, arrays))
    params = [j for j, (owner, _) in owners if owner == j]
    params = params or [*range(len(arrays))]  # their names do not tell
    for i, (own, new) in enumerate(zip(taken, after)):
        seen = own is not None
        own = grads if own is None else own
        right = right_update(given, arrays, own)
        check_reference(right, n)
        spreads = update_spreads(given, how, arrays, own, right, low_spreads)
        limits = [how.factor * spread for spread in spreads]
        moved = [distance(a, s) for a, s in zip(right, arrays)]
        # In bfloat16 what an optimizer keeps may be all that is seen to move.
        if any(moved[j] for j in params):
            moves |= any(m > limit for m, limit in zip(moved, limits))
        if seen:
            own_differences = differences(
                n, [new], right, limits, names, 'update'
            )
        else:
            far = pushed(given, arrays, grads, bounds, right)
            own_differences = [
                at_worst(n, j, new[j], right[j], limits[j] + far[j], names[j])
                for j in range(len(new))
            ]
        if seen and not all(d.error <= d.bound for d in own_differences):
            causes = update_causes(
                given, arrays, own, batch, new, right, limits, k
            )
            own_differences = [
                d._replace(cause=with_names(cause, names))
                if not d.error <= d.bound
                else d
                for d, cause in zip(own_differences, causes)
            ]
        found += [d._replace(replica=i) for d in own_differences]
        if i == 0:
            notes = notes_of(names, moved) + ([] if seen else [LOST])
    if any(
        not np.array_equal(a, b)
        for new in after[1:]
        for a, b in zip(after[0], new)
    ):
        notes.append(
            'The replicas are not bit for bit alike, and drift apart unless '
            'something copies one to the others.'
        )
    return Comparison(found, 1, notes), moves


def at_worst(n, j, found, right, bounds, name):
    """Return the Difference at the number that is furthest off for its own
    bound."""
    off = abs(found.astype('float64') - right)
    if not np.isfinite(off).all():
        return Difference(n, 0, j, np.inf, bounds.max(), '', name)
    at = (off / bounds).argmax()
    return Difference(
        *(n, 0, j, float(off.flat[at]), float(bounds.flat[at])),
        *('', name),
    )
