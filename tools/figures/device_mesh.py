"""Draw a mesh of 2 x 2 x 2 devices: a cube with an axis per way to split.

The rank counts the tensor axis first, then the pipeline, then the data axis.
Devices of one color hold the same parameters.
"""

from .style import (
    DEVICES,
    FILLS,
    SMALL,
    box,
    canvas,
    label,
    label_line,
    rule,
    save,
)

HEIGHT = 236
BOX = (52, 34)

DESCRIPTION = (
    'Eight devices on the corners of a cube, with ranks 0 to 7. In front are '
    'ranks 0 and 1, with 2 and 3 below them; behind are 4 and 5, with 6 and '
    '7 below. Lines to the right are the tensor axis: heads and units. Lines '
    'downward are the pipeline axis: layers. Lines to the back are the data '
    'axis: examples. Ranks 0 and 4 have one color, as have 1 and 5, 2 and 6, '
    '3 and 7: they hold the same parameters.'
)


def place(d, p, t):
    """Return where a device is drawn."""
    return 60 + 160 * t + 84 * d, 158 - 112 * p + 52 * d


def edge(ax, start, end):
    """Draw a line between two devices, from border to border."""
    across = [b - a for a, b in zip(start, end)]
    inside = min(
        side / 2 / abs(length) for side, length in zip(BOX, across) if length
    )
    rule(
        ax,
        [a + inside * length for a, length in zip(start, across)],
        [b - inside * length for b, length in zip(end, across)],
    )


def draw():
    """Return the figure."""
    fig, ax = canvas(HEIGHT)
    ranks = [(d, p, t) for d in range(2) for p in range(2) for t in range(2)]
    for here in ranks:
        for axis in range(3):
            if here[axis] == 0:
                there = tuple(i == axis or n for i, n in enumerate(here))
                edge(ax, place(*here), place(*there))
    for rank in reversed(range(8)):  # the front covers the back
        color = rank % 4
        x, y = place(*ranks[rank])
        box(
            ax,
            x,
            y,
            *BOX,
            str(rank),
            DEVICES[color],
            FILLS[color],
            corner=4,
            weight='bold',
        )
    label_line(ax, 224, 210, 'tensor', SMALL)
    label_line(ax, 60, 102, 'pipeline', SMALL)
    label_line(ax, 102, 184, 'data', SMALL)
    lines = (
        ('tensor:', 'heads, units, positions'),
        ('pipeline:', 'layers'),
        ('data:', 'examples'),
    )
    for number, (axis, what) in enumerate(lines):
        y = 132 - 20 * number
        label(ax, 346, y, axis, SMALL, 'left', weight='bold')
        label(ax, 402, y, what, SMALL, 'left')
    label(ax, 346, 62, 'rank = (d · 2 + p) · 2 + t', SMALL, 'left')
    return fig


if __name__ == '__main__':
    save(draw(), 'device_mesh', 'A mesh of eight devices', DESCRIPTION)
