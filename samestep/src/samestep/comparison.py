"""What `same_step` found, and how it reads."""

import re
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from .trees import in_few, said_together, with_numbers

HIDDEN = (
    'The numbers of this step are equal up to rounding, but the optimizers '
    'are not.'
)


class Difference(NamedTuple):
    """How far one array of one replica is from the right one, in one step."""

    step: int
    replica: int  # with several processes in PyTorch, the rank
    array: int
    error: float  # the largest difference from the reference in float64
    bound: float  # the largest that rounding explains
    cause: str = ''  # a likely one
    name: str = ''  # of the array
    of: str = ''  # 'gradient' or 'update', if they were judged apart

    def __str__(self):
        return said_of([self], [self.name])


def without_guess(cause):
    """Return a cause without what it would mean if all devices showed it."""
    return re.sub(r'the (\d+) (?:devices|rows): .*\?', r'\1.', cause)


def said_of(alike, names):
    """Return what is said of differences with one cause, of the same arrays
    of each of some replicas."""
    replicas = with_numbers('replica', {d.replica for d in alike})
    step, of, cause = alike[0].step, alike[0].of, alike[0].cause
    what = said_together({d.name for d in alike}, names)
    about = f'{of} of {what}' if of else what
    errors = [d.error for d in alike]
    times = max(d.error / d.bound for d in alike)
    most = 'up to ' if len({*errors}) > 1 else ''
    return (
        f'step {step}, {replicas}, {about}: off by {most}{max(errors):.2g}, '
        f'{most}{times:.3g} times the bound. {cause}'
    ).rstrip()


@dataclass(frozen=True)
class Comparison:
    """What `same_step` found; true if all differences are rounding.

    `differences`: those of the first step that is wrong, or of the last.
    `growth`: how many times the bound has grown since the first step.
    `notes`: what was not judged sharply. `still`: names of arrays that were
    not judged, since they should not move. `options`: if other options of the
    optimizer are all that is wrong, which.
    """

    differences: list
    growth: float = 1
    notes: list = field(default_factory=list)
    still: list = field(default_factory=list)  # arrays that should not move
    options: str = ''  # in which the optimizers differ, though it is not seen

    def __bool__(self):
        return not (self.options or self.failures())

    def change(self, function):
        """Return it with a function of each difference."""
        changed = [function(d) for d in self.differences]
        return replace(self, differences=changed)

    def without_guesses(self):
        """Return it without guesses at what all devices do, where not all
        replicas have the same cause for an array."""
        replicas = {d.replica for d in self.differences}
        alike = {(d.replica, d.name, d.of, d.cause) for d in self.differences}

        def change(d):
            of_all = {(i, d.name, d.of, d.cause) for i in replicas}
            cause = d.cause if of_all <= alike else without_guess(d.cause)
            return d._replace(cause=cause)

        return self.change(change)

    def failures(self):
        """Return the differences beyond their bounds, the worst first."""
        beyond = [d for d in self.differences if not d.error <= d.bound]
        return sorted(beyond, key=lambda d: d.bound / d.error)

    def __str__(self):
        failures = self.failures()
        names = list(dict.fromkeys(d.name for d in self.differences))
        alike: dict = {}  # which replicas, by what is said of an array
        for d in failures:
            alike.setdefault((d.array, d.of, d.cause), set()).add(d.replica)
        groups: dict = {}
        for d in failures:  # numbered arrays have a line each
            alone = d.array if d.name == f'array {d.array}' else ''
            replicas = frozenset(alike[d.array, d.of, d.cause])
            groups.setdefault((replicas, d.of, d.cause, alone), []).append(d)
        lines = [said_of(group, names) for group in groups.values()]
        if len(lines) > 6:
            lines[6:] = [f'and {len(lines) - 6} more']
        if self.options and not failures:
            lines = [f'{HIDDEN} {self.options}']
        lines = lines or ['equal up to rounding']
        numbered = failures and failures[0].name.startswith('array ')
        parted = ('replica', 'array') if numbered else ('replica',)
        for what in parted if failures else ():
            wrong = {getattr(d, what) for d in failures}
            if wrong != {getattr(d, what) for d in self.differences}:
                lines.append(f'Only some {what}s are wrong: {sorted(wrong)}.')
        kinds = {d.of for d in failures}
        if 'update' in kinds and 'gradient' not in kinds:
            lines.append(
                'The gradients are right: the update made of them is not.'
            )
        if self.still and not failures:
            names = in_few(self.still)
            lines.append(f'Not judged, since they do not move: {names}.')
        lines += self.notes
        if self.growth > 1000:
            lines.append(
                f'Rounding has grown {self.growth:.0f} times since the first '
                'step, and hides small bugs: take fewer steps, a smooth '
                'activation such as tanh in place of relu, or parameters and '
                'inputs that are whole numbers with a rate that is a power '
                'of 2, so that nothing is rounded.'
            )
        return '\n'.join(lines)

    __repr__ = __str__
