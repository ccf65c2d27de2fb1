"""Draw recursive halving and doubling on four devices, step by step.

A number counts the devices whose slices are in the sum; arrows beside a grid
join the devices that exchange slices next.
"""

from matplotlib.patches import FancyArrowPatch

from .style import (
    CELL,
    INK,
    SMALL,
    WIDTH,
    box,
    canvas,
    cell_place,
    heading,
    label,
    save,
    slices,
)

HEIGHT = 350
K = 4
PANEL_X = [34 + i * (WIDTH - 26) / 3 for i in range(3)]
PANEL_Y = (310, 132)
HEADING_Y = (336, 158)
ARROWS_X = 6  # from the grid to the arrows

DESCRIPTION = (
    'Six small grids, each with a row for each of four devices and a column '
    'for each of four slices of the array. The number in a cell says how many '
    'devices are in its sum. Upper row, recursive halving: at the start all '
    'cells hold 1. Devices 0 and 2, and devices 1 and 3, exchange halves: '
    'devices 0 and 1 now hold 2 in the first two slices, devices 2 and 3 in '
    'the last two. Then devices 0 and 1, and devices 2 and 3, exchange '
    'quarters: each device holds 4 in one slice, device 0 in the first, '
    'device 3 in the last. Lower row, recursive doubling: devices 0 and 1, '
    'and devices 2 and 3, exchange their complete slices, then devices 0 and '
    '2, and 1 and 3, exchange two slices, until all cells hold 4.'
)


def draw():
    """Return the figure."""
    fig, ax = canvas(HEIGHT)
    heading(ax, 18, HEADING_Y[0], 1, 'Halving: swap halves, add them')
    heading(ax, 18, HEADING_Y[1], 2, 'Doubling: send what is complete')
    counts = [[1] * K for _ in range(K)]
    kept = [list(range(K)) for _ in range(K)]
    for x, gap in zip(PANEL_X, (2, 1, 0)):
        grid(ax, x, PANEL_Y[0], counts, gap, kept)
        if gap:
            before = [row[:] for row in counts]
            for i in range(K):
                half = i // gap * gap
                kept[i] = list(range(half, half + gap))
                for part in kept[i]:
                    counts[i][part] += before[i ^ gap][part]
    for x, gap in zip(PANEL_X, (1, 2, 0)):
        grid(ax, x, PANEL_Y[1], counts, gap, kept)
        if gap:
            kept = [sorted(kept[i] + kept[i ^ gap]) for i in range(K)]
            for i in range(K):
                for part in kept[i]:
                    counts[i][part] = K
    return fig


def grid(ax, x, y, counts, gap, kept):
    """Draw all slices, and who exchanges with whom next.

    Slices that a device no longer adds to are faint.
    """
    slices(ax, x, y, counts)
    for device in range(K):
        for part in range(K):
            if part not in kept[device]:
                place = cell_place(x, y, device, part)
                box(ax, *place, CELL, CELL, edge='#ffffffb0', fill='#ffffffb0')
        label(ax, x - 10, cell_place(x, y, device, 0)[1], str(device), SMALL)
    right = x + K * CELL + ARROWS_X
    for i in range(K):
        if gap and not i & gap:
            start = cell_place(x, y, i, 0)[1]
            end = cell_place(x, y, i + gap, 0)[1]
            at = right + 16 * (i % gap)
            ax.add_patch(
                FancyArrowPatch(
                    (at, start),
                    (at, end),
                    connectionstyle='bar,fraction=-0.12'
                    if gap == 2
                    else 'bar,fraction=-0.3',
                    arrowstyle='<|-|>',
                    mutation_scale=9,
                    shrinkA=0,
                    shrinkB=0,
                    color=INK,
                    linewidth=1.2,
                    clip_on=False,
                )
            )


if __name__ == '__main__':
    save(
        draw(),
        'allreduce_halving',
        'Recursive halving and doubling on four devices',
        DESCRIPTION,
    )
