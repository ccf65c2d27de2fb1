# 1 wrong: the mean of means -> count as much as three others
def shard_means(sums, counts, sync):
    means = [total / count for total, count in zip(sums, counts)]
    if sync:
        allreduce(means)
        means = [mean / len(means) for mean in means]
    return means

# 1 wrong: the sum, divided by the own count -> the devices normalize differently
def shard_means(sums, counts, sync):
    if sync:
        allreduce(sums)
    return [total / count for total, count in zip(sums, counts)]

# 1 wrong: the sum, divided by the number of devices -> divided by the number of devices
def shard_means(sums, counts, sync):
    if sync:
        allreduce(sums)
        return [total / len(sums) for total in sums]
    return [total / count for total, count in zip(sums, counts)]

# 1 wrong: never synchronized -> the mean of its shard
def shard_means(sums, counts, sync):
    return [total / count for total, count in zip(sums, counts)]

# 1 wrong: always synchronized -> without sync, the means are
def shard_means(sums, counts, sync):
    allreduce(sums)
    return [total / sum(counts) for total in sums]

# 1 wrong: the sum alone -> nobody divides the sum
def shard_means(sums, counts, sync):
    if sync:
        allreduce(sums)
        return sums
    return [total / count for total, count in zip(sums, counts)]

# 1 wrong: counts become the sum, in place -> counts became
def shard_means(sums, counts, sync):
    if sync:
        allreduce(sums)
        counts[:] = [sum(counts)] * len(counts)
    return [total / count for total, count in zip(sums, counts)]

# 1 wrong: one array for all -> return a list with an array for each device
def shard_means(sums, counts, sync):
    if sync:
        allreduce(sums)
        return sums[0] / sum(counts)
    return [total / count for total, count in zip(sums, counts)]

# 1 wrong: all means on the first device -> each device needs its own
def shard_means(sums, counts, sync):
    if sync:
        total = sum(x.copyto(sums[0].ctx) for x in sums)
        return [total / sum(counts) for _ in sums]
    return [total / count for total, count in zip(sums, counts)]

# 1 wrong: allreduce returns nothing -> raises TypeError
def shard_means(sums, counts, sync):
    if sync:
        sums = allreduce(sums)
        counts = [sum(counts)] * len(counts)
    return [total / count for total, count in zip(sums, counts)]

# 1 wrong: through NumPy -> 0 bytes were copied
def shard_means(sums, counts, sync):
    if sync:
        total = sum(x.asnumpy() for x in sums)
        sums = [np.array(total, dtype='float64', ctx=x.ctx) for x in sums]
        counts = [sum(counts)] * len(counts)
    return [total / count for total, count in zip(sums, counts)]

# 1 wrong: everyone sends to everyone -> bytes were copied
def shard_means(sums, counts, sync):
    if sync:
        totals = [sum(x.copyto(home.ctx) for x in sums) for home in sums]
        return [total / sum(counts) for total in totals]
    return [total / count for total, count in zip(sums, counts)]

# 1 wrong: the average of the counts -> on both devices, not|divided by the number
def shard_means(sums, counts, sync):
    if sync:
        allreduce(sums)
        counts = [sum(counts) / len(counts)] * len(counts)
    return [total / count for total, count in zip(sums, counts)]

# 1 right: one list comprehension for both
def shard_means(sums, counts, sync):
    if sync:
        allreduce(sums)
        counts = [sum(counts)] * len(counts)
    return [total / count for total, count in zip(sums, counts)]

# 1 right: two returns
def shard_means(sums, counts, sync):
    if not sync:
        return [total / count for total, count in zip(sums, counts)]
    allreduce(sums)
    return [total / sum(counts) for total in sums]

# 1 right: copies of the sums
def shard_means(sums, counts, sync):
    sums = [total.copy() for total in sums]
    if sync:
        allreduce(sums)
    n = sum(counts)
    return [total / (n if sync else own) for total, own in zip(sums, counts)]

# 1 right: divides before the allreduce
def shard_means(sums, counts, sync):
    whole = sum(counts)
    means = [total / (whole if sync else count)
             for total, count in zip(sums, counts)]
    if sync:
        allreduce(means)
    return means

# 1 right: weighted means
def shard_means(sums, counts, sync):
    means = [total / count for total, count in zip(sums, counts)]
    if sync:
        for mean, count in zip(means, counts):
            mean *= count / sum(counts)
        allreduce(means)
    return means

# 1 right: in place
def shard_means(sums, counts, sync):
    if sync:
        allreduce(sums)
    for i, total in enumerate(sums):
        total /= sum(counts) if sync else counts[i]
    return sums

# 1 right: a star by hand
def shard_means(sums, counts, sync):
    if sync:
        total = sums[0]
        for other in sums[1:]:
            total += other.copyto(total.ctx)
        mean = total / sum(counts)
        return [mean, *(mean.copyto(other.ctx) for other in sums[1:])]
    return [total / count for total, count in zip(sums, counts)]

# 1 right: by map
def shard_means(sums, counts, sync):
    def divide(total, count):
        return total / count
    if sync:
        allreduce(sums)
        counts = [sum(counts) for _ in counts]
    return list(map(divide, sums, counts))

# 1 right: a tuple, by index
def shard_means(sums, counts, sync):
    if sync:
        allreduce(sums)
    found = []
    for i in range(len(sums)):
        n = counts[i]
        if sync:
            n = 0
            for count in counts:
                n += count
        found.append(np.divide(sums[i], n))
    return tuple(found)

# 1 right: calls itself
def shard_means(sums, counts, sync):
    if sync:
        allreduce(sums)
        return shard_means(sums, [sum(counts)] * len(sums), False)
    return [total / count for total, count in zip(sums, counts)]

# 1 right: multiplies by the inverse
def shard_means(sums, counts, sync):
    weights = [1 / count for count in counts]
    if sync:
        weights = [1 / sum(counts)] * len(sums)
        allreduce(sums)
    return [total * weight for total, weight in zip(sums, weights)]

# 1 right: a while loop
def shard_means(sums, counts, sync):
    i, means = 0, []
    if sync:
        allreduce(data=sums)
    while i < len(sums):
        means += [sums[i] / (sum(counts) if sync else counts[i])]
        i += 1
    return means

# 2 wrong: forgets that the means differ -> the variance is
def join(counts, means, variances):
    n = sum(counts)
    mean = sum(c * m for c, m in zip(counts, means)) / n
    return mean, sum(c * v for c, m, v
                     in zip(counts, means, variances)) / n

# 2 wrong: each device counts the same -> does each example count the same
def join(counts, means, variances):
    mean = onp.mean(means)
    return mean, onp.mean(variances) + onp.var(means)

# 2 wrong: divides by n - 1 -> the variance is
def join(counts, means, variances):
    n = sum(counts)
    mean = sum(c * m for c, m in zip(counts, means)) / n
    return mean, sum(c * (v + (m - mean) ** 2) for c, m, v
                     in zip(counts, means, variances)) / (n - 1)

# 2 wrong: the mean square minus the squared mean: large means lose all digits -> 30000000.*the variance is
def join(counts, means, variances):
    p = [c / sum(counts) for c in counts]
    mean = sum(a * m for a, m in zip(p, means))
    square = sum(a * (v + m * m)
                 for a, m, v in zip(p, means, variances))
    return onp.array([mean, square - mean ** 2])

# 2 right: weighted means of NumPy
def join(counts, means, variances):
    n, m = onp.array(counts), onp.array(means)
    mean = onp.average(m, weights=n)
    spread = onp.array(variances) + (m - mean) ** 2
    return [mean, onp.average(spread, weights=n)]

# 2 right: means measured from the first one
def join(counts, means, variances):
    p = [c / sum(counts) for c in counts]
    gaps = [m - means[0] for m in means]
    gap = sum(a * g for a, g in zip(p, gaps))
    square = sum(a * (v + g * g)
                 for a, g, v in zip(p, gaps, variances))
    return onp.array([means[0] + gap, square - gap ** 2])

# 3 wrong: the mean square -> look at the formula
def from_sums(n, total, total_of_squares):
    mean = total / n
    return mean, total_of_squares / n

# 3 wrong: the standard deviation -> the variance is
def from_sums(n, total, total_of_squares):
    mean = total / n
    return mean, (total_of_squares / n - mean * mean) ** 0.5

# 3 wrong: divides by n - 1 -> the variance is
def from_sums(n, total, total_of_squares):
    mean = total / n
    return mean, (total_of_squares - n * mean * mean) / max(1, n - 1)

# 3 right: sums before division, an array
def from_sums(n, total, total_of_squares):
    total = float(total)
    variance = (n * float(total_of_squares) - total ** 2)
    return onp.array([total / n, variance / n ** 2])

# 3 right: an array of MXNet
def from_sums(n, total, total_of_squares):
    mean = total / n
    return np.array([mean, total_of_squares / n - mean * mean])
