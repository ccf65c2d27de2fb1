# 1 wrong: drops the remainder -> are lost
def split_and_load(data, devices):
    n, k = len(data), len(devices)
    size = n // k
    return [data[i * size:(i + 1) * size].copyto(devices[i])
            for i in range(k)]

# 1 wrong: rounds every length up -> the longer shards come first|longest shard|a device has nothing
def split_and_load(data, devices):
    n, k = len(data), len(devices)
    size = -(-n // k)
    return [data[i * size:(i + 1) * size].copyto(devices[i])
            for i in range(k)]

# 1 wrong: the last device takes the remainder -> the longer shards come first|longest shard
def split_and_load(data, devices):
    n, k = len(data), len(devices)
    size = n // k
    ends = [i * size for i in range(k)] + [n]
    return [data[a:b].copyto(device)
            for a, b, device in zip(ends, ends[1:], devices)]

# 1 wrong: a view of the minibatch where the device is the same -> a slice is a view
def split_and_load(data, devices):
    return [data[rows].as_in_ctx(device) for rows, device
            in zip(split_slices(len(data), len(devices)), devices)]

# 1 wrong: slices that stay on the first device -> shard 1 lives on cpu.0.
def split_and_load(data, devices):
    return [data[rows] for rows in split_slices(len(data), len(devices))]

# 1 wrong: the whole minibatch for each device -> is there twice
def split_and_load(data, devices):
    return [data.copyto(device) for device in devices]

# 1 wrong: every k-th image -> keep the order
def split_and_load(data, devices):
    k = len(devices)
    return [data.copyto(mx.cpu(0))[i::k].copyto(device)
            for i, device in enumerate(devices)]

# 1 wrong: arrays of NumPy -> an array of MXNet
def split_and_load(data, devices):
    return [data[rows].asnumpy() for rows
            in split_slices(len(data), len(devices))]

# 1 wrong: labels become float32 -> shard 0 .*float32
def split_and_load(data, devices):
    return [np.array(data[rows].asnumpy(), dtype='float32', ctx=device)
            for rows, device
            in zip(split_slices(len(data), len(devices)), devices)]

# 1 wrong: returns the last shard alone -> a list of 2 shards
def split_and_load(data, devices):
    for rows, device in zip(split_slices(len(data), len(devices)), devices):
        shard = data[rows].copyto(device)
    return shard

# 1 wrong: a generator -> a list of 2 shards
def split_and_load(data, devices):
    return (data[rows].copyto(device) for rows, device
            in zip(split_slices(len(data), len(devices)), devices))

# 1 right: a loop that appends
def split_and_load(data, devices):
    shards = []
    for rows, device in zip(split_slices(len(data), len(devices)), devices):
        shards.append(data[rows].copyto(device))
    return shards

# 1 right: lengths by divmod
def split_and_load(data, devices):
    n, k = len(data), len(devices)
    size, longer = divmod(n, k)
    shards, start = [], 0
    for i, device in enumerate(devices):
        end = start + size + (i < longer)
        shards.append(data[start:end].copyto(device))
        start = end
    return shards

# 1 right: copy, then as_in_ctx
def split_and_load(data, devices):
    return [data[rows].copy().as_in_ctx(device) for rows, device
            in zip(split_slices(len(data), len(devices)), devices)]

# 1 right: through array_split of NumPy
def split_and_load(data, devices):
    parts = onp.array_split(data.asnumpy(), len(devices))
    return [np.array(part, dtype=part.dtype, ctx=device)
            for part, device in zip(parts, devices)]

# 1 right: by split_and_load of Gluon
def split_and_load(data, devices):
    from mxnet import gluon
    return [shard.copy() for shard in gluon.utils.split_and_load(
        data, devices, even_split=False)]

# 1 right: a tuple, by map
def split_and_load(data, devices):
    slices = split_slices(len(data), len(devices))
    return tuple(map(lambda rows, device: data[rows].copyto(device),
                     slices, devices))

# 1 right: the first shard, then the others by recursion
def split_and_load(data, devices):
    if len(devices) == 1:
        return [data.copyto(devices[0])]
    first = -(-len(data) // len(devices))
    return [data[:first].copyto(devices[0]),
            *split_and_load(data[first:], devices[1:])]

# 1 right: into arrays that are there already
def split_and_load(data, devices):
    shards = []
    for rows, device in zip(split_slices(len(data), len(devices)), devices):
        shard = np.empty(data[rows].shape, dtype=data.dtype, ctx=device)
        data[rows].copyto(shard)
        shards.append(shard)
    return shards

# 1 right: copies the whole minibatch first
def split_and_load(data, devices):
    data = data.copy()
    return [data[rows].copyto(device) for rows, device
            in zip(split_slices(len(data), len(devices)), devices)]

# 1 right: lengths by rounding, then sorted
def split_and_load(data, devices):
    n, k = len(data), len(devices)
    ends = [-(-i * n // k) for i in range(k + 1)]
    sizes = sorted([b - a for a, b in zip(ends, ends[1:])], reverse=True)
    shards = []
    for size, device in zip(sizes, devices):
        start = sum(map(len, shards))
        shards.append(data[start:start + size].copyto(device))
    return shards

# 1 right: through a dictionary
def split_and_load(data, devices):
    slices = split_slices(len(data), len(devices))
    shards = {}
    for i in range(len(devices)):
        shards[i] = data[slices[i]].copyto(devices[i])
    return list(shards.values())

# 1 right: with an inner function
def split_and_load(data, devices):
    def load(rows, device):
        return data[rows.start:rows.stop].copyto(device)
    return [load(rows, device) for rows, device
            in zip(split_slices(len(data), len(devices)), devices)]
