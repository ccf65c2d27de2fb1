"""Answers to the exercises of 23_scaling, right and wrong."""

EXACT = 'exact = efficiency / (1 - efficiency) * fixed / per_example'

ROUNDED = 'math.ceil(round(exact, 9))'
WRONG = [
    [
        (ROUNDED, 'int(exact)', 'the smallest'),
        (ROUNDED, 'math.ceil(exact)', 'a shard of 4 has'),
        (
            ROUNDED,
            'math.floor(exact) + 1',
            'the smallest',
        ),
        (EXACT, 'exact = efficiency * fixed / per_example', 'the smallest'),
        (EXACT, 'exact = fixed / per_example', 'the smallest'),
        (ROUNDED, 'exact', 'an integer|smallest'),
        ('fixed / per_example', 'per_example / fixed', 'the smallest'),
        (EXACT, 'exact = 1 / (1 - efficiency) * 15', 'the smallest'),
        ('return math', 'return str(fixed) or math', 'return an integer'),
        (ROUNDED, 'float("nan")', 'an integer'),
        (ROUNDED, '[15]', 'return an integer'),
    ],
    [
        ('return min', 'return max', 'not the fastest'),
        (
            'def fastest(k, num_bytes, alpha, beta):\n    return "ring"\n',
            'not the fastest',
        ),
        (
            'def fastest(k, num_bytes, alpha, beta):\n    return "tree"\n',
            'not the fastest',
        ),
        (
            'def fastest(k, num_bytes, alpha, beta):\n    return "star"\n',
            'not the fastest',
        ),
        (
            'def fastest(k, num_bytes, alpha, beta):\n'
            '    return "ring" if num_bytes > 1e6 else "tree"\n',
            'not the fastest',
        ),
        (  # whatever the latency
            'def fastest(k, num_bytes, alpha, beta):\n'
            '    return "ring" if num_bytes / k > 1e5 else "tree"\n',
            'not the fastest',
        ),
        ('name, k, num_bytes, alpha', 'name, k, num_bytes, 0', 'fastest'),
        ('alpha, beta))', 'alpha, 0))', 'not the fastest'),
        ("('star', 'ring', 'tree')", "('star', 'tree')", 'not the fastest'),
        (
            'def fastest(k, num_bytes, alpha, beta):\n    return 0.001\n',
            "return 'star', 'ring' or 'tree'",
        ),
        (
            'def fastest(k, num_bytes, alpha, beta):\n    return "direct"\n',
            "return 'star', 'ring' or 'tree'",
        ),
        (
            'num_bytes, alpha, beta))',
            'num_bytes, alpha, 8e-10))',
            'is not the fastest',
        ),
    ],
    [
        (' / k', '', 'of all k devices'),
        (' / k', ' * k', 'of all k devices'),
        (' * 86_400', '', 'in seconds'),
        (' * 365.25', '', 'in seconds'),
        ('86_400 / k', '86_400 // k', 'is not right'),
        ('365.25', '360', 'is not right'),
        (
            'checkpoint_interval(mtbf, checkpoint_seconds)',
            'math.sqrt(checkpoint_seconds * mtbf)',
            'is not right',
        ),
        (
            'checkpoint_interval(mtbf, checkpoint_seconds)',
            'mtbf',
            'is not right',
        ),
        ('return ch', 'return str(k) or ch', 'a number of seconds'),
        (
            'checkpoint_interval(mtbf, checkpoint_seconds)',
            'checkpoint_interval(mtbf, checkpoint_seconds) / 60',
            'in seconds',
        ),
    ],
]

RIGHT = [
    [
        (
            'def smallest_shard(fixed, per_example, efficiency):\n'
            '    n = 1\n'
            '    while n * per_example < efficiency * (1 - 1e-9) * (\n'
            '        fixed + n * per_example\n'
            '    ):\n'
            '        n += 1\n'
            '    return n\n'
        ),
        (
            ROUNDED,
            f'onp.int64({ROUNDED})',
        ),
        (ROUNDED, 'onp.ceil(onp.round(exact, 9))'),
        (
            ROUNDED,
            f'onp.array({ROUNDED})',
        ),
    ],
    [
        (
            'def fastest(k, num_bytes, alpha, beta):\n'
            '    rounds = math.ceil(math.log2(k))\n'
            '    times = {\n'
            '        "tree": rounds * (alpha + beta * num_bytes),\n'
            '        "ring": (k - 1) * (alpha + beta * num_bytes / k),\n'
            '    }\n'
            '    return min(times, key=times.get)\n'
        ),
        ("('star', 'ring', 'tree')", "['tree', 'ring', 'star']"),
        (
            'def fastest(k, num_bytes, alpha, beta):\n'
            '    names = onp.array(["star", "ring", "tree"])\n'
            '    times = [allreduce_seconds(str(n), k, num_bytes, alpha,\n'
            '                               beta) for n in names]\n'
            '    return names[onp.argmin(times)]\n'
        ),
    ],
    [
        (
            'checkpoint_interval(mtbf, checkpoint_seconds)',
            '(2 * checkpoint_seconds * mtbf) ** 0.5',
        ),
        ('return ch', 'return onp.float32(1) * ch'),
        (
            'def interval_for(k, years, checkpoint_seconds):\n'
            '    one = checkpoint_interval(\n'
            '        years * 365.25 * 24 * 3600, checkpoint_seconds)\n'
            '    return one / math.sqrt(k)\n'
        ),
    ],
]

# What other readers wrote.
WRONG[0] += [
    (
        """def smallest_shard(fixed, per_example, efficiency):
    n = fixed * efficiency / (per_example * (1 - efficiency))
    return math.ceil(n - 1e-3)
""",
        'a shard of 4',
    ),
    (
        """def smallest_shard(fixed, per_example, efficiency):
    for n in range(1, 1000):
        if n * per_example / (fixed + n * per_example) >= efficiency:
            return n
    return 1000
""",
        'a shard of 1000',
    ),
]
