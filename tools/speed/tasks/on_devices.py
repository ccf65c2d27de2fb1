"""What the tasks that measure this project alone share."""

import statistics
import time


def replicas_on(devices, params=None):
    """Return a replica of `params`, or of LeNet's first ones, per device."""
    import d2lmulti

    params = d2lmulti.init_params() if params is None else params
    return [d2lmulti.get_params(params, device) for device in devices]


def ones_batch(size):
    """Return a minibatch (X, y) of that size."""
    from mxnet import np

    return np.ones((size, 1, 28, 28)), np.zeros(size, dtype='int32')


def seconds_in_turn(works, num_rounds=6):
    """Return the median seconds of each of `works`, {name: function}."""
    from mxnet import npx

    seconds = {name: [] for name in works}
    for _ in range(2 + num_rounds):  # the first two warm up
        for name, work in works.items():
            npx.waitall()
            start = time.perf_counter()
            work()
            npx.waitall()
            seconds[name].append(time.perf_counter() - start)
    return {
        name: statistics.median(values[2:]) for name, values in seconds.items()
    }
