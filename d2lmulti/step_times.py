"""Where the time of a training step goes, for `find_causes`."""

import collections
import dataclasses
import os
import sys
import threading
import time
import traceback
from typing import Any, Callable, Dict, Iterable, List, Tuple

from mxnet import npx

from .findings import count_cores
from .profiler import busy_time, operator_kind, profile

INSIDE = os.sep + 'site-packages' + os.sep, os.sep + 'lib' + os.sep
OUTSIDE = os.path.dirname(__file__), '<frozen'


@dataclasses.dataclass
class StepTimes:
    """What the devices do in a step, in seconds."""

    busy: Dict[str, float]  # computing, of each device
    exchange: float  # in which a device copies, sums or updates

    @property
    def mean(self) -> float:
        """Return what each device would compute if all had as much to do."""
        return sum(self.busy.values()) / len(self.busy)

    @property
    def uneven(self) -> float:
        """Return how much more than that one device computes."""
        return max(self.busy.values()) - self.mean


def time_devices(step: Callable[[], Any], devices: list) -> StepTimes:
    """Return what MXNet's profiler sees of `step()` on `devices`; nothing of
    more CPU devices than it knows.

    The least of three steps: what disturbs one of them takes longer.
    """
    names = [*map(str, devices)]
    if any(d.device_id > count_cores() for d in devices):
        return StepTimes(dict.fromkeys(names, 0.0), 0.0)
    runs = [profile(step) for _ in range(3)]
    exchanging = 'copy', 'sum, update'

    def least(choices: Iterable[List[Any]]) -> float:
        return min(map(busy_time, choices)) / 1000

    return StepTimes(
        {
            name: least(
                [
                    o
                    for o in run
                    if o.device == name and operator_kind(o) not in exchanging
                ]
                for run in runs
            )
            for name in names
        },
        least(
            [o for o in run if operator_kind(o) in exchanging] for run in runs
        ),
    )


def time_python(step: Callable[[], Any]) -> Tuple[float, str]:
    """Return the seconds that Python computes in `step()` outside MXNet, and
    the line that takes longest: where a second thread sees it, again and
    again."""
    lines: Dict[str, float] = collections.defaultdict(float)
    thread, done = threading.get_ident(), threading.Event()

    def look() -> None:
        then = time.perf_counter()
        while not done.wait(0.0005):
            now, line = time.perf_counter(), own_line(thread)
            if line:
                lines[line] += now - then
            then = now

    # By default the second thread would wait 5 ms for Python's lock, which is
    # longer than many a line takes.
    interval = sys.getswitchinterval()
    watcher = threading.Thread(target=look, daemon=True)
    npx.waitall()  # or the step would wait for what was queued before
    sys.setswitchinterval(0.0005)
    watcher.start()
    try:
        step()
    finally:
        done.set()
        watcher.join()
        sys.setswitchinterval(interval)
    npx.waitall()
    longest = max(lines, key=lambda line: lines[line], default='')
    return sum(lines.values()), longest


def own_line(thread: int) -> str:
    """Return the line of the reader's code that a thread runs, '' if MXNet
    runs below it."""
    frames: List[Any] = []
    frame = sys._current_frames().get(thread)
    while frame:
        frames.append(frame)
        frame = frame.f_back
    for frame in frames:
        module = frame.f_globals.get('__name__', '')
        if module.split('.')[0] == 'mxnet' or module == __name__:
            return ''  # or the step is one of ours, called below
        name = frame.f_code.co_filename
        if not name.startswith(OUTSIDE) and not any(i in name for i in INSIDE):
            summary = traceback.extract_stack(frame, limit=1)[0]
            return summary.line or summary.name
    return ''
