"""Answers to the exercises of 24_planner, right and wrong."""

WRONG = [
    [
        ('(p - 1) / v', '(p - 1)', 'of the step is bubble'),
        ('(p - 1) / v', 'p / v', 'of the step is bubble'),
        ('(p - 1) / v', '(p - 1) * v', 'of the step is bubble'),
        (' * (1 - bubble)', '', 'of the step is bubble'),
        ('math.ceil(', 'math.floor(', 'of the step is bubble'),
        ('math.ceil(', 'round(', 'of the step is bubble'),
        ('max(1, math', 'max(0, math', 'of the step is bubble'),
        (
            'math.ceil(round(waits * (1 - bubble) / bubble, 9))',
            'int(waits * (1 - bubble) / bubble) + 1',
            'of the step is bubble',
        ),
        ('max(1, math', 'max(2, math', 'of the step is bubble'),
        (
            'math.ceil(round(waits * (1 - bubble) / bubble, 9))',
            'waits * (1 - bubble) / bubble',
            'of the step is bubble',
        ),
        ('return -', 'return str(p) or -', 'return an integer'),
        ('return -', 'return None and -', 'return an integer'),
        ('m = max(', 'm = 1 + max(', 'of the step is bubble'),
        ('-(-m // p) * p if v > 1 else m', 'm', 'multiple of p'),
        ('-(-m // p) * p', 'm // p * p', 'multiple of p'),
        (' if v > 1 else m', '', 'of the step is bubble'),
    ],
    [
        ('first // node !=', 'first //node ==', 'is not right'),
        ('group - 1)', 'group)', 'is not right'),
        ('range(0, k, group)', 'range(0, k, node)', 'is not right'),
        ('range(0, k, group)', 'range(0, group)', 'is not right'),
        ('return sum(', 'return k // group - sum(', 'is not right'),
        (  # counts nodes' borders, also two in one group
            'def split_groups(k, group, node):\n'
            '    return sum(1 for b in range(node, k, node) if b % group)\n',
            'is not right',
        ),
        (  # as if whole patterns repeated
            'def split_groups(k, group, node):\n'
            '    both = group * node // math.gcd(group, node)\n'
            '    crossed = both // node - 1 if both > group else 0\n'
            '    return crossed * k / both\n',
            'is not right',
        ),
        ('return sum(', 'return str(k) or sum(', 'return a number'),
        ('return sum(', 'return None and sum(', 'return a number'),
    ],
    [
        ('2.5 * 2', '2.5', 'is not right'),
        ('2.5 * 2', '2', 'is not right'),
        (' / tp', '', 'is not right'),
        ('length ** 2', 'length', 'is not right'),
        ('* sequences ', '', 'is not right'),
        ('* heads ', '', 'is not right'),
        ('return 2.5', 'return str(tp) or 2.5', 'return a number'),
    ],
]

RIGHT = [
    [
        (
            'def enough_micro_batches(p, v, bubble):\n'
            '    m = p if v > 1 else 1\n'
            '    while (p - 1) / v > bubble * (m + (p - 1) / v):\n'
            '        m += p if v > 1 else 1\n'
            '    return m\n'
        ),
        ('math.ceil(', 'onp.ceil('),
        ('waits * (1 - bubble) / bubble', 'waits / bubble - waits'),
    ],
    [
        ('sum(', 'len([1 for _ in range(1)]) * sum('),
        ('first // node !=', 'int(first / node) !='),
        ('range(0, k, group)', '[group * i for i in range(k // group)]'),
    ],
    [
        ('2.5 * 2', '5'),
        ('length ** 2', 'length * length'),
        ('heads / tp', '(heads / tp)'),
    ],
]

# What other readers wrote.
WRONG[0] += [
    (
        """def enough_micro_batches(p, v, bubble):
    step = p if v > 1 else 1
    m = math.ceil((p - 1) * (1 - bubble) / bubble / v)
    return max(1, step * math.ceil(m / step))
""",
        'with 13 micro-batches',
    ),
    (
        """def enough_micro_batches(p, v, bubble):
    step = p if v > 1 else 1
    for m in range(step, 5000, step):
        if (p - 1) / (v * m + p - 1) <= bubble:
            return m
    return 5000
""",
        'with 5000 micro-batches',
    ),
]
