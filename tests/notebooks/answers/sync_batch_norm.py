# 1 wrong: forgets that the means differ -> the variance is
def join(counts, means, variances):
    n = sum(counts)
    mean = sum(c * m for c, m in zip(counts, means)) / n
    return mean, sum(c * v for c, m, v
                     in zip(counts, means, variances)) / n

# 1 wrong: each device counts the same -> does each example count the same
def join(counts, means, variances):
    mean = onp.mean(means)
    return mean, onp.mean(variances) + onp.var(means)

# 1 wrong: divides by n - 1 -> the variance is
def join(counts, means, variances):
    n = sum(counts)
    mean = sum(c * m for c, m in zip(counts, means)) / n
    return mean, sum(c * (v + (m - mean) ** 2) for c, m, v
                     in zip(counts, means, variances)) / (n - 1)

# 1 wrong: the mean square minus the squared mean: large means lose all digits -> 30000000.*the variance is
def join(counts, means, variances):
    p = [c / sum(counts) for c in counts]
    mean = sum(a * m for a, m in zip(p, means))
    square = sum(a * (v + m * m)
                 for a, m, v in zip(p, means, variances))
    return onp.array([mean, square - mean ** 2])

# 1 right: weighted means of NumPy
def join(counts, means, variances):
    n, m = onp.array(counts), onp.array(means)
    mean = onp.average(m, weights=n)
    spread = onp.array(variances) + (m - mean) ** 2
    return [mean, onp.average(spread, weights=n)]

# 1 right: means measured from the first one
def join(counts, means, variances):
    p = [c / sum(counts) for c in counts]
    gaps = [m - means[0] for m in means]
    gap = sum(a * g for a, g in zip(p, gaps))
    square = sum(a * (v + g * g)
                 for a, g, v in zip(p, gaps, variances))
    return onp.array([means[0] + gap, square - gap ** 2])

# 2 wrong: the mean square -> look at the formula
def from_sums(n, total, total_of_squares):
    mean = total / n
    return mean, total_of_squares / n

# 2 wrong: the standard deviation -> the variance is
def from_sums(n, total, total_of_squares):
    mean = total / n
    return mean, (total_of_squares / n - mean * mean) ** 0.5

# 2 wrong: divides by n - 1 -> the variance is
def from_sums(n, total, total_of_squares):
    mean = total / n
    return mean, (total_of_squares - n * mean * mean) / max(1, n - 1)

# 2 right: sums before division, an array
def from_sums(n, total, total_of_squares):
    total = float(total)
    variance = (n * float(total_of_squares) - total ** 2)
    return onp.array([total / n, variance / n ** 2])

# 2 right: an array of MXNet
def from_sums(n, total, total_of_squares):
    mean = total / n
    return np.array([mean, total_of_squares / n - mean * mean])

# 3 wrong: forgets the backward pass -> count the calls
def extra_messages(L, k):
    return L * 2 * 2 * (k - 1)

# 3 wrong: a message to itself -> count the calls
def extra_messages(L, k):
    return L * 3 * 2 * k

# 3 wrong: one layer -> count the calls
def extra_messages(L, k):
    return 3 * 2 * (k - 1)

# 3 right: an array of NumPy
def extra_messages(L, k):
    return onp.array([6 * L * (k - 1)])

# 3 right: one allreduce after the other
def extra_messages(L, k):
    forward, backward = 2 * L, L
    return sum(2 * (k - 1) for _ in range(forward + backward))
