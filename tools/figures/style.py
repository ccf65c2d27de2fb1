"""The look that all figures of the book share.

One unit is one point; a figure is 525 points (700 pixels) wide; x runs to
the right and y upwards. A place (x, y) is the center of what is drawn.

The same thing always looks the same:

- an example: a numbered square;
- parameters: a box with a thick border and a bold w;
- a gradient: a pill, with a g;
- a device: a white frame with a name, in the device's color.
"""

import io
from pathlib import Path
from xml.sax.saxutils import escape

import matplotlib
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch

WIDTH = 525
POINTS_PER_INCH = 72

# The site's dark pages have others: tools/site/dark_figures.py.
INK = '#1a1a1a'  # text and arrows
WHITE = '#ffffff'
HOST = '#555555'  # what belongs to no device
# Okabe-Ito: blue, vermilion, bluish green, reddish purple
DEVICES = ['#0072b2', '#d55e00', '#009e73', '#cc79a7']
# The same, mixed with white: 45, 25, 42 and 15 % of the color. The shares
# differ so that the lightness does, and the fills can be told apart in grey.
FILLS = ['#8cc0dc', '#f4d7bf', '#94d6c4', '#f7ebf2']

TEXT, SMALL = 11, 10  # font sizes
SQUARE = 26  # side of an example
PITCH = 30  # from one example to the next
SYMBOL = 28  # height of parameters and of gradients
PARAMETERS, GRADIENT = 36, 40  # their widths
FRAME = 66  # height of a device
CORNER = 6  # radius of its corners
NAME_DROP = 13  # from the top of a device down to its name
SYMBOL_DROP = 8  # from the middle of a device down to what it holds
MARGIN = 8  # from the side of a device to its name

# What decides how matplotlib writes an SVG, fixed on every machine. DejaVu
# Sans comes with matplotlib; elsewhere a reader's own font may step in.
SETTINGS = {
    'svg.hashsalt': 'd2lmulti',
    'svg.fonttype': 'none',
    'font.sans-serif': ['DejaVu Sans', 'Verdana', 'Arial'],
}


def canvas(height, width=WIDTH):
    """Return a white figure, `height` points high, and its axes."""
    fig = Figure(
        (width / POINTS_PER_INCH, height / POINTS_PER_INCH), facecolor=WHITE
    )
    ax = fig.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(0, height))
    ax.set_axis_off()
    return fig, ax


def label(ax, x, y, text, size=TEXT, align='center', **kwargs):
    """Write `text` at (x, y), one line high."""
    ax.text(
        x,
        y,
        text,
        fontsize=size,
        ha=align,
        va='center_baseline',
        family='sans-serif',
        **{'color': INK, **kwargs},
    )


def label_line(ax, x, y, text, size=TEXT):
    """Write `text` over a line or an arrow, on white."""
    label(
        ax,
        x,
        y,
        text,
        size,
        bbox={'facecolor': WHITE, 'edgecolor': 'none', 'pad': 2},
    )


def box(
    ax,
    x,
    y,
    width,
    height,
    text='',
    edge=HOST,
    fill=WHITE,
    corner=0,
    line=1.2,
    **kwargs,
):
    """Draw a box around (x, y), its corners rounded to radius `corner`."""
    shape = f'round,rounding_size={corner}' if corner else 'square'
    ax.add_patch(
        FancyBboxPatch(
            (x - width / 2, y - height / 2),
            width,
            height,
            f'{shape},pad=0',
            edgecolor=edge,
            facecolor=fill,
            linewidth=line,
            clip_on=False,
        )
    )
    if text:
        label(ax, x, y, text, **kwargs)


def rule(ax, start, end, color=HOST, width=1.2, line='-'):
    """Draw a line from the point `start` to the point `end`."""
    ax.plot(
        [start[0], end[0]],
        [start[1], end[1]],
        line,
        color=color,
        linewidth=width,
        clip_on=False,
    )


def arrow(ax, start, end):
    """Draw an arrow from the point `start` to the point `end`."""
    ax.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle='-|>',
            mutation_scale=11,
            shrinkA=1,
            shrinkB=2,
            color=INK,
            linewidth=1.3,
            clip_on=False,
        )
    )


def example(ax, x, y, number, device):
    """Draw the example `number` of a minibatch, for one of the devices."""
    box(ax, x, y, SQUARE, SQUARE, str(number), DEVICES[device], FILLS[device])


def parameters(ax, x, y, text, device):
    """Draw a device's replica of the parameters."""
    box(
        ax,
        x,
        y,
        PARAMETERS,
        SYMBOL,
        text,
        DEVICES[device],
        FILLS[device],
        line=3,
        weight='bold',
    )


def gradient(ax, x, y, text, device, width=GRADIENT):
    """Draw a gradient on a device."""
    box(
        ax,
        x,
        y,
        width,
        SYMBOL,
        text,
        DEVICES[device],
        FILLS[device],
        corner=SYMBOL / 2,
    )


def frame(ax, x, y, width, name, device, height=FRAME):
    """Draw a device: a frame with its name at the top left."""
    box(ax, x, y, width, height, edge=DEVICES[device], corner=CORNER, line=2)
    label(
        ax,
        x - width / 2 + MARGIN,
        y + height / 2 - NAME_DROP,
        name,
        SMALL,
        'left',
        weight='bold',
    )


def name_beside(ax, x, y, width, text):
    """Write `text` at the top right of a device's frame."""
    label(
        ax,
        x + width / 2 - MARGIN,
        y + FRAME / 2 - NAME_DROP,
        text,
        SMALL,
        'right',
    )


def disc(ax, x, y, diameter, text, fill=WHITE, color=INK):
    """Draw a disc with a bold `text` in the color `color`."""
    ax.add_patch(
        Circle(
            (x, y),
            diameter / 2,
            facecolor=fill,
            edgecolor=INK,
            linewidth=1.2,
            clip_on=False,
        )
    )
    label(ax, x, y, text, color=color, weight='bold')


def heading(ax, x, y, number, text):
    """Write a step's number, in a disc around (x, y), and its name."""
    disc(ax, x, y, 18, str(number), INK, WHITE)
    label(ax, x + 15, y, text, align='left', weight='bold')


CELL = 22  # side of a slice of an array


def cell_place(x, y, device, part):
    """Return the middle of slice `part` on `device` in a grid, which has its
    top left corner at (x, y): a row for each device."""
    return x + (part + 0.5) * CELL, y - (device + 0.5) * (CELL + 8)


def slices(ax, x, y, counts):
    """Draw each device's array as a row of slices with their `counts`.

    Where the count is that of all devices, the slice is complete: its
    border is thick and its number bold.
    """
    for device, row in enumerate(counts):
        for part, count in enumerate(row):
            complete = count == len(counts)
            box(
                ax,
                *cell_place(x, y, device, part),
                CELL - 2,
                CELL - 2,
                str(count),
                DEVICES[device],
                FILLS[device] if complete else WHITE,
                line=2.5 if complete else 1,
                size=SMALL,
                weight='bold' if complete else 'normal',
            )


def save(fig, name, title, description):
    """Write `name`.svg beside this file, the same bytes on every run.

    A screen reader reads `title` and `description` aloud.
    """
    buffer = io.StringIO()
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        fig.savefig(
            buffer,
            format='svg',
            metadata=dict.fromkeys(['Creator', 'Date', 'Format', 'Type']),
        )
    head, start, body = buffer.getvalue().partition('<svg ')
    attributes, end, body = body.partition('>\n')
    svg = (
        f'{head}{start}role="img" aria-labelledby="{name}-title '
        f'{name}-desc" {attributes}{end}'
        f' <title id="{name}-title">{escape(title)}</title>\n'
        f' <desc id="{name}-desc">{escape(description)}</desc>\n{body}'
    )
    lines = [line.rstrip() + '\n' for line in svg.splitlines()]
    path = Path(__file__).parents[2] / 'img' / f'{name}.svg'
    path.write_bytes(''.join(lines).encode())
