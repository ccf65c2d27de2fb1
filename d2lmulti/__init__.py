"""Training on multiple GPUs, from scratch: what the notebooks export."""

import sys

__all__ = [
    # 1 Devices
    'median_seconds',
    'record_copies',
    'split_slices',
    'try_devices',
    # 2 The network
    'init_params',
    'lenet',
    'loss',
    'rounding_ratio',
    'in_several_orders',
    # 3 Model parallelism
    'split_by_cost',
    'split_layers',
    'gpipe_schedule',
    'one_f_one_b_schedule',
    'pipeline_gradients',
    'shard_params',
    'tensor_parallel_gradients',
    # 4 Replicas
    'get_params',
    'allreduce',
    'allreduce_gradients',
    # 5 Data
    'split_and_load',
    'split_batch',
    'Minibatches',
    'load_fashion_mnist',
    'read_fashion_mnist',
    'on_bytes',
    # 6 Training
    'sgd',
    'train_batch',
    'evaluate_accuracy',
    'train',
    'TrainResult',
    'max_difference',
    'find_causes',
    'plot_results',
    # 8 Allreduce algorithms
    'count_sent',
    'reduce_scatter',
    'all_gather',
    'direct_allreduce',
    'ring_allreduce',
    'tree_allreduce',
    'halving_doubling_allreduce',
    'bucket_allreduce',
    # 9 Timelines
    'profile',
    'idle_fraction',
    'plot_timeline',
    # 10 Large minibatches
    'linear_scaling',
    'warmup',
    'polynomial_decay',
    'warmup_and_decay',
    'sgd_momentum',
    'adam',
    'lars',
    'train_batch_accumulated',
    # 11 Batch normalization
    'batch_norm',
    'batch_norm_backward',
    'init_params_bn',
    'predict_bn',
    'train_batch_bn',
    # 12 Heterogeneous devices
    'split_by_shares',
    'balanced_shares',
    'measure_speeds',
    'adapt_shares',
    'train_batch_weighted',
    # 13 Several machines
    'connect_kvstore',
    'KVStoreAllreduce',
    'broadcast_params',
    'train_on_cluster',
    'launch',
    # 13b A transformer
    'read_sentences',
    'init_transformer',
    'transformer_scores',
    'token_loss',
    'count_tokens',
    # 14 Sharded training
    'train_batch_replicated',
    'train_batch_zero1',
    'train_batch_zero2',
    'make_shards',
    'gather_params',
    'train_batch_zero3',
    'backward_recomputed',
    # 16 Scaling and cost
    'Machine',
    'allreduce_seconds',
    'checkpoint_interval',
    'step_seconds',
]

# `python -m d2lmulti doctor` also works where MXNet cannot be imported, and
# the launcher starts seconds earlier without it.
if sys.argv[:2] not in (['-m', 'doctor'], ['-m', 'launch']):
    from .system import runtime

    runtime.prepare()  # before the first import of MXNet

    from .causes import find_causes
    from .cluster import (
        KVStoreAllreduce,
        broadcast_params,
        connect_kvstore,
        train_on_cluster,
    )
    from .collectives import (
        all_gather,
        bucket_allreduce,
        count_sent,
        direct_allreduce,
        halving_doubling_allreduce,
        reduce_scatter,
        ring_allreduce,
        tree_allreduce,
    )
    from .data import (
        Minibatches,
        load_fashion_mnist,
        on_bytes,
        read_fashion_mnist,
        split_and_load,
        split_batch,
    )
    from .devices import (
        median_seconds,
        record_copies,
        split_slices,
        try_devices,
    )
    from .heterogeneous import (
        adapt_shares,
        balanced_shares,
        measure_speeds,
        split_by_shares,
        train_batch_weighted,
    )
    from .large_batch import (
        adam,
        lars,
        linear_scaling,
        polynomial_decay,
        sgd_momentum,
        train_batch_accumulated,
        warmup,
        warmup_and_decay,
    )
    from .launcher import launch
    from .model_parallel import (
        gpipe_schedule,
        one_f_one_b_schedule,
        pipeline_gradients,
        shard_params,
        split_by_cost,
        split_layers,
        tensor_parallel_gradients,
    )
    from .network import (
        in_several_orders,
        init_params,
        lenet,
        loss,
        rounding_ratio,
    )
    from .plots import plot_results, plot_timeline
    from .replicas import allreduce, allreduce_gradients, get_params
    from .scaling import (
        Machine,
        allreduce_seconds,
        checkpoint_interval,
        step_seconds,
    )
    from .sharding import (
        backward_recomputed,
        gather_params,
        make_shards,
        train_batch_replicated,
        train_batch_zero1,
        train_batch_zero2,
        train_batch_zero3,
    )
    from .sync_batch_norm import (
        batch_norm,
        batch_norm_backward,
        init_params_bn,
        predict_bn,
        train_batch_bn,
    )
    from .system.alice import read_sentences
    from .timeline import idle_fraction, profile
    from .training import (
        TrainResult,
        evaluate_accuracy,
        max_difference,
        sgd,
        train,
        train_batch,
    )
    from .transformer import (
        count_tokens,
        init_transformer,
        token_loss,
        transformer_scores,
    )
