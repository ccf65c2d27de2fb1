"""Draw a training step of four devices, as the model of chapter 23 sees it.

Each device computes for a different time; the exchange begins when the
slowest has finished, less the part that overlaps with its backward pass.
"""

from .style import (
    DEVICES,
    FILLS,
    HOST,
    INK,
    SMALL,
    WHITE,
    box,
    canvas,
    label,
    rule,
    save,
)

HEIGHT = 190
LEFT, TOP, ROW, BAR = 82, 150, 30, 22
FIXED = 34  # of each device, before its examples
ENDS = (330, 300, 352, 316)  # where the devices finish
OVERLAP, EXCHANGE_END = 54, 480

DESCRIPTION = (
    'Four bars, one for each device: a fixed time, then the time for its '
    'examples. They end at different moments, device 2 last. All wait until '
    'then. A bar for the exchange begins a little before the end of the '
    'slowest device and goes on after it: only the part after it lengthens '
    'the step.'
)


def draw():
    """Return the figure."""
    fig, ax = canvas(HEIGHT)
    last = max(ENDS)
    for device, end in enumerate(ENDS):
        y = TOP - device * ROW
        label(ax, LEFT - 10, y, f'device {device}', SMALL, 'right')
        for begin, stop, text, fill in (
            (LEFT, LEFT + FIXED, 'fixed', WHITE),
            (LEFT + FIXED, end, 'examples of its shard', FILLS[device]),
        ):
            bar(ax, begin, stop, y, text, DEVICES[device], fill)
        if end < last:
            rule(ax, (end + 3, y), (last, y), HOST, 1, ':')
    y = TOP - len(ENDS) * ROW
    label(ax, LEFT - 10, y, 'link', SMALL, 'right')
    start = last - OVERLAP
    for begin, end, text in (
        (start, last, 'hidden'),
        (last, EXCHANGE_END, 'exchange'),
    ):
        bar(ax, begin, end, y, text, HOST)
    rule(ax, (last, TOP + 18), (last, y - 14), INK, 1, '--')
    label(ax, last, TOP + 26, 'the slowest device', SMALL)
    label(ax, EXCHANGE_END, y + 22, 'end of the step', SMALL)
    return fig


def bar(ax, start, end, y, text, color, fill=WHITE):
    """Draw what a device or a link does from `start` to `end`."""
    middle, width = (start + end) / 2, end - start
    box(ax, middle, y, width, BAR, text, color, fill, size=SMALL)


if __name__ == '__main__':
    save(
        draw(),
        'training_step',
        'A training step on four devices',
        DESCRIPTION,
    )
