"""An allreduce after the backward pass, and overlapped with it."""

from .on_devices import ones_batch, replicas_on, seconds_in_turn


def measure(trial):
    """Return the seconds of a training step, with its allreduce afterwards
    and overlapped: LeNet, and with a dense layer of 27 MB."""
    from mxnet import np

    import d2lmulti

    devices = d2lmulti.try_devices(trial['devices'])
    first = d2lmulti.init_params()
    wide = first[:4] + [
        np.random.normal(0, 0.02, shape)
        for shape in ((800, 8192), 8192, (8192, 10), 10)
    ]
    works = {
        **step_works('LeNet, 512 images', first, 512, devices),
        **step_works('27 MB, 64 images', wide, 64, devices),
    }
    return seconds_in_turn(works, num_rounds=24)  # differences are small


def step_works(name, params, batch_size, devices):
    """Return {name: a training step} for each kind of allreduce."""
    import d2lmulti

    device_params, batch = replicas_on(devices, params), ones_batch(batch_size)

    def step(allreduce):
        return lambda: d2lmulti.train_batch(
            *batch, device_params, devices, 1e-4, allreduce=allreduce
        )

    return {
        f'{name}, no allreduce': step(lambda data: None),
        f'{name}, allreduce afterwards': step(after_backward),
        f'{name}, overlapped': step(d2lmulti.allreduce),
    }


def after_backward(data):
    """Sum the gradients once the whole backward pass is done."""
    from mxnet import npx

    import d2lmulti

    if data[0].shape == (20, 1, 3, 3):  # of the first parameter
        npx.waitall()
    d2lmulti.allreduce(data)
