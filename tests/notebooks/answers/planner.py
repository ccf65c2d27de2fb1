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
]
