"""A decay that some arrays have, and should not, or the reverse: what all of
them show together, also in what an optimizer keeps of each."""

import numpy as np

from .causes import OR_KEPT, distance, within
from .trees import by_axes

ENOUGH = 3  # numbers of an array, to see a decay in it alone


def owners_of(given, arrays):
    """Return for each array the index of its parameter and what it is of it,
    such as `exp_avg`, or '' for the parameter itself; (None, '') if it is not
    seen. Their names begin or end with that of the gradient."""
    longest_first = sorted(given.places, key=len, reverse=True)
    owners = []
    for j, name in enumerate(given.names):
        owner, kind = None, ''
        for own in longest_first:
            at = given.places[own]
            if at is None or np.shape(arrays[at]) != np.shape(arrays[j]):
                continue
            if name.startswith(f'{given.names[at]}.'):
                owner, kind = at, name[len(given.names[at]) + 1 :]
            elif name == given.names[at] or name.endswith(f'.{own}'):
                owner, kind = at, '' if j == at else name[: -len(own) - 1]
            if owner is not None:
                break
        owners.append((owner, kind))
    return owners


def decay_causes(moves, bases, owners, axes):
    """Return the causes of arrays whose moves are off by a decay, by their
    indices. `bases`: the same numbers of the parameter of each array before
    the step; `axes`: how many it has."""
    causes: dict = {}
    shown: dict = {}
    offs = [move.found - move.right for move in moves]
    bounds = [move.bounds for move in moves]
    kept = any(  # by the optimizer, and wrong: is it what was lost?
        kind and move.is_wrong() for (_, kind), move in zip(owners, moves)
    )
    left_out = f'{OR_KEPT if kept else ","} left out or counted again'
    for kind in dict.fromkeys(kind for _, kind in owners):
        those = [
            j
            for j, (owner, own) in enumerate(owners)
            if own == kind and owner is not None
        ]
        wrong = [j for j in those if moves[j].is_wrong()]
        rate = shared_rate([(moves[j], bases[j]) for j in wrong])
        if rate is None:
            continue
        alike = [j for j in wrong if is_off_by(rate, offs, bases, bounds, j)]
        if 2 * len(alike) <= len(wrong):
            continue
        seen = [j for j in those if not within(rate[0] * bases[j], bounds[j])]
        which = by_axes(alike, seen, axes)
        of_these = f' of {which}' if which else ''
        what = 'its parameter' if kind else 'what was there'
        for j in alike:
            shown.setdefault(owners[j][0], kind)
            causes[j] = (
                f'The move is the right one and {rate[0]:.3g} times {what}: '
                f'a decay{of_these}{left_out}?'
            )
    for j, (owner, _) in enumerate(owners):
        if owner in shown and j not in causes:
            what = f'Its {shown[owner]}' if shown[owner] else 'The parameter'
            causes[j] = f'{what} shows a decay{left_out}.'
    return causes


def shared_rate(given):
    """Return by how many times their bases arrays are off, and how sure that
    is: as the one says that is most sure of it; or None."""
    rates = []
    for move, base in given:
        off, due, bounds = move.found - move.right, move.right, move.bounds
        size = np.sqrt((base * base).sum())
        if np.size(base) < ENOUGH or not size:
            continue
        rate, own = ((a * base).sum() / size**2 for a in (off, due))
        # Else any other factor of the move would look like a decay, too.
        differs = not within(due - own * base, 4 * bounds)
        if differs and within(off - rate * base, bounds):
            rates.append((rate, float(np.max(bounds)) / size))
    return min(rates, key=lambda own: own[1] / abs(own[0]), default=None)


def is_off_by(rate, offs, bases, bounds, j):
    """Return whether an array is off by this rate of its base."""
    rate, sure = rate
    slack = sure * distance(bases[j], 0)
    return within(offs[j] - rate * bases[j], bounds[j] + slack)
