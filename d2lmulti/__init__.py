"""Training on multiple GPUs, from scratch: what the notebooks export."""

from .prepare import runtime

runtime.prepare()  # before the first import of MXNet

from . import budgets
from .causes import *
from .checkpoint import *
from .cluster import *
from .collectives import *
from .data import *
from .datasets import fashion_mnist
from .datasets.fashion_mnist import *
from .devices import *
from .heterogeneous import *
from .large_batch import *
from .model_parallel import *
from .network import *
from .plots import *
from .replicas import *
from .scaling import *
from .sequences_experts import *
from .sharding import *
from .sync_batch_norm import *
from .timeline import *
from .training import *

# The public names by part, from what each module exports.
__all__ = [
    name
    for module in (
        *(devices, network, replicas, data, training, causes),
        *(fashion_mnist, plots),
        *(collectives, timeline),
        *(large_batch, sync_batch_norm, heterogeneous),
        *(model_parallel, sharding, sequences_experts),
        *(cluster, checkpoint, scaling),
    )
    for name in module.__all__
]
