# 1 wrong: no second phase -> each device has one complete slice
def ring_allreduce(data):
    k = len(data)
    slices = [split_views(array, k) for array in data]
    for step in range(k - 1):
        for i in range(k):
            j = (i - step) % k
            slices[(i + 1) % k][j] += slices[i][j].copyto(
                data[(i + 1) % k].ctx)

# 1 wrong: the second phase begins with slice i -> lacks the numbers of device
def ring_allreduce(data):
    k = len(data)
    slices = [split_views(array, k) for array in data]
    for step in range(k - 1):
        for i in range(k):
            j = (i - step) % k
            slices[(i + 1) % k][j] += slices[i][j].copyto(
                data[(i + 1) % k].ctx)
    for step in range(k - 1):
        for i in range(k):
            j = (i - step) % k
            slices[i][j].copyto(slices[(i + 1) % k][j])

# 1 wrong: adds in the second phase, too -> counts a device more than once
def ring_allreduce(data):
    k = len(data)
    slices = [split_views(array, k) for array in data]
    for step in range(2 * k - 2):
        for i in range(k):
            j = (i - step) % k
            slices[(i + 1) % k][j] += slices[i][j].copyto(
                data[(i + 1) % k].ctx)

# 1 wrong: slices are copies -> each device would train alone
def ring_allreduce(data):
    k = len(data)
    slices = [[x.copy() for x in split_views(array, k)] for array in data]
    for step in range(k - 1):
        for i in range(k):
            j = (i - step) % k
            slices[(i + 1) % k][j] += slices[i][j].copyto(
                data[(i + 1) % k].ctx)
    for step in range(k - 1):
        for i in range(k):
            j = (i + 1 - step) % k
            slices[i][j].copyto(slices[(i + 1) % k][j])

# 1 wrong: puts new arrays into the list -> puts a new array into the list
def ring_allreduce(data):
    k = len(data)
    new = [x.copy() for x in data]
    slices = [split_views(array, k) for array in new]
    for step in range(k - 1):
        for i in range(k):
            j = (i - step) % k
            slices[(i + 1) % k][j] += slices[i][j].copyto(
                data[(i + 1) % k].ctx)
    for step in range(k - 1):
        for i in range(k):
            j = (i + 1 - step) % k
            slices[i][j].copyto(slices[(i + 1) % k][j])
    data[:] = new

# 1 wrong: the mean -> the arrays hold the mean, 37
def ring_allreduce(data):
    k = len(data)
    slices = [split_views(array, k) for array in data]
    for step in range(k - 1):
        for i in range(k):
            j = (i - step) % k
            slices[(i + 1) % k][j] += slices[i][j].copyto(
                data[(i + 1) % k].ctx)
    for i in range(k):
        slices[i][(i + 1) % k] /= k
    for step in range(k - 1):
        for i in range(k):
            j = (i + 1 - step) % k
            slices[i][j].copyto(slices[(i + 1) % k][j])

# 1 wrong: the star -> may send to the next only
def ring_allreduce(data):
    allreduce(data)

# 1 wrong: whole arrays go around -> Send one slice in each step
def ring_allreduce(data):
    k = len(data)
    passing = [x.copy() for x in data]
    for _ in range(k - 1):
        passing = [passing[i - 1].copyto(data[i].ctx) for i in range(k)]
        for array, got in zip(data, passing):
            array += got

# 1 wrong: leaves the remainder out -> Do the slices cover the whole array
def ring_allreduce(data):
    k, n = len(data), data[0].size // len(data)
    flat = [array.reshape_view(-1) for array in data]
    slices = [[x[j * n:(j + 1) * n] for j in range(k)] for x in flat]
    for step in range(k - 1):
        for i in range(k):
            j = (i - step) % k
            slices[(i + 1) % k][j] += slices[i][j].copyto(
                data[(i + 1) % k].ctx)
    for step in range(k - 1):
        for i in range(k):
            j = (i + 1 - step) % k
            slices[i][j].copyto(slices[(i + 1) % k][j])

# 1 wrong: one step too few -> lacks the numbers of device
def ring_allreduce(data):
    k = len(data)
    slices = [split_views(array, k) for array in data]
    for step in range(k - 2):
        for i in range(k):
            j = (i - step) % k
            slices[(i + 1) % k][j] += slices[i][j].copyto(
                data[(i + 1) % k].ctx)
    for step in range(k - 1):
        for i in range(k):
            j = (i + 1 - step) % k
            slices[i][j].copyto(slices[(i + 1) % k][j])

# 1 wrong: through NumPy -> no copyto between devices
def ring_allreduce(data):
    total = sum(x.asnumpy() for x in data)
    for array in data:
        array[:] = np.array(total, dtype=array.dtype, ctx=array.ctx)

# 1 wrong: cpu(i) instead of the device of data[i] -> no device can use another|may send to
def ring_allreduce(data):
    k = len(data)
    slices = [split_views(array, k) for array in data]
    for step in range(k - 1):
        for i in range(k):
            j = (i - step) % k
            slices[(i + 1) % k][j] += slices[i][j].copyto(mx.cpu((i + 1) % k))
    for step in range(k - 1):
        for i in range(k):
            j = (i + 1 - step) % k
            slices[i][j].copyto(slices[(i + 1) % k][j])

# 1 wrong: the other way around -> may send to the next only
def ring_allreduce(data):
    k = len(data)
    slices = [split_views(array, k) for array in data]
    for step in range(k - 1):
        for i in range(k):
            j = (i + step) % k
            slices[i - 1][j] += slices[i][j].copyto(data[i - 1].ctx)
    for step in range(k - 1):
        for i in range(k):
            j = (i - 1 + step) % k
            slices[i][j].copyto(slices[i - 1][j])

# 1 right: the two loops
def ring_allreduce(data):
    k = len(data)
    slices = [split_views(array, k) for array in data]
    for step in range(k - 1):
        for i in range(k):
            j = (i - step) % k
            slices[(i + 1) % k][j] += slices[i][j].copyto(
                data[(i + 1) % k].ctx)
    for step in range(k - 1):
        for i in range(k):
            j = (i + 1 - step) % k
            slices[i][j].copyto(slices[(i + 1) % k][j])

# 1 right: receives from the one before, with negative indices
def ring_allreduce(data):
    k = len(data)
    cut = [split_views(x, k) for x in data]
    for s in range(k - 1):
        for i in range(k):
            j = (i - 1 - s) % k
            cut[i][j] += cut[i - 1][j].copyto(data[i].ctx)
    for s in range(k - 1):
        for i in range(k):
            cut[i - 1][(i - s) % k].copyto(cut[i][(i - s) % k])

# 1 right: slice by slice, all around
def ring_allreduce(data):
    k = len(data)
    cut = [split_views(x, k) for x in data]
    for j in range(k):
        for i in range(j, j + k - 1):
            cut[(i + 1) % k][j] += cut[i % k][j].copyto(data[(i + 1) % k].ctx)
        for i in range(j + k - 1, j + 2 * k - 2):
            cut[i % k][j].copyto(cut[(i + 1) % k][j])

# 1 right: 2 (k - 1) steps in one loop
def ring_allreduce(data):
    k = len(data)
    cut = [split_views(x, k) for x in data]
    for step in range(2 * (k - 1)):
        for i in range(k):
            j, right = (i - step) % k, (i + 1) % k
            got = cut[i][j].copyto(data[right].ctx)
            cut[right][j][:] = got + (cut[right][j] if step < k - 1 else 0)

# 1 right: all copies first, then the sums
def ring_allreduce(data):
    k = len(data)
    slices = [split_views(array, k) for array in data]
    for step in range(k - 1):
        sent = [slices[i][(i - step) % k].copyto(data[(i + 1) % k].ctx)
                for i in range(k)]
        for i in range(k):
            slices[(i + 1) % k][(i - step) % k] += sent[i]
    for step in range(k - 1):
        sent = [slices[i][(i + 1 - step) % k].copyto(data[(i + 1) % k].ctx)
                for i in range(k)]
        for i in range(k):
            slices[(i + 1) % k][(i + 1 - step) % k][:] = sent[i]

# 1 right: as_in_ctx, and a helper
def ring_allreduce(data):
    k = len(data)
    cut = [split_views(x, k) for x in data]

    def send(i, j, add):
        there = cut[(i + 1) % k][j]
        got = cut[i][j].as_in_ctx(there.ctx)
        there[:] = there + got if add else got

    for s in range(k - 1):
        [send(i, (i - s) % k, True) for i in range(k)]
    for s in range(k - 1):
        [send(i, (i + 1 - s) % k, False) for i in range(k)]

# 1 right: slice i ends on device i
def ring_allreduce(data):
    k = len(data)
    cut = [split_views(x, k) for x in data]
    for s in range(k - 1):
        for i in range(k):
            j = (i - 1 - s) % k
            cut[(i + 1) % k][j] += cut[i][j].copyto(data[(i + 1) % k].ctx)
    for s in range(k - 1):
        for i in range(k):
            j = (i - s) % k
            cut[i][j].copyto(cut[(i + 1) % k][j])

# 1 right: slices of one number, the last has the rest
def ring_allreduce(data):
    k, n = len(data), data[0].size
    flat = [x.reshape_view(-1) for x in data]
    ends = [min(j, n) for j in range(k)] + [n]
    part = [slice(a, b) for a, b in zip(ends, ends[1:])]
    for s in range(k - 1):
        for i in range(k):
            j = (i - s) % k
            flat[(i + 1) % k][part[j]] += flat[i][part[j]].copyto(
                data[(i + 1) % k].ctx)
    for s in range(k - 1):
        for i in range(k):
            j = (i + 1 - s) % k
            flat[i][part[j]].copyto(flat[(i + 1) % k][part[j]])

# 1 right: it turns the list of slices instead of counting
def ring_allreduce(data):
    from collections import deque
    k = len(data)
    order = [deque(split_views(x, k)) for x in data]
    for i, mine in enumerate(order):
        mine.rotate(-i)
    ring = list(range(1, k)) + [0]
    for phase in (1, 0):
        for _ in range(k - 1):
            sent = [order[i][0].copyto(data[ring[i]].ctx) for i in range(k)]
            for i in range(k):
                there = order[ring[i]]
                there.rotate(1)
                there[0][:] = sent[i] + phase * there[0]

# 1 right: by recursion over the steps
def ring_allreduce(data, step=0, slices=None):
    k = len(data)
    slices = slices or [split_views(x, k) for x in data]
    if step == 2 * k - 2:
        return
    for i, x in enumerate(slices):
        there = slices[(i + 1) % k][(i - step) % k]
        if step < k - 1:
            there += x[(i - step) % k].copyto(there.ctx)
        else:
            x[(i - step) % k].copyto(there)
    ring_allreduce(data, step + 1, slices)

# 1 right: a generator of who sends what, and it returns the list
def ring_allreduce(data):
    k = len(data)
    slices = [split_views(x, k) for x in data]

    def sends(first):
        for step in range(k - 1):
            for i in range(k):
                j = (i + first - step) % k
                yield slices[i][j], slices[(i + 1) % k][j]

    for mine, there in sends(0):
        np.add(there, mine.copyto(there.ctx), out=there)
    for mine, there in sends(1):
        mine.copyto(there)
    return data

# 1 right: a while loop, returns early for one device
def ring_allreduce(data):
    k = len(data)
    if k == 1:
        return
    views = [split_views(array, k) for array in data]
    step = 0
    while step < k - 1:
        for i in reversed(range(k)):
            nxt = (i + 1) % k
            views[nxt][(i - step) % k] += views[i][(i - step) % k].copyto(
                data[nxt].ctx)
        step += 1
    step = 0
    while step < k - 1:
        for i in reversed(range(k)):
            views[i][(i + 1 - step) % k].copyto(
                views[(i + 1) % k][(i + 1 - step) % k])
        step += 1

# 2 wrong: one by one -> 3 calls of allreduce
def sum_in_bucket(device_arrays, allreduce):
    for arrays in zip(*device_arrays):
        allreduce(list(arrays))

# 2 wrong: without copying back -> copy them back, into the arrays$
def sum_in_bucket(device_arrays, allreduce):
    buckets = [np.concatenate([x.reshape(-1) for x in arrays])
               for arrays in device_arrays]
    allreduce(buckets)

# 2 wrong: returns the sums -> instead of returning them
def sum_in_bucket(device_arrays, allreduce):
    buckets = [np.concatenate([x.reshape(-1) for x in arrays])
               for arrays in device_arrays]
    allreduce(buckets)
    return buckets

# 2 wrong: rebinds the entries of the lists -> what they held before
def sum_in_bucket(device_arrays, allreduce):
    buckets = [np.concatenate([x.reshape(-1) for x in arrays])
               for arrays in device_arrays]
    allreduce(buckets)
    for arrays, bucket in zip(device_arrays, buckets):
        start = 0
        for j, array in enumerate(arrays):
            arrays[j] = bucket[start:start + array.size].reshape(array.shape)
            start += array.size

# 2 wrong: always from the start of the bucket -> from where it was put
def sum_in_bucket(device_arrays, allreduce):
    buckets = [np.concatenate([x.reshape(-1) for x in arrays])
               for arrays in device_arrays]
    allreduce(buckets)
    for arrays, bucket in zip(device_arrays, buckets):
        for array in arrays:
            array[:] = bucket[:array.size].reshape(array.shape)

# 2 wrong: the first device alone gets them -> the arrays of device 1 hold
def sum_in_bucket(device_arrays, allreduce):
    buckets = [np.concatenate([x.reshape(-1) for x in arrays])
               for arrays in device_arrays]
    allreduce(buckets)
    start = 0
    for array in device_arrays[0]:
        array[:] = buckets[0][start:start + array.size].reshape(array.shape)
        start += array.size

# 2 wrong: divides by the number of devices -> an array gets its own part|An array gets its own part
def sum_in_bucket(device_arrays, allreduce):
    buckets = [np.concatenate([x.reshape(-1) for x in arrays])
               for arrays in device_arrays]
    allreduce(buckets)
    for arrays, bucket in zip(device_arrays, buckets):
        start = 0
        for array in arrays:
            array[:] = (bucket[start:start + array.size]
                        / len(device_arrays)).reshape(array.shape)
            start += array.size

# 2 wrong: leaves out the last array -> a bucket has 7 numbers
def sum_in_bucket(device_arrays, allreduce):
    buckets = [np.concatenate([x.reshape(-1) for x in arrays[:-1]])
               for arrays in device_arrays]
    allreduce(buckets)
    for arrays, bucket in zip(device_arrays, buckets):
        start = 0
        for array in arrays[:-1]:
            array[:] = bucket[start:start + array.size].reshape(array.shape)
            start += array.size

# 2 wrong: all buckets on one device -> on that device|no device can use another
def sum_in_bucket(device_arrays, allreduce):
    buckets = [np.zeros(sum(x.size for x in arrays))
               for arrays in device_arrays]
    for arrays, bucket in zip(device_arrays, buckets):
        start = 0
        for array in arrays:
            bucket[start:start + array.size] = array.reshape(-1).copyto(
                bucket.ctx)
            start += array.size
    allreduce(buckets)

# 2 wrong: float32 for all -> the bucket is float32 and the arrays are float64
def sum_in_bucket(device_arrays, allreduce):
    buckets = []
    for arrays in device_arrays:
        bucket = np.zeros(sum(x.size for x in arrays), ctx=arrays[0].ctx)
        start = 0
        for array in arrays:
            bucket[start:start + array.size] = array.reshape(-1)
            start += array.size
        buckets.append(bucket)
    allreduce(buckets)
    for arrays, bucket in zip(device_arrays, buckets):
        start = 0
        for array in arrays:
            array[:] = bucket[start:start + array.size].reshape(array.shape)
            start += array.size

# 2 wrong: another allreduce than the argument -> was never called
def sum_in_bucket(device_arrays, allreduce):
    buckets = [np.concatenate([x.reshape(-1) for x in arrays])
               for arrays in device_arrays]
    ring_allreduce(buckets)
    for arrays, bucket in zip(device_arrays, buckets):
        start = 0
        for array in arrays:
            array[:] = bucket[start:start + array.size].reshape(array.shape)
            start += array.size

# 2 wrong: a bucket for each parameter over all devices -> no device can use another|numbers, where
def sum_in_bucket(device_arrays, allreduce):
    buckets = [np.concatenate([x.reshape(-1) for x in arrays])
               for arrays in zip(*device_arrays)]
    allreduce(buckets)

# 2 right: concatenate, then count
def sum_in_bucket(device_arrays, allreduce):
    buckets = [np.concatenate([x.reshape(-1) for x in arrays])
               for arrays in device_arrays]
    allreduce(buckets)
    for arrays, bucket in zip(device_arrays, buckets):
        start = 0
        for array in arrays:
            array[:] = bucket[start:start + array.size].reshape(array.shape)
            start += array.size

# 2 right: reshape_view, and copyto
def sum_in_bucket(device_arrays, allreduce):
    buckets = [np.concatenate([x.reshape_view(-1) for x in arrays])
               for arrays in device_arrays]
    allreduce(buckets)
    for arrays, bucket in zip(device_arrays, buckets):
        end = 0
        for array in arrays:
            end += array.size
            bucket[end - array.size:end].copyto(array.reshape_view(-1))

# 2 right: np.split at the ends
def sum_in_bucket(device_arrays, allreduce):
    ends = onp.cumsum([x.size for x in device_arrays[0]])[:-1]
    buckets = [np.concatenate([x.flatten() for x in arrays])
               for arrays in device_arrays]
    allreduce(buckets)
    for arrays, bucket in zip(device_arrays, buckets):
        parts = np.split(bucket, [int(end) for end in ends])
        for array, part in zip(arrays, parts):
            array[:] = part.reshape(array.shape)

# 2 right: from the last gradient to the first
def sum_in_bucket(device_arrays, allreduce):
    buckets = [np.concatenate([x.reshape(-1) for x in arrays[::-1]])
               for arrays in device_arrays]
    allreduce(buckets)
    for arrays, bucket in zip(device_arrays, buckets):
        start = 0
        for array in arrays[::-1]:
            array[:] = bucket[start:start + array.size].reshape(array.shape)
            start += array.size

# 2 right: the bucket shrinks
def sum_in_bucket(device_arrays, allreduce):
    buckets = [np.concatenate([x.reshape(-1) for x in arrays])
               for arrays in device_arrays]
    allreduce(buckets)
    for arrays, rest in zip(device_arrays, buckets):
        for array in arrays:
            array[...] = rest[:array.size].reshape(array.shape)
            rest = rest[array.size:]

# 2 right: two helpers
def sum_in_bucket(device_arrays, allreduce):
    def pack(arrays):
        return np.concatenate([x.reshape(-1) for x in arrays])

    def unpack(bucket, arrays):
        if arrays:
            first, *others = arrays
            first[:] = bucket[:first.size].reshape(first.shape)
            unpack(bucket[first.size:], others)

    buckets = list(map(pack, device_arrays))
    allreduce(buckets)
    for bucket, arrays in zip(buckets, device_arrays):
        unpack(bucket, list(arrays))

# 2 right: through NumPy
def sum_in_bucket(device_arrays, allreduce):
    buckets = []
    for arrays in device_arrays:
        flat = onp.concatenate([x.asnumpy().ravel() for x in arrays])
        buckets.append(np.array(flat, dtype=flat.dtype, ctx=arrays[0].ctx))
    allreduce(buckets)
    for arrays, bucket in zip(device_arrays, buckets):
        start, numbers = 0, bucket.asnumpy()
        for array in arrays:
            part = numbers[start:start + array.size].reshape(array.shape)
            array[:] = np.array(part, dtype=array.dtype, ctx=array.ctx)
            start += array.size

# 2 right: slices from the sizes
def sum_in_bucket(device_arrays, allreduce):
    sizes = [x.size for x in device_arrays[0]]
    places = [slice(sum(sizes[:j]), sum(sizes[:j + 1]))
              for j in range(len(sizes))]
    buckets = [np.zeros(sum(sizes), dtype=arrays[0].dtype, ctx=arrays[0].ctx)
               for arrays in device_arrays]
    for arrays, bucket in zip(device_arrays, buckets):
        for array, place in zip(arrays, places):
            bucket[place] = array.reshape(-1)
    allreduce(buckets)
    for arrays, bucket in zip(device_arrays, buckets):
        for array, place in zip(arrays, places):
            array[:] = bucket[place].reshape(array.shape)

# 2 right: an iterator of parts, and it returns the lists
def sum_in_bucket(device_arrays, allreduce):
    def parts(bucket, arrays):
        start = 0
        for array in arrays:
            yield array, bucket[start:(start := start + array.size)]

    buckets = [np.concatenate([x.reshape(-1) for x in arrays])
               for arrays in device_arrays]
    allreduce(buckets)
    for pair in zip(buckets, device_arrays):
        for array, part in parts(*pair):
            array[:] = part.reshape(array.shape)
    return device_arrays

# 2 right: concatenates in a loop
def sum_in_bucket(device_arrays, allreduce):
    buckets = []
    for arrays in device_arrays:
        bucket = arrays[0].reshape(-1)
        for array in arrays[1:]:
            bucket = np.concatenate([bucket, array.reshape(-1)])
        buckets.append(bucket)
    allreduce(buckets)
    for i in range(len(device_arrays)):
        start = 0
        for j in range(len(device_arrays[i])):
            array = device_arrays[i][j]
            array[:] = buckets[i][start:start + array.size].reshape(
                array.shape)
            start += array.size

# 2 right: a tuple of buckets in two dimensions
def sum_in_bucket(device_arrays, allreduce):
    buckets = tuple(np.concatenate([x.reshape(-1) for x in arrays]).reshape(
        1, -1) for arrays in device_arrays)
    allreduce(buckets)
    for arrays, bucket in zip(device_arrays, buckets):
        start = 0
        for array in arrays:
            part = bucket[0, start:start + array.size]
            array[:] = part.reshape(array.shape)
            start += array.size

# 2 right: hstack, and an empty list of arrays before it
def sum_in_bucket(device_arrays, allreduce):
    flat = [[array.reshape(-1) for array in own] for own in device_arrays]
    allreduce(sums := [np.hstack(own) for own in flat])
    for own, total in zip(device_arrays, sums):
        for j, array in enumerate(own):
            start = sum(x.size for x in own[:j])
            array[:] = total[start:start + array.size].reshape(array.shape)

# 3 wrong: nearest neighbors first -> how far away
def halving_steps(i, k):
    steps, gap, have = [], 1, list(range(k))
    while gap < k:
        have = have[:len(have) // 2] if not i & gap else have[len(have) // 2:]
        steps.append((i ^ gap, have))
        gap *= 2
    return steps

# 3 wrong: what the device sends, not what it keeps -> which half should it keep
def halving_steps(i, k):
    steps, gap = [], k // 2
    while gap:
        j = i ^ gap
        steps.append((j, list(range(j // gap * gap, j // gap * gap + gap))))
        gap //= 2
    return steps

# 3 wrong: the partner in the wrong direction -> cannot have
def halving_steps(i, k):
    steps, gap = [], k // 2
    while gap:
        first = i // gap * gap
        partner = i - gap
        steps.append((partner, list(range(first, first + gap))))
        gap //= 2
    return steps

# 3 wrong: partners without slices -> not a partner
def halving_steps(i, k):
    steps, gap = [], k // 2
    while gap:
        first = i // gap * gap
        partner = i + gap if first // gap % 2 == 0 else i - gap
        steps.append(partner)
        gap //= 2
    return steps

# 3 right: arrays of NumPy
import numpy
def halving_steps(i, k):
    have, steps = numpy.arange(k), []
    while len(have) > 1:
        half = len(have) // 2
        upper = i % (2 * half) >= half
        have = have[half:] if upper else have[:half]
        steps.append([numpy.int64(i - half if upper else i + half), have])
    return tuple(steps)

# 3 right: recursive
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
