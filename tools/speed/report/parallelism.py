"""Pipeline and tensor parallelism, and overlap."""

from ..peers import OURS
from .tables import column, milliseconds, ratio, table

SPLITS = [
    ('stack of convolutions, 1 device', 'pipeline, 1 micro-batch'),
    ('pipeline, 1 micro-batch', 'pipeline, 4 micro-batches'),
    ('wide LeNet, 1 device', 'wide LeNet, tensor-parallel'),
]
OVERLAPS = [
    (f'{name}, {slow}', f'{name}, overlapped')
    for name in ('LeNet, 512 images', '27 MB, 64 images')
    for slow in ('allreduce afterwards', 'no allreduce')
]


def parallelism_section(results):
    """Return the times of split networks and of overlapped allreduces."""
    rows = compare(results, 'parallelism', SPLITS) + compare(
        results, 'overlap', OVERLAPS
    )
    return (
        '## Split networks, and overlap, on two devices\n\n'
        'Milliseconds for the gradients of a minibatch, or for a training '
        'step.\n\n' + table(['A', 'ms', 'B', 'ms', 'A : B'], rows)
    )


def compare(results, task, pairs):
    """Return a row for each pair of a slower and a faster way."""
    rounds = results.get((OURS, 2, task), [])
    rows = []
    for slow, fast in pairs:
        over, under = column(rounds, slow), column(rounds, fast)
        rows.append(
            [
                slow,
                milliseconds(over),
                fast,
                milliseconds(under),
                ratio(over, under),
            ]
        )
    return rows
