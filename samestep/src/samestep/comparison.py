"""What `same_step` found, and how it reads."""

from dataclasses import dataclass
from typing import NamedTuple


class Difference(NamedTuple):
    """How far one array of one replica is from the right one, in one step."""

    step: int
    replica: int
    array: int
    error: float  # the largest difference from the reference in float64
    bound: float  # the largest that rounding explains
    cause: str = ''  # a likely one

    def __str__(self):
        return (
            f'step {self.step}, replica {self.replica}, array {self.array}: '
            f'off by {self.error:.2g}, {self.error / self.bound:.3g} times '
            f'the bound. {self.cause}'
        ).rstrip()


@dataclass(frozen=True)
class Comparison:
    """What `same_step` found; true if all differences are rounding.

    `differences`: those of the first step that is wrong, or of the last.
    `growth`: how many times the bound has grown since the first step.
    """

    differences: list
    growth: float

    def __bool__(self):
        return not self.failures()

    def failures(self):
        """Return the differences beyond their bounds, the worst first."""
        beyond = [d for d in self.differences if not d.error <= d.bound]
        return sorted(beyond, key=lambda d: d.bound / d.error)

    def __str__(self):
        failures = self.failures()
        lines = [*map(str, failures[:6])] or ['equal up to rounding']
        if len(failures) > 6:
            lines.append(f'and {len(failures) - 6} more')
        for what in ('replica', 'array') if failures else ():
            wrong = {getattr(d, what) for d in failures}
            if wrong != {getattr(d, what) for d in self.differences}:
                lines.append(f'Only some {what}s are wrong: {sorted(wrong)}.')
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
