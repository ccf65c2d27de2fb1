# 1 wrong: cpu(i) instead of the device of data[i] -> no device can use another
def ring_reduce_scatter(data):
    k = len(data)
    slices = [split_views(array, k) for array in data]
    for step in range(k - 1):
        sent = [slices[i][(i - 1 - step) % k].copyto(mx.cpu((i + 1) % k))
                for i in range(k)]
        for i in range(k):
            slices[(i + 1) % k][(i - 1 - step) % k] += sent[i]
    return [slices[i][i] for i in range(k)]

# 1 wrong: leaves the remainder out -> is a remainder left out
def ring_reduce_scatter(data):
    k = len(data)
    slices = [[array[j * (len(array) // k):(j + 1) * (len(array) // k)]
               for j in range(k)] for array in data]
    for step in range(k - 1):
        sent = [slices[i][(i - 1 - step) % k].copyto(data[(i + 1) % k].ctx)
                for i in range(k)]
        for i in range(k):
            slices[(i + 1) % k][(i - 1 - step) % k] += sent[i]
    return [slices[i][i] for i in range(k)]

# 1 wrong: slice i + 1 ends on device i, as in the chapter's ring -> ended with slices \[1, 0\]
def ring_reduce_scatter(data):
    k = len(data)
    slices = [split_views(array, k) for array in data]
    for step in range(k - 1):
        sent = [slices[i][(i - step) % k].copyto(data[(i + 1) % k].ctx)
                for i in range(k)]
        for i in range(k):
            slices[(i + 1) % k][(i - step) % k] += sent[i]
    return [slices[i][(i + 1) % k] for i in range(k)]

# 1 wrong: overwrites instead of adding -> not all of
def ring_reduce_scatter(data):
    k = len(data)
    slices = [split_views(array, k) for array in data]
    for step in range(k - 1):
        sent = [slices[i][(i - 1 - step) % k].copyto(data[(i + 1) % k].ctx)
                for i in range(k)]
        for i in range(k):
            slices[(i + 1) % k][(i - 1 - step) % k][:] = sent[i]
    return [slices[i][i] for i in range(k)]

# 1 wrong: sums whole arrays on device 0, then cuts -> are they whole arrays
def ring_reduce_scatter(data):
    allreduce(data)
    return [split_views(a, len(data))[i] for i, a in enumerate(data)]

# 1 right: one slice after the other
def ring_reduce_scatter(data):
    k, size = len(data), data[0].size
    ends = [size * j // k for j in range(k + 1)]
    parts = []
    for j in range(k):
        part = data[(j + 1) % k][ends[j]:ends[j + 1]]
        for i in range(j + 2, j + k + 1):
            mine = data[i % k]
            part = part.copyto(mine.ctx) + mine[ends[j]:ends[j + 1]]
        parts.append(part)
    return parts

# 1 right: other slices, in two dimensions
def ring_reduce_scatter(data):
    k = len(data)
    ends = [j if j < k else data[0].size for j in range(k + 1)]
    for step in range(1, k):
        for j in range(k):
            mine, other = data[(j + step) % k], data[(j + step + 1) % k]
            part = slice(ends[j], ends[j + 1])
            other[part] += mine[part].copyto(other.ctx)
    return [data[i][ends[i]:ends[i + 1]].reshape(1, -1) for i in range(k)]

# 2 wrong: nearest neighbors first -> how far away
def halving_steps(i, k):
    steps, gap, have = [], 1, list(range(k))
    while gap < k:
        have = have[:len(have) // 2] if not i & gap else have[len(have) // 2:]
        steps.append((i ^ gap, have))
        gap *= 2
    return steps

# 2 wrong: what the device sends, not what it keeps -> which half should it keep
def halving_steps(i, k):
    steps, gap = [], k // 2
    while gap:
        j = i ^ gap
        steps.append((j, list(range(j // gap * gap, j // gap * gap + gap))))
        gap //= 2
    return steps

# 2 wrong: the partner in the wrong direction -> cannot have
def halving_steps(i, k):
    steps, gap = [], k // 2
    while gap:
        first = i // gap * gap
        partner = i - gap
        steps.append((partner, list(range(first, first + gap))))
        gap //= 2
    return steps

# 2 wrong: partners without slices -> not a partner
def halving_steps(i, k):
    steps, gap = [], k // 2
    while gap:
        first = i // gap * gap
        partner = i + gap if first // gap % 2 == 0 else i - gap
        steps.append(partner)
        gap //= 2
    return steps

# 2 right: arrays of NumPy
import numpy
def halving_steps(i, k):
    have, steps = numpy.arange(k), []
    while len(have) > 1:
        half = len(have) // 2
        upper = i % (2 * half) >= half
        have = have[half:] if upper else have[:half]
        steps.append([numpy.int64(i - half if upper else i + half), have])
    return tuple(steps)

# 2 right: recursive
def halving_steps(i, k):
    if k == 1:
        return []
    half = k // 2
    if i < half:
        return [(i + half, tuple(range(half)))] + halving_steps(i, half)
    rest = halving_steps(i - half, half)
    return [(i - half, tuple(range(half, k)))] + [
        (partner + half, tuple(j + half for j in kept))
        for partner, kept in rest]

# 3 wrong: a bucket, and no ring -> one bucket in a ring
def train_batch_bucketed(X, y, device_params, devices, lr):
    with autograd.record():
        losses = [loss(lenet(X_shard, params), y_shard).sum()
                  for X_shard, y_shard, params
                  in zip(*split_batch(X, y, devices), device_params)]
    for total in losses:
        total.backward()
    bucket_allreduce([[param.grad for param in params]
                      for params in device_params], allreduce)
    for params in device_params:
        sgd(params, lr, len(X))

# 3 wrong: a ring for each parameter, no bucket -> sent 48 messages
def train_batch_bucketed(X, y, device_params, devices, lr):
    with autograd.record():
        losses = [loss(lenet(X_shard, params), y_shard).sum()
                  for X_shard, y_shard, params
                  in zip(*split_batch(X, y, devices), device_params)]
    for total in losses:
        total.backward()
    for params in zip(*device_params):
        ring_allreduce([param.grad for param in params])
    for params in device_params:
        sgd(params, lr, len(X))

# 3 wrong: sums copies of the gradients -> train_batch
def train_batch_bucketed(X, y, device_params, devices, lr):
    with autograd.record():
        losses = [loss(lenet(X_shard, params), y_shard).sum()
                  for X_shard, y_shard, params
                  in zip(*split_batch(X, y, devices), device_params)]
    for total in losses:
        total.backward()
    bucket_allreduce([[param.grad.copy() for param in params]
                      for params in device_params], ring_allreduce)
    for params in device_params:
        sgd(params, lr, len(X))

# 3 wrong: divides by the length of a shard -> train_batch
def train_batch_bucketed(X, y, device_params, devices, lr):
    with autograd.record():
        losses = [loss(lenet(X_shard, params), y_shard).sum()
                  for X_shard, y_shard, params
                  in zip(*split_batch(X, y, devices), device_params)]
    for total in losses:
        total.backward()
    bucket_allreduce([[param.grad for param in params]
                      for params in device_params], ring_allreduce)
    for params in device_params:
        sgd(params, lr, len(X) // len(devices))

# 3 wrong: the whole minibatch on each device -> of a minibatch of 61
def train_batch_bucketed(X, y, device_params, devices, lr):
    with autograd.record():
        losses = [loss(lenet(X.copyto(device), params), y.copyto(device)).sum()
                  for device, params in zip(devices, device_params)]
    for total in losses:
        total.backward()
    bucket_allreduce([[param.grad for param in params]
                      for params in device_params], ring_allreduce)
    for params in device_params:
        sgd(params, lr, len(devices) * len(X))

# 3 right: a bucket by hand, from the last gradient to the first
def train_batch_bucketed(X, y, device_params, devices, lr):
    X_shards, y_shards = split_batch(X, y, devices)
    buckets = []
    for X_shard, y_shard, params in zip(X_shards, y_shards, device_params):
        with autograd.record():
            total = loss(lenet(X_shard, params), y_shard).sum()
        total.backward()
        buckets.append(np.concatenate(
            [param.grad.reshape(-1) for param in params[::-1]]))
    ring_allreduce(buckets)
    for bucket, params in zip(buckets, device_params):
        start = 0
        for param in params[::-1]:
            grad = bucket[start:start + param.size].reshape(param.shape)
            param[:] = param - lr / len(X) * grad
            start += param.size

# 3 right: the mean of each shard, weighted by its size
def train_batch_bucketed(X, y, device_params, devices, lr):
    shards = [*zip(*split_batch(X, y, devices), device_params)]
    with autograd.record():
        losses = [loss(lenet(a, params), b).mean() * (len(a) / len(X))
                  for a, b, params in shards]
    for value in losses:
        value.backward()
    grads = [[param.grad for param in params] for params in device_params]
    bucket_allreduce(grads, allreduce=ring_allreduce)
    for params in device_params:
        sgd(params, lr, 1)
