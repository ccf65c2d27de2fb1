"""CLUSTER.md: several processes on one machine."""

from ..peers import (
    BARRIER,
    BY_PARAMETER,
    DDP,
    HOROVOD,
    OURS,
    SERVERS,
    TUNED,
    UPPER_BOUND,
)
from .simulation import simulation_section
from .steps import rates, same_work, steps_table
from .tables import column, method, milliseconds, ratio, spread, table

COMPARED = [
    ('two independent processes', UPPER_BOUND, OURS),
    ('two devices in one process', OURS, OURS),
    ('two workers and a server', SERVERS, OURS),
    ('Horovod, two processes', HOROVOD, TUNED),
    ('PyTorch DDP, two processes', DDP, DDP),
]
EXCHANGES = [
    ('two workers and a server, one array', SERVERS),
    ('… an array per parameter', BY_PARAMETER),
    ('two devices in one process', OURS),
    ('workers that only wait for each other after each step', BARRIER),
]


def write(results, notes, num_rounds, out):
    """Write all tables to `out` and the figure of the simulation beside."""
    times = allreduce_times(results)
    parts = [
        '# Several processes on one machine',
        *notes,
        method(num_rounds, 'make bench SUITE=cluster'),
        steps_table(results),
        ratios_table(results),
        exchange_table(results),
        unequal_table(results),
        allreduce_table(times),
        checkpoint_section(results),
        same_work(results),
        simulation_section(results, times, out.with_name('cluster.png')),
    ]
    out.write_text('\n\n'.join(parts) + '\n')


def ratios_table(results):
    """Return how much faster two processes are than one."""
    sizes = (256, 512, 1024)
    rows = [
        [what, f'{under}, one process']
        + [
            ratio(
                rates(results, over, 2, size), rates(results, under, 1, size)
            )
            for size in sizes
        ]
        for what, over, under in COMPARED
    ]
    return '### Two against one, with the same minibatch\n\n' + table(
        ['', 'compared with', *(f'{s:,}' for s in sizes)], rows
    )


def exchange_table(results):
    """Return what the exchange leaves of two independent processes."""
    sizes = (256, 512, 1024)

    def row(what, over, under):
        return [what] + [
            ratio(
                rates(results, over, 2, size), rates(results, under, 2, size)
            )
            for size in sizes
        ]

    rows = [row(what, name, UPPER_BOUND) for what, name in EXCHANGES]
    rows.append(row('one array, compared with only waiting', SERVERS, BARRIER))
    return (
        '### What the exchange leaves\n\nCompared with two independent '
        'processes, which never wait for each other. A step of several '
        'workers ends with the slowest, and a barrier alone costs that; the '
        'last row is what the data cost beyond it.\n\n'
        + table(['', *(f'{size:,}' for size in sizes)], rows)
    )


def unequal_table(results):
    """Return the times of a step with a slowed worker."""
    rounds = results.get((OURS, 2, 'unequal_workers'), [])
    rows = []
    for size in rounds[0] if rounds else ():
        times = column(rounds, size)
        limits, found = column(times, 'limit'), column(times, 'proportional')
        rows.append(
            [
                f'{int(size):,}',
                milliseconds(column(times, 'even')),
                milliseconds(found),
                milliseconds(limits),
                ratio(limits, found),
                spread(column(times, 'share'), '{:.2f}'),
            ]
        )
    head = [
        'minibatch',
        'even',
        'proportional',
        'limit',
        'reached',
        "the slow worker's part",
    ]
    return (
        '## A slowed worker\n\nTwo workers and a server; the second worker '
        'shares its core with a busy loop. Milliseconds of a step with equal '
        'parts, with parts in proportion to the measured speeds, and the '
        'limit: the sum of the rates at which the workers compute without '
        'exchanging anything, measured at once under the same load.\n\n'
        + table(head, rows)
    )


def allreduce_times(results):
    """Return {name: {MB: [seconds in each round]}}."""
    return {
        name: {
            float(size): [round_['seconds'][size] for round_ in rounds]
            for size in rounds[0]['seconds']
        }
        for (name, _, task), rounds in results.items()
        if task == 'allreduce'
    }


def allreduce_table(times):
    """Return milliseconds to sum one array over two processes."""
    sizes = sorted(next(iter(times.values()), ()))
    rows = [
        [name, *(milliseconds(seconds[size]) for size in sizes)]
        for name, seconds in times.items()
    ]
    return (
        '## Allreduce of one array over two processes, in milliseconds'
        '\n\nOver the loopback interface, where sending takes processor time. '
        f'{DDP} and {HOROVOD} both use gloo.\n\n'
        + table(['', *(f'{size:g} MB' for size in sizes)], rows)
    )


def checkpoint_section(results):
    """Return how long training waits for a checkpoint."""
    rounds = results.get((OURS, 1, 'checkpoint'), [])
    values = [1000 * seconds for seconds in column(rounds, 'checkpoint')]
    return (
        '## A checkpoint\n\nTraining waits '
        f'{spread(values, "{:.1f}")} ms for a checkpoint of LeNet, '
        'written and synchronized to disk.'
    )
