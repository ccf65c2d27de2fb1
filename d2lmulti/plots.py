"""What draws: learning curves, times and timelines.

matplotlib is imported only when something is drawn.
"""

import itertools
import statistics
import sys
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from tqdm import tqdm

from .timeline import Operator, busy_devices

# Color, line, width: told apart in grey, too.
STYLES: List[Tuple[str, str, int]] = [
    ('#0072b2', '-', 4),
    ('#d55e00', '--', 2),
    ('#009e73', ':', 2),
    ('#cc79a7', '-.', 2),
]
TIMELINE_COLORS: Dict[str, str] = {
    'computation': '#0072b2',
    'copy': '#d55e00',
    'waiting': '#dddddd',
}


def count_devices(result: Any) -> str:
    """Return '1 device', '2 devices' and so on."""
    count = len(result.devices)
    return f'{count} device' + 's' * (count > 1)


def plot_accuracies(results: Sequence, axis: Any) -> None:
    """Draw the test accuracy of each `TrainResult` against the epochs."""
    for result, (color, line, width) in zip(results, itertools.cycle(STYLES)):
        epochs = range(1, len(result.accuracies) + 1)
        axis.plot(
            epochs,
            result.accuracies,
            line,
            color=color,
            linewidth=width,
            label=count_devices(result),
        )
    axis.set(xlabel='epoch', ylabel='test accuracy', ylim=(0, 1))
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.legend(loc='lower right')


def plot_results(results: Sequence) -> Any:
    """Return a figure of the results of `train`: learning curves, and the
    seconds per epoch as bars."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2))
    plot_accuracies(results, left)
    seconds = [statistics.median(result.seconds) for result in results]
    bars = right.bar(
        [count_devices(result) for result in results],
        seconds,
        color=[color for color, _, _ in STYLES],
        width=0.6,
    )
    right.bar_label(bars, fmt='%.2f s')
    right.set(ylabel='seconds per epoch', ylim=(0, 1.15 * max(seconds)))
    figure.tight_layout()
    return figure


def show_progress(result: Any, num_epochs: int) -> Iterator[int]:
    """Yield the number of each epoch; after it, show `result.accuracies`.

    As a curve in Jupyter, else as a progress bar.
    """
    shell = 'IPython' in sys.modules and sys.modules['IPython'].get_ipython()
    if shell and hasattr(shell, 'kernel'):
        yield from draw_live(result, num_epochs)
        return
    with tqdm(
        total=num_epochs, unit='epoch', desc=str(result.devices)
    ) as progress:
        for epoch in range(num_epochs):
            yield epoch
            progress.set_postfix(acc=f'{result.accuracies[-1]:.3f}')
            progress.update()


def draw_live(result: Any, num_epochs: int) -> Iterator[int]:
    """Yield the number of each epoch; after it, draw the curve again."""
    import matplotlib.pyplot as plt
    from IPython.display import display

    figure, axis = plt.subplots(figsize=(4.5, 2.8))
    shown = display(figure, display_id=True)
    try:
        for epoch in range(num_epochs):
            yield epoch
            axis.clear()
            plot_accuracies([result], axis)
            shown.update(figure)
    finally:
        plt.close(figure)


def operator_kind(operator: Operator) -> str:
    """Return 'copy' or 'computation'."""
    return 'copy' if 'Copy' in operator.name else 'computation'


def plot_timeline(
    operators: Sequence[Operator],
    axis: Any = None,
    length: Optional[float] = None,
) -> Any:
    """Draw a lane for each device, and return the axis.

    `operators`: from `profile`. Computation, copies and waiting are told
    apart by color. `length`: the milliseconds that the axis shows, for
    several timelines on one scale. Raises ValueError for no operators.
    """
    import matplotlib.pyplot as plt

    axis = axis or plt.subplots(figsize=(8, 2.2))[1]
    devices = busy_devices(operators)
    end = max(operator.end for operator in operators)
    for row, device in enumerate(devices):
        lane = [o for o in operators if o.device == device]
        draw_lane(lane, row, end, axis)
    for label, color in TIMELINE_COLORS.items():
        axis.barh(0, 0, color=color, label=label)
    axis.set(yticks=range(len(devices)), yticklabels=devices)
    axis.set(xlim=(0, length or end), xlabel='milliseconds')
    axis.invert_yaxis()
    above = {'loc': 'lower right', 'bbox_to_anchor': (1, 1), 'ncol': 3}
    axis.legend(frameon=False, borderaxespad=0, **above)
    return axis


def draw_lane(
    operators: Sequence[Operator], row: int, end: float, axis: Any
) -> None:
    """Draw what one device does, and where it waits."""
    axis.barh(row, end, height=0.7, color=TIMELINE_COLORS['waiting'])
    axis.broken_barh(
        [(o.start, o.end - o.start) for o in operators],
        (row - 0.35, 0.7),
        facecolors=[TIMELINE_COLORS[operator_kind(o)] for o in operators],
    )
