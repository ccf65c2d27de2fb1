"""Draw pipeline parallelism: a decoder in two stages, each on a device.

Forward, activations go to device 1; backward, their gradients come back.
"""

from .style import (
    MARGIN,
    PARAMETERS,
    SMALL,
    WIDTH,
    arrow,
    box,
    canvas,
    frame,
    label,
    label_line,
    parameters,
    save,
)

HEIGHT = 132
Y, FRAME_HEIGHT, FRAME_WIDTH = 66, 108, 154
FRAMES = (129, 379)  # x of devices 0 and 1
LAYERS = (
    ('embedding', 'E'),
    ('block', 'W₁'),
    ('block', 'W₂'),
    ('output', 'W₃'),
)
PITCH = 70  # from one layer to the next
FORWARD_Y, BACKWARD_Y = Y + 14, Y - 22

DESCRIPTION = (
    'Tokens enter device 0, which holds the embedding and a block. The '
    'activations go to device 1, which holds a block and the output layer '
    'and computes the loss. The gradients of the activations go back to '
    'device 0.'
)


def draw():
    """Return the figure."""
    fig, ax = canvas(HEIGHT)
    left, right = FRAMES
    for device, x in enumerate(FRAMES):
        frame(ax, x, Y, FRAME_WIDTH, f'device {device}', device, FRAME_HEIGHT)
        for i in range(2):
            name, weight = LAYERS[2 * device + i]
            layer_x = x + (i - 0.5) * PITCH
            parameters(ax, layer_x, Y - 4, weight, device)
            label(ax, layer_x, Y - 32, name, SMALL)
        arrow(
            ax,
            (x - PITCH / 2 + PARAMETERS / 2, Y - 4),
            (x + PITCH / 2 - PARAMETERS / 2, Y - 4),
        )
    label(ax, MARGIN, FORWARD_Y + 12, 'tokens', SMALL, 'left')
    arrow(ax, (MARGIN, FORWARD_Y), (left - FRAME_WIDTH / 2, FORWARD_Y))
    from_x, to_x = left + FRAME_WIDTH / 2, right - FRAME_WIDTH / 2
    arrow(ax, (from_x, FORWARD_Y), (to_x, FORWARD_Y))
    label_line(ax, (from_x + to_x) / 2, FORWARD_Y + 14, 'activations', SMALL)
    arrow(ax, (to_x, BACKWARD_Y), (from_x, BACKWARD_Y))
    label_line(
        ax, (from_x + to_x) / 2, BACKWARD_Y - 14, 'their gradients', SMALL
    )
    end = right + FRAME_WIDTH / 2
    arrow(ax, (end, FORWARD_Y), (WIDTH - 36, FORWARD_Y))
    box(ax, WIDTH - 20, FORWARD_Y, 32, 20, 'loss', corner=4, size=SMALL)
    return fig


if __name__ == '__main__':
    save(
        draw(),
        'pipeline_parallelism',
        'Pipeline parallelism: a decoder in two stages on two devices',
        DESCRIPTION,
    )
