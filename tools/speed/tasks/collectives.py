"""The allreduce algorithms of chapter 8, over the devices of a process."""

from .on_devices import replicas_on, seconds_in_turn


def measure(trial):
    """Return the seconds of each algorithm and of its parts, by size in MB,
    and those for LeNet's gradients."""
    import d2lmulti

    devices = d2lmulti.try_devices(trial['devices'])
    result = {
        size: measure_size(int(size * 250_000), devices)
        for size in trial['megabytes']
    }
    result['LeNet'] = measure_buckets(devices)
    return result


def measure_size(length, devices):
    """Return the seconds of each algorithm, of one copy, of copies by all
    devices at once, and of one sum, for arrays of `length` numbers."""
    from mxnet import np

    import d2lmulti

    data = [np.ones(length, ctx=device) for device in devices]
    others = [np.zeros(length, ctx=device) for device in devices]

    def copy_side_by_side():
        for i, array in enumerate(data):
            array.copyto(others[(i + 1) % len(others)])

    return seconds_in_turn(
        {
            'star': lambda: d2lmulti.allreduce(data),
            'direct': lambda: d2lmulti.direct_allreduce(data),
            'ring': lambda: d2lmulti.ring_allreduce(data),
            'tree': lambda: d2lmulti.tree_allreduce(data),
            'halving–doubling': lambda: d2lmulti.halving_doubling_allreduce(
                data
            ),
            'copy': lambda: data[1].copyto(data[0]),
            'side by side': copy_side_by_side,
            'sum': lambda: others[0].__iadd__(data[0]),
        }
    )


def measure_buckets(devices):
    """Return the seconds for LeNet's eight gradients, one by one and in a
    bucket, with the star and with the ring."""
    import d2lmulti

    device_params = replicas_on(devices)

    def one_by_one(algorithm):
        return lambda: [algorithm(arrays) for arrays in zip(*device_params)]

    def in_a_bucket(algorithm):
        return lambda: d2lmulti.bucket_allreduce(device_params, algorithm)

    star, ring = d2lmulti.allreduce, d2lmulti.ring_allreduce
    return seconds_in_turn(
        {
            'star': one_by_one(star),
            'star, bucket': in_a_bucket(star),
            'ring': one_by_one(ring),
            'ring, bucket': in_a_bucket(ring),
        }
    )
