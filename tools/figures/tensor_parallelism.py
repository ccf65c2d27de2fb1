"""Draw tensor parallelism: each of two devices holds half of every layer.

After each of the first two layers, the devices exchange their outputs; at
the end the partial scores are summed.
"""

from .style import (
    MARGIN,
    PARAMETERS,
    SMALL,
    WIDTH,
    arrow,
    canvas,
    disc,
    frame,
    label,
    parameters,
    rule,
    save,
)

HEIGHT = 224
LANES = (174, 76)  # y of devices 0 and 1
MIDDLE_Y = sum(LANES) / 2
LANE_X, LANE_WIDTH, LANE_HEIGHT = 258, 400, 72
LAYER_X = (112, 222, 332, 408)
SUM_X, SUM_DIAMETER = 490, 24
KIND_Y = 22  # y of the names of the two ways to split a layer
NAMES = ('conv 1', 'conv 2', 'dense', 'output')

DESCRIPTION = (
    'Two lanes, one per device. Both devices get all images. Device 0 holds '
    'one half of the outputs of conv 1, conv 2 and dense, device 1 the other '
    'half. After conv 1 and after conv 2, each device sends its channels to '
    'the other, so that both have all of them. After dense nothing is '
    'exchanged: each device multiplies its units by its rows of the last '
    'weight, and the two partial scores are summed. Conv 1, conv 2 and dense '
    'are column-parallel, output is row-parallel.'
)


def draw():
    """Return the figure."""
    fig, ax = canvas(HEIGHT)
    for device, y in enumerate(LANES):
        frame(
            ax, LANE_X, y, LANE_WIDTH, f'device {device}', device, LANE_HEIGHT
        )
        for x, number in zip(LAYER_X, '₁₂₃₄'):
            parameters(ax, x, y - 6, f'½W{number}', device)
        arrow(ax, (MARGIN, y - 6), (LAYER_X[0] - PARAMETERS / 2, y - 6))
        arrow(
            ax,
            (LAYER_X[2] + PARAMETERS / 2, y - 6),
            (LAYER_X[3] - PARAMETERS / 2, y - 6),
        )
        side = 1 if y > MIDDLE_Y else -1
        arrow(
            ax,
            (LAYER_X[3] + PARAMETERS / 2, y - 6),
            (SUM_X - 6, MIDDLE_Y + side * SUM_DIAMETER / 2),
        )
    for left, right in zip(LAYER_X[:2], LAYER_X[1:3]):
        exchange(ax, left + PARAMETERS / 2, right - PARAMETERS / 2)
    for x, name in zip(LAYER_X, NAMES):
        label(ax, x, MIDDLE_Y - 1, name, SMALL)
    label(ax, MARGIN, MIDDLE_Y - 1, 'images', SMALL, 'left')
    kind(ax, LAYER_X[0], LAYER_X[2], 'column-parallel: some outputs')
    kind(ax, LAYER_X[3], LAYER_X[3], 'row-parallel')
    disc(ax, SUM_X, MIDDLE_Y, SUM_DIAMETER, '+')
    label(ax, WIDTH - MARGIN, MIDDLE_Y + 30, 'scores', SMALL, 'right')
    return fig


def kind(ax, left, right, text):
    """Write below the layers from `left` to `right` how they are split."""
    ends = [
        (left - PARAMETERS / 2, KIND_Y + 9),
        (right + PARAMETERS / 2, KIND_Y + 9),
    ]
    rule(ax, *ends)
    label(ax, (left + right) / 2, KIND_Y - 3, text, SMALL)


def exchange(ax, left, right):
    """Draw what each device keeps and what it sends to the other."""
    for y in LANES:
        for other in LANES:
            arrow(ax, (left, y - 6), (right, other - 6))


if __name__ == '__main__':
    save(
        draw(),
        'tensor_parallelism',
        'Tensor parallelism: each device holds half of every layer of LeNet',
        DESCRIPTION,
    )
