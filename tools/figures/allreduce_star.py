"""Draw the star allreduce on four devices.

Left, reduce: devices 1 to 3 send their arrays to device 0, which sums them.
Right, broadcast: device 0 sends the sum back to each.
"""

from .style import (
    FRAME,
    GRADIENT,
    MARGIN,
    SMALL,
    SYMBOL_DROP,
    WIDTH,
    arrow,
    canvas,
    frame,
    gradient,
    heading,
    label,
    label_line,
    rule,
    save,
)

HEIGHT = 284
HEADING_Y, HUB_TOTAL_Y, HUB_Y, LEAF_Y, LEAF_TOTAL_Y = 266, 236, 190, 64, 18
HUB_WIDTH, LEAF_WIDTH = 184, 76
PANELS = (WIDTH / 4, 3 * WIDTH / 4)  # the middle of each panel
LEAVES = {1: -87, 2: 0, 3: 87}  # x of devices 1 to 3, from that middle
HUB_ENDS = {1: -62, 2: 0, 3: 62}  # where their arrows meet device 0

DESCRIPTION = (
    'Two panels with four devices each. Step 1, reduce: devices 1, 2 and 3 '
    'send their arrays g1, g2 and g3 to device 0, which sums them with its '
    'own: g = g0 + g1 + g2 + g3. Each of the three sends n bytes, device 0 '
    'receives 3n bytes. Step 2, broadcast: device 0 sends the sum g back '
    'to devices 1, 2 and 3. Device 0 sends 3n bytes, each of the three '
    'receives n bytes.'
)


def draw():
    """Return the figure."""
    fig, ax = canvas(HEIGHT)
    rule(ax, (WIDTH / 2, MARGIN), (WIDTH / 2, HEIGHT - MARGIN), width=0.5)
    reduce_x, broadcast_x = PANELS

    heading(ax, 18, HEADING_Y, 1, 'Reduce: device 0 sums')
    hub(ax, reduce_x, 'g = g₀ + g₁ + g₂ + g₃', 164, 'gets 3n bytes')
    for device, text in ((1, 'g₁'), (2, 'g₂'), (3, 'g₃')):
        leaf(ax, reduce_x, device, text, 'sends n bytes')
        bottom, top = ends(reduce_x, device)
        send(ax, bottom, top, text)

    heading(ax, WIDTH / 2 + 18, HEADING_Y, 2, 'Broadcast: the sum goes back')
    hub(ax, broadcast_x, 'g', GRADIENT, 'sends 3n bytes')
    for device in LEAVES:
        leaf(ax, broadcast_x, device, 'g', 'gets n bytes')
        bottom, top = ends(broadcast_x, device)
        send(ax, top, bottom, 'g')
    return fig


def hub(ax, x, text, text_width, total):
    """Draw device 0, the sum that it holds, and the bytes it moves."""
    frame(ax, x, HUB_Y, HUB_WIDTH, 'device 0', 0)
    gradient(ax, x, HUB_Y - SYMBOL_DROP, text, 0, text_width)
    label(ax, x, HUB_TOTAL_Y, total, SMALL)


def leaf(ax, panel_x, device, text, total):
    """Draw one of devices 1 to 3, its array, and the bytes it moves."""
    x = panel_x + LEAVES[device]
    frame(ax, x, LEAF_Y, LEAF_WIDTH, f'device {device}', device)
    gradient(ax, x, LEAF_Y - SYMBOL_DROP, text, device)
    label(ax, x, LEAF_TOTAL_Y, total, SMALL)


def ends(panel_x, device):
    """Return both ends of the line from a device up to device 0."""
    return (
        (panel_x + LEAVES[device], LEAF_Y + FRAME / 2),
        (panel_x + HUB_ENDS[device], HUB_Y - FRAME / 2),
    )


def send(ax, start, end, text):
    """Draw an arrow and, in its middle, what it carries."""
    arrow(ax, start, end)
    label_line(ax, (start[0] + end[0]) / 2, (start[1] + end[1]) / 2, text)


if __name__ == '__main__':
    save(
        draw(),
        'allreduce_star',
        'The star allreduce on four devices',
        DESCRIPTION,
    )
