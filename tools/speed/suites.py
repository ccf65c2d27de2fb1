"""The suites: which trials make a round, and where the results go."""

import collections
import pathlib
import sys

from .peers import (
    DDP,
    ENVIRONMENTS,
    GLUON,
    OURS,
    RECIPE,
    SHARD_MAP,
    STAND_IN,
    TUNED,
    UPPER_BOUND,
)
from .report import (
    compression,
    large_batch,
    single,
)
from .trials import Trial

BUILD = pathlib.Path(__file__).parents[2] / 'build'
RESULTS = pathlib.Path(__file__).parent / 'results'
NUM_IMAGES = 60_000  # in an epoch: the size of Fashion-MNIST

QUICK = [(OURS, 1), (OURS, 2), (TUNED, 1), (TUNED, 2), (UPPER_BOUND, 2)]
FULL = QUICK + [(OURS, 4), (RECIPE, 1), (RECIPE, 2), (GLUON, 1), (GLUON, 2)]

# `list_trials(notes)` returns the trials of a round and notes which peers
# are left out; `write(results, notes, num_rounds, out)` writes the tables.
# Where nothing is timed, it doesn't matter that others used the processor.
Suite = collections.namedtuple(
    'Suite', 'list_trials write out num_rounds is_timed', defaults=[True]
)


def quick_trials(notes):
    """Return the trials of two minutes."""
    return [Trial(*peer, 'step', {'batch_sizes': [512]}) for peer in QUICK] + [
        Trial(OURS, 2, 'collectives', {'megabytes': [0.4, 40]})
    ]


def full_trials(notes):
    """Return the trials of a full round, in one process or with DDP."""
    peers = FULL + framework_peers(notes)
    step = {'batch_sizes': [256, 512, 1024, 4096]}
    epoch = {'batch_size': 256, 'num_images': NUM_IMAGES}
    sizes = {'megabytes': [0.4, 4, 40, 400]}
    return (
        [Trial(*peer, 'step', step) for peer in peers]
        + [Trial(*peer, 'epoch', epoch) for peer in peers]
        + [Trial(OURS, k, 'collectives', sizes) for k in (2, 4)]
        + [Trial(OURS, 2, 'overlap')]
    )


def large_batch_trials(notes):
    """Return the trials of chapter 11: one per seed, all in one round."""
    return [
        Trial(OURS, 1, 'large_batch', {'seed': seed})
        for seed in large_batch.SEEDS
    ]


def compression_trials(notes):
    """Return the trials of chapter 10: one per seed, all in one round."""
    return [
        Trial(OURS, 1, 'compression', {'seed': seed})
        for seed in compression.SEEDS
    ]


def torch_peers(notes):
    """Return PyTorch's peers; note why there are none."""
    return peers_of(DDP, (1, 2), notes)


def framework_peers(notes):
    """Return the peers of the other frameworks; note which are missing."""
    return (
        peers_of(STAND_IN, (1, 2), notes)
        + torch_peers(notes)
        + peers_of(SHARD_MAP, (1, 2), notes)
    )


def peers_of(name, all_devices, notes):
    """Return a peer with each number of devices; note why there is none."""
    reason = ENVIRONMENTS[name].why_missing()
    if reason:
        return leave_out(name, reason, notes)
    return [(name, devices) for devices in all_devices]


def leave_out(name, reason, notes):
    """Note and print why a peer takes no part; return no peers."""
    notes.append(f'{name} was left out: {reason}')
    print(notes[-1], file=sys.stderr)
    return []


SUITES = {
    'full': Suite(full_trials, single.write, RESULTS / 'RESULTS.md', 5),
    'quick': Suite(quick_trials, single.write, BUILD / 'bench-quick.md', 3),
    'large_batch': Suite(
        large_batch_trials,
        large_batch.write,
        RESULTS / 'LARGE_BATCH.md',
        1,
        is_timed=False,
    ),
    'compression': Suite(
        compression_trials,
        compression.write,
        RESULTS / 'COMPRESSION.md',
        1,
        is_timed=False,
    ),
}
