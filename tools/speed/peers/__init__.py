"""What is compared: one LeNet, one start, one step, in several frameworks.

One file per peer, each with a class `Trainer` that trains on minibatches
(X, y) which its own `load` made from NumPy arrays (see base.py):

    Trainer(num_devices, start, rendezvous)
        `start`: the first parameters, as NumPy arrays; `rendezvous`: the
        store, rank and size by which processes find each other
    step(X, y)              one training step; may return before it is done
    drain()                 waits until all steps are done
    batches(X, y, size)     prepares a whole set of images once
    epoch(batches)          one pass over them
    loss(X, y)              the mean loss, as a float
    start(trial)            runs the processes of a trial; returns the result
                            of each

A trainer that something else starts knows its `rank`, and `wait` waits for
the others. Frameworks are imported where they are used: each trial runs in
a fresh process, some without MXNet, some without d2lmulti's settings.
"""

import importlib

from .environments import JAX, NUMPY_MXNET, TORCH

OURS = 'this project'
STAND_IN = 'this project on numpy_mxnet'
UPPER_BOUND = 'two independent processes'
TUNED = 'Gluon Trainer, our settings'
GLUON = 'Gluon Trainer, default settings'
RECIPE = 'D2L recipe'
DDP = 'PyTorch DDP'
SHARD_MAP = 'JAX, shard_map'

# The file of each peer, in the order of the tables.
MODULES = {
    OURS: 'ours',
    STAND_IN: 'stand_in',
    UPPER_BOUND: 'independent',
    TUNED: 'gluon_tuned',
    GLUON: 'gluon',
    RECIPE: 'd2l_recipe',
    DDP: 'torch_ddp',
    SHARD_MAP: 'jax_shard_map',
}

# Those that have a separate environment, and which (environments.py).
ENVIRONMENTS = {
    STAND_IN: NUMPY_MXNET,
    DDP: TORCH,
    SHARD_MAP: JAX,
}


def load_trainer(module):
    """Return the class of the peer in `module`, such as 'ours'."""
    return importlib.import_module(f'.{module}', __name__).Trainer
