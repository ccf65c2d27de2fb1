"""Pipeline and tensor parallelism of chapter 3."""

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

    from d2lmulti.model_parallel import pipeline_gradients, split_layers

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


def conv_stack(num_layers=8, channels=32):
    """Return (layers, params) of chapter 3's stack of equal convolutions."""
    from mxnet import np, npx

    def layer(h, W, b):
        return npx.activation(
            npx.convolution(
                h, W, b, kernel=(3, 3), pad=(1, 1), num_filter=len(W)
            ),
            'relu',
        )

    def top(h, W, b):
        h = layer(h, W, b).reshape(len(h), len(W), -1)
        return h.mean(axis=2)  # mean(axis=(2, 3)) crashes in MXNet 2.0.0b1

    std = (2 / 9 / channels) ** 0.5
    params = []
    for _ in range(num_layers):
        params.append(np.random.normal(0, std, (channels, channels, 3, 3)))
        params.append(np.zeros(channels))
    return [layer] * (num_layers - 1) + [top], params


def tensor_works(devices):
    """Return what to time with a wide LeNet, tensor-parallel."""
    from mxnet import np

    from d2lmulti.model_parallel import (
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
