"""Where to look: an array's wrong move, beside those of known bugs."""

import contextlib
import re

import numpy as np

MOST_ARRAYS = 64  # the reference is called once for each
MOST_NUMBERS = 2**13  # of an array, in which causes are looked for
# Counts and places of a sample say nothing of the array.
SOME = re.compile(r'Wrong are \d+ of \d+ numbers, the first at \(.*?\)\.')
FEW = 'Wrong are only some of its numbers.'
BITS = re.compile(r'The move is right to \d+ bits, .*: precision\?$')
OR_KEPT = ', or what an optimizer keeps,'  # such as a momentum that is lost
ENOUGH = 16  # numbers of an array that show precision


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

    def __bool__(self):
        return any(some is not None for some in self.places)

    def take(self, arrays):
        """Return these numbers of the arrays."""
        return [
            a if some is None else a.reshape(-1)[some]
            for a, some in zip(arrays, self.places)
        ]

    def said(self, cause, j):
        """Return what is true of all of array `j` in the cause of its wrong
        move."""
        return cause if self.places[j] is None else SOME.sub(FEW, cause)


class Computed:
    """Pairs of an iterator, each computed when it is first needed: most
    causes are found before all moves with known bugs are."""

    def __init__(self, pairs):
        self.found, self.rest = [], iter(pairs)

    def __iter__(self):
        yield from self.found
        for pair in self.rest:
            self.found.append(pair)
            yield pair


def distance(found, right):
    """Return the largest difference of two arrays, in float64: infinite if a
    number is not finite and the other is not the same."""
    with np.errstate(invalid='ignore'):  # infinity less infinity
        off = abs(np.subtract(found, right, dtype='float64'))
    most = float(off.max(initial=0))
    if np.isnan(most):
        alike = np.equal(found, right)
        off[np.isnan(off)] = np.inf
        most = float(off.max(initial=0, where=~alike))
    return most


def moves_from(start, arrays, places):
    """Yield how far each array has moved: from `start[place]`, or a gradient,
    which has no place, from 0."""
    for array, at in zip(arrays, places):
        yield array if at is None else array - start[at]


def moves_of(exact, reference, starts, batches, n, places, k, sample):
    """Yield pairs of words and moves: how far each array goes in step `n`,
    first the right way, to the arrays `exact`, then with known bugs."""

    def move(part, n=n, turn=0, before=0, larger=None, shift=0):
        batch = batches[n].cast('float64')
        batch = batch.turn_labels(turn) if turn else batch
        batch = batch.shift_labels(shift) if shift else batch
        start = starts[n - before]
        start = [k * a if j == larger else a for j, a in enumerate(start)]
        arrays = cast(reference(start, batch.take(part)), 'float64')
        return sample.take(moves_from(start, arrays, places))

    def tried(words, *arguments):
        with contextlib.suppress(Exception):  # the reference may want more
            return [(words, move(*arguments))]
        return []

    rows = np.arange(batches[n].rows)
    right = sample.take(moves_from(starts[n], exact, places))
    yield 'the right one', right
    if n:
        for own in tried('that of the step before', slice(None), n - 1):
            yield own
            both = [sum(arrays) for arrays in zip(right, own[1])]
            yield 'the right one and that of the step before', both
        stuck = 'one of the minibatch of the step before'
        yield from tried(stuck, slice(None), n - 1, 0, -1)
        if None not in places:
            old = 'one from the parameters of the step before'
            yield from tried(old, rows, n, 0, 1)
    if len(rows) > 1:
        yield from tried('one without the last row', rows[:-1])
        yield from tried('one without the first row', rows[1:])
        for turn in (1, -1):
            words = 'one with labels of the row beside'
            yield from tried(words, rows, n, turn)
    for shift, how in ((1, 'more'), (-1, 'less')):
        words = f'one with labels shifted by one {how}'
        yield from tried(words, rows, n, 0, 0, None, shift)
    for shards in splits_of(rows, k):
        alone = []
        for i, shard in enumerate(shards):
            words = f'that of shard {i} alone ({which_rows(shard)})'
            alone += tried(words, shard)
        if len(alone) == len(shards):
            arrays = zip(*(own for _, own in alone))
            means = [sum(parts) / len(parts) for parts in arrays]
            yield "the mean of the shards' own", means
            # Of a mean over examples that is the right one.
            parts = [len(shard) / len(rows) for shard in shards]
            sums = [
                sum(part * a for part, a in zip(parts, arrays))
                for arrays in zip(*(own for _, own in alone))
            ]
            yield "the mean of the shards' own, weighted by their rows", sums
        yield from alone
        for i, shard in enumerate(shards if len(shards) > 2 else []):
            rest = np.setdiff1d(rows, shard)
            words = f'one without shard {i} ({which_rows(shard)})'
            yield from tried(words, rest)
    for j in range(min(len(starts[0]), MOST_ARRAYS) if k > 1 else 0):
        words = f'one with array {j} times {k}, as if each device had added it'
        yield from tried(words, rows, n, 0, 0, j)


def first_of(moves):
    """Return the first move: the right one."""
    return next(iter(moves))[1]


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


def which_rows(rows):
    """Return in words which rows of the minibatch these are: all from the
    first to the last, or every k-th."""
    if len(rows) == 1:
        return f'row {rows[0]}'
    step = rows[1] - rows[0]
    words = f'rows {rows[0]} to {rows[-1]}'
    return words if step == 1 else f'{words}, one in {step}'


def likely_cause(move, moves, bound, k, batch, start=None):
    """Return in words what an array's wrong move is, or ''. `moves`: pairs of
    words and moves, the right one first. `start`: the array before the
    step."""
    right = first_of(moves)
    if not np.isfinite(move).all():
        return 'It has numbers that are not finite.'
    if abs(move).max() <= bound:
        return 'It has not moved.'
    for what, known in moves:
        if distance(known, 0) <= bound:
            continue  # of rounding, anything may be a multiple
        scale = (move * known).sum() / max((known * known).sum(), 1e-300)
        rest = abs(move - scale * known).max()
        # Else Adam's moves, nearly all of one size, would fit anything.
        differs = known is right or abs(known - right).max() > 4 * max(
            bound, rest
        )
        limit = bound * max(1, abs(scale))  # rounding is scaled, too
        near = bound / abs(known).max()
        alike = known is not right and abs(scale - 1) <= near
        if move.size == 1 and not (alike or known is right):
            continue  # one number is a multiple of any other
        if differs and rest <= max(limit, abs(move).max() / 1e4):
            how = '' if alike else times(scale, k, batch, near)
            return f'The move is {what}{how}.'.replace('?.', '?')
    if are_reordered(move, right, bound):
        return 'The move has the right numbers in another order.'
    factors = factors_of_parts(move, right, bound, k)
    if factors:
        return (
            f'The move is the right one, its {k} parts one after the other '
            f'times {factors}: a separate factor for each shard?'
        )
    off = move - right
    if off.size > 2 and distance(off, off.mean()) <= bound:
        what = f'{off.mean():.3g} added to each number'
        return f'The move is the right one with {what}.'
    if start is not None and start.size > 2:
        scale = (off * start).sum() / max((start * start).sum(), 1e-300)
        if abs(off - scale * start).max() <= bound:
            return (
                f'The move is the right one and {scale:.3g} times what was '
                f'there: a decay{OR_KEPT} left out or counted again?'
            )
    bits = bits_of(off, moves, bound)
    if bits >= 6.5:
        return (
            f'The move is right to {bits:.0f} bits, in large and small '
            'numbers alike: precision?'
        )
    wrong = abs(off) > bound
    if wrong.sum() < 0.8 * wrong.size:
        first = tuple(int(i[0]) for i in np.nonzero(wrong))
        parts = [(what, known[wrong]) for what, known in moves]
        cause = likely_cause(move[wrong], parts, bound, k, batch)
        return (
            f'Wrong are {wrong.sum()} of {wrong.size} numbers, the first at '
            f'{first}. {cause if wrong.sum() > 1 else ""}'
        ).strip()
    return ''


def are_reordered(move, right, bound):
    """Return whether these are the right numbers in another order, of which
    most can be told apart: those of Adam's first step, nearly all of one
    size, would fit if as many are wrong either way."""
    own, due = np.sort(move, None), np.sort(right, None)
    told = np.diff(due[abs(due) > bound]) > bound
    return distance(own, due) <= bound and 2 * told.sum() >= max(told.size, 1)


def factors_of_parts(move, right, bound, k):
    """Return in words by which factors the k parts of an array are wrong, or
    '' if one of them is right, or all are wrong by the same."""
    found = []
    for own, known in zip(np.array_split(move, k), np.array_split(right, k)):
        scale = (own * known).sum() / max((known * known).sum(), 1e-300)
        sure = bound / max(abs(known).max(initial=0), 1e-300)
        off = distance(own, scale * known)
        if own.size < 8 or off > bound or abs(scale - 1) <= 4 * sure:
            return ''
        found.append((scale, sure))
    scales = [scale for scale, _ in found]
    if max(scales) - min(scales) <= 4 * max(sure for _, sure in found):
        return ''
    return ', '.join(in_digits(*pair) for pair in found)


def in_digits(scale, near):
    """Return a factor with as many digits as are sure."""
    digits = 6
    if near and scale:
        sure = -np.log10(near / abs(scale))
        digits = int(np.clip(np.floor(sure), 1, 6))
    said = f'{scale:.{digits}g}'
    return said if float(said) != 1 else f'{scale:.6g}'


def bits_of(off, moves, bound):
    """Return to how many bits each number of a move is right, or 0 if its
    error is not that of a shorter float: as large as the terms that were
    added let it be, and of both signs."""
    terms = [abs(known) for what, known in moves if 'of shard' in what]
    size = sum(terms) / len(terms) if terms else abs(first_of(moves))
    ratios = abs(off) / np.maximum(size, 1e-300)
    beyond = np.maximum(abs(off) - bound, 0) / np.maximum(size, 1e-300)
    worst, sure = beyond.max(), abs(off) > bound
    signs = max(  # rounding is up and down, and both in either sign
        abs(np.sign(off).sum()), abs(np.sign(off * first_of(moves)).sum())
    ) / np.sqrt(off.size)
    if off.size < ENOUGH or worst == 0 or signs > 4:
        return 0
    if not sure.any() or np.median(ratios) < worst / 32:
        return 0
    return -np.log2(worst)


def without_few_bits(causes, sizes):
    """Return the causes of wrong arrays without that of precision if more of
    them have none: then it is small in a few arrays by chance."""
    told = [cause for cause, size in zip(causes, sizes) if size >= ENOUGH]
    if told.count('') > sum(bool(BITS.search(cause)) for cause in told):
        return [BITS.sub('', cause).strip() for cause in causes]
    return causes


def times(scale, k, batch, near=0):
    """Return a factor in words, for a minibatch on k devices. `near`: how far
    rounding may move a factor of 1."""
    n = batch.rows
    shard = -(-n // k)  # the longest
    root = np.sqrt(k)  # if it is whole, such a factor says too little
    root = 1 if root.is_integer() else root
    for factor, words in (
        (k, f', times the {k} devices: a sum where a mean is due?'),
        (1 / k, f', divided by the {k} devices: a mean where a sum is due?'),
        (n, f', times the {n} rows: a sum where a mean is due?'),
        (1 / n, f', divided by the {n} rows: divided again?'),
        (2, ', twice: added to what was there?'),
        (-1, ', backward'),
        (root, f', times the square root of the {k} devices: a norm of one?'),
        (
            1 / root,
            f', divided by the square root of the {k} devices: squares '
            f'counted {k} times in a norm?',
        ),
        (n / shard, f', times {n} / {shard}: divided by a shard of rows?'),
        (n / shard / k, f', times {n} / {shard * k}: padding counted?'),
    ):
        slack = near * max(1, abs(factor))
        if slack > min(abs(factor - 1), abs(factor)) / 4:
            slack = 0  # so near to others that it would fit by chance
        if abs(factor - 1) > 1e-3 and abs(scale - factor) < max(1e-4, slack):
            return words
    for right, due in batch.counts().items():
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
    words = f' times {in_digits(scale, near)}'
    return '' if words == ' times 1' else words
