"""What `find_causes` says about each possible cause of a missing speedup."""

import dataclasses
import os
from typing import Any, Sequence

from d2lrun.settings import slowing_settings


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
    """Judge whether a part takes more than a fifth of the step.

    Both are in seconds.
    """
    return Finding(
        cause,
        f'{1000 * seconds:.1f} ms {part}, {1000 * step:.1f} ms for the step',
        seconds > 0.2 * step,
        fix,
    )


def input_finding(load: float, step: float, batch_size: int) -> Finding:
    """Judge the seconds to load a minibatch."""
    return part_finding(
        'the input is too slow',
        f'to load {batch_size} images',
        load,
        step,
        'Keep the data in memory, or load while the devices compute',
    )


def contention_finding(
    slowdown: float,
    devices: Sequence[Any],
    load_average: float,
    of_lenet: bool = True,
) -> Finding:
    """Judge how many times longer all devices take than one."""
    changed = slowing_settings()
    return Finding(
        'the devices compete for a resource',
        f'with {"LeNet" if of_lenet else "your network"}, '
        f'{len(devices)} at once take {slowdown:.2f} times as '
        'long as one; '
        f'{len(os.sched_getaffinity(0))} cores, load average '
        f'{load_average:.1f} before',
        slowdown > 1.35,
        f'Unset {", ".join(changed)} before Python starts'
        if changed
        else 'Use no more devices than cores, close other programs, and '
        'import d2lmulti before mxnet'
        + (
            ''
            if of_lenet
            else '; if the network is deep, start Python with '
            'MXNET_CPU_TEMP_COPY=512, which costs memory'
        ),
    )


def wait_finding(step: float, waited: float, line: str) -> Finding:
    """Judge the seconds that Python waits within a step, mostly in `line`."""
    return part_finding(
        'the step waits for a result',
        'of waiting' + (f', most of it in "{line}"' if line else ''),
        waited,
        step,
        'Read losses and gradients after the step',
    )


def exchange_finding(
    exchange: float, step: float, batch_size: int, of_lenet: bool = False
) -> Finding:
    """Judge the seconds of allreduce: of LeNet's gradients, or of yours."""
    return part_finding(
        'the synchronization is too large',
        'for allreduce'
        + (" of LeNet's gradients" if of_lenet else '')
        + f' with minibatches of {batch_size}',
        exchange,
        step,
        'Use larger minibatches, or a network with fewer parameters',
    )


def size_finding(fixed: float, step: float, batch_size: int) -> Finding:
    """Judge the seconds of a step with one image per device."""
    return part_finding(
        'the step is too small',
        f'of fixed costs with minibatches of {batch_size}',
        fixed,
        step,
        'Use larger minibatches',
    )
