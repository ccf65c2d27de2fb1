"""Overlap of communication and computation."""

from ..peers import OURS
from .tables import column, milliseconds, ratio, table

OVERLAPS = [
    (f'{name}, {slow}', f'{name}, overlapped')
    for name in ('LeNet, 512 images', '27 MB, 64 images')
    for slow in ('allreduce afterwards', 'no allreduce')
]


def overlap_section(results):
    """Return the times of overlapped allreduces, and of others."""
    rounds = results.get((OURS, 2, 'overlap'), [])
    rows = []
    for slow, fast in OVERLAPS:
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
    return (
        '## Overlap, on two devices\n\n'
        'Milliseconds for a training step.\n\n'
        + table(['A', 'ms', 'B', 'ms', 'A : B'], rows)
    )
