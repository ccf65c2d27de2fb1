"""A training step: images per second, their ratios, and the losses."""

from ..peers import (
    DDP,
    GLUON,
    MODULES,
    OURS,
    RECIPE,
    SHARD_MAP,
    STAND_IN,
    TUNED,
    UPPER_BOUND,
)
from .tables import ratio, spread, table

COMPARED = [  # what, (peer, devices) over (peer, devices)
    ('strong scaling, 2 devices : 1', (OURS, 2), (OURS, 1)),
    ('… what two processes reach', (UPPER_BOUND, 2), (OURS, 1)),
    ('… 2 devices : two processes', (OURS, 2), (UPPER_BOUND, 2)),
    ('strong scaling, 4 devices : 1', (OURS, 4), (OURS, 1)),
    ('weak scaling, 2 devices : 1', (OURS, 2), None),
    ('… what two processes reach', (UPPER_BOUND, 2), None),
    ('weak scaling, 4 devices : 1', (OURS, 4), None),
    ('1 device : Gluon, our settings', (OURS, 1), (TUNED, 1)),
    ('2 devices : Gluon, our settings', (OURS, 2), (TUNED, 2)),
    ('2 devices : Gluon, default settings', (OURS, 2), (GLUON, 2)),
    ('2 devices : D2L recipe', (OURS, 2), (RECIPE, 2)),
    ('2 devices : numpy_mxnet', (OURS, 2), (STAND_IN, 2)),
    ('2 devices : PyTorch DDP', (OURS, 2), (DDP, 2)),
    ('2 devices : JAX', (OURS, 2), (SHARD_MAP, 2)),
]


def rates(results, name, devices, batch_size):
    """Return images per second in each round."""
    return [
        batch_size / result['seconds'][str(batch_size)]
        for result in results.get((name, devices, 'step'), [])
    ]


def batch_sizes(results):
    """Return the batch sizes that were measured."""
    first = next(
        (
            rounds[0]
            for (_, _, task), rounds in results.items()
            if task == 'step'
        ),
        {'seconds': []},
    )
    return [int(size) for size in first['seconds']]


def peers_in(results, task):
    """Return (name, devices) of all that took part in the task."""
    order = list(MODULES)
    peers = [
        (name, devices) for name, devices, other in results if other == task
    ]
    return sorted(peers, key=lambda peer: (order.index(peer[0]), peer[1]))


def steps_table(results):
    """Return images per second of a training step."""
    sizes = batch_sizes(results)
    rows = [
        [*peer, *(spread(rates(results, *peer, size)) for size in sizes)]
        for peer in peers_in(results, 'step')
    ]
    return (
        '## A training step: images per second\n\n'
        'By the size of the minibatch, over all devices.\n\n'
        + table(['peer', 'devices', *(f'{s:,}' for s in sizes)], rows)
    )


def ratios_table(results):
    """Return the ratios that the table of rates is read for."""
    sizes = batch_sizes(results)
    rows = [
        [what, *(compare(results, over, under, size, sizes) for size in sizes)]
        for what, over, under in COMPARED
    ]
    rows = [row for row in rows if set(row[1:]) != {'–'}]
    return (
        '### Ratios of these rates\n\n'
        'Strong scaling keeps the minibatch, weak scaling keeps the '
        'shard of each device: at 512 over 2 devices it compares with '
        '256 on one.\n\n' + table(['', *(f'{s:,}' for s in sizes)], rows)
    )


def compare(results, over, under, size, sizes):
    """Return a ratio of rates as text; `under` is None for weak scaling."""
    size_under = size
    if under is None:
        under, size_under = (OURS, 1), size // over[1]
    if size_under not in sizes:
        return '–'
    return ratio(
        rates(results, *over, size), rates(results, *under, size_under)
    )


def same_work(results):
    """Return a sentence on the losses: the same work gives the same."""
    losses = {
        (name, devices): round_['loss']
        for (name, devices, task), rounds in results.items()
        for round_ in rounds
        if task == 'step' and name != UPPER_BOUND
    }
    low = min(losses.values(), default=0)
    high = max(losses.values(), default=0)
    if not high - low <= 1e-3:
        return f'**Not the same work**, since the losses differ: {losses}'
    return (
        f'After the same steps, the losses of all peers agree: '
        f'{low:.4f} to {high:.4f}.'
    )
