"""The figure of `python -m d2lmulti train`: what each device does in a step,
on one device and on several, on one scale of time.
"""

import os
from typing import Any, Dict, List, NamedTuple, Sequence

from ..data import Minibatches
from ..devices import try_devices
from ..network import init_params
from ..plots import counted
from ..profiler import Operator, profile
from ..replicas import get_params
from ..training import max_difference, train_batch
from .timeline import plot_timeline

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


def plot_training(steps: Dict[int, Step], seconds: Dict[int, float]) -> Any:
    """Return a figure with the lanes of each {number of devices: step}.

    `seconds`: of an epoch, for each number of devices; {} if not known yet.
    """
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        len(steps),
        squeeze=False,
        figsize=(5.5, 1.4 + 0.6 * len(steps) + 0.35 * sum(steps)),
        gridspec_kw={'height_ratios': list(steps)},
    )
    longest = max(length(step.operators) for step in steps.values())
    for axis, (k, step) in zip(axes[:, 0], steps.items()):
        plot_timeline(step.operators, axis, longest)
        axis.get_legend().remove()
        axis.set_title(title(k, seconds), loc='left', fontsize=11)
        axis.set_xlabel('')
    axis.set_xlabel('one training step: time in ms')
    handles = axis.get_legend_handles_labels()
    narrow = {'handlelength': 1.2, 'columnspacing': 1, 'frameon': False}
    figure.legend(*handles, loc='lower center', ncol=5, **narrow)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    return figure


def title(k: int, seconds: Dict[int, float]) -> str:
    """Return what stands above the lanes of `k` devices."""
    name = counted(k, 'device')
    if k not in seconds:
        return name
    first = seconds[min(seconds)]
    faster = f', {first / seconds[k]:.2f} times as fast' * (k > min(seconds))
    return f'{name}: {seconds[k]:.2f} s an epoch{faster}'
