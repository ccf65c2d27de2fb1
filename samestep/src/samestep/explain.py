"""Add likely causes to what is wrong."""

import contextlib
import functools
import re

import numpy as np

from .causes import (
    Move,
    Sample,
    cause_by,
    moves_before,
    moves_from,
    moves_of_others,
    plain_cause,
    precision_cause,
    said_of_some,
    within,
    without_few_bits,
    wrong_numbers,
)
from .counts import Rows
from .joint import numbers_cause, starts_cause
from .progress import shown

ENOUGH = 8  # wrong numbers: fewer have a cause by chance
ZERO = 'The right one is 0 up to rounding.'


class Search:
    """Looks for the causes of the wrong arrays of one replica: first what
    explains a whole array by one number, then some of its numbers, then what
    takes a number for each row. A cause is found only if it explains all that
    it speaks of."""

    def __init__(self, moves, k, batch, known=lambda: ()):
        """`known`: a function that returns words and moves of all arrays."""
        self.moves, self.k, self.batch, self.known = moves, k, batch, known
        wrong = [j for j, move in enumerate(moves) if move.is_wrong()]
        self.found = dict.fromkeys(wrong, '')
        self.some = {j: wrong_numbers(moves[j]) for j in wrong}
        self.fill(self.plain)

    def open(self):
        """Return which wrong arrays have no cause yet."""
        return [j for j, cause in self.found.items() if not cause]

    def fill(self, cause_of):
        """Fill in the causes of arrays, or else of some of their numbers:
        `cause_of` is a function of an array's number, a move and which of its
        numbers that is."""
        for j in self.open():
            self.found[j] = cause_of(j, self.moves[j], ...)
            which = None if self.found[j] else self.some[j]
            if which is not None and which.sum() >= ENOUGH:
                cause = cause_of(j, self.moves[j].part(which), which)
                if cause:
                    self.found[j] = said_of_some(which, self.moves[j], cause)

    def plain(self, j, move, which, known=None):
        """Return what shows in an array alone, or beside a known move."""
        cause = '' if known else plain_cause(move, self.k, self.batch)
        if not cause:
            pairs = (known or self.known)()
            others = ((words, arrays[j][which]) for words, arrays in pairs)
            cause = cause_by(move, others)
        return cause

    def count(self, rows, what):
        """Fill in how often rows are counted: first by all arrays together
        that have no other cause, with those that are right."""
        together = {
            j: move
            for j, move in enumerate(self.moves)
            if not self.found.get(j)
        }
        cause = self.open() and rows.counted(what, together)
        if cause:
            self.found.update(dict.fromkeys(self.open(), cause))

        def alone(j, move, which):
            if which is ... and self.some[j] is not None:
                return ''  # its right numbers count the rows, too
            return rows.counted(what, {j: move}, which)

        self.fill(alone)

    def close(self, terms=lambda j: None):
        """Fill in precision, and which numbers are wrong."""
        for j in self.open():
            cause = precision_cause(self.moves[j], terms(j))
            if not cause and self.some[j] is not None:
                cause = said_of_some(self.some[j], self.moves[j], '')
            self.found[j] = cause


def explain(comparison, replicas, exact, bounds, case):
    """Return the comparison with likely causes. `exact`: what the reference
    makes of the last step, the wrong one; `bounds`: how far each number of it
    may be off. `case`: the step, without a Sample."""
    sample = Sample(replicas, exact)
    case = case._replace(sample=sample)
    right = sample.take(moves_from(case.starts[-1], exact, case.places))
    start = [a - move for a, move in zip(sample.take(exact), right)]
    bounds = sample.take_bounds(bounds)
    before, others = (
        functools.lru_cache(None)(
            lambda own=own: [*shown(own(case), 'causes')]
        )
        for own in (moves_before, moves_of_others)
    )
    rows, searches = Rows(case), []
    for own in replicas:
        moves = [
            Move(a - s, *known)
            for a, s, *known in zip(
                sample.take(own), start, right, bounds, start
            )
        ]
        batch = case.batches[-1]
        search = Search(moves, case.num_devices, batch, before)
        searches.append(search)
        search.count(rows, 'alone')
        search.count(rows, 'shards')
        search.fill(functools.partial(search.plain, known=others))
        search.close(rows.terms)
    if not sample:
        fill_together(searches, case)
    labels = [d.name for d in comparison.differences if d.replica == 0]
    for search in searches:
        sizes = [search.moves[j].right.size for j in search.found]
        told = without_few_bits([*search.found.values()], sizes)
        for j, cause in zip(search.found, told):
            if not cause and within(*search.moves[j][1:3]):
                cause = ZERO
            search.found[j] = with_names(sample.said(cause, j), labels)
    return comparison.change(
        lambda d: d._replace(cause=searches[d.replica].found.get(d.array, ''))
    ).without_guesses()


def fill_together(searches, case):
    """Fill in causes that only several replicas, or several arrays, show."""
    moves = searches[0].moves
    bounds = [float(np.max(move.bounds)) for move in moves]
    if len(searches) > 1 and None not in case.places:
        with contextlib.suppress(Exception):  # the reference may want more
            cause = starts_cause(
                [[move.found for move in own.moves] for own in searches],
                case.reference,
                case.starts[-1],
                case.batches[-1],
                bounds,
            )
            for search in searches if cause else ():
                search.found.update(dict.fromkeys(search.open(), cause))
    right = [move.right for move in moves]
    for search in searches:
        for j in search.open():
            move = search.moves[j].found
            search.found[j] = numbers_cause(move, right, bounds[j])


def with_names(cause, labels):
    """Return a cause with the names of the arrays for their numbers."""
    return re.sub(r'\barray (\d+)', lambda m: labels[int(m[1])], cause)
