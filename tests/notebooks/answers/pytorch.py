"""Answers to the exercises of 21_pytorch, right and wrong, in order."""

SEPARATE = 'def are_separate(device_params):\n'
SEEN = 'def times_seen(n, k, drop_last=False):\n'
FACTOR = 'def loss_factor(lengths, rank):\n'

WRONG = [
    [
        ('.untyped_storage().data_ptr()', '.data_ptr()', 'two halves'),
        ('len(set(starts)) == len(starts)', 'True', 'the same list twice'),
        ('len(set(starts)) == len(starts)', 'False', 'copies'),
        ('len(set(starts)) == len(starts)', "'yes'", 'return True or False'),
        ('len(set(starts)) == len(starts)', 'len(set(starts))', 'True or'),
        # Compares objects, and so finds none of the views.
        (
            SEPARATE
            + '    ids = [id(p) for ps in device_params for p in ps]\n'
            '    return len(set(ids)) == len(ids)\n',
            'detached|transposed',
        ),
        # Compares numbers.
        (
            SEPARATE + '    first, *rest = device_params\n'
            '    return not any(torch.equal(p, q) for ps in rest\n'
            '                   for p, q in zip(first, ps))\n',
            'copies',
        ),
        # Neighbors only.
        (
            SEPARATE
            + '    for ps, qs in zip(device_params, device_params[1:]):\n'
            '        for p, q in zip(ps, qs):\n'
            '            if p.untyped_storage().data_ptr() == '
            'q.untyped_storage().data_ptr():\n'
            '                return False\n'
            '    return True\n',
            'the first and the third|twice in one',
        ),
        # The first tensors only.
        (
            SEPARATE + '    starts = [ps[0].untyped_storage().data_ptr() '
            'for ps in device_params]\n'
            '    return len(set(starts)) == len(starts)\n',
            'only the last|twice in one',
        ),
    ],
    [
        ('n // k * k if drop_last else -(-n // k) * k', 'n', 'not'),
        ('n // k * k if drop_last else -(-n // k) * k', 'n // k * k', 'not'),
        (
            'n // k * k if drop_last else -(-n // k) * k',
            '-(-n // k) * k',
            'not',
        ),
        ('-(-n // k) * k', '(n // k + 1) * k', '5 examples, 5 processes'),
        ('n // k * k if drop_last', 'n if drop_last', 'missing or repeated'),
        ('for row in range(n)', 'for row in range(total)', 'numbers for'),
        ('for row in range(n)', 'for row in range(n)][::-1] or [0', 'not'),
        (SEEN + '    return -(-n // k)\n', 'a list of 5 numbers'),
        (SEEN + '    return [1] * n\n', 'missing or repeated'),
        # Repeats the last one.
        (
            SEEN + '    extra = -n % k\n'
            '    return [1] * (n - 1) + [1 + extra]\n',
            'missing or repeated',
        ),
        (SEEN + "    return ['1'] * n\n", 'a list of'),
    ],
    [
        ('len(lengths) / sum(lengths)', '1 / sum(lengths)', 'DDP finds'),
        ('len(lengths) / sum(lengths)', '1 / lengths[rank]', r'\[31, 30\]'),
        ('len(lengths) / sum(lengths)', '1', 'DDP finds'),
        ('len(lengths) / sum(lengths)', '1 / len(lengths)', 'DDP finds'),
        ('len(lengths) / sum(lengths)', 'len(lengths) / lengths[rank]', 'DDP'),
        ('len(lengths) / sum(lengths)', 'lengths[rank] / sum(lengths)', 'DDP'),
        ('len(lengths) / sum(lengths)', "'k / n'", 'a number'),
        ('len(lengths) / sum(lengths)', '[1.0]', 'a number'),
    ],
]

RIGHT = [
    [
        (
            'return len(set(starts)) == len(starts)',
            'return onp.bool_(len(set(starts)) == len(starts))',
        ),
        (
            'return len(set(starts)) == len(starts)',
            'return torch.tensor(len(set(starts)) == len(starts))',
        ),
        SEPARATE + '    seen = set()\n'
        '    for params in device_params:\n'
        '        for param in params:\n'
        '            start = param.storage().data_ptr()\n'
        '            if start in seen:\n'
        '                return False\n'
        '            seen.add(start)\n'
        '    return True\n',
        # Writes into each and looks whether another one has changed.
        SEPARATE + '    flat = [p for ps in device_params for p in ps]\n'
        '    for i, p in enumerate(flat):\n'
        '        for q in flat[:i]:\n'
        '            if (p.untyped_storage().data_ptr()\n'
        '                    == q.untyped_storage().data_ptr()):\n'
        '                return False\n'
        '    return True\n',
    ],
    [
        (
            'return [len(range(row, total, n)) for row in range(n)]',
            'return tuple(onp.bincount(onp.arange(total) % n, minlength=n))',
        ),
        (
            'return [len(range(row, total, n)) for row in range(n)]',
            'return onp.bincount(onp.arange(total) % n, minlength=n)',
        ),
        (
            'return [len(range(row, total, n)) for row in range(n)]',
            'return torch.tensor([len(range(row, total, n)) '
            'for row in range(n)])',
        ),
        SEEN + '    if drop_last:\n'
        '        kept = n - n % k\n'
        '        return [1] * kept + [0] * (n - kept)\n'
        '    extra = -n % k\n'
        '    return [2] * extra + [1] * (n - extra)\n',
        SEEN + '    return [float(sum(rows.count(i) for rows in\n'
        '            sampler_rows(n, k, drop_last=drop_last)))\n'
        '            for i in range(n)]\n',
    ],
    [
        (
            'return len(lengths) / sum(lengths)',
            'return onp.float32(len(lengths) / sum(lengths))',
        ),
        (
            'return len(lengths) / sum(lengths)',
            'return torch.tensor(len(lengths) / sum(lengths))',
        ),
        (
            'return len(lengths) / sum(lengths)',
            'return 1 / onp.mean(lengths)',
        ),
        'from fractions import Fraction\n'
        + FACTOR
        + '    return Fraction(len(lengths), sum(lengths))\n',
    ],
]
