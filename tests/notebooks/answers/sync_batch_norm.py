"""Answers to the exercises of 12_sync_batch_norm, right and wrong, in order."""

WRONG = [
    [
        ('c * (v + (m - mean) ** 2)', 'c * v', 'the variance is'),
        (
            'sum(c * m for c, m in zip(counts, means)) / n',
            'sum(means) / len(means)',
            'does each example count the same',
        ),
        ('(m - mean) ** 2', 'abs(m - mean)', 'the variance is'),
        ('(m - mean) ** 2', '(m - mean)', 'the variance is'),
        (
            'c * (v + (m - mean) ** 2)',
            'n / len(counts) * (v + (m - mean) ** 2)',
            'mean squared distance',
        ),
        ('variances)) / n', 'variances)) / (n - 1)', 'the variance is'),
        (
            'n = sum(counts)',
            'counts = counts[:3]\n    n = sum(counts)',
            'the mean is 3.625, not 4',
        ),
        (
            'def join(counts, means, variances):\n    return 3.5, 35 / 12\n',
            'the mean is 4.333, not 3.5',
        ),
        (
            'def join(counts, means, variances):\n'
            '    return sum(means) / len(means)\n',
            'a mean and a variance',
        ),
        (
            'def join(counts, means, variances):\n'
            '    mean = onp.mean(means)\n'
            '    return mean, onp.mean(variances) + onp.var(means)\n',
            'does each example count the same',
        ),
        (
            'def join(counts, means, variances):\n'
            "    return 'mean', 'variance'\n",
            'a mean and a variance',
        ),
        (
            'v + (m - mean) ** 2',
            'onp.float32(v + m * m) - mean * mean',
            'variance is',
        ),
        (
            'def join(counts, means, variances):\n'
            '    p = [c / sum(counts) for c in counts]\n'
            '    mean = sum(a * m for a, m in zip(p, means))\n'
            '    square = sum(a * (v + m * m)\n'
            '                 for a, m, v in zip(p, means, variances))\n'
            '    return onp.array([mean, square - mean ** 2])\n',
            '30000000.*the variance is',
        ),
        (  # moved to zero by a constant, not by a mean
            'n = sum(counts)',
            'means = [m - 30_000 for m in means]\n    n = sum(counts)',
            'the mean is',
        ),
        (
            'v + (m - mean) ** 2',
            'v + onp.float32(m - onp.float32(mean)) ** 2',
            '30000000.*the variance is',
        ),
        (
            'counts, means, variances)) / n',
            'counts, means, variances)) / n + 1e-5',
            'the variance is',
        ),
        (
            'return mean, sum(',
            'return round(mean, 3), 1 * sum(',
            'the mean is',
        ),
        (
            'def join(counts, means, variances):\n'
            '    return (mean for mean in (1, 2))\n',
            'should return a mean and a variance',
        ),
    ],
    [
        (' - mean * mean', '', 'look at the formula'),
        (' - mean * mean', ' - mean', 'look at the formula'),
        (' - mean * mean', ' + mean * mean', 'look at the formula'),
        ('total_of_squares / n', 'total_of_squares / (n - 1)', 'formula'),
        ('mean = total / n', 'mean = total / 1000', 'the mean is'),
        ('mean = total / n', 'mean = total', 'the mean is'),
        (
            'return mean, total_of_squares / n - mean * mean',
            'return total_of_squares / n - mean * mean',
            'a mean and a variance',
        ),
        (
            'total_of_squares / n - mean * mean',
            '(total_of_squares / n - mean * mean) ** 0.5',
            'the variance is',
        ),
        (
            'def from_sums(n, total, total_of_squares):\n'
            '    return total / n, 14 / 3\n',
            'the variance is',
        ),
        ('- mean * mean', '- mean * mean + 1e-5', 'the variance is'),
        (
            'total_of_squares / n - mean * mean',
            'round(total_of_squares / n - mean * mean, 3)',
            'the variance is',
        ),
        (
            'total_of_squares / n - mean * mean',
            'max(total_of_squares / n - mean * mean, 1e-4)',
            'the variance is',
        ),
        ('mean = total / n', 'mean = round(total / n, 3)', 'the mean is'),
        (
            'total_of_squares / n - mean * mean',
            '(total_of_squares - n * mean * mean) / max(1, n - 1)',
            'the variance is',
        ),
    ],
    [
        ('L * 3 * 2', 'L * 2 * 2', 'count the calls'),
        ('2 * (k - 1)', '2 * k', 'count the calls'),
        ('L * 3 * 2', 'L * 4 * 2', 'count the calls'),
        ('L * 3 * 2', '3 * 2', 'count the calls'),
        ('L * 3 * 2 * (k - 1)', '6 * L', 'count the calls'),
        ('L * 3 * 2 * (k - 1)', '6', 'count the calls'),
        ('L * 3 * 2', 'L * 3', 'count the calls'),
        ('(k - 1)', '(k - 1) * k', 'count the calls'),
        (
            'L * 3 * 2 * (k - 1)',
            'onp.array([6 * L * (k - 1)] * 2)',
            'count the calls',
        ),
        ('L * 3 * 2 * (k - 1)', 'str(6 * L * (k - 1))', 'count the calls'),
    ],
]

RIGHT = [
    [
        (
            'def join(counts, means, variances):\n'
            '    n, m = onp.array(counts), onp.array(means)\n'
            '    mean = onp.average(m, weights=n)\n'
            '    spread = onp.array(variances) + (m - mean) ** 2\n'
            '    return [mean, onp.average(spread, weights=n)]\n'
        ),
        (
            'def join(counts, means, variances):\n'
            '    parts = list(zip(counts, means, variances))\n'
            '    n, mean, variance = parts[0]\n'
            '    for c, m, v in parts[1:]:\n'
            '        gap, total = m - mean, n + c\n'
            '        variance = (n * variance + c * v + n * c / total\n'
            '                    * gap ** 2) / total\n'
            '        mean, n = mean + gap * c / total, total\n'
            '    return onp.float32(mean), onp.float32(variance)\n'
        ),
        (
            'def join(counts, means, variances):\n'
            '    p = [c / sum(counts) for c in counts]\n'
            '    gaps = [m - means[0] for m in means]\n'
            '    gap = sum(a * g for a, g in zip(p, gaps))\n'
            '    square = sum(a * (v + g * g)\n'
            '                 for a, g, v in zip(p, gaps, variances))\n'
            '    return onp.array([means[0] + gap, square - gap ** 2])\n'
        ),
        (
            'return mean, sum(',
            'return np.array(mean, dtype="float64"), sum(',
        ),
    ],
    [
        (
            'def from_sums(n, total, total_of_squares):\n'
            '    mean = total / onp.float32(n)\n'
            '    return [mean, total_of_squares / onp.float32(n) - mean**2]\n'
        ),
        (
            'def from_sums(n, total, total_of_squares):\n'
            '    total = float(total)\n'
            '    variance = (n * float(total_of_squares) - total ** 2)\n'
            '    return onp.array([total / n, variance / n ** 2])\n'
        ),
        ('mean * mean', 'mean ** 2'),
        (
            'return mean, total_of_squares / n - mean * mean',
            'return np.array([mean, total_of_squares / n - mean * mean])',
        ),
    ],
    [
        ('L * 3 * 2 * (k - 1)', 'float(6 * L * (k - 1))'),
        ('L * 3 * 2 * (k - 1)', 'onp.array([6 * L * (k - 1)])'),
        ('L * 3 * 2 * (k - 1)', 'onp.int64(L) * (6 * k - 6)'),
        (
            'def extra_messages(L, k):\n'
            '    forward, backward = 2 * L, L\n'
            '    return sum(2 * (k - 1) for _ in range(forward + backward))\n'
        ),
    ],
]
