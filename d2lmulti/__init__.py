"""Training on multiple GPUs, from scratch: what the notebooks export."""
import sys

# `python -m d2lmulti doctor` also works where MXNet cannot be imported, and
# the launcher starts seconds earlier without it.
if sys.argv[:2] not in (['-m', 'doctor'], ['-m', 'launch']):
    from . import runtime

    runtime.prepare()  # before the first import of MXNet

    from .batch_norm import norm_train_batch
    from .collectives import (bucket_allreduce, count_sent, ring_allreduce,
                              sharded_allreduce, tree_allreduce)
    from .data import (Minibatches, load_fashion_mnist, read_fashion_mnist,
                       split_and_load, split_batch)
    from .devices import (check_devices, copies_made, median_seconds,
                          try_devices)
    from .lenet import init_params, lenet, loss
    from .schedules import (lars, linear_scaling, polynomial_decay,
                            train_in_parts, warmup, warmup_and_decay)
    from .splits import (channel_gradients, pipeline_gradients, split_channels,
                         split_layers)
    from .sync import allreduce, get_params
    from .timeline import plot_timeline, profile
    from .train import (TrainResult, evaluate_accuracy, find_causes,
                        plot_results, train, train_batch)
    from .unequal import (adapt_shares, balanced_shares, measure_speeds,
                          train_unequal)
