"""Checks of schedules, of chapter 15: pipelines."""

import itertools
from typing import Set, Tuple

from ..check_values import (
    check_count,
    check_positive_int,
    counted,
)


def check_schedule(orders, num_stages, m, num_devices=None):
    """Raise ValueError unless each stage runs the forward and the backward
    pass of each of `m` micro-batches once, and none waits forever.

    With `num_devices`, list d has the stages d, d + num_devices, ..., and
    may run the backward passes in two halves, 'inputs' and 'weights'.
    """
    num_lists = num_devices or num_stages
    part = 'stage' if num_lists == num_stages else 'device'
    message = f'a schedule must have a list of instructions for each {part}'
    check_count(message, num_lists, orders)
    orders = [
        [(*each, d)[:3] for each in order] for d, order in enumerate(orders)
    ]
    for d, order in enumerate(orders):
        halves = num_devices and any('weights' in each for each in order)
        phases = ('inputs', 'weights') if halves else ('backward',)
        own = range(d, num_stages, num_lists)
        needed = itertools.product(('forward', *phases), range(m), own)
        check_instructions(order, list(needed), own, m)
    check_progress(orders, num_stages)


def check_instructions(order, needed, own, m):
    """Raise ValueError unless a device's list has what is needed, once."""
    for each in [*order, *needed]:
        if order.count(each) != (each in needed):
            *phases, last = dict.fromkeys(repr(phase) for phase, *_ in needed)
            stages = (
                f'stage{"s" * (len(own) > 1)} {" and ".join(map(str, own))}'
            )
            batches = (
                'micro-batch 0' if m == 1 else f'micro-batches 0 to {m - 1}'
            )
            raise ValueError(
                f'the list of {stages} has '
                f'{each[:2] if [*own] == [each[2]] else each} '
                f'{counted(order.count(each), "time")}: it must have '
                f'{", ".join(phases)} and {last} of {batches} once for each '
                'stage, and nothing else'
            )


def check_progress(orders, num_stages):
    """Raise ValueError if a stage of a schedule would wait forever."""
    queues = [list(order) for order in orders]
    done: Set[Tuple[str, int, int]] = set()
    while any(queues):
        waiting = [queue for queue in queues if queue]
        ready = [q for q in waiting if not missing(q[0], num_stages) - done]
        if not ready:
            found = [f'stage {q[0][2]} before {q[0][:2]}' for q in waiting]
            raise ValueError(
                'this schedule never ends, as stages wait forever: '
                f'{", ".join(found)}. A forward pass needs that of the stage '
                'before; a backward pass needs the forward pass of its stage '
                'and the backward pass of the next stage'
            )
        done |= {as_done(*queue.pop(0)) for queue in ready}


def as_done(phase, i, s):
    """Return what others wait for: the gradients of inputs are sent back."""
    return 'backward' if phase == 'inputs' else phase, i, s


def missing(instruction, num_stages):
    """Return what must be done before an instruction."""
    phase, i, s = instruction
    if phase == 'forward':
        return {(phase, i, s - 1)} if s else set()
    if phase == 'weights':
        return {('backward', i, s)}
    after = {('backward', i, s + 1)} if s < num_stages - 1 else set()
    return {('forward', i, s), *after}


def check_interleaved(num_stages, num_micro_batches, num_devices):
    """Raise TypeError or ValueError unless all devices have equally many
    stages, and the micro-batches come in groups of the number of devices."""
    sizes = {'stages': num_stages, 'micro-batches': num_micro_batches}
    check_positive_int(num_devices=num_devices)
    for what, count in sizes.items():
        check_positive_int(**{f'the number of {what}': count})
        if count % num_devices:
            raise ValueError(
                f'the number of {what}, {count}, must be a multiple of the '
                f'number of devices, {num_devices}, to be interleaved'
            )
