"""Add likely causes to what is wrong."""

import contextlib
import functools

import numpy as np

from .causes import (
    ENOUGH_BITS,
    Sample,
    cause_by,
    distance,
    least_of,
    meaning_of,
    moves_before,
    moves_of_others,
    plain_cause,
    precision_cause,
    said_of_some,
    splits_of,
    starts_of,
    within,
    wrong_numbers,
)
from .counts import Rows
from .progress import shown

ENOUGH = 8  # wrong numbers: fewer have a cause by chance
ZERO = 'The right move is 0, up to rounding.'


class Search:
    """Looks for the causes of the wrong arrays of one replica: first what
    explains a whole array by one number, then some of its numbers, then what
    takes a number for each row. A cause is found only if it explains all that
    it speaks of."""

    def __init__(self, moves, meaning=lambda *factor: '', known=lambda: ()):
        """`meaning`: a function that returns what a factor may mean, by
        whether all arrays are wrong, `known`: one that returns words and
        moves of all arrays."""
        self.moves, self.known = moves, known
        self.found = {
            j: ''
            for j, move in enumerate(moves)
            if not within(move.found - move.right, move.bounds)
        }
        right = [move for j, move in enumerate(moves) if j not in self.found]
        of_all = all(within(move.right, move.bounds) for move in right)
        self.meaning = functools.partial(meaning, of_all)
        self.some = {j: wrong_numbers(moves[j]) for j in self.found}
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
        cause = '' if known else plain_cause(move, self.meaning)
        pairs = () if cause else (known or self.known)()
        others = ((words, arrays[j][which]) for words, arrays in pairs)
        return cause or cause_by(move, others)

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
        bits = {
            j: precision_cause(self.moves[j], terms(j)) for j in self.open()
        }
        told = [
            cause
            for j, cause in bits.items()
            if self.moves[j].right.size >= ENOUGH_BITS
            and (cause or self.some[j] is None)
        ]
        if told.count('') >= len(told) / 2:
            bits = dict.fromkeys(bits, '')  # small in a few by chance
        for j, cause in bits.items():
            if not cause and self.some[j] is not None:
                cause = said_of_some(self.some[j], self.moves[j], '')
            self.found[j] = cause


def explain(comparison, replicas, exact, bounds, case):
    """Return the comparison with likely causes. `exact`: what the reference
    makes of the last step, the wrong one; `bounds`: how far each number of it
    may be off. `case`: the step, without a Sample."""
    sample = Sample(replicas, exact)
    labels = [d.name for d in comparison.differences if d.replica == 0]
    case = case._replace(sample=sample)
    start = starts_of(case.starts[-1], exact, case.places)
    before, others = once(moves_before, case), once(moves_of_others, case)
    meaning = functools.partial(meaning_of, case.num_devices, case.batches[-1])
    rows, searches = Rows(case), []
    for own in replicas:
        moves = sample.moves(own, exact, bounds, start)
        search = Search(moves, meaning, before)
        searches.append(search)
        search.count(rows, 'alone')
        search.count(rows, 'shards')
        search.fill(functools.partial(search.plain, known=others))
        search.close(rows.terms)
    if all(some is None for some in sample.places):
        fill_together(searches, case, labels)
    for search in searches:
        for j in search.open():
            if within(search.moves[j].right, search.moves[j].bounds):
                search.found[j] = ZERO
    return comparison.change(
        lambda d: d._replace(cause=searches[d.replica].found.get(d.array, ''))
    ).without_guesses()


def once(moves, case):
    """Return a function that returns these words and moves of a case, which
    are found when they are first wanted."""
    return functools.lru_cache(None)(lambda: [*shown(moves(case), 'causes')])


def fill_together(searches, case, labels):
    """Fill in causes that only several replicas, or several arrays, show."""
    right = [move.right for move in searches[0].moves]
    bounds = [float(np.max(move.bounds)) for move in searches[0].moves]
    if len(searches) > 1 and None not in case.places:
        found = [[move.found for move in own.moves] for own in searches]
        with contextlib.suppress(Exception):  # the reference may want more
            cause = starts_cause(case, found, bounds)
            for search in searches if cause else ():
                search.found.update(dict.fromkeys(search.open(), cause))
    for search in searches:
        for j in search.open():
            move = search.moves[j]
            search.found[j] = numbers_cause(move, right, bounds[j], labels)


def numbers_cause(move, rights, bound, labels):
    """Return in words from where in the right moves `rights` of all arrays
    a move's numbers come, or ''. They may be anywhere in the arrays one
    after the other, first to last or last to first, as in a buffer."""
    close = max(bound, least_of(move) / 1e4)
    move = np.ravel(move.found)
    if move.size < 4 or abs(move).max() <= bound:
        return ''
    at = abs(move).argmax()
    first_to_last = list(range(len(rights)))
    for order in (first_to_last, first_to_last[::-1]):
        flat = np.concatenate([np.ravel(rights[i]) for i in order])
        ends = np.cumsum([rights[i].size for i in order])
        last = len(flat) - len(move)
        places = np.nonzero(abs(flat[at:] - move[at]) <= close)[0]
        for place in places[places <= last][:1000]:
            if distance(flat[place : place + len(move)], move) <= close:
                nth = np.searchsorted(ends, place, 'right')
                i = order[nth]
                number = place - ends[nth] + rights[i].size
                return (
                    f'The move has the numbers of {labels[i]}, from number '
                    f'{number} on: a buffer used again, or read elsewhere?'
                )
    return ''


def starts_cause(case, replicas, bounds):
    """Return in words that the replicas started from parameters of their
    own and took the same step, or ''.

    `replicas`: their moves, as if all had begun where the first must have
    begun. So the others began where their moves differ from its move; the
    step must then be that of their shards from there.
    """
    first, n = replicas[0], case.batches[-1].rows
    gaps = [[b - a for a, b in zip(first, own)] for own in replicas]
    largest = [max(distance(g, 0) for g in own) for own in zip(*gaps)]
    if not any(map(np.greater, largest, bounds)):
        return ''
    for shards in splits_of(np.arange(n), len(replicas)):
        step = [0] * len(first)
        for rows, gap in zip(shards, gaps):
            start = [s + g for s, g in zip(case.starts[-1], gap)]
            own = case.moves(rows, start=start)
            step = [t + len(rows) / n * move for t, move in zip(step, own)]
        off = [distance(a, b) for a, b in zip(first, step)]
        if all(o <= 2 * bound for o, bound in zip(off, bounds)):
            return (
                'The replicas started from parameters that differ by up to '
                f'{max(largest):.2g}, and took the same step.'
            )
    return ''
