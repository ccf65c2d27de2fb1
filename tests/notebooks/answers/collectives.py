"""Answers to the exercises of 08_collectives, right and wrong, in order."""

WRONG = [
    [
        (  # cpu(i) instead of the device of data[i]
            'copyto(data[(i + 1) % k].ctx)',
            'copyto(mx.cpu((i + 1) % k))',
            r'on \[cpu\(2\), cpu\(0\), cpu\(1\)\]: copies from',
        ),
        (
            'return [slices[i][i] for i in range(k)]',
            'return [slices[i][i].copyto(mx.cpu(i)) for i in range(k)]',
            'the first on the device of data',
        ),
        (  # the size of the example
            'split_views(array, k)',
            '[array[part] for part in split_slices(10, k)]',
            'is a remainder left out',
        ),
        (
            'split_views(array, k)',
            '[array[j * (len(array) // k):(j + 1) * (len(array) // k)]\n'
            '               for j in range(k)]',
            'is a remainder left out',
        ),
        (
            '(i - 1 - step) % k].copyto',
            '(i - step) % k].copyto',
            'which slice is complete',
        ),
        # The ring of the chapter: slice i + 1 ends on device i.
        (
            """def ring_reduce_scatter(data):
    k = len(data)
    slices = [split_views(array, k) for array in data]
    for step in range(k - 1):
        sent = [slices[i][(i - step) % k].copyto(data[(i + 1) % k].ctx)
                for i in range(k)]
        for i in range(k):
            slices[(i + 1) % k][(i - step) % k] += sent[i]
    return [slices[i][(i + 1) % k] for i in range(k)]
""",
            r'ended with slices \[1, 0\]',
        ),
        (
            'range(k - 1)',
            'range(k)',
            'which slice is complete',
        ),
        ('range(k - 1)', 'range(k - 2)', 'copies from each device'),
        ('[slices[i][i] for i', '[slices[0][i] for i', 'return 2 arrays'),
        ('return [slices[i][i]', 'return [data[i]', 'not all of'),
        (
            'split_views(array, k)',
            '[array[j * (10 // k):(j + 1) * (10 // k)] for j in range(k)]',
            'a remainder left out',
        ),
        ('] += sent[i]', '][:] = sent[i]', 'not all of'),
        (
            'return [slices[i][i]',
            'return [slices[i][i] / k',
            'not all of',
        ),
        (  # sums on device 0, then scatters
            """def ring_reduce_scatter(data):
    allreduce(data)
    return [split_views(a, len(data))[i] for i, a in enumerate(data)]
""",
            'are they whole arrays',
        ),
        (
            'def ring_reduce_scatter(data):\n    return data\n',
            'copies from each',
        ),
        (
            'slices[(i + 1) % k][(i - 1 - step) % k] += sent[i]',
            'slices[(i + 1) % k][(i - 1 - step) % k] = sent[i]',
            'not all of',
        ),
    ],
    [
        ('k // 2', 'k', 'return a list of 0 steps'),
        ('gap //= 2', 'gap -= 1', 'return a list of'),
        ('i // gap * gap', '0', 'in which direction'),
        ('partner = i + gap if', 'partner = i - gap if', 'cannot have'),
        ('% 2 == 0', '% 2', 'cannot have the partner'),
        ('first + gap)', 'first + 2 * gap)', 'which half'),
        ('(partner, list', '(i, list', 'cannot have the partner'),
        ('list(range(first, first + gap))', 'first', 'not a partner'),
        (
            'steps.append((partner, list(range(first, first + gap))))',
            'steps.append(partner)',
            'not a partner',
        ),
        # Nearest neighbors first.
        (
            """def halving_steps(i, k):
    steps, gap, have = [], 1, list(range(k))
    while gap < k:
        have = have[:len(have) // 2] if not i & gap else have[len(have) // 2:]
        steps.append((i ^ gap, have))
        gap *= 2
    return steps
""",
            'how far away',
        ),
        # What the device sends.
        (
            """def halving_steps(i, k):
    steps, gap = [], k // 2
    while gap:
        j = i ^ gap
        steps.append((j, list(range(j // gap * gap, j // gap * gap + gap))))
        gap //= 2
    return steps
""",
            'which half should it keep',
        ),
        ('def halving_steps(i, k):\n    return -1\n', 'return a list'),
        ('def halving_steps(i, k):\n    return [None] * 2\n', 'a list of'),
    ],
    [
        ('ring_allreduce)', 'allreduce)', 'one bucket in a ring'),
        (
            'ring_allreduce)',
            'ring_allreduce, 1024)',
            'one bucket in a ring',
        ),
        ('sgd(params, lr, len(X))', 'sgd(params, lr, 256)', 'train_batch'),
        (
            'sgd(params, lr, len(X))',
            'sgd(params, lr, len(X) // len(devices))',
            'train_batch',
        ),
        (
            '    for params in device_params:\n        sgd',
            '    for params in device_params[:1]:\n        sgd',
            'on device 1 is not',
        ),
        (
            'for param in params]\n',
            'for param in params[2:]]\n',
            'parameter 0 on device 0',
        ),
        ('.sum()\n', '.mean()\n', 'train_batch'),
        (
            '    bucket_allreduce([[param.grad for param in params]\n'
            '                      for params in device_params], '
            'ring_allreduce)\n',
            '',
            'train_batch',
        ),
        (  # no bucket
            '    bucket_allreduce([[param.grad for param in params]\n'
            '                      for params in device_params], '
            'ring_allreduce)\n',
            '    for params in zip(*device_params):\n'
            '        ring_allreduce([param.grad for param in params])\n',
            'sent 48 messages',
        ),
        (  # other arrays in the lists
            'sgd(params, lr, len(X))',
            'params[:] = [p - lr / len(X) * p.grad for p in params]',
            'updated in place',
        ),
        (  # sums copies of the gradients
            '[[param.grad for param in params]',
            '[[param.grad.copy() for param in params]',
            'train_batch',
        ),
        (
            """def train_batch_bucketed(X, y, device_params, devices, lr):
    train_batch(X, y, device_params, devices, lr)
""",
            'one bucket in a ring',
        ),
        (
            """def train_batch_bucketed(X, y, device_params, devices, lr):
    for params in device_params:
        for param in params:
            param = param - lr
""",
            'train_batch',
        ),
        ('sgd(params, lr', 'sgd(params, 0.2', 'is not that of'),
        (  # parameters travel in the bucket, too
            '[[param.grad for param in params]',
            '[[a for p in params for a in (p.grad, p.copy())]',
            'what else is in the bucket',
        ),
        (  # padded to twice its size
            '[[param.grad for param in params]',
            '[[param.grad for param in params] + [np.zeros(\n'
            '                          129_068, ctx=params[0].ctx)]',
            'what else is in the bucket',
        ),
        (  # the whole minibatch on each device
            """def train_batch_bucketed(X, y, device_params, devices, lr):
    with autograd.record():
        losses = [loss(lenet(X.copyto(device), params), y.copyto(device)).sum()
                  for device, params in zip(devices, device_params)]
    for total in losses:
        total.backward()
    bucket_allreduce([[param.grad for param in params]
                      for params in device_params], ring_allreduce)
    for params in device_params:
        sgd(params, lr, len(devices) * len(X))
""",
            'of a minibatch of 61',
        ),
    ],
]

RIGHT = [
    [
        (
            'split_views(array, k)',
            '[array.reshape(-1)[part] for part in split_slices(array.size, k)]',
        ),
        (
            'return [slices[i][i] for i in range(k)]',
            'return tuple(slices[i][i].copy() for i in range(k))',
        ),
        # One slice after another, with slices cut by hand.
        """def ring_reduce_scatter(data):
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
""",
        # Other slices, in two dimensions.
        """def ring_reduce_scatter(data):
    k = len(data)
    ends = [j if j < k else data[0].size for j in range(k + 1)]
    for step in range(1, k):
        for j in range(k):
            mine, other = data[(j + step) % k], data[(j + step + 1) % k]
            part = slice(ends[j], ends[j + 1])
            other[part] += mine[part].copyto(other.ctx)
    return [data[i][ends[i]:ends[i + 1]].reshape(1, -1) for i in range(k)]
""",
    ],
    [
        ('list(range(first, first + gap))', 'range(first, first + gap)'),
        """import numpy
def halving_steps(i, k):
    have, steps = numpy.arange(k), []
    while len(have) > 1:
        half = len(have) // 2
        upper = i % (2 * half) >= half
        have = have[half:] if upper else have[:half]
        steps.append([numpy.int64(i - half if upper else i + half), have])
    return tuple(steps)
""",
        """def halving_steps(i, k):
    if k == 1:
        return []
    half = k // 2
    if i < half:
        return [(i + half, tuple(range(half)))] + halving_steps(i, half)
    rest = halving_steps(i - half, half)
    return [(i - half, tuple(range(half, k)))] + [
        (partner + half, tuple(j + half for j in kept))
        for partner, kept in rest]
""",
    ],
    [
        (
            '[[param.grad for param in params]\n'
            '                      for params in device_params]',
            'tuple(tuple(p.grad for p in params) for params in device_params)',
        ),
        (
            '    for total in losses:\n        total.backward()\n',
            '    autograd.backward(losses)\n',
        ),
        (
            'sgd(params, lr, len(X))',
            'for p in params:\n            p[:] = p - lr / len(X) * p.grad',
        ),
        # By hand, the gradients from the last to the first.
        """def train_batch_bucketed(X, y, device_params, devices, lr):
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
""",
        # The mean of each shard, weighted by its size.
        """def train_batch_bucketed(X, y, device_params, devices, lr):
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
""",
    ],
]
