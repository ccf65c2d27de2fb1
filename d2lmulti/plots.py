"""What draws learning curves and times, and has the colors of the
chapters' figures.

matplotlib is imported only when something is drawn.
"""

import statistics
from typing import Any, Dict, Iterator, List, Sequence, Tuple

from tqdm import tqdm

from .check_values import counted
from .prepare.jupyter import jupyter_shell

__all__ = ['plot_results']

# Okabe and Ito's colors. These four mean devices 0 to 3 and nothing else,
DEVICE_COLORS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7']
# and the others runs or methods that are compared, the baseline first.
# Lines and markers tell them apart in grey, too, and where they coincide.
LINE_STYLES: List[Dict[str, Any]] = [
    {'color': color, 'linestyle': line, 'marker': marker, 'markersize': 4}
    for color, line, marker in (
        ('#000000', '-', 'o'),
        ('#e69f00', '--', 's'),
        ('#56b4e9', ':', '^'),
        ('#999999', '-.', 'D'),
        ('#000000', ':', 'v'),
        ('#e69f00', '-', 'P'),
        ('#56b4e9', '-', 'X'),
    )
]
LINE_STYLES[0].update(linewidth=3, markersize=7)
# In a timeline the hue tells the device, and the shade what it does: this
# fraction of the device's color, the rest white or, if negative, black.
SHADES: Dict[str, float] = {
    'forward': 0.4,
    'backward': 1,
    'copy': -1,
    'sum, update': -0.5,
}
WAITING = {  # hatched, as so light a grey alone is hardly seen
    'facecolor': '#f4f4f4',
    'edgecolor': '#8c8c8c',
    'hatch': '////',
    'linewidth': 0,
}


def shade(color: str, fraction: float) -> Tuple[float, ...]:
    """Mix a color with white or, for a negative fraction, with black."""
    from matplotlib.colors import to_rgb

    if fraction < 0:
        return tuple((1 + fraction) * part for part in to_rgb(color))
    return tuple(fraction * part + 1 - fraction for part in to_rgb(color))


def style_of(result: Any) -> Dict[str, Any]:
    """Return the look of a result, the same for the same device count."""
    order = [1, 2, 4, 3]
    count = len(result.devices)
    style = LINE_STYLES[order.index(count) if count in order else 4]
    return {'label': counted(count, 'device'), **style}


def plot_accuracies(results: Sequence, axis: Any) -> None:
    """Draw the test accuracy of each `TrainResult` against the epochs."""
    for result in results:
        epochs = range(1, len(result.accuracies) + 1)
        axis.plot(epochs, result.accuracies, **style_of(result))
    axis.set(xlabel='epoch', ylabel='test accuracy', ylim=(0, 1))
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.legend(loc='lower right')


def plot_results(results: Sequence) -> Any:
    """Return a figure of the results of `train`: learning curves, and the
    seconds per epoch as bars."""
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(5, 2.8))
    plot_accuracies(results, left)
    seconds = [statistics.median(result.seconds) for result in results]
    styles = [style_of(result) for result in results]
    labels, colors = ([s[name] for s in styles] for name in ('label', 'color'))
    bars = right.bar(labels, seconds, color=colors, width=0.6)
    right.bar_label(bars, fmt='%.2f s')
    right.set(ylabel='seconds per epoch', ylim=(0, 1.15 * max(seconds)))
    figure.tight_layout()
    return figure


def show_progress(result: Any, num_epochs: int) -> Iterator[int]:
    """Yield the number of each epoch; after it, show `result.accuracies`.

    As a curve in Jupyter, else as a progress bar.
    """
    if jupyter_shell() is not None:
        yield from draw_live(result, num_epochs)
        return
    text = str(result.devices)
    with tqdm(total=num_epochs, unit='epoch', desc=text) as progress:
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
