"""Answers to the exercises of 04_data, right and wrong, in order."""

TIMES = 'max(size / speed for size, speed in zip(sizes, speeds))'
ENDS = '[i * n // k for i in range(k + 1)]'
TOTAL = 'sum(correct) / sum(sizes)'

WRONG = [
    [
        ('max(size', 'min(size', 'the last is done after'),
        ('max(size', 'sum(size', 'the last is done after'),
        (TIMES, 'sum(sizes) / sum(speeds)', 'the last is done after'),
        (
            TIMES,
            'sizes[speeds.index(min(speeds))] / min(speeds)',
            'the last is done after',
        ),
        (TIMES, 'max(sizes) / max(speeds)', 'the last is done after'),
        (TIMES, 'max(sizes) / min(speeds)', 'the last is done after'),
        (
            TIMES,
            'sum(n / v for n, v in zip(sizes, speeds)) / len(sizes)',
            'the last is done after',
        ),
        ('size / speed', 'size * speed', 'the last is done after'),
        (TIMES, '1.5', 'the last is done after'),
        (
            TIMES,
            'max(sizes[0] / speeds[0], sizes[-1] / speeds[-1])',
            'the last is done after',
        ),
        (TIMES, f'[{TIMES}]', 'return a number of seconds'),
        (
            TIMES,
            'max(sizes[i] / speeds[i] for i in ('
            'sizes.index(max(sizes)), speeds.index(min(speeds))))',
            'the last is done after',
        ),
        ('size / speed for', 'round(size / speed, 3) for', 'the last'),
    ],
    [
        (ENDS, '[i * (n // k) for i in range(k + 1)]', 'the first must be 0'),
        ('i * n // k', 'min(n, i * -(-n // k))', 'not balanced'),
        ('i * n // k', 'i * n / k', 'cannot be used as indices'),
        ('i * n // k', 'i * n // k + 0.0', 'used as indices'),
        ('range(k + 1)', 'range(1, k + 1)', 'the first is 0'),
        ('range(k + 1)', 'range(k)', 'the first is 0'),
        (ENDS, '[i * (n // k) for i in range(k)] + [n]', 'not balanced'),
        (ENDS, '[n // k + (i < n % k) for i in range(k)]', 'the first is 0'),
        (ENDS, '[0] * k + [n]', 'not balanced'),
        (ENDS, '[0, 4, 8]', 'need 5 numbers'),
        ('i * n // k', 'i * n // k + 1', 'the first must be 0'),
        ('i * n // k', 'int(i * (n / k))', 'the first must be 0'),
    ],
    [
        (
            TOTAL,
            'sum(c / s for c, s in zip(correct, sizes)) / len(sizes)',
            'every example counts',
        ),
        (TOTAL, 'sum(correct) / len(sizes)', 'every example counts'),
        (
            TOTAL,
            'sum(correct) / (len(sizes) * sizes[0])',
            'every example counts',
        ),
        (TOTAL, 'correct[0] / sizes[0]', 'every example counts'),
        (
            TOTAL,
            'max(c / s for c, s in zip(correct, sizes))',
            'every example counts',
        ),
        (TOTAL, 'sum(sizes) / max(1, sum(correct))', 'every example counts'),
        (TOTAL, '0.5', 'every example counts'),
        (TOTAL, f'100 * {TOTAL}', 'every example counts'),
        (TOTAL, f'f"{{{TOTAL}}}"', 'a number'),
        (TOTAL, f'round({TOTAL}, 4)', 'every example'),
    ],
]

ACCURACY = 'def epoch_accuracy(correct, sizes):\n    import numpy as onp\n'

RIGHT = [
    [
        'def step_time(sizes, speeds):\n'
        '    from mxnet import np\n'
        '    return (np.array(sizes) / np.array(speeds)).max()',
        (TIMES, f'int({TIMES}) if {TIMES} % 1 == 0 else {TIMES}'),
        'def step_time(sizes, speeds):\n'
        '    import numpy as onp\n'
        '    return (onp.float32(sizes) / onp.float32(speeds)).max()',
    ],
    [
        (ENDS, f'tuple({ENDS})'),
        ('i * n // k', 'i * (n // k) + min(i, n % k)'),
        ('i * n // k', 'round(i * n / k)'),
        'def shard_ends(n, k):\n'
        '    import numpy as onp\n'
        '    return onp.arange(k + 1) * n // k',
        'def shard_ends(n, k):\n'
        '    from mxnet import np\n'
        f'    return np.array({ENDS}, dtype="int32")',
        'def shard_ends(n, k):\n'
        '    ends = [0]\n'
        '    for part in d2lmulti.split_slices(n, k):\n'
        '        ends.append(part.stop)\n'
        '    return ends',
    ],
    [
        (
            TOTAL,
            'sum(c / s * s for c, s in zip(correct, sizes)) / sum(sizes)',
        ),
        ACCURACY + '    return onp.sum(correct) / onp.sum(sizes)',
        ACCURACY + '    return onp.float32(sum(correct) / sum(sizes))',
        ACCURACY + '    rates = onp.array(correct) / sizes\n'
        '    return onp.average(rates, weights=sizes)',
    ],
]

# What other readers wrote.
WRONG[1] += [
    (
        """def shard_ends(n, k):
    return [int(i / k * n) for i in range(k + 1)]
""",
        'not balanced',
    ),
]
