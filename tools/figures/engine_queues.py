"""Draw when Python calls six operators, and when two devices run them.

Time runs to the right. In the middle, Python: six short calls, then the wait.
Above and below, each device: its three operators, one after the other, in
its color, and what is still in its queue meanwhile.
"""

from .style import (
    CORNER,
    DEVICES,
    FILLS,
    HOST,
    SMALL,
    arrow,
    box,
    canvas,
    label,
    rule,
    save,
)

HEIGHT = 232
PYTHON_Y, DEVICE_Y, AXIS_Y = 122, (188, 56), 14
NAME_X, START, END = 70, 82, 486  # right end of the names; time axis
CALL, BAR = 20, 28  # width of a call; height of a bar
NUM_OPERATORS = 3  # on each device
LENGTH = 106  # of an operator
DELAY = 16  # from a call to the start of its operator, if the device is free

DESCRIPTION = (
    'Three rows over a common time axis. Row Python: six short calls, '
    'numbered 1 to 6, then a long bar, npx.waitall(). Row cpu(0): operators '
    '1, 2 and 3, one after the other, each about five times as long as a '
    'call; the first begins soon after call 1, while 2 and 3 are in the '
    'queue. Row cpu(1): operators 4, 5 and 6 in the same way; the first '
    'begins soon after call 4, so the two rows overlap. The bar '
    'npx.waitall() ends where operator 6 ends.'
)


def call_x(number):
    """Return the middle of call `number`, counted from 1."""
    return START + (number - 0.5) * CALL


def first_start(device):
    """Return where the first operator of a device begins."""
    return call_x(1 + device * NUM_OPERATORS) + DELAY


def draw_device(ax, device):
    """Draw a device's operators, its queue, and the first call's arrow."""
    y, start = DEVICE_Y[device], first_start(device)
    edge, fill = DEVICES[device], FILLS[device]
    side = 1 if y > PYTHON_Y else -1  # of Python's row
    label(ax, NAME_X, y, f'cpu({device})', align='right', weight='bold')
    numbers = [1 + device * NUM_OPERATORS + i for i in range(NUM_OPERATORS)]
    for i, number in enumerate(numbers):
        box(ax, call_x(number), PYTHON_Y, CALL, BAR, str(number), edge, fill)
        x = start + (i + 0.5) * LENGTH
        box(ax, x, y, LENGTH, BAR, f'operator {number}', edge, fill)
        queue = ', '.join(map(str, numbers[i + 1 :])) or 'empty'
        text = f'queue: {queue}'
        label(ax, x, y + side * (BAR / 2 + 10), text, SMALL)
    call = (call_x(numbers[0]), PYTHON_Y + side * BAR / 2)
    arrow(ax, call, (start + 4, y - side * BAR / 2))


def draw():
    """Return the figure."""
    fig, ax = canvas(HEIGHT)
    label(ax, NAME_X, PYTHON_Y, 'Python', align='right', weight='bold')
    calls_end = START + 2 * NUM_OPERATORS * CALL
    done = first_start(1) + NUM_OPERATORS * LENGTH
    rule(ax, (done, DEVICE_Y[0] + 2), (done, AXIS_Y), HOST, 1.2, ':')
    label(ax, done, DEVICE_Y[0] + 12, 'all done', SMALL)
    for device in range(2):
        draw_device(ax, device)
    box(
        ax,
        (calls_end + done) / 2,
        PYTHON_Y,
        done - calls_end,
        BAR,
        'npx.waitall(): Python waits',
        HOST,
        corner=CORNER,
    )
    middle = (PYTHON_Y + DEVICE_Y[0]) / 2
    label(ax, call_x(2) + 8, middle, 'calls return at once', SMALL, 'left')
    arrow(ax, (START, AXIS_Y), (END + 24, AXIS_Y))
    label(ax, NAME_X, AXIS_Y, 'time', SMALL, 'right')
    return fig


if __name__ == '__main__':
    save(
        draw(),
        'engine_queues',
        'When Python calls operators and when two devices run them',
        DESCRIPTION,
    )
