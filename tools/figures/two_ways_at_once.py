"""Draw two ways at once: tensor parallelism in a group, data between them.

Two groups of two devices. A group has half of the sentences; each of its
devices has half of every layer.
"""

from .style import (
    SMALL,
    SQUARE,
    arrow,
    canvas,
    example,
    frame,
    label,
    label_line,
    parameters,
    save,
)

HEIGHT = 250
COLUMNS = (200, 436)  # x of the two halves of the network
ROWS = (186, 64)  # y of the two groups
FRAME_WIDTH, FRAME_HEIGHT = 138, 70

DESCRIPTION = (
    'A grid of four devices. Devices 0 and 1, side by side, are group 0 and '
    'have the first half of the sentences; devices 2 and 3, below them, are '
    'group 1 and have the second half. Devices 0 and 2 hold the same half '
    'of every layer, devices 1 and 3 the other half. Activations cross '
    'within a group; the gradients of each half are summed between the '
    'groups.'
)


def draw():
    """Return the figure."""
    fig, ax = canvas(HEIGHT)
    for x, half in zip(COLUMNS, ('one half of each layer', 'other half')):
        label(ax, x, HEIGHT - 14, half, SMALL)
    for group, y in enumerate(ROWS):
        label(ax, 52, y + 20, f'group {group}', weight='bold')
        for i in range(2):
            example(ax, 37 + 30 * i, y - 8, 2 * group + i, 2 * group)
        arrow(ax, (67 + SQUARE / 2 + 2, y - 8), (COLUMNS[0] - 69, y - 8))
        for column, x in enumerate(COLUMNS):
            device = 2 * group + column
            name = f'device {device}'
            frame(ax, x, y, FRAME_WIDTH, name, device, FRAME_HEIGHT)
            parameters(ax, x, y - 9, '½W', device)
        both_ways(ax, (COLUMNS[0] + 69, y), (COLUMNS[1] - 69, y))
        label_line(ax, sum(COLUMNS) / 2, y + 12, 'activations', SMALL)
    for x in COLUMNS:
        both_ways(ax, (x, ROWS[0] - 35), (x, ROWS[1] + 35))
        label_line(ax, x, sum(ROWS) / 2, 'sum of gradients', SMALL)
    return fig


def both_ways(ax, start, end):
    """Draw an arrow with a head at each end."""
    arrow(ax, start, end)
    arrow(ax, end, start)


if __name__ == '__main__':
    save(
        draw(),
        'two_ways_at_once',
        'Tensor parallelism within groups, data parallelism between them',
        DESCRIPTION,
    )
