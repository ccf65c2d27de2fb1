"""Epochs: a table, and the figure of rates and epochs."""

import statistics

from d2lmulti.plots import LINE_STYLES

from ..peers import OURS
from .steps import peers_in, rates
from .tables import column, ratio, spread, table

COLORS = {  # by number of devices
    k: style['color'] for k, style in zip((1, 2, 4), LINE_STYLES)
}
HEAD = (
    'peer',
    'devices',
    'seconds',
    'this project = 1',
    'memory',
    'to the first step',
)
FIGURE = (
    '![Bars: images per second of a training step, and seconds of an '
    'epoch, for each peer](results.png)'
)


def epoch_seconds(results, name, devices):
    """Return the seconds of an epoch in each round."""
    return [
        result['seconds']['epoch']
        for result in results.get((name, devices, 'epoch'), [])
    ]


def epochs_table(results):
    """Return seconds of an epoch, memory, and time to the first step."""
    rows = []
    for name, devices in peers_in(results, 'epoch'):
        epochs = results[name, devices, 'epoch']
        steps = results.get((name, devices, 'step'), [])
        seconds = epoch_seconds(results, name, devices)
        rows.append(
            [
                name,
                devices,
                spread(seconds, '{:.1f}'),
                ratio(seconds, epoch_seconds(results, OURS, devices)),
                spread([memory / 1e6 for memory in column(epochs, 'memory')]),
                spread(column(steps, 'first_step'), '{:.1f}'),
            ]
        )
    return (
        '## An epoch over 60,000 images\n\n'
        'Minibatches of 256, loading included. The time of this project '
        'on as many devices is 1. Peak memory in MB is that of all '
        'processes. The last column: seconds from the start of the '
        'process to the end of the first step.\n\n' + table(HEAD, rows)
    )


def draw(results, path):
    """Save bars: rates at batch 512, and seconds of an epoch."""
    import matplotlib

    matplotlib.use('agg')
    import matplotlib.pyplot as plt

    steps = peers_in(results, 'step')
    peers = [p for p in peers_in(results, 'epoch')[::-1] if p in steps]
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True)
    draw_bars(
        axes[0],
        peers,
        [rates(results, *peer, 512) for peer in peers],
        'images per second, minibatch of 512 (more is better)',
    )
    draw_bars(
        axes[1],
        peers,
        [epoch_seconds(results, *peer) for peer in peers],
        'seconds per epoch of 60,000 images (less is better)',
    )
    axes[0].set_yticks(
        range(len(peers)), [f'{name}, {devices}' for name, devices in peers]
    )
    figure.tight_layout()
    figure.savefig(path, dpi=120, metadata={'Software': None})
    plt.close(figure)


def draw_bars(axis, peers, values, title):
    """Draw a bar for each peer: the median, and the range of the rounds."""
    middle = [statistics.median(part) for part in values]
    ranges = [
        [m - min(part) for m, part in zip(middle, values)],
        [max(part) - m for m, part in zip(middle, values)],
    ]
    axis.barh(
        range(len(peers)),
        middle,
        xerr=ranges,
        capsize=2,
        ecolor='#999999',
        height=0.7,
        color=[COLORS[devices] for _, devices in peers],
    )
    axis.set_title(title, fontsize=10)
