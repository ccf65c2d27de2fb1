# 1 wrong: waits for the last device only -> before you read the clock
def layers_seconds(k):
    args = [[np.ones(shape, ctx=mx.cpu(i)) * 0.01 for shape in shapes]
            for i in range(k)]
    npx.waitall()
    start = time.perf_counter()
    results = [twenty_layers(*arg) for arg in args]
    results[-1].wait_to_read()
    return time.perf_counter() - start

# 1 wrong: the seconds of five rounds, not of one -> but a round took
def layers_seconds(k):
    args = [[np.ones(shape, ctx=mx.cpu(i)) * 0.01 for shape in shapes]
            for i in range(k)]
    npx.waitall()
    start = time.perf_counter()
    for _ in range(5):
        [twenty_layers(*arg) for arg in args]
    npx.waitall()
    return time.perf_counter() - start

# 1 wrong: starts the clock while the inputs are still being made -> also before you start it
def layers_seconds(k):
    args = [[np.ones(shape, ctx=mx.cpu(i)) * 0.01 for shape in shapes]
            for i in range(k)]
    start = time.perf_counter()
    [twenty_layers(*arg) for arg in args]
    npx.waitall()
    return time.perf_counter() - start

# 1 wrong: makes the inputs while the clock runs -> make the inputs once
def layers_seconds(k):
    return median_seconds(lambda: [twenty_layers(*[
        np.ones(shape, ctx=mx.cpu(i)) * 0.01
        for shape in shapes]) for i in range(k)])

# 1 wrong: everything on one device -> start the work of all 3 devices
def layers_seconds(k):
    args = [[np.ones(shape, ctx=mx.cpu(0)) * 0.01 for shape in shapes]
            for i in range(k)]
    return median_seconds(lambda: [twenty_layers(*arg) for arg in args])

# 1 wrong: waits for each device before the next one starts -> waits for another
def layers_seconds(k):
    args = [[np.ones(shape, ctx=mx.cpu(i)) * 0.01 for shape in shapes]
            for i in range(k)]
    return median_seconds(lambda: [twenty_layers(*arg).wait_to_read() for arg in args])

# 1 right: other devices
def layers_seconds(k):
    args = [[np.ones(shape, ctx=mx.cpu(i + 1)) * 0.01 for shape in shapes]
            for i in range(k)]
    return median_seconds(lambda: [twenty_layers(*arg) for arg in args])

# 1 right: waits for each output
def layers_seconds(k):
    args = [[np.ones(shape, ctx=mx.cpu(i)) * 0.01 for shape in shapes]
            for i in range(k)]
    npx.waitall()
    start = time.perf_counter()
    outputs = [twenty_layers(*arg) for arg in args]
    for output in outputs:
        output.wait_to_read()
    return time.perf_counter() - start

# 2 wrong: one copy for each array -> expected one copy between devices, by copyto or as_in_ctx, got 4
def copy_batched(arrays, device):
    return [x.copyto(device) for x in arrays]

# 2 wrong: through NumPy, which no device sees -> expected one copy between devices, by copyto or as_in_ctx, got 0
def copy_batched(arrays, device):
    return [np.array(x.asnumpy(), ctx=device) for x in arrays]

# 2 wrong: never leaves the first device -> a copy lives on
def copy_batched(arrays, device):
    joined = np.concatenate([x.reshape(-1) for x in arrays])
    parts, start = [], 0
    for x in arrays:
        parts.append(joined[start:start + x.size].reshape(x.shape))
        start += x.size
    return parts

# 2 wrong: forgets the shapes -> expected shape \(2, 3\), got \(6,\)
def copy_batched(arrays, device):
    joined = np.concatenate([x.reshape(-1) for x in arrays]).copyto(device)
    parts, start = [], 0
    for x in arrays:
        parts.append(joined[start:start + x.size])
        start += x.size
    return parts

# 2 wrong: every part begins one number after the last one -> values changed
def copy_batched(arrays, device):
    joined = np.concatenate([x.reshape(-1) for x in arrays]).copyto(device)
    parts, start = [], 0
    for x in arrays:
        parts.append(joined[start:start + x.size].reshape(x.shape))
        start += 1
    return parts

# 2 right: with split
def copy_batched(arrays, device):
    joined = np.concatenate([x.reshape(-1) for x in arrays])
    ends = onp.cumsum([x.size for x in arrays])[:-1].tolist()
    return [part.reshape(x.shape) for part, x in zip(
        np.split(joined.copyto(device), ends), arrays)]

# 2 right: into an array that is there already
def copy_batched(arrays, device):
    ends = onp.cumsum([x.size for x in arrays]).tolist()
    joined = np.concatenate([x.flatten() for x in arrays])
    there = np.empty(joined.shape, ctx=device)
    there[:] = joined
    return [there[end - x.size:end].reshape(x.shape).copy()
            for x, end in zip(arrays, ends)]

# 3 wrong: the latency once, however many copies -> how often is the latency
def copy_speedup(sizes, latency, bandwidth):
    many = latency + sum(sizes) / bandwidth
    return many / (latency + sum(sizes) / bandwidth)

# 3 wrong: no latency -> how often
def copy_speedup(sizes, latency, bandwidth):
    many = sum(size / bandwidth for size in sizes)
    return many / (latency + sum(sizes) / bandwidth)

# 3 wrong: counts the bytes of the first array only -> how often
def copy_speedup(sizes, latency, bandwidth):
    many = sum(latency + size / bandwidth for size in sizes)
    return many / (latency + sizes[0] / bandwidth)

# 3 wrong: multiplies by the bandwidth -> how often
def copy_speedup(sizes, latency, bandwidth):
    many = sum(latency + size * bandwidth for size in sizes)
    return many / (latency + sum(sizes) / bandwidth)

# 3 right: the sums first
def copy_speedup(sizes, latency, bandwidth):
    many = len(sizes) * latency + sum(sizes) / bandwidth
    return many / (latency + sum(sizes) / bandwidth)

# 3 right: an array of MXNet
def copy_speedup(sizes, latency, bandwidth):
    times = latency + onp.array(sizes) / bandwidth
    one = latency + onp.sum(sizes) / bandwidth
    return np.array(times.sum() / one, dtype="float64")
