"""Training on multiple GPUs, from scratch: what the notebooks export."""

import sys

__all__ = []

# `python -m d2lmulti doctor` also works where MXNet cannot be imported, and
# the launcher starts seconds earlier without it.
if sys.argv[:2] not in (['-m', 'doctor'], ['-m', 'launch']):
    from .system import runtime

    runtime.prepare()  # before the first import of MXNet

    from .causes import *
    from .cluster import *
    from .collectives import *
    from .data import *
    from .devices import *
    from .heterogeneous import *
    from .large_batch import *
    from .launcher import launch as launch
    from .model_parallel import *
    from .network import *
    from .plots import *
    from .replicas import *
    from .scaling import *
    from .sharding import *
    from .sync_batch_norm import *
    from .system import alice, fashion_mnist
    from .system.alice import *
    from .system.fashion_mnist import *
    from .timeline import *
    from .training import *
    from .transformer import *

    # The public names by part, from what each module exports.
    for module in (
        *(devices, network, replicas, data, training, causes),
        *(fashion_mnist, plots),
        *(collectives, timeline),
        *(large_batch, sync_batch_norm, heterogeneous, transformer, alice),
        *(model_parallel, sharding),
        *(cluster, scaling),
    ):
        __all__ += module.__all__
    __all__.append('launch')
