"""What is said about a measurement: that an expectation held, or which cause
of a missing speedup `find_causes` has found."""

import dataclasses
import os
import statistics
from typing import Any, Optional, Sequence, Union

from .prepare.mxnet_settings import SETTINGS, slowing_settings


def confront(
    what: str,
    measured: Union[float, Sequence[float]],
    low: Optional[float] = None,
    high: Optional[float] = None,
) -> None:
    """Print what was expected beside what was measured, and whether it held.

    `measured`: a number, or one per round; then their median decides, and
    their range is printed. `low` and `high`: what was expected, from and
    to; None for no limit. Raises ValueError without a round or a limit.
    """
    rounds = sorted(measured if isinstance(measured, Sequence) else [measured])
    if not rounds or (low is None and high is None):
        raise ValueError(f'{what}: give a measurement, and low or high')
    middle = statistics.median(rounds)
    if high is None:
        expected = f'at least {in_words(low)}'
    elif low is None:
        expected = f'at most {in_words(high)}'
    else:
        expected = f'{in_words(low)} to {in_words(high)}'
    held = (low is None or low <= middle) and (high is None or middle <= high)
    digits = digits_to_tell(middle, low, high)
    spread = f' ({in_words(rounds[0])} to {in_words(rounds[-1])})'
    print(
        f'{what}: expected {expected}, '
        f'measured {in_words(middle, digits)}{spread if rounds[1:] else ""}: '
        f'{"held" if held else "did not hold"}'
    )


def digits_to_tell(number: Any, *limits: Optional[float]) -> int:
    """Return how many digits tell a number from limits that it is near."""
    others = [x for x in limits if x is not None and x != number]
    enough = (
        n
        for n in range(3, 17)
        if in_words(number, n) not in [in_words(x, n) for x in others]
    )
    return next(enough, 17)


def in_words(number: Any, digits: int = 3) -> str:
    """Return a number with so many digits, more if it is large."""
    if abs(number) >= 10**digits / 10:
        return f'{number:,.0f}'
    return f'{number:,.{digits}g}'


@dataclasses.dataclass
class Finding:
    """A possible cause of a missing speedup, and what was measured."""

    cause: str
    measured: str  # in numbers
    found: bool  # whether it holds here
    fix: str  # what helps

    def __str__(self) -> str:
        if not self.found:
            return f'no:  {self.cause}? ({self.measured})'
        return f'YES: {self.cause} ({self.measured}). {self.fix}.'


def part_finding(
    cause: str, part: str, seconds: float, step: float, fix: str
) -> Finding:
    """Judge whether a part takes more than a fifth of the step, in seconds."""
    both = f'{1000 * seconds:.1f} ms {part}; {1000 * step:.1f} ms for the step'
    return Finding(cause, both, seconds > 0.2 * step, fix)


def input_finding(load: float, step: float, batch_size: int) -> Finding:
    """Judge the seconds to load a minibatch."""
    part = f'to load {batch_size} images'
    fix = 'Keep the data in memory, or load while the devices compute'
    return part_finding('the input is too slow', part, load, step, fix)


def count_cores() -> int:
    """Return how many cores this process may use; all, where nobody says."""
    if hasattr(os, 'sched_getaffinity'):  # Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def contention_finding(
    slowdown: float,
    devices: Sequence[Any],
    load_average: float,
    of_lenet: bool = True,
) -> Finding:
    """Judge how many times longer all devices take than one."""
    network = 'LeNet' if of_lenet else 'your network'
    measured = (
        f'with {network}, {len(devices)} at once take {slowdown:.2f} times as '
        f'long as one; {count_cores()} cores, load average '
        f'{load_average:.1f} before'
    )
    fix = (
        'Use no more devices than cores, close other programs, and import '
        'd2lmulti before mxnet'
    )
    if not of_lenet:
        fix += (
            '; if the network is deep, start Python with MXNET_CPU_TEMP_COPY='
            f'{8 * int(SETTINGS["MXNET_CPU_TEMP_COPY"])}, which costs memory'
        )
    changed = slowing_settings()
    if changed:
        fix = f'Unset {", ".join(changed)} before Python starts'
    cause = 'the devices compete for a resource'
    return Finding(cause, measured, slowdown > 1.35, fix)


def wait_finding(step: float, waited: float, line: str) -> Finding:
    """Judge the seconds that Python waits within a step, longest in `line`."""
    part = 'of waiting' + (f', the longest in "{line}"' if line else '')
    fix = 'Read losses and gradients after the step'
    return part_finding('the step waits for a result', part, waited, step, fix)


def python_finding(step: float, seconds: float, line: str) -> Finding:
    """Judge the seconds that Python computes within a step, outside MXNet."""
    part = 'of Python' + (f', the longest in "{line}"' if line else '')
    fix = 'Do it before the step, while the devices compute, or with MXNet'
    return part_finding('Python is too slow', part, seconds, step, fix)


def balance_finding(step: float, times: Any) -> Finding:
    """Judge by how much more than the mean one device computes."""
    each = ', '.join(f'{d} {1000 * s:.1f}' for d, s in times.busy.items())
    part = f'more than the mean on one device, of {each}'
    cause = 'the devices have unequal work'
    fix = 'See how long each shard is, and on which device it lies'
    return part_finding(cause, part, times.uneven, step, fix)


def exchange_finding(step: float, exchange: float) -> Finding:
    """Judge the seconds in which a device copies, sums or updates."""
    part = 'of copies, sums and updates'
    fix = 'Sum faster (chapter 8), or use larger minibatches'
    cause = 'the synchronization is too large'
    return part_finding(cause, part, exchange, step, fix)


def size_finding(fixed: float, step: float, batch_size: int) -> Finding:
    """Judge the seconds of a step with one image per device, without those
    of Python and of the exchange."""
    part = f'of fixed costs with minibatches of {batch_size}'
    fix = 'Use larger minibatches, or fewer and larger operators'
    return part_finding('the step is too small', part, fixed, step, fix)


def rest_finding(missing: float, step: float, *parts: float) -> Finding:
    """Judge what no part explains of the seconds beyond the devices' work,
    evenly divided and undisturbed."""
    missing = max(0, missing)
    rest = max(0, missing - sum(parts))
    part = f'of {1000 * missing:.1f} ms beyond an even share are unexplained'
    fix = 'Draw the step: plot_timeline(profile(step)), as in chapter 9'
    return part_finding('something else', part, rest, step, fix)
