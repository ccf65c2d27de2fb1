"""COMPRESSION.md: what sending less costs in accuracy.

Beside it, compression.json has what tools/figures/accuracy_per_byte.py draws.
"""

import json
import statistics

from ..peers import OURS
from ..tasks.compression import MARKS
from .tables import spread, table

SEEDS = range(8)
TARGET = 0.75  # test accuracy
COMPUTE = 0.001  # seconds per step, assumed
LINKS = {  # bytes per second
    **{'400 GB/s': 400e9, '100 Gbit/s': 12.5e9},
    **{'1 Gbit/s': 0.125e9, '100 Mbit/s': 0.0125e9},
}
HEAD = ['method', 'MB sent', 'test accuracy', 'test loss', 'worse than plain']


def write(results, notes, num_rounds, out):
    """Write the table to `out`, and the points of the curves beside it."""
    seeds = results.get((OURS, 1, 'compression'), [])
    if not seeds:
        raise SystemExit('no seed has ended: ' + ' '.join(notes))
    points = {name: curve([seed[name] for seed in seeds]) for name in seeds[0]}
    path = out.with_name('compression.json')
    lines = [f'{json.dumps(k)}: {json.dumps(v)}' for k, v in points.items()]
    path.write_text('{\n' + ',\n'.join(lines) + '\n}\n')
    parts = [
        '# Communicating less',
        *notes,
        'Written by `make bench SUITE=compression`: the experiments of '
        f'chapter 10, with its own code, for {len(seeds)} seeds: 240 steps '
        'with 64 examples on four devices, a network with one hidden layer, '
        'at the rate 0.1 (AdamW: 0.003). A number is the median over the '
        'seeds, with the smallest and the largest in brackets. "without" is '
        'without error feedback; the last column counts the seeds whose test '
        'loss is above that of the plain exchange with the same seed. Nothing '
        'here is a time, so a busy machine does not change the results.',
        table(HEAD, [row(name, seeds) for name in seeds[0]]),
        'Pairs of the same seed: '
        + '; '.join(without(name, seeds) for name in pairs(seeds[0]))
        + '.',
        times_section(points),
    ]
    out.write_text('\n\n'.join(parts) + '\n')


def curve(runs):
    """Return [bytes, mean accuracy, standard error] at each mark."""
    points = []
    for marks in zip(*runs):
        accuracies = [accuracy for _, accuracy, _ in marks]
        error = statistics.stdev(accuracies) / len(accuracies) ** 0.5
        mean = statistics.mean(accuracies)
        points.append([marks[0][0], round(mean, 4), round(error, 4)])
    return points


def row(name, seeds):
    """Return a method's line: what its last mark shows."""
    ends = [seed[name][-1] for seed in seeds]
    worse = sum(
        end[-1] > seed['plain'][-1][-1] for end, seed in zip(ends, seeds)
    )
    return [
        name,
        f'{ends[0][0] / 1e6:.2f}',
        spread([accuracy for _, accuracy, _ in ends], '{:.2f}'),
        spread([loss for _, _, loss in ends], '{:.2f}'),
        f'{worse} of {len(seeds)}',
    ]


def pairs(methods):
    """Return the methods that were run with and without feedback."""
    return [name for name in methods if f'{name}, without' in methods]


def without(name, seeds):
    """Return in how many seeds a method is worse without feedback."""
    worse = sum(
        seed[f'{name}, without'][-1][-1] > seed[name][-1][-1] for seed in seeds
    )
    return (
        f'{name} without feedback ends with a higher loss than with it for '
        f'{worse} of {len(seeds)} seeds'
    )


def times_section(points):
    """Return the seconds to the target on each link, by a model of a step."""
    rows = []
    for name, marks in points.items():
        steps = steps_to_target(marks)
        if steps is not None:
            each = marks[-1][0] / MARKS[-1]  # bytes per step
            seconds = [steps * (COMPUTE + each / b) for b in LINKS.values()]
            rows.append([name, f'{steps:.0f}', *seconds])
    best = [min(column) for column in zip(*[row[2:] for row in rows])]
    for row in rows:
        for i, fastest in enumerate(best):
            bold = '**' * (row[2 + i] == fastest)
            row[2 + i] = f'{bold}{row[2 + i]:.2f}{bold}'
    left = [name for name in points if steps_to_target(points[name]) is None]
    return (
        f'## Seconds to {TARGET:.0%} test accuracy\n\nSteps until the mean '
        'of all seeds reaches the target, between two marks by linear '
        f'interpolation, times {1000 * COMPUTE:.0f} ms of computation, which '
        'is assumed, and what a device sends divided by the bandwidth of its '
        'link. Latency and the time to compress are left out. The fastest of '
        'each link is bold. Not reached in '
        f'{MARKS[-1]} steps: {"; ".join(left)}.\n\n'
        + table(['method', 'steps', *LINKS], rows)
    )


def steps_to_target(marks):
    """Return the steps to the target, or None."""
    steps = MARKS[-len(marks) :]
    before = 0, 0
    for step, (_, accuracy, _) in zip(steps, marks):
        if accuracy >= TARGET:
            part = (TARGET - before[1]) / (accuracy - before[1])
            return before[0] + part * (step - before[0])
        before = step, accuracy
    return None
