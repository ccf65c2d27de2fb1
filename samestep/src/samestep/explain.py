"""Add likely causes to what is wrong."""

import contextlib
import functools
import itertools
import re

import numpy as np

from .causes import (
    Computed,
    Move,
    Sample,
    likely_cause,
    moves_before,
    moves_from,
    moves_of_others,
    precision_cause,
    said_of_some,
    within,
    without_few_bits,
    wrong_numbers,
)
from .counts import Rows, Shards
from .joint import numbers_cause, starts_cause
from .progress import shown

ZERO = 'The right one is 0 up to rounding.'


class Causes:
    """Looks for the causes of the wrong arrays of one replica."""

    def __init__(self, case, moves):
        self.case, self.moves = case, moves
        self.wrong = [j for j, move in enumerate(moves) if move.is_wrong()]
        self.found = dict.fromkeys(self.wrong, '')
        self.batch, self.k = case.batches[-1], case.num_devices

    def open(self):
        """Return which wrong arrays have no cause yet."""
        return [j for j in self.wrong if not self.found[j]]

    def look(self, others, rows, shards):
        """Fill in what is found: first what is cheap. `others`: pairs of
        words and moves of all arrays."""
        for j in self.wrong:
            self.found[j] = self.cause_of(j, self.moves[j], others[0])
        for counted in rows, shards:
            together = self.open()
            if not together:
                return
            cause = self.count(counted, together)
            for j in together:
                self.found[j] = cause or self.count(counted, [j])
        for j in self.open():
            self.found[j] = self.cause_of(j, self.moves[j], others[1])
        for j in self.open():
            terms = shards().terms(j)
            self.found[j] = precision_cause(self.moves[j], terms)
        for j in self.open():
            self.found[j] = self.of_some(j, others, rows, shards)

    def cause_of(self, j, move, others, which=...):
        """Return the cause of some numbers of an array, of a list."""
        own = ((what, arrays[j][which]) for what, arrays in others)
        same = (
            (f'that of array {i}', other.right[which])
            for i, other in enumerate(self.moves)
            if i != j and other.right.shape == self.moves[j].right.shape
        )
        known = itertools.chain(own, same)
        return likely_cause(move, known, self.k, self.batch)

    def count(self, counted, some, which=...):
        """Return how often these arrays count each row."""
        moves = {j: self.moves[j].part(which) for j in some}
        return counted().counted(moves, which)

    def of_some(self, j, others, rows, shards):
        """Return the cause of an array's wrong numbers, if they are few."""
        which = wrong_numbers(self.moves[j])
        if which is None:
            return ''
        part = self.moves[j].part(which)
        cause = (
            self.cause_of(j, part, others[0], which)
            or self.count(rows, [j], which)
            or self.count(shards, [j], which)
            or self.cause_of(j, part, others[1], which)
        )
        return said_of_some(which, self.moves[j], cause)


def explain(comparison, replicas, exact, bounds, case):
    """Return the comparison with likely causes. `exact`: what the reference
    makes of the last step, the wrong one; `bounds`: how far each number of it
    may be off. `case`: the step, without a Sample."""
    sample = Sample(replicas, exact)
    case = case._replace(sample=sample)
    right = sample.take(moves_from(case.starts[-1], exact, case.places))
    start = [a - move for a, move in zip(sample.take(exact), right)]
    bounds = sample.take_bounds(bounds)
    moves = [
        [
            Move(a - s, *known)
            for a, s, *known in zip(
                sample.take(own), start, right, bounds, start
            )
        ]
        for own in replicas
    ]
    others = [
        Computed(shown(own(case), 'causes'))
        for own in (moves_before, moves_of_others)
    ]
    rows, shards = (
        functools.lru_cache(None)(functools.partial(kind, case))
        for kind in (Rows, Shards)
    )
    all_causes = []
    for own in moves:
        causes = Causes(case, own)
        causes.look(others, rows, shards)
        all_causes.append(causes)
    if not sample:
        fill_together(all_causes, moves, case)
    labels = [d.name for d in comparison.differences if d.replica == 0]
    for causes in all_causes:
        wrong = causes.wrong
        sizes = [causes.moves[j].right.size for j in wrong]
        told = without_few_bits([causes.found[j] for j in wrong], sizes)
        for j, cause in zip(wrong, told):
            if not cause and within(*causes.moves[j][1:3]):
                cause = ZERO
            causes.found[j] = with_names(sample.said(cause, j), labels)
    return comparison.change(
        lambda d: d._replace(
            cause=all_causes[d.replica].found.get(d.array, '')
        )
    )


def fill_together(all_causes, moves, case):
    """Fill in causes that only several replicas, or several arrays, show."""
    bounds = [float(np.max(move.bounds)) for move in moves[0]]
    if len(moves) > 1 and None not in case.places:
        with contextlib.suppress(Exception):  # the reference may want more
            cause = starts_cause(
                [[move.found for move in own] for own in moves],
                case.reference,
                case.starts[-1],
                case.batches[-1],
                bounds,
            )
            for causes in all_causes if cause else ():
                causes.found.update(dict.fromkeys(causes.open(), cause))
    right = [move.right for move in moves[0]]
    for causes in all_causes:
        for j in causes.open():
            move = causes.moves[j].found
            causes.found[j] = numbers_cause(move, right, bounds[j])


def with_names(cause, labels):
    """Return a cause with the names of the arrays for their numbers."""
    return re.sub(r'\barray (\d+)', lambda m: labels[int(m[1])], cause)
