"""The cost of batch normalization, and of synchronizing it."""

from .on_devices import ones_batch, replicas_on, seconds_in_turn


def measure(trial):
    """Return the seconds of a step of 512 images without batch
    normalization, with the statistics of each shard, and synchronized."""
    import d2lmulti
    from d2lmulti.learning.sync_batch_norm import (
        init_params_bn,
        train_batch_bn,
    )

    devices = d2lmulti.try_devices(trial['devices'])
    params, averages = init_params_bn()
    averages = [
        [array.copyto(device) for array in averages] for device in devices
    ]
    with_bn, without = replicas_on(devices, params), replicas_on(devices)
    batch = ones_batch(512)
    return seconds_in_turn(
        {
            'without': lambda: d2lmulti.train_batch(
                *batch, without, devices, 1e-4
            ),
            'each shard': lambda: train_batch_bn(
                *batch, with_bn, averages, devices, 1e-4, sync=False
            ),
            'synchronized': lambda: train_batch_bn(
                *batch, with_bn, averages, devices, 1e-4
            ),
        }
    )
