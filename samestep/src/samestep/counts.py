"""How often a wrong gradient counts each row of the minibatch.

Most losses are weighted sums over rows: of a mean, the weights are 1/n, of a
mean over tokens the row's tokens over all. Least squares finds the weights
with which the gradients of single rows make the right gradient, and those
with which they make the step's. Their ratio is how often the step counts each
row. If they make the right gradient alone, its error is something else.
"""

import contextlib
import functools
import itertools

import numpy as np

from .causes import splits_of, within
from .progress import shown
from .trees import FEW, in_ranges

MOST_ROWS = 256  # the reference is called once for each, or for as many blocks
MOST_PARTS = 16  # of a minibatch, whose means may have been averaged
FREE = 8  # numbers more than rows, to see whether they fit
MOST_NUMBERS = 2**24  # of all rows' gradients, that are solved for at once


class Rows:
    """The gradients of a minibatch's rows, or of blocks of them; and those of
    shards, which can be solved for if arrays have few numbers, and say
    something if the loss is no sum over rows, as of pairs or statistics."""

    def __init__(self, case):
        self.case = case
        self.numbers = np.arange(case.batches[-1].rows)

    @functools.cached_property
    def alone(self):
        """(blocks, moves) of single rows, in a list."""
        most = min(MOST_ROWS, len(self.numbers))
        blocks = np.array_split(self.numbers, most)
        found = alone(self.case, blocks, 'rows')
        return [found] if found[0] else []

    @functools.cached_property
    def shards(self):
        """(shards, moves) of each way to split the rows."""
        splits = splits_of(self.numbers, self.case.num_devices)
        found = [alone(self.case, split, 'shards') for split in splits]
        return [own for own in found if len(own[0]) == self.case.num_devices]

    def counted(self, what, moves, which=...):
        """Return in words how often these moves of arrays, by their numbers,
        count each row; or '' if they are no sum over rows. `what`: 'alone' or
        'shards', `which`: the numbers of an array that they are."""
        for blocks, parts in getattr(self, what):
            size = sum(move.found.size for move in moves.values())
            some = slice(None, None, 1 + size * len(parts) // MOST_NUMBERS)
            found = flat([m.found for m in moves.values()], moves, some)
            right = flat([m.right for m in moves.values()], moves, some)
            columns = [[own[j][which] for j in moves] for own in parts]
            table = np.stack([flat(own, moves, some) for own in columns], 1)
            # Of rows that have no part in these numbers nothing is seen.
            seen = (abs(table) > 1).any(axis=0)
            table, blocks = table[:, seen], [*itertools.compress(blocks, seen)]
            own, unsure = weights_of(table, found, FREE)
            due, _ = weights_of(table, right, FREE)
            if own is None or unsure.max() >= 0.2 * abs(own).max():
                continue
            if what == 'shards' and seen.all():
                said = mean_of(blocks, own, 0.002 + unsure)
                if said:
                    return said
            if due is not None and (unsure < 0.2 * abs(due)).all():
                n = sum(map(len, blocks))
                all_rows = n == len(self.numbers)
                of = 'rows' if all_rows else 'rows that have a part in it,'
                words, groups = words_for(blocks, own / due, unsure / abs(due))
                if which is ...:
                    words += mean_of_means(own, due, groups)
                return f'Of the {n} {of} it counts {words}.'
        return ''

    def terms(self, j):
        """Return about how large the numbers are that were added up."""
        for _, parts in self.shards:
            return sum(abs(part[j]) for part in parts) / len(parts)
        return None


def mean_of(shards, weights, sure):
    """Return in words that these weights of shards are those of a mean, or
    ''."""
    rows = np.array([len(shard) for shard in shards])
    for parts, how in (
        (1 / len(rows), ''),
        (rows / rows.sum(), ', weighted by their rows'),
    ):
        if within(weights - parts, sure):
            return f"The move is the mean of the shards' own{how}."
    return ''


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


def flat(arrays, moves, some):
    """Return some numbers of all arrays, each as a part of its bound."""
    pairs = zip(arrays, moves.values())
    return np.concatenate([np.ravel(a / m.bounds) for a, m in pairs])[some]


def weights_of(table, wanted, free=1):
    """Return the weights of the columns whose sum is wanted, each number to
    1, and how unsure they are; or (None, None) if there are none, or if so
    few numbers, `free` more than columns, would fit by chance."""
    seen = (abs(table) > 1).any(axis=1)
    if not table.size or seen.sum() < table.shape[1] + free:
        return None, None
    inverse = np.linalg.pinv(table, 1e-9)
    weights = inverse @ wanted
    if not within(table @ weights - wanted, 1):
        return None, None
    return weights, np.sqrt((inverse**2).sum(1))


def words_for(blocks, counts, unsure):
    """Return in words how often each block of rows is counted, and which
    blocks have about the same counts."""
    groups: list = []  # (count, blocks), of about the same counts
    for i in np.argsort(counts):
        known = np.median(counts[groups[-1]]) if groups else np.inf
        if abs(counts[i] - known) <= 0.002 + unsure[i]:
            groups[-1].append(i)
        else:
            groups.append([i])
    groups = sorted(sorted(group) for group in groups)
    if len(groups) > FEW:
        ends = f'from {counts.min():.3g} to {counts.max():.3g}'
        return f'each by its own weight, {ends}', groups
    said, others = [], ''
    for group in groups:
        rows = in_ranges(np.concatenate([blocks[i] for i in group]))
        times = often(np.median(counts[group]))
        if rows or others:
            said.append(f'{rows or f"{len(group)} others"} {times}')
        else:
            others = f'the others {times}'
    return ', '.join(filter(None, [*said, others])), groups


def mean_of_means(own, due, groups):
    """Return in words that the weights are those of a mean of means, or
    ''."""
    whole = due.sum()
    times = own.sum() / whole
    if len(groups) < 2 or not own.min() > 0:
        return ''
    if abs(times - 1) < 1e-3 and np.ptp(own) < 1e-3 * own.max() < (
        0.01 * np.ptp(due)
    ):
        return ': as a mean of the rows, each of the same weight, is'
    shares = [own[group].sum() / times / whole for group in groups]
    for k in range(2, min(MOST_PARTS, len(own) // 2) + 1):
        parts = np.multiply(shares, k)
        if (abs(parts - parts.round()) < 2e-3).all() and min(parts) > 0.5:
            for what, due_times in (('mean', 1), ('sum', k)):
                if abs(times / due_times - 1) < 1e-3:
                    return f': as the {what} of the means of {k} parts is'
    return ''


def often(count):
    """Return how many times that is, in words."""
    count = round(float(count), 3) + 0.0
    return {0: 'never', 1: 'once', 2: 'twice'}.get(count, f'{count:.3g} times')
