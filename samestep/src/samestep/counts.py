"""How often a wrong gradient counts each row of the minibatch.

Most losses are weighted sums over rows: of a mean, the weights are 1/n, of a
mean over tokens the row's tokens over all. Least squares finds the weights
with which the gradients of single rows make the right gradient, and those
with which they make the step's. Their ratio is how often the step counts each
row. If they make the right gradient alone, its error is something else.
"""

import contextlib

import numpy as np

from .causes import splits_of, which_rows, within
from .progress import shown

MOST_ROWS = 256  # the reference is called once for each, or for as many blocks
FEW = 6  # counts that are said one by one
MOST_PARTS = 16  # of a minibatch, whose means may have been averaged
FREE = 8  # numbers more than rows, to see whether they fit


class Rows:
    """The gradients of a minibatch's rows, or of blocks of them."""

    def __init__(self, case):
        self.case = case
        rows = np.arange(case.batches[-1].rows)
        blocks = np.array_split(rows, min(MOST_ROWS, len(rows)))
        self.blocks, self.alone = alone(case, blocks, 'rows')

    def counted(self, moves, which=...):
        """Return in words how often these moves of arrays, by their numbers,
        count each row; or '' if they are no sum over rows. `which`: the
        numbers of an array that they are."""
        if not self.alone:
            return ''
        table = table_of(self.alone, moves, which)
        due, _ = weights_of(table, flat(moves, 'right'))
        own, unsure = weights_of(table, flat(moves, 'found'))
        if due is None or own is None:
            return ''
        with np.errstate(divide='ignore', invalid='ignore'):
            counts, unsure = own / due, unsure / abs(due)
        if not (np.isfinite(counts).all() and unsure.max() < 0.2):
            return ''
        return words_for(self.blocks, counts, due, unsure)


class Shards:
    """The gradients of shards, for losses that are no sum over rows: those of
    pairs, or of the statistics of a minibatch."""

    def __init__(self, case):
        k, batch = case.num_devices, case.batches[-1]
        self.splits = []
        for shards in splits_of(np.arange(batch.rows), k):
            blocks, moves = alone(case, shards, 'shards')
            if len(blocks) == len(shards):
                self.splits.append((shards, moves, batch.rows))

    def counted(self, moves, which=...):
        """Return in words of which shards these moves are the sum, or ''."""
        for shards, own, rows in self.splits:
            table = table_of(own, moves, which)
            weights, unsure = weights_of(table, flat(moves, 'found'))
            if weights is None or unsure.max() > 0.2:
                continue
            sure = 0.002 + unsure
            parts = np.array([len(shard) / rows for shard in shards])
            if within(weights - 1 / len(shards), sure):
                return "The move is the mean of the shards' own."
            if within(weights - parts, sure):
                return (
                    "The move is the mean of the shards' own, weighted by "
                    'their rows.'
                )
            near_0 = abs(weights) <= sure
            said = [f'{w:.3g}' for w in np.where(near_0, 0, weights)]
            if near_0.sum() == len(shards) - 1:
                i = int((~near_0).argmax())
                alike = abs(weights[i] - 1) <= sure[i]
                how = '' if alike else f' times {said[i]}'
                which = which_rows(shards[i])
                return f'The move is that of shard {i} alone ({which}){how}.'
            return f"The move is the shards' own, times {', '.join(said)}."
        return ''

    def terms(self, j):
        """Return about how large the numbers are that were added up."""
        for _, own, _ in self.splits:
            return sum(abs(part[j]) for part in own) / len(own)
        return None


def alone(case, blocks, what):
    """Return the blocks of rows that can be judged alone, and their moves. A
    block of which the loss is not a number, such as a mean of nothing, counts
    for nothing."""
    kept, moves = [], []
    for rows in shown(blocks, what):
        with contextlib.suppress(Exception):  # it may be too few for it
            own = case.moves(rows)
            if all(np.isfinite(a).all() for a in own):
                kept.append(rows)
                moves.append(own)
    return kept, moves


def table_of(parts, moves, which):
    """Return the numbers of these arrays, each as a part of its bound: a
    column for each part of the minibatch."""
    return np.stack(
        [
            np.concatenate(
                [
                    np.ravel(own[j][which] / move.bounds)
                    for j, move in moves.items()
                ]
            )
            for own in parts
        ],
        1,
    )


def flat(moves, what):
    """Return the moves that were found, or the right ones, in this way."""
    return np.concatenate(
        [np.ravel(getattr(m, what) / m.bounds) for m in moves.values()]
    )


def weights_of(table, wanted):
    """Return the weights of the columns whose sum is wanted, each number to
    1, and how unsure they are; or (None, None) if there are none."""
    seen = (abs(table) > 1).any(axis=1)
    if seen.sum() < table.shape[1] + FREE:
        return None, None
    inverse = np.linalg.pinv(table, 1e-9)
    weights = inverse @ wanted
    if not within(table @ weights - wanted, 1):
        return None, None
    return weights, np.sqrt((inverse**2).sum(1))


def words_for(blocks, counts, due, unsure):
    """Return in words how often each block of rows is counted."""
    n = sum(map(len, blocks))
    groups: list = []  # (count, blocks), of about the same counts
    for i in np.argsort(counts):
        known = np.median(counts[groups[-1]]) if groups else np.inf
        if abs(counts[i] - known) <= 0.002 + unsure[i]:
            groups[-1].append(i)
        else:
            groups.append([i])
    groups = sorted(sorted(group) for group in groups)
    said, others = [], ''
    for group in groups:
        rows = in_ranges([blocks[i] for i in group])
        times = often(np.median(counts[group]))
        if not rows and not others:
            others = f'the others {times}'
        else:
            said.append(f'{rows or f"{len(group)} others"} {times}')
    said += [others] if others else []
    if len(groups) > FEW:
        said = [
            'each by its own weight, from '
            f'{counts.min():.3g} to {counts.max():.3g}'
        ]
    why = mean_of_means(counts, due, groups)
    return f'Of the {n} rows it counts {", ".join(said)}{why}.'


def mean_of_means(counts, due, groups):
    """Return in words that the counts are those of a mean of means, or ''."""
    own, whole = counts * due, due.sum()
    times = own.sum() / whole
    if len(groups) < 2 or not own.min() > 0:
        return ''
    if abs(times - 1) < 1e-3 and np.ptp(own) < 1e-3 * own.max() < (
        0.01 * np.ptp(due)
    ):
        return ': as a mean of the rows, each of the same weight, is'
    shares = [own[group].sum() / times / whole for group in groups]
    for k in range(2, min(MOST_PARTS, len(counts) // 2) + 1):
        parts = np.multiply(shares, k)
        if (abs(parts - parts.round()) < 2e-3).all() and min(parts) > 0.5:
            for what, due_times in (('mean', 1), ('sum', k)):
                if abs(times / due_times - 1) < 1e-3:
                    return f': as the {what} of the means of {k} parts is'
    return ''


def in_ranges(blocks):
    """Return which rows these are, or '' if that takes many words."""
    rows = np.concatenate(blocks)
    if len(rows) > 2 and len({*np.diff(rows)}) == 1 and rows[1] > rows[0] + 1:
        step = rows[1] - rows[0]
        return f'{rows[0]} to {rows[-1]} (one in {step})'
    ends = np.nonzero(np.diff(rows) != 1)[0]
    runs = [(run[0], run[-1]) for run in np.split(rows, ends + 1)]
    said = [f'{a} to {b}' if b > a else f'{a}' for a, b in runs]
    first = ', '.join(said[:-1])
    if len(said) > FEW:
        return ''
    return f'{first} and {said[-1]}' if first else said[-1]


def often(count):
    """Return how many times that is, in words."""
    count = round(float(count), 3) + 0.0
    return {0: 'never', 1: 'once', 2: 'twice'}.get(count, f'{count:.3g} times')
