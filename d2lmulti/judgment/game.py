"""A game: find the bug in a step that is a black box.

`python -m d2lmulti.judgment play NAME` runs it in a terminal; in a
notebook, `new_game(NAME)` of `d2lmulti.judgment.bugs` returns a `Game`. The
rooms and their bugs come from the caller.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import re
import textwrap
import zlib
from typing import Any, Callable, Mapping

import numpy as np

from samestep import NothingMoves, same_step

WRONG_GUESS = 5  # points
MEASUREMENTS = {  # name: (points, what the player learns)
    'result': (1, 'which arrays come back, and of how many replicas'),
    'arrays': (2, 'which arrays are wrong after one step'),
    'equal': (2, 'the same, with as many examples on each device'),
    'alone': (2, 'the same, on one device'),
    'blank': (2, 'the same, with inputs of zeros'),
    'zeros': (2, 'the same, from biases of zeros'),
    'steps': (2, 'which of four steps is the first wrong one'),
    'causes': (4, 'what same_step says of each array'),
}


class Game:
    """One game: a planted bug, and the points that were spent on it.

    `rooms`: {name of a bug: (make, reference, case, …)}, of which
    `make(fixed, k)` returns the step on k devices and `case(seed, steps)`
    parameters and minibatches. `in_numpy` lets a step take NumPy arrays.
    `seed`: any text or number, for example a student's name; the same seed
    plants the same bug.
    """

    def __init__(
        self, rooms: Mapping[str, Any], in_numpy: Callable, seed: Any = 0
    ) -> None:
        self.rooms, self.in_numpy = rooms, in_numpy
        number = zlib.crc32(str(seed).encode())
        self._bug = sorted(rooms)[number % len(rooms)]
        self.num_devices = 2 + number // len(rooms) % 3
        self.measured: dict[str, str] = {}
        self.wrong: set[str] = set()
        self._look = functools.lru_cache(None)(self._measure)

    def __repr__(self) -> str:
        prices = [
            f'  {what:8} {points}  {text}'
            for what, (points, text) in MEASUREMENTS.items()
        ]
        title = f'A step on {self.num_devices} devices has a bug. Measure:'
        last = f'or guess ({WRONG_GUESS} points if it is another bug):'
        bugs = textwrap.wrap(' '.join(self.rooms), 72)
        return '\n'.join([title, *prices, last, *bugs])

    @property
    def points(self) -> int:
        """What was spent so far; fewer are better."""
        spent = sum(MEASUREMENTS[what][0] for what in self.measured)
        return spent + WRONG_GUESS * len(self.wrong)

    def measure(self, what: str) -> str:
        """Return a measurement; only the first of a kind costs points.

        Raises ValueError if there is no such measurement.
        """
        check_word(what, 'measurement', MEASUREMENTS)
        self.measured[what] = self._look(self._bug, what)
        return self.measured[what]

    def guess(self, name: str) -> str:
        """Name the bug; return how that went, with the score at the end.

        Raises ValueError if no room has this name.
        """
        check_word(name, 'bug', self.rooms)
        if name == self._bug:
            return f'Found: {name}. Points: {self.points}, par: {self.par()}.'
        self.wrong.add(name)
        return f'Not {name}: {WRONG_GUESS} points.'

    def par(self) -> int:
        """Return the price of the cheapest measurements that tell this bug
        from all others."""
        alike = {  # bugs that a measurement cannot tell from this one
            what: {
                name
                for name in self.rooms
                if self._look(name, what) == self._look(self._bug, what)
            }
            for what in MEASUREMENTS
        }
        return min(
            sum(MEASUREMENTS[what][0] for what in chosen)
            for size in range(1, len(alike) + 1)
            for chosen in itertools.combinations(alike, size)
            if len(set.intersection(*(alike[what] for what in chosen))) == 1
        )

    def play(self, read: Callable[[str], str] = input) -> None:
        """Play until the bug is found or the player leaves."""
        print(f'{self}\nor quit. Chapter 26 has the code of all bugs.')
        said = ''
        while not said.startswith('Found'):
            try:
                word = read(f'[points: {self.points}] > ').strip()
                if word in ('quit', 'exit'):
                    return
                said = (self.guess if word in self.rooms else self.measure)(
                    word
                )
            except ValueError as error:
                said = str(error)
            except (EOFError, KeyboardInterrupt):
                return
            print(said)

    def _measure(self, name: str, what: str) -> str:
        """Return what a measurement says of a bug."""
        k = 1 if what == 'alone' else self.num_devices
        make, reference, case, *_ = self.rooms[name]
        params, batches = case(0, 4 if what in ('steps', 'causes') else 1)
        if what == 'zeros':
            params = [p if np.ndim(p) > 1 else 0 * p for p in params]
        if what == 'blank':
            batches = [(0 * X, y) for X, y in batches]
        if what == 'equal':
            batches = [(X[:60], y[:60]) for X, y in batches]  # 2, 3, 4 | 60
        step = self.in_numpy(make(False, k))
        if what == 'result':
            return result_text(step(params, *batches[0]))
        reference = self.in_numpy(reference)
        try:
            wrong = same_step(  # every bug is far beyond this bound
                step,
                reference,
                params,
                batches,
                num_devices=k,
                factor=16,
                num_orders=3,
            ).failures()
        except NothingMoves:  # neither does the step
            wrong = []
        if what == 'causes':
            return '\n'.join(sorted(map(cause_text, wrong)))
        if what == 'steps':
            return f'step {wrong[0].step}' if wrong else 'none of four'
        arrays = sorted({difference.array for difference in wrong})
        return f'wrong: {", ".join(map(str, arrays)) or "none"}'


def check_word(word: str, kind: str, known: Mapping[str, Any]) -> None:
    """Raise ValueError, with what there is, unless the word is known."""
    if word not in known:
        raise ValueError(f'{word!r} is no {kind}: {", ".join(known)}')


def result_text(result: Any) -> str:
    """Return which arrays a step has returned, and of how many replicas."""
    many = isinstance(result[0], (list, tuple))
    shapes = ' '.join(str(a.shape) for a in (result[0] if many else result))
    return f'{len(result)} replicas of {shapes}' if many else shapes


def cause_text(difference: Any) -> str:
    """Return what is said of a wrong array; what only a computer could have
    known, a number with decimals, is left out."""
    cause = re.sub(r'\d+\.\d+', 'a number', difference.cause)
    at = f'replica {difference.replica}, array {difference.array}'
    return f'{at}: {cause or "wrong, in no way that is known"}'


def run_game(rooms: Mapping[str, Any], in_numpy: Callable) -> None:
    """Run the command: `play [NAME]`, or `answers NAME …`."""
    parser = argparse.ArgumentParser(
        prog='python -m d2lmulti.judgment',
        description='A step has a planted bug: buy measurements, name it.',
        epilog='For example: python -m d2lmulti.judgment play ada',
    )
    words = 'play a game, or print which bug each name gets'
    parser.add_argument(
        'command', nargs='?', choices=['play', 'answers'], help=words
    )
    words = 'any text: the same name, the same bug'
    parser.add_argument('names', nargs='*', default=['0'], help=words)
    arguments = parser.parse_args()
    if not arguments.command:
        return parser.print_help()
    for name in arguments.names:
        game = Game(rooms, in_numpy, name)
        if arguments.command == 'play':
            game.play()
        else:
            print(f'{name}: {game._bug}, par {game.par()}', flush=True)
