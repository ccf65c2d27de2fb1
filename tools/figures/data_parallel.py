"""Draw one data-parallel training step on two devices, from left to right.

1: the minibatch is split into two shards. 2: each device computes the loss
and the gradient of its shard, with its own replica of the parameters.
3: allreduce gives both devices the sum. 4: both make the same update.
"""

from .style import (
    GRADIENT,
    PARAMETERS,
    PITCH,
    SMALL,
    SQUARE,
    SYMBOL,
    arrow,
    canvas,
    disc,
    example,
    frame,
    gradient,
    heading,
    label,
    label_line,
    parameters,
    rule,
    save,
)

HEIGHT = 286
HEADING_Y = 268
LANES = (204, 54)  # y of devices 0 and 1
MIDDLE_Y = sum(LANES) / 2
LANE_X, LANE_WIDTH, LANE_HEIGHT = 323, 386, 80
LANE_LEFT = LANE_X - LANE_WIDTH / 2
# x of everything, from left to right
MINIBATCH_X, SHARD_X, W_X, OWN_X, SUM_X, G_X, NEW_W_X = (
    44,
    170,
    237,
    303,
    353,
    403,
    481,
)
SHARD_SIZE = 2
SUM_DIAMETER = 24

DESCRIPTION = (
    'Four steps from left to right. Step 1, split: a minibatch of four '
    'examples is split into two shards; device 0 gets examples 0 and 1, '
    'device 1 gets 2 and 3. Step 2, loss and gradient: each device holds '
    'the same parameters w and computes the gradient of its own shard, g0 '
    'or g1. Step 3, allreduce: the gradients are summed, g = g0 + g1, and '
    'both devices get the sum g. Step 4, same update: both devices turn w '
    'into the same new w.'
)


def draw():
    """Return the figure."""
    fig, ax = canvas(HEIGHT)
    heading(ax, 18, HEADING_Y, 1, 'Split')
    heading(ax, LANE_LEFT + 9, HEADING_Y, 2, 'Loss and gradient')
    heading(ax, 302, HEADING_Y, 3, 'Allreduce')
    heading(ax, 410, HEADING_Y, 4, 'Same update')

    label(ax, MINIBATCH_X, MIDDLE_Y - 2 * PITCH - 10, 'minibatch', SMALL)
    draw_device(ax, 0, 'g₀')
    draw_device(ax, 1, 'g₁')
    disc(ax, SUM_X, MIDDLE_Y, SUM_DIAMETER, '+')
    label(ax, SUM_X + 18, MIDDLE_Y, 'g = g₀ + g₁', align='left')
    draw_equal(ax, W_X)
    draw_equal(ax, NEW_W_X)
    return fig


def draw_device(ax, device, shard):
    """Draw one device's part of the step; `own` is its own gradient."""
    y = LANES[device]
    side = 1 if y > MIDDLE_Y else -1  # above or below the sum
    frame(ax, LANE_X, y, LANE_WIDTH, f'device {device}', device, LANE_HEIGHT)
    for i in range(SHARD_SIZE):
        number = device * SHARD_SIZE + i
        row_y = MIDDLE_Y + (1.5 - number) * PITCH  # four rows, 0 on top
        example(ax, MINIBATCH_X, row_y, number, device)
        example(ax, SHARD_X + (i - 0.5) * PITCH, y, number, device)
    parameters(ax, W_X, y, 'w', device)
    gradient(ax, OWN_X, y, shard, device)
    gradient(ax, G_X, y, 'g', device)
    parameters(ax, NEW_W_X, y, 'w′', device)

    arrow(
        ax,
        (MINIBATCH_X + SQUARE / 2 + 4, MIDDLE_Y + side * PITCH),
        (LANE_LEFT, y),
    )
    half_w, half_g = PARAMETERS / 2, GRADIENT / 2
    arrow(ax, (SHARD_X + PITCH - 2, y), (W_X - half_w, y))
    arrow(ax, (W_X + half_w, y), (OWN_X - half_g, y))
    edge, rim = y - side * SYMBOL / 2, MIDDLE_Y + side * SUM_DIAMETER / 2
    arrow(ax, (OWN_X + 4, edge), (SUM_X - 6, rim))
    arrow(ax, (SUM_X + 6, rim), (G_X - 4, edge))
    arrow(ax, (G_X + half_g, y), (NEW_W_X - half_w, y))


def draw_equal(ax, x):
    """Show that both replicas of the parameters are equal."""
    top, bottom = LANES
    rule(ax, (x, bottom + SYMBOL / 2), (x, top - SYMBOL / 2), line=':')
    label_line(ax, x, MIDDLE_Y, 'equal', SMALL)


if __name__ == '__main__':
    save(
        draw(),
        'data_parallel',
        'One data-parallel training step on two devices',
        DESCRIPTION,
    )
