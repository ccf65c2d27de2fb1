"""UNEQUAL.md: heterogeneous devices, and batch normalization."""

import os

from ..peers import OURS
from .tables import column, count_rounds, milliseconds, ratio, spread, table

SLOWDOWNS = [(1, 2), (4, 2, 1)]  # how often each device does its work
HEAD = (
    'slowdowns',
    'minibatch',
    'even',
    'proportional',
    'ratio',
    'possible',
    'reached',
)


def write(results, notes, num_rounds, out):
    """Write all tables to `out`."""
    parts = [
        '# Heterogeneous devices, and batch normalization',
        *notes,
        'Written by `make bench SUITE=unequal`. A slow device does its '
        f'work several times. {count_rounds(num_rounds)}, each task in '
        'a fresh process, in which the variants take turns. A number is '
        'the median of the rounds, with the smallest and the largest '
        'in brackets.',
        shares_table(results),
        adapting_section(results),
        batch_norm_table(results),
    ]
    out.write_text('\n\n'.join(parts) + '\n')


def shares_table(results):
    """Return the times of even and proportional splits."""
    cores, rows = len(os.sched_getaffinity(0)), []
    for slowdowns in SLOWDOWNS:
        rounds = results.get((OURS, len(slowdowns), 'unequal'), [])
        possible = possible_ratio(slowdowns, cores)
        for size in rounds[0] if rounds else ():
            row = splits_row(column(rounds, size), possible)
            rows.append([' : '.join(map(str, slowdowns)), size, *row])
    return (
        '## Shares in proportion to speed\n\n'
        'Milliseconds of a whole step. The possible ratio is that of the '
        'least times for the computation alone: a device cannot use two '
        f'cores, and there are {cores}, which more devices must share.'
        '\n\n' + table(HEAD, rows)
    )


def splits_row(times, possible):
    """Return the end of a row: both splits, their ratio, what is reached."""
    even, proportional = column(times, 'even'), column(times, 'proportional')
    gains = [a / b for a, b in zip(even, proportional)]
    return [
        milliseconds(even),
        milliseconds(proportional),
        spread(gains, '{:.2f}'),
        f'{possible:.2f}',
        spread([gain / possible for gain in gains], '{:.2f}'),
    ]


def possible_ratio(slowdowns, cores):
    """Return the least time of an even split over that of a proportional
    one: no device uses two cores, no core does two devices' work at once."""
    k, total = len(slowdowns), sum(1 / times for times in slowdowns)
    even, proportional = [times / k for times in slowdowns], [1 / total] * k
    least = [
        max(max(works), sum(works) / cores) for works in (even, proportional)
    ]
    return least[0] / least[1]


def adapting_section(results):
    """Return after how many steps the shares fit a changed speed."""
    needed = [
        steps_needed(round_['shares'])
        for round_ in results.get((OURS, 2, 'adapt'), [])
    ]
    return (
        '## Speeds that change\n\nAfter 30 steps of 512 images the '
        'second of two devices does its work twice. The shares stay '
        'within 15 % of the best possible step after '
        f'{needed} steps, one number for each round.'
    )


def steps_needed(shares, change=30, batch_size=512):
    """Return the steps from the change until the shares fit for good."""
    best = 2 * batch_size / 3
    fits = [
        max(batch_size - share, 2 * share) < 1.15 * best
        for share in shares[change:]
    ]
    return len(fits) - (fits[::-1] + [False]).index(False)


def batch_norm_table(results):
    """Return the cost of batch normalization."""
    rounds = results.get((OURS, 2, 'batch_norm'), [])
    times = {
        name: column(rounds, name)
        for name in ('without', 'each shard', 'synchronized')
    }
    rows = [
        [name, milliseconds(values), ratio(values, times['without'])]
        for name, values in times.items()
    ]
    return (
        '## Batch normalization from scratch, 512 images on two devices'
        '\n\nMilliseconds of a whole step of LeNet: without, with the '
        'statistics of each shard, and with synchronized statistics; '
        'then relative to the step without.\n\n'
        + table(['', 'ms', 'without = 1'], rows)
        + '\n\nSynchronized : each shard '
        + ratio(times['synchronized'], times['each shard'])
        + ': what the synchronization adds.'
    )
