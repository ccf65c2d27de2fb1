"""Draw two workers, two servers and the scheduler.

Each worker pushes the gradient of each key to the server that holds the key,
and pulls the sum.
"""

from .style import (
    CORNER,
    FRAME,
    GRADIENT,
    HOST,
    MARGIN,
    NAME_DROP,
    SMALL,
    SYMBOL,
    SYMBOL_DROP,
    arrow,
    box,
    canvas,
    frame,
    gradient,
    label,
    label_line,
    save,
)

HEIGHT = 208
WORKER_Y, SERVER_Y = 44, 164
COLUMNS = (118, 318)  # x of the first and the second worker and server
FRAME_WIDTH = 150
SCHEDULER_X, SCHEDULER_Y = 464, 104
OFFSET = 36  # from the middle of a worker to each of its gradients

DESCRIPTION = (
    'Below, worker 0 and worker 1, each with two gradients, g0 and g1. Above, '
    'server 0, which holds the sum of g0, and server 1, which holds the sum '
    'of g1. Arrows that go both ways, push and pull, connect both g0 to '
    'server 0 and both g1 to server 1. At the side, the scheduler, which '
    'tells all of them where the others are.'
)


def draw():
    """Return the figure."""
    fig, ax = canvas(HEIGHT)
    for i, x in enumerate(COLUMNS):
        frame(ax, x, WORKER_Y, FRAME_WIDTH, '', i)
        label(
            ax,
            x - FRAME_WIDTH / 2 + MARGIN,
            WORKER_Y - FRAME / 2 + NAME_DROP,
            f'worker {i}',
            SMALL,
            'left',
            weight='bold',
        )
        for key in (0, 1):
            gradient(
                ax,
                x + (2 * key - 1) * OFFSET,
                WORKER_Y + SYMBOL_DROP,
                f'g{"₀₁"[key]}',
                i,
            )
        box(
            ax,
            x,
            SERVER_Y,
            FRAME_WIDTH,
            FRAME,
            edge=HOST,
            corner=CORNER,
            line=2,
        )
        label(
            ax,
            x - FRAME_WIDTH / 2 + MARGIN,
            SERVER_Y + FRAME / 2 - NAME_DROP,
            f'server {i}',
            SMALL,
            'left',
            weight='bold',
        )
        box(
            ax,
            x,
            SERVER_Y - SYMBOL_DROP,
            2 * GRADIENT,
            SYMBOL,
            f'sum of g{"₀₁"[i]}',
            HOST,
            corner=SYMBOL / 2,
        )
    for x in COLUMNS:
        for key, server_x in enumerate(COLUMNS):
            start = (
                x + (2 * key - 1) * OFFSET,
                WORKER_Y + SYMBOL_DROP + SYMBOL / 2,
            )
            end = (server_x + (x - server_x) / 8, SERVER_Y - FRAME / 2)
            arrow(ax, start, end)
            arrow(ax, end, start)
    label_line(
        ax, COLUMNS[0] - OFFSET, (WORKER_Y + SERVER_Y) / 2, 'push, pull', SMALL
    )
    box(ax, SCHEDULER_X, SCHEDULER_Y, 96, 44, edge=HOST, corner=CORNER, line=2)
    label(ax, SCHEDULER_X, SCHEDULER_Y + 9, 'scheduler', SMALL, weight='bold')
    label(ax, SCHEDULER_X, SCHEDULER_Y - 8, 'who is where', SMALL)
    return fig


if __name__ == '__main__':
    save(
        draw(), 'parameter_server', 'Two workers and two servers', DESCRIPTION
    )
