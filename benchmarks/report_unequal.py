"""Write what was measured with unequal devices, and what is possible."""
import os

from report import OURS, milliseconds, ratio, show, table

REPEATS = [(1, 2), (4, 2, 1)]  # how often each device does its work


def write(results, notes, num_rounds, out):
    """Write all tables to `out`."""
    parts = ['# Unequal devices, and batch normalization', *notes,
             'Written by `make bench-unequal`. A slow device does its work '
             f'several times. {num_rounds} rounds, each in a fresh process; '
             'in a round the contestants take turns. A number is the median '
             'of the rounds, the smallest and the largest in brackets.',
             shares_table(results), adapting(results), norm_table(results)]
    out.write_text('\n\n'.join(parts) + '\n')


def shares_table(results):
    """Return the times of even and proportional shares."""
    cores, rows = len(os.sched_getaffinity(0)), []
    for repeats in REPEATS:
        rounds = results.get((OURS, len(repeats), 'unequal'), [])
        limit = possible_ratio(repeats, cores)
        for size in rounds[0] if rounds else ():
            even, proportional = ([round_[size][name] for round_ in rounds]
                                  for name in ('even', 'proportional'))
            gains = [a / b for a, b in zip(even, proportional)]
            rows.append([
                ' : '.join(map(str, repeats)), size, milliseconds(even),
                milliseconds(proportional), show(gains, '{:.2f}'),
                f'{limit:.2f}',
                show([gain / limit for gain in gains], '{:.2f}')])
    return ('## Shares in proportion to speed\n\n'
            'Milliseconds of a whole step. The possible ratio is that of the '
            'least times for the computation alone: a device cannot use two '
            f'cores, and there are {cores}, which more devices must share.'
            '\n\n'
            + table(['repeats', 'minibatch', 'even', 'proportional', 'ratio',
                     'possible', 'reached'], rows))


def possible_ratio(repeats, cores):
    """Return the least time of an even split over that of a proportional
    one: no device uses two cores, no core does two devices' work at once."""
    k, total = len(repeats), sum(1 / r for r in repeats)
    even, proportional = [r / k for r in repeats], [1 / total] * k
    least = [max(max(works), sum(works) / cores)
             for works in (even, proportional)]
    return least[0] / least[1]


def adapting(results):
    """Return after how many steps the shares fit a changed speed."""
    needed = [steps_needed(round_['shares'])
              for round_ in results.get((OURS, 2, 'adapt'), [])]
    return ('## Speeds that change\n\nAfter 30 steps of 512 images the '
            'second of two devices does its work twice. The shares are '
            'within 15 % of the best possible step for good after '
            f'{needed} steps, one number for each round.')


def steps_needed(shares, change=30, batch_size=512):
    """Return the steps from the change until the shares fit for good."""
    best = 2 * batch_size / 3
    fits = [max(batch_size - share, 2 * share) < 1.15 * best
            for share in shares[change:]]
    return len(fits) - (fits[::-1] + [False]).index(False)


def norm_table(results):
    """Return the cost of batch normalization."""
    rounds = results.get((OURS, 2, 'norm'), [])
    times = {name: [round_[name] for round_ in rounds]
             for name in ('without', 'each shard', 'together')}
    rows = [[name, milliseconds(values), ratio(values, times['without'])]
            for name, values in times.items()]
    return ('## Batch normalization from scratch, 512 images on two devices'
            '\n\nMilliseconds of a whole step of LeNet, without, with the '
            'statistics of each shard, and of all together; then relative '
            'to the step without.\n\n'
            + table(['', 'ms', 'without = 1'], rows)
            + '\n\nTogether : each shard '
            + ratio(times['together'], times['each shard'])
            + ': what the synchronization adds.')
