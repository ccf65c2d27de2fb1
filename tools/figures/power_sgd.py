"""Draw an exchange of PowerSGD on two devices.

A row for each device, from left to right: its matrix, the thin product P,
which is summed, the thin product Q, which is summed, and the result.
"""

from .style import (
    DEVICES,
    FILLS,
    SMALL,
    WHITE,
    WIDTH,
    arrow,
    box,
    canvas,
    label,
    save,
)

HEIGHT = 196
ROWS = (138, 44)  # the middle of each device's row
TALL, LONG, THIN = 40, 56, 12
MATRIX_X, P_X, Q_X, RESULT_X = 116, 226, 346, 466
SUM_Y = sum(ROWS) / 2

DESCRIPTION = (
    'Two devices, each with a matrix M of m rows and n columns. Step 1: each '
    'multiplies its matrix by Q, which is alike on both; the products P, of '
    'm rows and r columns, are summed over the devices, and their columns '
    'made orthonormal. Step 2: each multiplies its transposed matrix by P; '
    'the products Q, of n rows and r columns, are summed. Step 3: both have '
    'P times Q transposed, of m rows and n columns.'
)


def draw():
    """Return the figure."""
    fig, ax = canvas(HEIGHT)
    heads = ('M', 'P = M Q', 'Q = Mᵀ P', 'P Qᵀ')
    for x, text in zip((MATRIX_X, P_X, Q_X, RESULT_X), heads):
        label(ax, x, HEIGHT - 10, text, weight='bold')
    for device, y in enumerate(ROWS):
        color, fill = DEVICES[device], FILLS[device]
        label(ax, 8, y, f'device {device}', SMALL, 'left')
        box(ax, MATRIX_X, y, LONG, TALL, edge=color, fill=fill)
        box(ax, P_X, y, THIN, TALL, edge=color, fill=WHITE, line=2.5)
        box(ax, Q_X, y, THIN, LONG, edge=color, fill=WHITE, line=2.5)
        box(ax, RESULT_X, y, LONG, TALL, edge=color, fill=fill)
        for start, end in (
            (MATRIX_X + LONG / 2, P_X - THIN / 2),
            (P_X + THIN / 2, Q_X - THIN / 2),
            (Q_X + THIN / 2, RESULT_X - LONG / 2),
        ):
            arrow(ax, (start + 6, y), (end - 6, y))
    for x, height, text in ((P_X, TALL, 'm r'), (Q_X, LONG, 'n r')):
        arrow(ax, (x, SUM_Y), (x, ROWS[0] - height / 2))
        arrow(ax, (x, SUM_Y), (x, ROWS[1] + height / 2))
        label(ax, x + 8, SUM_Y, f'sum: {text} numbers', SMALL, 'left')
    label(ax, MATRIX_X, SUM_Y, 'm n numbers', SMALL)
    return fig


if __name__ == '__main__':
    assert RESULT_X + LONG / 2 <= WIDTH
    save(draw(), 'power_sgd', 'PowerSGD on two devices', DESCRIPTION)
