"""Draw direct reduce-scatter + all-gather on four devices.

Left: device 1 receives slice 1 of all others and sums. Right: it sends the
sum back. The other devices do the same with their slices, without arrows.
"""

from .style import (
    CELL,
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

HEIGHT = 156
K = 4
PANEL_X = (74, WIDTH / 2 + 74)
PANEL_Y, HEADING_Y = 120, 140
OWNER = 1  # whose part is drawn with arrows

DESCRIPTION = (
    'Two grids, each with a row for each of four devices and a column for '
    'each of four slices of the array. Step 1, reduce-scatter: devices 0, 2 '
    'and 3 send their slice 1 to device 1, which sums them; likewise every '
    'device j receives slice j of all others, so that the cells on the '
    'diagonal hold the sum of four. Step 2, all-gather: device 1 sends the '
    'sum back to devices 0, 2 and 3; in the end all cells hold the sum of '
    'four.'
)


def draw():
    """Return the figure."""
    fig, ax = canvas(HEIGHT)
    left, right = PANEL_X
    heading(ax, 18, HEADING_Y, 1, 'Reduce-scatter: each sums a slice')
    heading(
        ax, WIDTH / 2 + 18, HEADING_Y, 2, 'All-gather: each sends its slice'
    )
    slices(ax, left, PANEL_Y, [[1] * K for _ in range(K)])
    slices(
        ax,
        right,
        PANEL_Y,
        [
            [K if part == device else 1 for part in range(K)]
            for device in range(K)
        ],
    )
    for x in PANEL_X:
        for device in range(K):
            _, y = cell_place(x, PANEL_Y, device, 0)
            label(ax, x - 8, y, f'device {device}', SMALL, 'right')
    for device in range(K):
        if device != OWNER:
            send(ax, left, device, OWNER)
            send(ax, right, OWNER, device)
    return fig


def send(ax, x, sender, receiver):
    """Draw an arrow for slice OWNER, beside the cells in between."""
    shift = CELL / 2 - 3 if abs(receiver - sender) > 1 else 0
    side = 1 if receiver > sender else -1
    from_x, from_y = cell_place(x, PANEL_Y, sender, OWNER)
    _, to_y = cell_place(x, PANEL_Y, receiver, OWNER)
    arrow(
        ax,
        (from_x + shift, from_y - side * 7),
        (from_x + shift, to_y + side * (CELL / 2 - 3)),
    )


if __name__ == '__main__':
    save(
        draw(),
        'allreduce_direct',
        'Direct reduce-scatter and all-gather on four devices',
        DESCRIPTION,
    )
