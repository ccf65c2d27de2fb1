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
    # 3 Model parallelism
    'split_layers',
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
        reduce_scatter,
        ring_allreduce,
        tree_allreduce,
    )
    from .data import (
        Minibatches,
        load_fashion_mnist,
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
        pipeline_gradients,
        shard_params,
        split_layers,
        tensor_parallel_gradients,
    )
    from .network import init_params, lenet, loss
    from .plots import plot_results, plot_timeline
    from .replicas import allreduce, allreduce_gradients, get_params
    from .sync_batch_norm import (
        batch_norm,
        batch_norm_backward,
        init_params_bn,
        predict_bn,
        train_batch_bn,
    )
    from .timeline import idle_fraction, profile
    from .training import (
        TrainResult,
        evaluate_accuracy,
        max_difference,
        sgd,
        train,
        train_batch,
    )
