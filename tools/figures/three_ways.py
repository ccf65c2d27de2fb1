"""Draw the three ways to divide a network of two layers over two devices."""

from .style import (
    SMALL,
    arrow,
    canvas,
    example,
    frame,
    label,
    label_line,
    parameters,
    save,
)

HEIGHT = 256
PANELS = (88, 262, 436)  # x of the middle of each
ROWS = (176, 62)  # y of the two devices
SHIFT, FRAME_WIDTH, FRAME_HEIGHT = 20, 104, 70
EXAMPLE = -66  # from the middle of a panel

# What each device holds, which examples it gets, and what crosses.
WAYS = {
    'pipeline': ([['W₁'], ['W₂']], [[0, 1], []], 'activations'),
    'tensor': (
        [['½W₁', '½W₂'], ['½W₁', '½W₂']],
        [[0, 1], [0, 1]],
        'activations',
    ),
    'data': ([['W₁', 'W₂'], ['W₁', 'W₂']], [[0], [1]], 'gradients'),
}

DESCRIPTION = (
    'Three panels, each with a network of two layers on two devices. '
    'Pipeline: device 0 has the first layer and gets both images, device 1 '
    'has the second layer and gets the activations of the first. Tensor: '
    'each device has half of both layers and gets both images, and '
    'activations cross in both directions. Data: each device has both '
    'layers and gets one of the images, and gradients cross in both '
    'directions.'
)


def draw():
    """Return the figure."""
    fig, ax = canvas(HEIGHT)
    for x, (name, (layers, examples, crossing)) in zip(PANELS, WAYS.items()):
        middle = x + SHIFT
        label(ax, middle, HEIGHT - 14, name, weight='bold')
        for device, y in enumerate(ROWS):
            frame(
                ax,
                middle,
                y,
                FRAME_WIDTH,
                f'device {device}',
                device,
                FRAME_HEIGHT,
            )
            held = layers[device]
            for i, text in enumerate(held):
                offset = 44 * (i - (len(held) - 1) / 2)
                parameters(ax, middle + offset, y - 9, text, device)
            for i, number in enumerate(examples[device]):
                offset = 15 * (1 - 2 * i) * (len(examples[device]) > 1)
                color = number if name == 'data' else device
                example(ax, x + EXAMPLE, y - 8 + offset, number, color)
        top, bottom = ROWS[0] - 35, ROWS[1] + 35
        arrow(ax, (middle, top), (middle, bottom))
        if name != 'pipeline':
            arrow(ax, (middle, bottom), (middle, top))
        label_line(ax, middle, sum(ROWS) / 2, crossing, SMALL)
    return fig


if __name__ == '__main__':
    save(draw(), 'three_ways', 'Three ways to divide a network', DESCRIPTION)
