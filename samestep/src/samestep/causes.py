"""Where to look: an array's wrong move, beside those of known bugs."""

import contextlib
from typing import Any, NamedTuple

import numpy as np

from .comparison import without_guess
from .trees import labels_of

MOST_ARRAYS = 64  # the reference is called once for each
MOST_NUMBERS = 2**13  # of an array, in which causes are looked for
ENOUGH_BITS = 16  # numbers of an array that show precision


class Case(NamedTuple):
    """A step that is wrong, of several: what its causes are looked for in."""

    given: Any  # Functions
    starts: list  # the right arrays before each step
    batches: list
    places: list  # of which array each goes on from; a gradient has None
    num_devices: int
    sample: Any = None  # the Sample of each array's numbers

    def moves(self, part, step=-1, start=None, batch=None):
        """Return how far the reference moves each array with some rows."""
        start = self.starts[step] if start is None else start
        batch = (batch or self.batches[step]).cast('float64')
        found = self.given.reference(start, batch.take(part))
        arrays = cast(found, 'float64')
        begin = self.sample.take(starts_of(start, arrays, self.places))
        return [a - s for a, s in zip(self.sample.take(arrays), begin)]


class Move(NamedTuple):
    """How far an array has moved, how far it should have, and by how much
    each number may be off."""

    found: np.ndarray
    right: np.ndarray
    bounds: np.ndarray
    start: Any = None  # the array before the step; a gradient's is 0
    is_sample: bool = False  # of the numbers of an array

    def part(self, which):
        """Return some of its numbers."""
        bounds = np.broadcast_to(self.bounds, self.found.shape)
        return Move(self.found[which], self.right[which], bounds[which])


def cast(arrays, dtype, copy=True):
    """Return the arrays with floats of `dtype`; others stay as they are."""
    arrays = [np.asarray(array) for array in arrays]
    return [
        a.astype(dtype, copy=copy) if a.dtype.kind == 'f' else a
        for a in arrays
    ]


class Sample:
    """Some of the numbers of each array that has many, since moves with many
    known bugs are held at once: evenly spaced ones, and the most wrong."""

    def __init__(self, replicas, right):
        self.places = []
        for j, exact in enumerate(right):
            some = None
            if exact.size > MOST_NUMBERS:
                off = sum(abs(own[j] - exact) for own in replicas).reshape(-1)
                half = MOST_NUMBERS // 2
                some = np.union1d(
                    np.arange(0, exact.size, -(-exact.size // half) | 1),
                    np.argpartition(off, -half)[-half:],
                )
            self.places.append(some)

    def take(self, arrays):
        """Return these numbers of the arrays."""
        return [
            a if some is None else a.reshape(-1)[some]
            for a, some in zip(arrays, self.places)
        ]

    def moves(self, found, right, bounds, start):
        """Return the Move of these numbers of each array from its start."""
        bounds = [
            bound
            if some is None or not bound.ndim
            else np.broadcast_to(bound, exact.shape).reshape(-1)[some]
            for bound, some, exact in zip(bounds, self.places, right)
        ]
        parts = zip(*map(self.take, (found, right, start)), self.places)
        return [
            Move(a - s, b - s, bound, s, some is not None)
            for (a, b, s, some), bound in zip(parts, bounds)
        ]


def apart(found, right):
    """Return how far the numbers of two arrays are apart, in float64:
    infinitely if one is not finite and the other is not the same."""
    with np.errstate(invalid='ignore'):  # infinity less infinity
        off = abs(np.subtract(found, right, dtype='float64'))
    if np.isnan(off).any():
        off[np.isnan(off)] = np.inf
        off[np.equal(found, right)] = 0
    return off


def distance(found, right):
    """Return the largest difference of two arrays."""
    return float(apart(found, right).max(initial=0))


def within(off, bounds):
    """Return whether no number is further off than its bound."""
    with np.errstate(invalid='ignore'):  # NumPy before 1.19 warns of NaN
        return bool((abs(off) <= bounds).all())


def starts_of(start, arrays, places):
    """Return from where each array has moved: from `start[place]`, or a
    gradient, which has no place, from 0."""
    return [
        np.zeros(array.shape) if at is None else start[at]
        for array, at in zip(arrays, places)
    ]


def moves_by(case, tries):
    """Yield pairs of words and moves: how far each array goes by each of the
    changes of `tries`, which has words and keywords of `Case.moves`."""
    for words, changes in tries:
        with contextlib.suppress(Exception):  # the reference may want more
            yield words, case.moves(slice(None), **changes)


def moves_before(case):
    """Yield those by what is left of the step before, if there is one."""
    n = len(case.starts) - 1
    stuck = 'one of the minibatch of the step before'
    tries: list = [
        ('that of the step before', dict(step=n - 1)),
        (stuck, dict(batch=case.batches[n - 1])),
    ]
    if None not in case.places:
        words = 'one from the parameters of the step before'
        tries.append((words, dict(start=case.starts[n - 1])))
    return moves_by(case, tries if n else ())


def moves_of_others(case):
    """Yield those with shifted labels, and with an array added k times."""
    k, start = case.num_devices, case.starts[-1]
    tries: list = []
    for shift, how in ((1, 'more'), (-1, 'less')):
        with contextlib.suppress(ValueError):  # they may be no such numbers
            other = case.batches[-1].shift_labels(shift)
            words = f'one with labels shifted by one {how}'
            tries.append((words, dict(batch=other)))
    names = labels_of(case.given.names)[:MOST_ARRAYS]
    for j, name in enumerate(names) if k > 1 else ():
        words = f'one with {name} times {k}, as if each device had added it'
        own = [k * a if i == j else a for i, a in enumerate(start)]
        tries.append((words, dict(start=own)))
    return moves_by(case, tries)


def splits_of(rows, k):
    """Return the ways to split rows into k shards, the longer ones first or
    last, or every k-th row each; none if there would be one shard."""
    longer_first = np.array_split(rows, k)
    longer_last = [part[::-1] for part in np.array_split(rows[::-1], k)][::-1]
    strided = [rows[i::k] for i in range(k)]
    splits = [
        [shard for shard in split if len(shard)]
        for split in (longer_first, longer_last, strided)
    ]
    return [split for split in splits if len(split) > 1]


def plain_cause(move, meaning):
    """Return in words what a wrong move is, as far as it and the right one
    show it; or ''. `meaning`: a function that returns what a factor of the
    right one may mean, or ''."""
    found, right, bounds, start, _ = move
    if not np.isfinite(found).all():
        return 'It has numbers that are not finite.'
    if within(found, bounds):
        return 'It has not moved.'
    multiple = multiple_of(move, right)
    if multiple:
        said = in_digits(*multiple)
        times = meaning(*multiple) or (
            f' times {said}.' if said != '1' else ''
        )
        if times:
            return f'The move is the right one{times}'
    off = found - right
    for words, other in (
        ('with {:.3g} added to each number.', np.ones(off.shape)),
        (
            'and {:.3g} times what was there: a decay, or what an optimizer '
            'keeps, left out or counted again?',
            np.zeros(off.shape) if start is None else start,
        ),
    ):
        scale = (off * other).sum() / max((other * other).sum(), 1e-300)
        if off.size > 2 and within(off - scale * other, bounds):
            return f'The move is the right one {words.format(scale)}'
    return ''


def cause_by(move, pairs):
    """Return in words that a move is another one, or the right one and
    another; or ''. `pairs`: words, and moves."""
    rest = move._replace(found=move.found - move.right)
    for words, other in pairs:
        for first, own in (('', move), ('the right one and ', rest)):
            multiple = multiple_of(own, other)
            if multiple:
                scale, near = multiple
                once = abs(scale - 1) <= near
                how = '' if once else f' times {in_digits(scale, near)}'
                if once or move.found.size > 2:  # few fit by chance
                    return f'The move is {first}{words}{how}.'
    return ''


def multiple_of(move, other):
    """Return how many times another move this is, and how far rounding may
    move that; or None if it is no multiple."""
    found, right, bounds, *_ = move
    if within(other, bounds):
        return None  # of rounding, anything may be a multiple
    scale = (found * other).sum() / max((other * other).sum(), 1e-300)
    rest = abs(found - scale * other)
    most = float(np.max(bounds))
    # Else Adam's moves, nearly all of one size, would fit anything.
    if other is not right and not (
        abs(other - right).max() > 4 * max(most, rest.max())
    ):
        return None
    # Rounding is scaled, too.
    larger = max(1, abs(scale), least_of(move) / most / 1e4)
    near = most / abs(other).max()
    return (scale, near) if within(rest, larger * bounds) else None


def least_of(move):
    """Return how large a move is, or its error if that is smaller: what a
    cause has to explain."""
    found, right, *_ = move
    return min(distance(found, 0), distance(found, right))


def meaning_of(k, batch, of_all, scale, near):
    """Return in words what a factor of the right move may mean, for a
    minibatch on k devices, or ''. `of_all`: whether all arrays are wrong, as
    if the loss is. `near`: how far rounding may move a factor of 1. What is a
    guess stands behind the last colon."""
    n = batch.rows
    again = ', or counted twice' if k == 2 else ''
    for factor, words in (
        (k, f'times the {k} devices: a sum where a mean is due{again}?'),
        (1 / k, f'divided by the {k} devices: a mean where a sum is due?'),
        (n, f'times the {n} rows: a sum where a mean is due?'),
        (1 / n, f'divided by the {n} rows: divided again?'),
        (2, 'twice: added to what was there?'),
        (-1, 'backward.'),
    ):
        slack = near * max(1, abs(factor))
        if slack > min(abs(factor - 1), abs(factor)) / 4:
            slack = 0  # so near to others that it would fit by chance
        if abs(factor - 1) > 1e-3 and abs(scale - factor) < max(1e-4, slack):
            return f', {words}'
    for right, due in batch.counts().items() if of_all else ():
        for wrong, taken in batch.counts().items():
            if due != taken and abs(scale * taken / due - 1) < 2e-5:
                # Divided by these, or multiplied by those: either fits.
                return (
                    f', times {due} / {taken}: the {wrong} taken for the '
                    f'{right}, or the reverse?'
                )
    power = round(np.log2(abs(scale) + 1e-300))
    slack = max(1e-3, min(near, 0.1))
    if abs(power) > 4 and abs(scale / 2.0**power - 1) < slack:
        return f', times 2 to the power of {power}: a scale of the loss?'
    return ''


def in_digits(scale, near):
    """Return a factor with as many digits as are sure."""
    digits = 6
    if near and scale:
        sure = -np.log10(near / abs(scale))
        digits = int(np.clip(np.floor(sure), 1, 6))
    for more in range(digits, 7):  # else 1.5 would be called 2
        said = f'{scale:.{more}g}'
        if abs(float(said) - scale) <= abs(scale - 1) / 10:
            break
    return said


def wrong_numbers(move):
    """Return which numbers of a move are wrong, if others that should move
    are right; or None."""
    with np.errstate(invalid='ignore'):  # NumPy before 1.19 warns of NaN
        wrong = ~(abs(move.found - move.right) <= move.bounds)
    due = wrong | (abs(move.right) > 0)
    return wrong if wrong.sum() < 0.8 * due.sum() else None


def said_of_some(wrong, move, cause):
    """Return in words which numbers are wrong, of those that should move, and
    the cause, without what it would mean if all were."""
    due = int((wrong | (abs(move.right) > 0)).sum())
    first = tuple(int(i[0]) for i in np.nonzero(wrong))
    said = f'Wrong are {wrong.sum()} of {due} numbers, the first at {first}.'
    if move.is_sample:
        said = 'Wrong are only some of its numbers.'
    return f'{said} {without_guess(cause)}'.rstrip()


def precision_cause(move, terms=None):
    """Return in words that a move is rounded to fewer bits, or ''. `terms`:
    the size of what was added up."""
    bits = bits_of(move, abs(move.right) if terms is None else terms)
    if bits < 6.5:
        return ''
    return (
        f'The move is right to {bits:.0f} bits, in large and small numbers '
        'alike: precision?'
    )


def bits_of(move, terms):
    """Return to how many bits each number of a move is right, or 0 if its
    error is not that of a shorter float: as large as the terms that were
    added let it be, and of both signs."""
    off, size = move.found - move.right, np.maximum(terms, 1e-300)
    ratios = abs(off) / size
    beyond = np.maximum(abs(off) - move.bounds, 0) / size
    worst, sure = beyond.max(), abs(off) > move.bounds
    signs = max(  # rounding is up and down, and both in either sign
        abs(np.sign(off).sum()), abs(np.sign(off * move.right).sum())
    ) / np.sqrt(off.size)
    if off.size < ENOUGH_BITS or worst == 0 or signs > 4:
        return 0
    if not sure.any() or np.median(ratios) < worst / 32:
        return 0
    return -np.log2(worst)
