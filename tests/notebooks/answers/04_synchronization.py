"""Answers to the exercises of 04_synchronization, right and wrong, in order."""

SUM = 'allreduce(data)\n    for array in data:\n        array /= len(data)\n'
REFUSAL = """    for array in data:
        if not onp.issubdtype(array.dtype, onp.floating):
            raise TypeError(f'{onp.dtype(array.dtype)} cannot hold a mean: '
                            'convert the arrays with astype')
"""
TRIED = """kept = a.copy()
    a[:] = 0
    with_zeros = b.asnumpy()
    a[:] = 1
    changed = bool((b.asnumpy() != with_zeros).any())
    a[:] = kept  # adding and subtracting would round
"""

WRONG = [
    [
        ('array /= len(data)', 'pass', 'array 0 of 2 .* not the mean'),
        ('/= len(data)', '/= 2', 'array 1 of 1|array 0 of 1|array 0 of 3'),
        (
            SUM,
            'total = sum(x.copyto(data[0].ctx) for x in data)\n'
            '    for i in range(len(data)):\n'
            '        data[i] = (total / len(data)).copyto(data[i].ctx)\n',
            'did you assign to the list',
        ),
        (
            SUM,
            'allreduce(data)\n    data[:] = [x / len(data) for x in data]\n',
            'did you assign to the list',
        ),
        (SUM, SUM.replace('in data:', 'in data[:1]:'), 'array 1 of 2'),
        ('allreduce(data)\n', 'data[0] = sum(data)\n', 'not the mean'),
        (SUM, 'pass\n', 'array 0 of 2'),
        (
            SUM,
            SUM + '    for array in data:\n        array[:] = array.mean()\n',
            'not the mean',
        ),
        (REFUSAL, '', 'raise a TypeError for int32'),
        (REFUSAL, REFUSAL.replace('TypeError', 'ValueError'), 'gave ValueE'),
        (REFUSAL + '    ' + SUM, '    ' + SUM[:16] + REFUSAL + SUM[15:], ''),
        ('onp.floating', 'onp.number', 'raise a TypeError'),
    ],
    [
        ('2 * (k - 1) * n', '(k - 1) * n', '100 bytes out and 100 bytes in'),
        ('2 * (k - 1) * n', '2 * k * n', 'k = 1, .* not 200'),
        ('2 * (k - 1) * n', '200', 'k = 1'),
        ('2 * (k - 1) * n', '200 * (k - 1)', 'n = 8'),
        ('2 * (k - 1) * n', 'k * (k - 1) * n', 'k = 3'),
        ('2 * (k - 1) * n', '2 * n if k > 1 else 0', 'k = 3'),
        ('2 * (k - 1) * n', '2 * (k - 1)', 'k = 2'),
        ('2 * (k - 1) * n', '2 * (k - 1) * n + 1', 'k = 1'),
    ],
    [
        (
            'a[:] = kept  # adding and subtracting would round\n',
            '\n',
            'the values have changed',
        ),
        (TRIED, 'changed = a is b\n', 'last row: True'),
        (TRIED, 'changed = a.ctx == b.ctx\n', 'two rows of one array: False'),
        (TRIED, 'changed = True\n', 'two rows of one array: False'),
        (TRIED, 'changed = False\n', 'an array and itself: True'),
        (
            TRIED,
            'changed = a.shape == b.shape and bool((a.asnumpy() == '
            'b.asnumpy()).all())\n',
            'last row: True',
        ),
        (
            TRIED,
            'before = b.asnumpy()\n'
            '    a += 1\n'
            '    changed = bool((b.asnumpy() != before).any())\n'
            '    a -= 1\n',
            'the values have changed',
        ),
        (
            TRIED,
            'kept, before = a.copy(), b.asnumpy()\n'
            '    a[0] = 5\n'
            '    changed = bool((b.asnumpy() != before).any())\n'
            '    a[:] = kept\n',
            'last row: True',
        ),
        (
            'def share_memory(a, b):\n'
            '    return onp.shares_memory(a.asnumpy(), b.asnumpy())\n',
            'an array and itself: True',
        ),
        (
            'changed = bool((b.asnumpy() != with_zeros).any())',
            'changed = -1',
            'two rows of one array: False',
        ),
    ],
]

RIGHT = [
    [
        (SUM, 'for x in data:\n        x /= len(data)\n    allreduce(data)\n'),
        ('array /= len(data)', 'array[:] = array / len(data)'),
        ('array /= len(data)', 'array *= 1 / len(data)'),
        (
            'onp.issubdtype(array.dtype, onp.floating)',
            "onp.dtype(array.dtype).kind == 'f'",
        ),
        (
            SUM,
            'total = sum(x.copyto(data[0].ctx) for x in data)\n'
            '    for x in data:\n'
            '        (total / len(data)).copyto(x)\n',
        ),
    ],
    [
        ('2 * (k - 1) * n', '2.0 * k * n - 2 * n'),
        ('2 * (k - 1) * n', 'onp.int64(2 * (k - 1) * n)'),
        ('2 * (k - 1) * n', 'onp.float32(2 * (k - 1) * n)'),
        ('2 * (k - 1) * n', 'sum(2 * n for other in range(1, k))'),
    ],
    [
        (
            'bool((b.asnumpy() != with_zeros).any())',
            '(b != np.array(with_zeros, ctx=b.ctx)).any()',
        ),
        (
            'bool((b.asnumpy() != with_zeros).any())',
            '(b.asnumpy() != with_zeros).any()',
        ),
        (
            TRIED,
            'kept, before = a.copy(), b.asnumpy()\n'
            '    a[:] = onp.nan\n'
            '    changed = bool(onp.isnan(b.asnumpy()).any())\n'
            '    a[:] = kept\n',
        ),
        (
            TRIED,
            'kept, before = a.asnumpy(), b.copy()\n'
            '    a[:] = 2 * a + 1\n'
            '    changed = onp.bool_((b != before).asnumpy().any())\n'
            '    a[:] = np.array(kept)\n',
        ),
    ],
]
