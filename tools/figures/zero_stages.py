"""Draw what each of four devices holds in the stages of ZeRO.

Each panel is a stage: a column for each device, a row for parameters,
gradients and optimizer state. A row that is whole on each device is filled; a
row that is sharded has one filled quarter on each.
"""

from .style import (
    DEVICES,
    FILLS,
    SMALL,
    WHITE,
    WIDTH,
    box,
    canvas,
    label,
    save,
)

HEIGHT = 116
K = 4
ROWS = ['parameters', 'gradients', 'state']
STAGES = ['data parallelism', 'ZeRO-1', 'ZeRO-2', 'ZeRO-3']
LEFT, TOP = 74, 74
BAR, BAR_HEIGHT, ROW_PITCH = 20, 14, 20
COLUMN_PITCH, PANEL_PITCH = 24, 114

DESCRIPTION = (
    'Four panels, each with a column for each of four devices and rows for '
    'parameters, gradients and optimizer state. In data parallelism every '
    'device holds all three whole. In ZeRO-1 device 0 holds the first '
    'quarter of the state, device 1 the second, and so on. In ZeRO-2 the '
    'same holds for the gradients, too, and in ZeRO-3 for all three.'
)


def draw():
    """Return the figure."""
    fig, ax = canvas(HEIGHT)
    for row, name in enumerate(ROWS):
        label(ax, LEFT - 16, TOP - row * ROW_PITCH, name, SMALL, 'right')
    for stage, name in enumerate(STAGES):
        x = LEFT + stage * PANEL_PITCH
        label(ax, x + 1.5 * COLUMN_PITCH, HEIGHT - 14, name, SMALL)
        for device in range(K):
            label(ax, x + device * COLUMN_PITCH, 14, str(device), SMALL)
            for row in range(len(ROWS)):
                sharded = row >= len(ROWS) - stage
                held(ax, x, row, device, sharded)
    label(ax, LEFT - 16, 14, 'device', SMALL, 'right')
    return fig


def held(ax, x, row, device, sharded):
    """Draw one bar: filled where the device holds it."""
    x, y = x + device * COLUMN_PITCH, TOP - row * ROW_PITCH
    box(ax, x, y, BAR, BAR_HEIGHT, edge=DEVICES[device], fill=WHITE, line=0.8)
    width = BAR / K if sharded else BAR
    middle = x - BAR / 2 + (device + 0.5) * width if sharded else x
    box(
        ax,
        middle,
        y,
        width,
        BAR_HEIGHT,
        edge=DEVICES[device],
        fill=DEVICES[device] if sharded else FILLS[device],
        line=0.8,
    )


if __name__ == '__main__':
    assert LEFT + 4 * PANEL_PITCH - COLUMN_PITCH <= WIDTH
    save(
        draw(),
        'zero_stages',
        'What four devices hold in the stages of ZeRO',
        DESCRIPTION,
    )
