"""The figure of `python -m d2lmulti train`: what each device does in a step,
on one device and on several, on one scale of time.
"""

import os
from typing import Any, Dict, List, NamedTuple, Sequence

from ..data import Minibatches
from ..devices import try_devices
from ..network import init_params
from ..plots import DEVICE_COLORS, SHADES, WAITING, counted, shade
from ..profiler import Operator, operator_kind, profile
from ..replicas import get_params
from ..training import max_difference, train_batch
from .timeline import busy_devices, plot_timeline

STEPS = 5  # recorded; the one of median length is drawn


class Step(NamedTuple):
    """A training step on some devices."""

    operators: List[Operator]
    params: List[Any]  # after the first step, on the first device


def can_record(k: int) -> bool:
    """Return whether MXNet's profiler has a place for `k` CPU devices: it
    ends the process for one more than the number of cores, plus one."""
    return k <= (os.cpu_count() or 1) + 1


def record_step(k: int, batch_size: int, lr: float, data: tuple) -> Step:
    """Train a few steps on `k` devices, and record all but the first."""
    devices = try_devices(k)
    replicas = [get_params(init_params(), device) for device in devices]
    X, y = next(iter(Minibatches(data[0], data[1], batch_size)))
    train_batch(X, y, replicas, devices, lr)  # oneDNN compiles its kernels
    params = [param.copy() for param in replicas[0]]
    steps = [
        profile(lambda: train_batch(X, y, replicas, devices, lr))
        for _ in range(STEPS)
    ]
    steps.sort(key=length)
    return Step(steps[STEPS // 2], params)


def length(operators: Sequence[Operator]) -> float:
    """Return the milliseconds until the last operator ends."""
    return max(operator.end for operator in operators)


def first_steps_apart(steps: Dict[int, Step]) -> float:
    """Return the largest difference of a parameter after the first step on
    different numbers of devices."""
    first, *others = (step.params for step in steps.values())
    return max((max_difference(first, p) for p in others), default=0.0)


def plot_training(steps: Dict[int, Step]) -> Any:
    """Return a figure with the lanes of each {number of devices: step}."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        len(steps),
        squeeze=False,
        figsize=(5.5, 1.4 + 0.6 * len(steps) + 0.35 * sum(steps)),
        gridspec_kw={'height_ratios': list(steps)},
    )
    longest = max(length(step.operators) for step in steps.values())
    for axis, title, step in zip(axes[:, 0], titles(steps), steps.values()):
        plot_timeline(step.operators, axis, longest)
        axis.get_legend().remove()
        axis.set_title(title, loc='left', fontsize=11)
        axis.set_xlabel('')
        frame_forward(step.operators, axis)
    axis.set_xlabel('one training step: time in ms')
    add_legend(figure)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    return figure


def frame_forward(operators: Sequence[Operator], axis: Any) -> None:
    """Draw frames around what is pale, or it is hardly seen."""
    for row, device in enumerate(busy_devices(operators)):
        spans = [
            (operator.start, operator.end - operator.start)
            for operator in operators
            if operator.device == device
            and operator_kind(operator) == 'forward'
        ]
        color = DEVICE_COLORS[row % len(DEVICE_COLORS)]
        look = {'facecolor': 'none', 'edgecolor': color, 'linewidth': 0.8}
        axis.broken_barh(spans, (row - 0.35, 0.7), **look)


def titles(steps: Dict[int, Step]) -> List[str]:
    """Return what stands above the lanes of each number of devices."""
    ms = {k: length(step.operators) for k, step in steps.items()}
    return compared(ms, '{:.1f} ms')


def compared(times: Dict[int, float], form: str) -> List[str]:
    """Return for each number of devices its time, in a form such as
    '{:.1f} ms', and how much faster it is than the fewest devices."""
    fewest = min(times)
    return [
        f'{counted(k, "device")}: {form.format(time)}'
        + f', {times[fewest] / time:.2f} times as fast' * (k > fewest)
        for k, time in times.items()
    ]


def add_legend(figure: Any) -> None:
    """Name the shades, in the colors of the first two devices. Copies, sums
    and updates, which are hairlines, share one name."""
    from matplotlib.legend_handler import HandlerTuple
    from matplotlib.patches import Patch

    names = {**SHADES, 'copy, sum, update': SHADES['copy']}
    del names['copy'], names['sum, update']
    handles = [
        tuple(
            Patch(facecolor=shade(color, fraction), edgecolor=color)
            for color in DEVICE_COLORS[:2]
        )
        for fraction in names.values()
    ]
    figure.legend(
        [*handles, Patch(**WAITING)],
        [*names, 'waiting'],
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0)},
        loc='lower center',
        ncol=4,
        handlelength=1.6,
        columnspacing=0.9,
        frameon=False,
        fontsize=9,
    )
