"""Allreduce algorithms over the devices of one process."""

import statistics

from .tables import column, milliseconds, ratio, table

ALGORITHMS = ('star', 'direct', 'ring', 'tree', 'halving–doubling')
COPIES_AND_SUMS = ["star's copies", 'sums', "ring's copies"]
BOUNDS_HEAD = ['MB', 'devices', *COPIES_AND_SUMS, 'star', 'direct', 'ring']


def collectives_section(results):
    """Return the times of the algorithms, beside those of their copies."""
    rows, bounds = [], []
    for devices, size, times in times_by_size(results):
        if size != 'LeNet':
            rows.append(algorithms_row(devices, size, times))
            bounds.append(bounds_row(devices, size, times))
    return (
        '## Allreduce over devices, alone\n\n'
        'Milliseconds for one array on each device.\n\n'
        + table(['MB', 'devices', *ALGORITHMS, 'fastest'], rows)
        + '\n\nWhat bounds them: the copies of the star, one after the '
        'other; the sums that each algorithm needs, one after the '
        'other; the copies of the ring, made by all devices side by '
        'side. The last three columns: the fraction of the rate of its '
        'copies that an algorithm reaches, sums included.\n\n'
        + table(BOUNDS_HEAD, bounds)
        + '\n\n'
        + buckets_table(results)
    )


def times_by_size(results):
    """Yield (devices, size, [times of each round])."""
    for (_, devices, task), rounds in results.items():
        for size in rounds[0] if task == 'collectives' else []:
            yield devices, size, column(rounds, size)


def algorithms_row(devices, size, times):
    """Return the row of one size: each algorithm, and the fastest."""
    seconds = {name: column(times, name) for name in ALGORITHMS}
    fastest = min(seconds, key=lambda name: statistics.median(seconds[name]))
    return [size, devices, *map(milliseconds, seconds.values()), fastest]


def bounds_row(devices, size, times):
    """Return the row of one size: copies and sums, and what is reached."""
    star = [2 * (devices - 1) * copy for copy in column(times, 'copy')]
    ring = [
        2 * (devices - 1) / devices * copies
        for copies in column(times, 'side by side')
    ]
    sums = [(devices - 1) * one for one in column(times, 'sum')]
    return [
        size,
        devices,
        *map(milliseconds, (star, sums, ring)),
        ratio(star, column(times, 'star')),
        ratio(ring, column(times, 'direct')),
        ratio(ring, column(times, 'ring')),
    ]


def buckets_table(results):
    """Return the times for LeNet's eight gradients."""
    rows = [
        [devices, *(milliseconds(column(times, name)) for name in times[0])]
        for devices, size, times in times_by_size(results)
        if size == 'LeNet'
    ]
    return (
        "LeNet's eight gradients, one by one and in one bucket, in "
        'milliseconds:\n\n'
        + table(
            ['devices', 'star', 'star, bucket', 'ring', 'ring, bucket'], rows
        )
    )
