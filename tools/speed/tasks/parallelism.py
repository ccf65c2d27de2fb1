"""Pipeline and tensor parallelism of chapter 15."""

from tools.notebooks import path_of
from tools.notebooks.cells import code_cells, read_chapter

from .on_devices import ones_batch, seconds_in_turn

WIDE_LENET = [
    (64, 1, 3, 3),
    64,
    (128, 64, 5, 5),
    128,
    (2048, 1024),
    1024,
    (1024, 10),
    10,
]  # shapes of its parameters


def measure(trial):
    """Return the seconds of the gradients of a minibatch, with the network
    on one device and split over all."""
    import d2lmulti

    devices = d2lmulti.try_devices(trial['devices'])
    return seconds_in_turn(
        {**pipeline_works(devices), **tensor_works(devices)}
    )


def pipeline_works(devices):
    """Return what to time with a stack of convolutions as a pipeline."""
    from mxnet import np

    from d2lmulti.model_parallelism.model_parallel import (
        pipeline_gradients,
        split_layers,
    )

    layers, params = conv_stack()
    X, y = np.ones((64, 32, 28, 28)), np.zeros(64, dtype='int32')
    one = split_layers(params, devices[:1], layers)
    two = split_layers(params, devices[:2], layers)
    return {
        'stack of convolutions, 1 device': lambda: pipeline_gradients(
            X, y, one
        ),
        'pipeline, 1 micro-batch': lambda: pipeline_gradients(X, y, two, 1),
        'pipeline, 4 micro-batches': lambda: pipeline_gradients(X, y, two, 4),
    }


def conv_stack():
    """Return (layers, params) of chapter 15's stack of equal convolutions,
    from the chapter's own cell."""
    import numpy
    from mxnet import np, npx

    (source,) = [
        cell.source
        for cell in code_cells(read_chapter(path_of('model_parallel')))
        if cell.source.startswith('def conv_stack(')
    ]
    names = {'np': np, 'npx': npx, 'onp': numpy}
    exec(source, names)
    return names['conv_stack']()


def tensor_works(devices):
    """Return what to time with a wide LeNet, tensor-parallel."""
    from mxnet import np

    from d2lmulti.model_parallelism.model_parallel import (
        LENET,
        pipeline_gradients,
        shard_params,
        split_layers,
        tensor_parallel_gradients,
    )

    params = [np.random.normal(0, 0.05, shape) for shape in WIDE_LENET]
    batch = ones_batch(128)
    whole = split_layers(params, devices[:1])
    shards = shard_params(params, devices)
    return {
        'wide LeNet, 1 device': lambda: pipeline_gradients(*batch, whole),
        'wide LeNet, tensor-parallel': lambda: tensor_parallel_gradients(
            *batch, shards, LENET[:-1]
        ),
    }
