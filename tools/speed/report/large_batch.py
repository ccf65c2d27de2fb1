"""LARGE_BATCH.md: what the size of a minibatch does to training."""

import statistics

import numpy as onp

from ..peers import OURS
from .tables import column, spread, table

SEEDS = range(8)
SIZES_HEAD = [
    'examples',
    'best rate',
    'rates within 10 %',
    'steps',
    'speedup',
    'predicted',
]


def write(results, notes, num_rounds, out):
    """Write all tables to `out`, and the figure beside it."""
    seeds = results.get((OURS, 1, 'large_batch'), [])
    if not seeds:
        raise SystemExit('no seed has ended: ' + ' '.join(notes))
    sizes = {
        int(size): tune([seed['steps'][size] for seed in seeds])
        for size in seeds[0]['steps']
    }
    path = out.with_name('large_batch.png')
    scale = statistics.mean(column(seeds, 'noise scale'))
    draw(sizes, scale, path)
    parts = [
        '# Large minibatches',
        *notes,
        'Written by `make bench SUITE=large_batch`: the experiments of '
        f'chapter 11, with its own code, for {len(seeds)} seeds. A number '
        'is the median over the seeds, with the smallest and the largest in '
        'brackets. Nothing here is a time, so a busy machine does not '
        'change the results.',
        accuracies_section(seeds),
        sizes_section(sizes, scale, column(seeds, 'noise scale'), path),
        updates_section(seeds),
    ]
    out.write_text('\n\n'.join(parts) + '\n')


def accuracies_section(seeds):
    """Return the accuracies by size, rate and schedule."""
    rows = {}
    for runs in zip(*column(seeds, 'accuracies')):
        size, factor, _, _ = runs[0]
        accuracies = spread([run[-1] for run in runs], '{:.2f}')
        rows.setdefault((size, factor), []).append(accuracies)
    schedules = ['constant', 'warm-up', 'decay', 'both']
    return (
        '## Schedules\n\nTest accuracy after three epochs of 10,240 '
        'examples. The rate is in multiples of 0.1. Warm-up takes the first '
        'epoch; decay is linear, to 0.\n\n'
        + table(
            ['examples', 'rate', *schedules],
            [[*setting, *cells] for setting, cells in rows.items()],
        )
    )


def tune(seeds):
    """Return the steps of every seed at the best rate, that rate, and the
    rates whose median is within 10 % of it, for [[[rate, steps], …], …]."""
    rates = {
        pairs[0][0]: [steps for _, steps in pairs] for pairs in zip(*seeds)
    }
    medians = {lr: statistics.median(steps) for lr, steps in rates.items()}
    best = min(medians, key=medians.get)
    close = [lr for lr in medians if medians[lr] <= 1.1 * medians[best]]
    return {
        'steps': rates[best],
        'rate': best,
        'close': f'{close[0]}–{close[-1]}',
    }


def sizes_section(sizes, scale, scales, path):
    """Return the steps to the target, beside the model's."""
    smallest = min(sizes)
    base = statistics.median(sizes[smallest]['steps'])
    rows = [
        [
            size,
            found['rate'],
            found['close'],
            spread(found['steps']),
            f'{base / statistics.median(found["steps"]):.2f}',
            f'{(1 + scale / smallest) / (1 + scale / size):.2f}',
        ]
        for size, found in sizes.items()
    ]
    steps = [statistics.median(found['steps']) for found in sizes.values()]
    rows_of_fit = [(1 / n, 1 / size / n) for size, n in zip(sizes, steps)]
    least, examples = onp.linalg.lstsq(  # of relative errors
        onp.array(rows_of_fit), onp.ones(len(steps)), rcond=None
    )[0]
    return (
        '## Steps to 75 % test accuracy\n\nPlain gradient descent at a '
        'constant rate, the best for the median over the seeds. The speedup '
        f'is over {smallest} examples; the prediction takes S_min · (1 + '
        f'b*/b) steps (McCandlish et al. 2018) with the noise scale b* = '
        f'{scale:.0f} of the first parameters, the mean of '
        f'{spread(scales)}. Fitted to these steps, S_min is {least:.0f} and '
        f'b* is {examples / least:.0f}.\n\n'
        + table(SIZES_HEAD, rows)
        + '\n\n![Steps to the target, and the best rate, against the '
        f'minibatch size]({path.name})'
    )


def updates_section(seeds):
    """Return the steps to the target with momentum and with LARS."""
    rows = []
    for name in seeds[0]['updates']:
        found = tune([seed['updates'][name] for seed in seeds])
        steps = spread(found['steps'])
        rows.append([name, found['rate'], found['close'], steps])
    return (
        '## Momentum and LARS, 2,048 examples\n\nSteps to 75 % test '
        'accuracy, each at its best rate; inf is more than 1.5 times the '
        'steps of that seed at another rate.\n\n'
        + table(['update', 'best rate', 'rates within 10 %', 'steps'], rows)
    )


def draw(sizes, scale, path):
    """Save the steps beside the model's, and the best rates."""
    import matplotlib

    matplotlib.use('agg')
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    numbers, smallest = list(sizes), min(sizes)
    middle = [statistics.median(f['steps']) for f in sizes.values()]
    least = middle[0] / (1 + scale / smallest)
    model = [least * (1 + scale / size) for size in numbers]
    left.plot(numbers, middle, 'ko', label='measured')
    left.plot(
        numbers, model, color='#e69f00', label=f'$S_{{min}}(1+{scale:.0f}/b)$'
    )
    left.set(ylabel='steps to the target', ylim=(30, 600))
    rates = [found['rate'] for found in sizes.values()]
    right.plot(numbers, rates, 'ko', label='best')
    for power, name, line in ((1, 'linear', '--'), (0.5, 'square root', ':')):
        scaled = [rates[0] * (size / smallest) ** power for size in numbers]
        right.plot(numbers, scaled, line, color='#56b4e9', label=name)
    limited = [rates[0] * model[0] / steps for steps in model]
    right.plot(numbers, limited, 'k', label=f'$1/(1+{scale:.0f}/b)$')
    right.set(ylabel='learning rate', ylim=(0.1, 5))
    for axis, ticks in ((left, (30, 100, 300)), (right, (0.1, 0.3, 1, 3))):
        axis.set(xscale='log', yscale='log', xlabel='examples per minibatch')
        axis.set_xticks(numbers, numbers)
        axis.set_yticks(ticks, ticks)
        axis.minorticks_off()
        axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120, metadata={'Software': None})
    plt.close(figure)
