"""Draw how a minibatch of 10 examples is split over 4 devices.

Above the minibatch in order, each example in the color of the device that
gets it; below the shards, of 3, 3, 2 and 2 examples, on their devices.
"""

from .style import (
    DEVICES,
    FRAME,
    PITCH,
    SMALL,
    SYMBOL_DROP,
    WIDTH,
    arrow,
    canvas,
    example,
    frame,
    label,
    name_beside,
    rule,
    save,
)

NUM_EXAMPLES, NUM_DEVICES = 10, 4
HEIGHT = 208
TITLE_Y, ROW_Y, LINE_Y, FRAME_Y, COUNT_Y = 192, 162, 141, 64, 16
FRAME_WIDTH, FRAME_PITCH = 116, 131

DESCRIPTION = (
    'Ten numbered squares in a row, 0 to 9, are the examples of a '
    'minibatch X. An arrow leads from each group to a device below: '
    'examples 0 to 2 to cpu(0), 3 to 5 to cpu(1), 6 and 7 to cpu(2), '
    '8 and 9 to cpu(3). The shards hold 3, 3, 2 and 2 examples.'
)


def draw():
    """Return the figure."""
    fig, ax = canvas(HEIGHT)
    label(ax, WIDTH / 2, TITLE_Y, f'minibatch X of {NUM_EXAMPLES} examples')
    length, longer = divmod(NUM_EXAMPLES, NUM_DEVICES)
    start = 0
    for device in range(NUM_DEVICES):
        end = start + length + (device < longer)
        draw_shard(ax, device, start, end)
        start = end
    return fig


def draw_shard(ax, device, start, end):
    """Draw the examples X[start:end], in the row and on their device."""
    middle = (start + end - 1) / 2  # of the numbers of these examples
    row_x = WIDTH / 2 + (middle - (NUM_EXAMPLES - 1) / 2) * PITCH
    frame_x = WIDTH / 2 + (device - (NUM_DEVICES - 1) / 2) * FRAME_PITCH
    frame(ax, frame_x, FRAME_Y, FRAME_WIDTH, f'cpu({device})', device)
    name_beside(ax, frame_x, FRAME_Y, FRAME_WIDTH, f'X[{start}:{end}]')
    label(ax, frame_x, COUNT_Y, f'{end - start} examples', SMALL)
    for number in range(start, end):
        dx = (number - middle) * PITCH
        example(ax, row_x + dx, ROW_Y, number, device)
        example(ax, frame_x + dx, FRAME_Y - SYMBOL_DROP, number, device)
    half = (end - start) * PITCH / 2 - 2  # 2: so that the lines do not touch
    rule(
        ax, (row_x - half, LINE_Y), (row_x + half, LINE_Y), DEVICES[device], 3
    )
    arrow(ax, (row_x, LINE_Y), (frame_x, FRAME_Y + FRAME / 2))


if __name__ == '__main__':
    save(
        draw(),
        'split_minibatch',
        'Splitting a minibatch of ten examples over four devices',
        DESCRIPTION,
    )
