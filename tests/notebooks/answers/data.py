# 1 wrong: the first device that is done -> the last is done after
def step_time(sizes, speeds):
    return min(size / speed for size, speed in zip(sizes, speeds))

# 1 wrong: as if all devices shared all the work -> the last is done after
def step_time(sizes, speeds):
    return sum(sizes) / sum(speeds)

# 1 wrong: the largest shard and the slowest device -> the last is done after
def step_time(sizes, speeds):
    return max(sizes) / min(speeds)

# 1 right: arrays of MXNet
def step_time(sizes, speeds):
    from mxnet import np
    return (np.array(sizes) / np.array(speeds)).max()

# 1 right: float32
def step_time(sizes, speeds):
    import numpy as onp
    return (onp.float32(sizes) / onp.float32(speeds)).max()

# 2 wrong: loses the remainder -> the first must be 0
def shard_ends(n, k):
    return [i * (n // k) for i in range(k + 1)]

# 2 wrong: the last device takes the whole remainder -> not balanced
def shard_ends(n, k):
    return [i * (n // k) for i in range(k)] + [n]

# 2 wrong: indices that are fractions -> cannot be used as indices
def shard_ends(n, k):
    return [i * n / k for i in range(k + 1)]

# 2 wrong: lengths instead of ends -> the first is 0
def shard_ends(n, k):
    return [n // k + (i < n % k) for i in range(k)]

# 2 wrong: i / k * n may end just below a whole number -> not balanced
def shard_ends(n, k):
    return [int(i / k * n) for i in range(k + 1)]

# 2 right: the remainder from the front
def shard_ends(n, k):
    return [i * (n // k) + min(i, n % k) for i in range(k + 1)]

# 2 right: from split_slices
def shard_ends(n, k):
    ends = [0]
    for part in d2lmulti.split_slices(n, k):
        ends.append(part.stop)
    return ends

# 3 wrong: the mean of the minibatches' accuracies -> every example counts
def epoch_accuracy(correct, sizes):
    return sum(c / s for c, s in zip(correct, sizes)) / len(sizes)

# 3 wrong: as if all were as large as the first -> every example counts
def epoch_accuracy(correct, sizes):
    return sum(correct) / (len(sizes) * sizes[0])

# 3 wrong: percent -> every example counts
def epoch_accuracy(correct, sizes):
    return 100 * sum(correct) / sum(sizes)

# 3 right: sums of NumPy
def epoch_accuracy(correct, sizes):
    import numpy as onp
    return onp.sum(correct) / onp.sum(sizes)

# 3 right: a weighted mean
def epoch_accuracy(correct, sizes):
    import numpy as onp
    rates = onp.array(correct) / sizes
    return onp.average(rates, weights=sizes)
