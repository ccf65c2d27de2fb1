"""Draw test accuracy against bytes sent, from the stored measurement.

`make bench SUITE=compression` writes what is drawn:
tools/speed/results/compression.json.
"""

import json
from pathlib import Path

from matplotlib.figure import Figure

from .style import INK, POINTS_PER_INCH, SMALL, WHITE, WIDTH, save

RESULTS = Path(__file__).parents[2] / 'tools/speed/results/compression.json'
HEIGHT = 300
TICKS = (0.01, 0.1, 1, 10)  # MB
# Okabe-Ito, black first: one color for each method, as in both panels.
COLORS = ('#000000', '#0072b2', '#56b4e9', '#d55e00', '#e69f00')
COLORS += ('#009e73', '#cc79a7')
LEFT = {
    **{'plain': 0, 'PowerSGD, rank 2': 1, 'PowerSGD, rank 1': 2},
    **{'top 1 %': 3, 'top 0.1 %': 4, 'two bits': 5, 'one bit': 6},
}
RIGHT = {
    **{'plain': 0, 'AdamW': 3, 'local SGD, H = 10': 1},
    **{'local SGD, H = 40': 2, 'DiLoCo, H = 10': 4, 'DiLoCo, H = 40': 5},
}

DESCRIPTION = (
    'Two panels: test accuracy after 10 to 240 steps against the megabytes '
    'that a device has sent, on a logarithmic axis, the mean of eight seeds '
    'with the standard error. Left: the plain exchange and six compressed '
    'ones, dotted where there is no error feedback. Right: the plain '
    'exchange, AdamW at every step, local SGD and DiLoCo with rounds of 10 '
    'and of 40 steps.'
)


def draw():
    """Return the figure."""
    methods = json.loads(RESULTS.read_text())
    size = WIDTH / POINTS_PER_INCH, HEIGHT / POINTS_PER_INCH
    fig = Figure(size, facecolor=WHITE)
    panels = fig.subplots(1, 2, sharey=True)
    for ax, names, ticks in zip(panels, (LEFT, RIGHT), (TICKS, TICKS[1:])):
        for name, color in names.items():
            curve(ax, methods[name], COLORS[color], '-', name)
            lost = methods.get(f'{name}, without')
            if lost:
                curve(ax, lost, COLORS[color], ':', None)
        finish(ax, ticks)
    panels[0].set_ylabel('test accuracy', fontsize=SMALL)
    fig.subplots_adjust(0.09, 0.39, 0.99, 0.98, 0.06)
    return fig


def curve(ax, points, color, line, name):
    """Draw a method's mean accuracies, with error bars."""
    sent, accuracies, errors = zip(*points)
    ax.errorbar(
        [number / 1e6 for number in sent],
        accuracies,
        errors,
        color=color,
        linestyle=line,
        linewidth=1.3,
        elinewidth=1,
        capsize=2,
        label=name,
    )


def finish(ax, ticks):
    """Set the scale, the ticks and the legend of a panel."""
    ax.set_xscale('log')
    ax.set_xlim(ticks[0] * 0.7, 140)
    ax.set_xticks(ticks, [f'{tick:g}' for tick in ticks], fontsize=SMALL)
    ax.minorticks_off()
    ax.tick_params(labelsize=SMALL, colors=INK)
    ax.set_xlabel('MB sent by a device', fontsize=SMALL)
    ax.legend(
        fontsize=9,
        frameon=False,
        ncols=2,
        loc='upper center',
        bbox_to_anchor=(0.5, -0.2),
        columnspacing=1,
    )


if __name__ == '__main__':
    save(
        draw(),
        'accuracy_per_byte',
        'Test accuracy against bytes sent',
        DESCRIPTION,
    )
