"""Answers to the exercises of 15_model_parallel, right and wrong, in order."""

WRONG = [
    [
        (
            '> max_fraction',
            '>= max_fraction',
            '0.5: 1, not 2; is that the smallest',
        ),
        ('(m + p - 1) > max', '(m + p) > max', '0.3: 3, not 2'),
        ('(p - 1) / (m + p - 1) >', '(p - 1) / m >', 'of the ideal time'),
        ('return m', 'return m - 1', 'at least 1'),
        ('m += 1', 'm += 2', 'the smallest m'),
        ('> max_fraction:', '> max_fraction and m < 100:', '295, not 100'),
        ('> max_fraction:', '> max_fraction and m < 10_000:', 'not 10000'),
        ('(p - 1) / (m + p - 1) >', '1 / (m + 1) >', 'p = 1'),
        ('> max_fraction', '> 0.3', '1, not 3'),
        ('return m', 'return float("nan")', 'not nan'),
        # where the limit is met exactly: one too many, and rounding
        (
            'def micro_batches_needed(p, max_fraction):\n'
            '    m = (p - 1) / max_fraction - (p - 1)\n'
            '    return max(1, int(m) + 1)\n',
            'not 2|not 90',
        ),
        (
            'def micro_batches_needed(p, max_fraction):\n'
            '    m = (p - 1) * (1 - max_fraction) / max_fraction\n'
            '    return max(1, int(onp.ceil(m)))\n',
            '0.11: 89, not 90',
        ),
        (
            'def micro_batches_needed(p, max_fraction):\n'
            '    return max(1, int(onp.ceil((p - 1) * (1 / max_fraction - 1))))',
            '0.11: 89, not 90',
        ),
        (
            'def micro_batches_needed(p, max_fraction):\n'
            '    return max(1, round((p - 1) / max_fraction - (p - 1)))\n',
            'the smallest m',
        ),
        ('> max_fraction:', '> max_fraction and m < 1000:', 'not 1000'),
    ],
    [
        (
            'min(p - s - 1, m)',
            'min(p - s, m)',
            'too many on stage 0: 2',
        ),
        ('min(p - s - 1, m)', 'p - s - 1', 'must have .forward. and'),
        ('min(p - s - 1, m)', 'max(0, min(p - s - 2, m))', 'long enough'),
        ('min(p - s - 1, m)', '0', 'never ends|long enough'),
        ('min(p - s - 1, m)', 'm', 'a live micro-batch too many'),
        ('min(p - s - 1, m)', 'min(s, m)', 'never ends'),
        (
            "[('forward', warmup + i), ('backward', i)]",
            "[('backward', i), ('forward', warmup + i)]",
            'never ends',
        ),
        (
            'range(m - warmup, m)',
            'range(m - warmup)',
            'once for each stage, and nothing else',
        ),
        ('range(m - warmup, m)', 'range(m - warmup, m)[::-1]', 'in order'),
        (
            "return order + [('backward', i) for i in range(m - warmup, m)]",
            'return order',
            'once for each stage, and nothing else',
        ),
        ("('backward', i)]", "('back', i)]", "has .'back', 0. 1 time"),
        (
            "('forward', warmup + i), ('backward', i)]",
            "('forward', warmup + i), ('send', i), ('backward', i)]",
            'must have .forward. and',
        ),
        (
            'return order +',
            'return [] and order +',
            'once for each stage, and nothing else',
        ),
        ('    return order', '    order', 'return a list'),
        (
            'def order_1f1b(s, p, m):\n'
            "    return ['forward', 'backward'] * m\n",
            'return a list',
        ),
        (
            'def order_1f1b(s, p, m):\n'
            '    return iter(d2lmulti.one_f_one_b_schedule(p, m)[s])\n',
            'return a list, not',
        ),
    ],
    [
        (
            'np.dot(h, W) for h, W in zip(units, weights)) + b',
            'np.dot(h, W) + b for h, W in zip(units, weights))',
            'k = 2, .*: b was added 2 times',
        ),
        (' + b\n', '\n', 'k = 1, .*: b was added 0 times'),
        (' + b\n', ' + 1\n', 'is every part in the sum'),
        (
            'zip(units, weights)) + b',
            'zip(units, weights)) / len(units) + b',
            'k = 2, .*: is every part',
        ),
        (
            'zip(units, weights)) + b',
            'zip(units[:1], weights)) + b',
            'k = 2, .*: is every part',
        ),
        (
            'zip(units, weights)) + b',
            'zip(units[::-1], weights[::-1])) + len(units) * b',
            'b was added 2 times',
        ),
        (') + b\n', ').sum(axis=0) + b\n', 'a row of three scores'),
        ('    return sum', '    sum', 'a row of three scores'),
        # all parts as wide as the first, or the first the widest
        (
            'np.dot(h, W) for h, W in zip(units, weights)) + b',
            'np.dot(h[:, :len(weights[0])], W[:len(weights[0])])\n'
            '               for h, W in zip(units, weights)) + b',
            r'parts with \[2, 5\] columns: is every part',
        ),
        (
            'def scores_from(units, weights, b):\n'
            '    h, W = np.concatenate(units, 1), np.concatenate(weights)\n'
            '    pieces = split_slices(len(W), len(units))\n'
            '    return sum(np.dot(h[:, :units[0].shape[1] * len(units)][:, p],'
            '\n                      W[p]) for p in pieces) + b\n',
            r'columns',
        ),
        (
            'def scores_from(units, weights, b):\n'
            '    W = np.zeros((len(units), len(weights[0]), len(b)))\n'
            '    h = np.zeros((len(units), len(units[0]), len(weights[0])))\n'
            '    for i, (part, rows) in enumerate(zip(units, weights)):\n'
            '        h[i, :, :part.shape[1]], W[i, :len(rows)] = part, rows\n'
            '    return np.matmul(h, W).sum(axis=0) + b\n',
            r'parts with \[2, 5\] columns: your answer raises',
        ),
        (
            ' + b\n',
            '[:2] + b\n',
            'a row of three scores for each of 3 examples',
        ),
        (
            ') + b\n',
            ') + b if len(units) > 1 else np.dot(units[0], weights[0]) + 0\n',
            'b was added 0 times',
        ),
    ],
]

RIGHT = [
    [
        'def micro_batches_needed(p, max_fraction):\n'
        '    return max(1, int(onp.ceil((p - 1) / max_fraction - (p - 1))))\n',
        ('return m', 'return float(m)'),
        ('return m', 'return onp.int64(m)'),
        ('return m', 'return np.array(m)'),
    ],
    [
        (
            'def order_1f1b(s, p, m):\n'
            '    order, live = [], []\n'
            '    for i in range(m):\n'
            "        order.append(('forward', i))\n"
            '        live.append(i)\n'
            '        if len(live) == p - s:\n'
            "            order.append(('backward', live.pop(0)))\n"
            "    return order + [('backward', i) for i in live]\n"
        ),
        (
            "return order + [('backward', i) for i in range(m - warmup, m)]",
            "return tuple(order + [['backward', onp.int64(i)]\n"
            '                  for i in range(m - warmup, m)])',
        ),
        (
            'def order_1f1b(s, p, m):\n'
            '    return d2lmulti.one_f_one_b_schedule(p, m)[s]\n'
        ),
    ],
    [
        'def scores_from(units, weights, b):\n'
        '    scores = b\n'
        '    for h, W in zip(units, weights):\n'
        '        scores = scores + np.dot(h, W)\n'
        '    return scores\n',
        'def scores_from(units, weights, b):\n'
        '    return np.dot(np.concatenate(units, axis=1),\n'
        '                  np.concatenate(weights)) + b\n',
        (' + b\n', ' + b.reshape(1, 3)\n'),
        'def scores_from(units, weights, b):\n'
        '    parts = [h.asnumpy() @ W.asnumpy()\n'
        '             for h, W in zip(units, weights)]\n'
        '    return (sum(parts) + b.asnumpy()).tolist()\n',
    ],
]

# What other readers wrote.
WRONG[0] += [
    (
        """def micro_batches_needed(p, max_fraction):
    return max(1, -int(-((p - 1) * (1 / max_fraction - 1) - 1e-2) // 1))
""",
        '0.4999: 2, not 1',
    ),
]
WRONG[2] += [
    (
        """def scores_from(units, weights, b):
    b /= len(units)
    return sum((np.dot(h, W) + b).as_in_ctx(units[0].ctx)
               for h, W in zip(units, weights))
""",
        'b was changed',
    ),
]
