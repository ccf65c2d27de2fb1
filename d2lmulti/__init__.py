"""Training on multiple GPUs, from scratch: what the notebooks export.

Part I is loaded now, and a module of a later part when one of its names is
first asked for.
"""

import importlib
import os

from .prepare import jupyter, machine, runtime

runtime.prepare()  # before the first import of MXNet
from . import device_error

if machine.is_stand_in():  # it is strict by itself
    import mxnet

    mxnet.base.device_error = device_error.of_stand_in
elif os.environ.get('D2LMULTI_STRICT') != '0':
    from . import strict_devices

    strict_devices.turn_on()
jupyter.help_reader(
    lambda: {name: __getattr__(name) for name in OURS},
    {device_error.DeviceError: device_error.without_mxnet},
)

PART_I = (
    'devices network rounding replicas data training causes '
    'datasets.fashion_mnist plots'
).split()
LATER = {  # the public names; a test holds them to those of the modules
    # II. Communication
    'communication.collectives': (
        'reduce_scatter all_gather direct_allreduce ring_allreduce '
        'tree_allreduce halving_doubling_allreduce bucket_allreduce'
    ),
    'profiler': 'profile',
    'communication.timeline': 'plot_timeline idle_fraction',
    'communication.compression': (
        'exchange_compressed top_k one_bit two_bit power_sgd '
        'train_batch_compressed train_round train_round_diloco'
    ),
    # III. Learning on many devices
    'learning.large_batch': (
        'gradient_descent sgd_momentum adam decay_weights lars '
        'train_batch_accumulated'
    ),
    'learning.sync_batch_norm': 'train_batch_bn',
    'learning.heterogeneous': (
        'train_batch_weighted split_by_shares balanced_shares adapt_shares'
    ),
    'learning.transformer': (
        'PADDING UNKNOWN build_vocab encode init_decoder decoder_layers '
        'decoder_scores token_loss count_tokens'
    ),
    # IV. Networks that do not fit
    'model_parallelism.model_parallel': (
        'split_layers stage_params gpipe_schedule pipeline_gradients '
        'one_f_one_b_schedule shard_decoder decoder_shard decoder_gradients'
    ),
    'model_parallelism.sharding': (
        'train_batch_replicated train_batch_zero1 train_batch_zero2 '
        'scatter_params gather_params layer_buffers train_batch_zero3 '
        'orthogonalize orthogonalize_shards muon scatter_flat '
        'find_places reshard clip_gradients backward_recomputed'
    ),
    'model_parallelism.sequences_experts': (
        'pass_on ring_attention sequence_gradients split_zigzag all_to_all '
        'run_experts expert_gradients'
    ),
    'model_parallelism.mesh': (
        'shard_mesh mesh_gradients train_batch_mesh hierarchical_allreduce'
    ),
    # V. Many machines
    'cluster.cluster': 'exchange allreduce_processes train_on_cluster',
    'cluster.hangs': (
        'Recorder parse_records read_records call_of first_difference '
        'find_culprits waiting_times WatchedAllreduce'
    ),
    'cluster.checkpoint': 'Checkpoint save_checkpoint load_checkpoint',
    # VII. Judgment
    'judgment.scaling': (
        'allreduce_seconds Machine step_seconds simulate_allreduce '
        'checkpoint_interval run_seconds simulate_failures'
    ),
    'judgment.planner': (
        'gpt_network Cluster Degrees plan_costs Found find_plans'
    ),
    'judgment.bugs': 'in_short visit type_error',
}
MODULES = (*PART_I, *LATER)
HOMES = {  # of each public name: its module
    name: module
    for module in PART_I
    for name in importlib.import_module(f'.{module}', __name__).__all__
}
OURS: list = [*HOMES]  # of part I
HOMES.update(
    (name, module) for module, names in LATER.items() for name in names.split()
)
__all__ = [*HOMES]


def __getattr__(name):
    """Return a public name, and load its module."""
    if name not in HOMES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value = getattr(importlib.import_module(f'.{HOMES[name]}', __name__), name)
    globals()[name] = value
    return value


def __dir__():
    return [*globals(), *HOMES]
