"""Draw which block each of four devices works on in ring attention, and when.

Row i: the queries of device i. Column j: the keys and values that device j
had at first. The number is the step in which device i has them.
"""

from .style import (
    DEVICES,
    FILLS,
    SMALL,
    WIDTH,
    arrow,
    box,
    canvas,
    frame,
    label,
    save,
)

K = 4
HEIGHT = 176
CELL = 30
GRID = (330, 126)  # the middle of the first cell
RING = [(70, 118), (190, 118), (190, 42), (70, 42)]  # around the ring

DESCRIPTION = (
    'Left: four devices in a ring, each with its queries, which stay, and a '
    'block of keys and values; an arrow from each device to the next one '
    'shows where the blocks go. Right: a table of four rows of four. Row i '
    'has the queries of device i, column j the keys that device j had at '
    'first. The number in a cell is the step in which device i works on '
    'them: 0 on the diagonal, 1 to the left of it, around to 3.'
)


def draw():
    """Return the figure."""
    fig, ax = canvas(HEIGHT)
    for device, (x, y) in enumerate(RING):
        frame(ax, x, y, 84, f'device {device}', device, height=48)
        label(ax, x - 20, y - 9, f'Q{device}', SMALL)
        box(
            ax,
            x + 18,
            y - 9,
            40,
            20,
            f'K{device} V{device}',
            DEVICES[device],
            FILLS[device],
            size=9,
        )
    for start, end in (
        ((113, 118), (147, 118)),
        ((190, 93), (190, 67)),
        ((147, 42), (113, 42)),
        ((70, 67), (70, 93)),
    ):
        arrow(ax, start, end)
    x, y = GRID
    label(ax, x + 1.5 * CELL, y + 34, 'keys and values of device', SMALL)
    label(ax, x - 70, y - 1.5 * CELL, 'queries of', SMALL)
    label(ax, x - 70, y - 1.5 * CELL - 13, 'device', SMALL)
    for i in range(K):
        label(ax, x + i * CELL, y + 20, str(i), SMALL, weight='bold')
        label(ax, x - 26, y - i * CELL, str(i), SMALL, weight='bold')
        for j in range(K):
            box(
                ax,
                x + j * CELL,
                y - i * CELL,
                CELL - 3,
                CELL - 3,
                str((i - j) % K),
                DEVICES[i],
                FILLS[j],
            )
    return fig


if __name__ == '__main__':
    assert GRID[0] + 4 * CELL + 50 <= WIDTH
    save(
        draw(), 'ring_attention', 'Ring attention on four devices', DESCRIPTION
    )
