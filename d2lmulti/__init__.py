"""Training on multiple GPUs, from scratch: what the notebooks export."""

import importlib

from .prepare import jupyter, runtime

runtime.prepare()  # before the first import of MXNet
jupyter.explain_missing_names()

# I. Two devices
from .datasets.fashion_mnist import *
from .devices import *
from .network import *
from .replicas import *
from .data import *
from .training import *
from .causes import *
from .plots import *

# II. Communication
from .communication.collectives import *
from .communication.timeline import *
from .communication.compression import *

# III. Learning on many devices
from .learning.large_batch import *
from .learning.sync_batch_norm import *
from .learning.heterogeneous import *
from .learning.transformer import *

# IV. Networks that do not fit
from .model_parallelism.model_parallel import *
from .model_parallelism.sharding import *
from .model_parallelism.sequences_experts import *
from .model_parallelism.mesh import *

# V. Many machines
from .cluster.checkpoint import *
from .cluster.cluster import *
from .cluster.hangs import *

# VII. Judgment
from .judgment.scaling import *
from .judgment.planner import *
from .judgment.bugs import *

from . import budgets

# Where the public names are, by part.
MODULES = (
    *('devices', 'network', 'replicas', 'data', 'training', 'causes'),
    *('datasets.fashion_mnist', 'plots'),
    'communication.collectives',
    'communication.timeline',
    'communication.compression',
    'learning.large_batch',
    'learning.sync_batch_norm',
    'learning.heterogeneous',
    'learning.transformer',
    'model_parallelism.model_parallel',
    'model_parallelism.sharding',
    'model_parallelism.sequences_experts',
    'model_parallelism.mesh',
    *('cluster.cluster', 'cluster.hangs', 'cluster.checkpoint'),
    *('judgment.scaling', 'judgment.planner', 'judgment.bugs'),
)
__all__ = [
    name
    for module in MODULES
    for name in importlib.import_module(f'.{module}', __name__).__all__
]
