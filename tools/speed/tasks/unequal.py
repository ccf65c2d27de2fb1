"""Even and proportional splits over devices of different speeds."""

from .on_devices import ones_batch, replicas_on, seconds_in_turn


def measure(trial):
    """Return the seconds of a step with each split, by batch size."""
    import d2lmulti

    devices = d2lmulti.try_devices(trial['devices'])
    return {
        size: measure_size(size, devices, trial['slowdowns'])
        for size in (512, 2048)
    }


def measure_size(size, devices, slowdowns):
    """Return the seconds of a step of `size` images, split evenly and in
    proportion to the speeds."""
    import d2lmulti

    device_params, batch = replicas_on(devices), ones_batch(size)
    proportional = d2lmulti.balanced_shares(
        [1 / times for times in slowdowns], size
    )

    def step(shares):
        return lambda: d2lmulti.train_batch_weighted(
            *batch, device_params, devices, 1e-4, shares, slowdowns
        )

    return seconds_in_turn(
        {'even': step([1] * len(devices)), 'proportional': step(proportional)}
    )
