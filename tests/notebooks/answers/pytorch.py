"""Answers to the exercises of 21_pytorch, right and wrong, in order."""

SEPARATE = 'def are_separate(device_params):\n'
SEEN = 'def times_seen(n, k, drop_last=False):\n'
FACTOR = 'def loss_factor(lengths, rank):\n'
DISJOINT = """return all(end <= start for (_, end), (start, _)
               in zip(spans, spans[1:]))"""
# Where the storages begin, of all tensors or of some.
STARTS = (
    SEPARATE
    + '    starts = [p.untyped_storage().data_ptr()\n'
    + '              for ps in device_params for p in ps]\n'
    + '    return len(set(starts)) == len(starts)\n'
)

WRONG = [
    [
        (STARTS, 'parts of an array of NumPy|without numbers'),
        (STARTS.replace('untyped_storage().', ''), 'overlapping parts'),
        (STARTS.replace('in device_params', 'in device_params[:1]'), 'twice'),
        (DISJOINT, 'return True', 'the same list twice'),
        (DISJOINT, 'return False', 'copies'),
        (DISJOINT, "return 'yes'", 'return True or False'),
        (DISJOINT, 'return len(spans)', 'return True or False'),
        ('end <= start', 'end < start', 'halves of an array'),
        # Compares the others with replica 0 only.
        (
            SEPARATE
            + '    first = {p.untyped_storage().data_ptr()\n'
            + '             for p in device_params[0]}\n'
            + '    return (len(first) == len(device_params[0])\n'
            + '            and not any(p.untyped_storage().data_ptr() in first\n'
            + '                        for ps in device_params[1:] for p in ps))\n',
            'the second and the third|twice in the second',
        ),
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
        (
            'def times_seen(n, k, drop_last=False):\n'
            '    return (1 for _ in range(n))\n',
            'a list of',
        ),
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
        (DISJOINT, DISJOINT.replace('all(', 'onp.all([').rstrip(')') + ')])'),
        (DISJOINT, DISJOINT.replace('all(', 'torch.tensor(all(') + ')'),
        (DISJOINT, DISJOINT.replace('all(', 'not any(').replace('<=', '>')),
        # The bytes of the tensors, not of their storages.
        SEPARATE
        + """    spans = sorted((p.data_ptr(), p.data_ptr() + p.nbytes)
                   for ps in device_params for p in ps if p.numel())
    return all(end <= start for (_, end), (start, _)
               in zip(spans, spans[1:]))
""",
        # Every pair.
        SEPARATE
        + """    flat = [p for ps in device_params for p in ps if p.numel()]
    for i, p in enumerate(flat):
        for q in flat[:i]:
            a, b = p.untyped_storage(), q.untyped_storage()
            if max(a.data_ptr(), b.data_ptr()) < min(
                    a.data_ptr() + a.nbytes(), b.data_ptr() + b.nbytes()):
                return False
    return True
""",
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
