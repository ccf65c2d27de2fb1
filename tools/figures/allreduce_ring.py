"""Draw the ring allreduce on four devices, step by step.

Upper row: reduce-scatter. Lower row: all-gather. A number counts the devices
whose slices are in the sum; arrows show what is sent next.
"""

from .style import (
    CELL,
    MARGIN,
    SMALL,
    WIDTH,
    arrow,
    canvas,
    cell_place,
    heading,
    label,
    save,
    slices,
)

HEIGHT = 350
K = 4
PANEL_X = [34 + i * (WIDTH - 26) / 4 for i in range(4)]
PANEL_Y = (310, 132)
HEADING_Y = (336, 158)

DESCRIPTION = (
    'Eight small grids, each with a row for each of four devices and a '
    'column for each of four slices of the array. The number in a cell says '
    'how many devices are in its sum. Upper row, reduce-scatter: '
    'at the start all cells hold 1. At each of three steps every device '
    'sends one slice to the next device, which adds it: cells with 2, then '
    '3, then 4 appear, until every device holds one complete slice. Lower '
    'row, all-gather: the complete slices travel on, one at each step, until '
    'all cells of all devices hold 4.'
)


def draw():
    """Return the figure."""
    fig, ax = canvas(HEIGHT)
    counts = [[1] * K for _ in range(K)]
    heading(ax, 18, HEADING_Y[0], 1, 'Reduce-scatter: send a slice, add it')
    heading(ax, 18, HEADING_Y[1], 2, 'All-gather: send a slice, replace it')
    for row, first, join in (
        (0, 0, lambda mine, sent: mine + sent),
        (1, 1, lambda mine, sent: sent),
    ):
        for step, x in enumerate(PANEL_X):
            slices(ax, x, PANEL_Y[row], counts)
            if step == 0:
                name_devices(ax, x, PANEL_Y[row])
            if step < K - 1:
                sent = [(i, (i + first - step) % K) for i in range(K)]
                send(ax, x, PANEL_Y[row], sent)
                values = [counts[i][part] for i, part in sent]
                for (i, part), value in zip(sent, values):
                    there = counts[(i + 1) % K]
                    there[part] = join(there[part], value)
    return fig


def name_devices(ax, x, y):
    """Write the number of each device left of its row."""
    for device in range(K):
        _, row_y = cell_place(x, y, device, 0)
        label(ax, x - 10, row_y, str(device), SMALL, weight='bold')
    label(ax, MARGIN + 3, y - 1.5 * (CELL + 8), 'device', SMALL, rotation=90)


def send(ax, x, y, sent):
    """Draw an arrow for each (device, slice) that goes to the next one."""
    for device, part in sent:
        from_x, from_y = cell_place(x, y, device, part)
        arrow(ax, (from_x, from_y - 7), (from_x, from_y - CELL))
        if device == K - 1:  # around: out at the bottom, in at the top
            _, top = cell_place(x, y, 0, part)
            arrow(ax, (from_x, top + CELL), (from_x, top + 7))


if __name__ == '__main__':
    save(
        draw(),
        'allreduce_ring',
        'The ring allreduce on four devices',
        DESCRIPTION,
    )
