"""Answers to the exercises of 03_replicas, right and wrong, in order."""

SUM = 'allreduce(data)\n    for array in data:\n        array /= len(data)\n'
REFUSAL = """    for array in data:
        if not onp.issubdtype(array.dtype, onp.floating):
            raise TypeError(f'{onp.dtype(array.dtype)} cannot hold a mean: '
                            'convert the arrays with astype')
"""
TRIED = """kept = a.copy()
    a[()] = 0  # everything; a[:] needs at least one dimension
    with_zeros = b.asnumpy().tobytes()  # NaN == NaN would be False
    a[()] = 1
    changed = b.asnumpy().tobytes() != with_zeros
    a[()] = kept  # adding and subtracting would round
"""

SENTINEL = """kept, before = a.copy(), b.asnumpy().tobytes()
    a[()] = -12345.0
    changed = b.asnumpy().tobytes() != before
    a[()] = kept
"""
WRONG = [
    [
        ('array /= len(data)', 'pass', 'array 0 of 2 .* the sum: divide'),
        (
            'array /= len(data)',
            'array = array / len(data)',
            'the sum: divide every array',
        ),
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
            'mean = (data[0].copy() + data[-1].copyto(data[0].ctx)) / 2\n'
            '    for array in data:\n'
            '        mean.copyto(array)\n',
            'array 0 of 3 .* not the mean',
        ),
        (
            SUM,
            'mean = onp.median([x.asnumpy() for x in data], axis=0)\n'
            '    for array in data:\n'
            '        array[:] = mean\n',
            'it waits',
        ),
        (
            'not onp.issubdtype(array.dtype, onp.floating)',
            'array.dtype in (onp.int32, onp.int64)',
            'raise a TypeError for uint8',
        ),
        (SUM, SUM + '    data[0].wait_to_read()\n', 'it waits'),
        (SUM, SUM + '    mx.npx.waitall()\n', 'it waits'),
        (
            SUM,
            SUM + '    for array in data:\n        array[:] = array.mean()\n',
            'not the mean',
        ),
        (  # reads arrays of other devices
            SUM,
            'total = data[0]\n'
            '    for x in data[1:]:\n'
            '        total += x\n'
            '    total /= len(data)\n'
            '    for x in data[1:]:\n'
            '        x[:] = total\n',
            'bytes were copied, at least',
        ),
        (REFUSAL, '', 'raise a TypeError for int32'),
        (REFUSAL, REFUSAL.replace('TypeError', 'ValueError'), 'gave ValueE'),
        (REFUSAL + '    ' + SUM, '    ' + SUM[:16] + REFUSAL + SUM[15:], ''),
        ('onp.floating', 'onp.number', 'raise a TypeError'),
        (
            SUM,
            "halves = [x.astype('float16') for x in data]\n"
            '    allreduce(halves)\n'
            '    for x, half in zip(data, halves):\n'
            '        x[:] = half / len(data)\n',
            'not the mean',
        ),
        (
            SUM,
            "singles = [x.astype('float32') for x in data]\n"
            '    allreduce(singles)\n'
            '    for x, single in zip(data, singles):\n'
            '        x[:] = single / len(data)\n',
            'array 0 of 3 .* not the mean',
        ),
        (
            'array /= len(data)',
            'for i in range(len(array)):\n'
            '            array[i:i + 1] = array[i].sum() / len(data)',
            'not the mean',
        ),
        (
            SUM,
            'mean = onp.mean([x.asnumpy() for x in data], axis=0)\n'
            '    for array in data:\n'
            '        array[:] = np.array(mean, dtype=array.dtype)\n',
            'it waits',
        ),
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
            'a[()] = kept  # adding and subtracting would round\n',
            '\n',
            'the values changed',
        ),
        (TRIED, 'changed = a is b\n', 'last row: expected True'),
        (TRIED, 'changed = a.ctx == b.ctx\n', 'expected False, got True'),
        (TRIED, 'changed = True\n', 'expected False, got True'),
        (TRIED, 'changed = False\n', 'an array and itself: expected True'),
        ('    a[()] = 0  # everything', '    # everything', 'of ones'),
        (
            TRIED,
            'changed = a.shape == b.shape and bool((a.asnumpy() == '
            'b.asnumpy()).all())\n',
            'last row: expected True',
        ),
        (
            TRIED,
            'before = b.asnumpy()\n'
            '    a += 1\n'
            '    changed = bool((b.asnumpy() != before).any())\n'
            '    a -= 1\n',
            'the values changed',
        ),
        (
            TRIED,
            'kept, before = a.copy(), b.asnumpy()\n'
            '    a[0] = 5\n'
            '    changed = bool((b.asnumpy() != before).any())\n'
            '    a[()] = kept\n',
            'last row: expected True',
        ),
        (
            TRIED,
            'kept, before = a.copy(), b.asnumpy()\n'
            '    a[-1] = 5\n'
            '    changed = b.asnumpy().tobytes() != before.tobytes()\n'
            '    a[()] = kept\n',
            'first row: expected True',
        ),
        (
            TRIED,
            'kept, before = a.copy(), b.asnumpy()\n'
            '    a[(-1,) * a.ndim] = 5\n'
            '    changed = b.asnumpy().tobytes() != before.tobytes()\n'
            '    a[()] = kept\n',
            'first row: expected True',
        ),
        (
            TRIED,
            TRIED.replace('b.asnumpy()', 'b[-1].asnumpy()'),
            'first row of an array, and the array: expected True',
        ),
        (
            TRIED,
            'kept, before = a.copy(), b.asnumpy()\n'
            '    if a.ndim:\n'
            '        a[0] = a[-1] = 5\n'
            '    else:\n'
            '        a[()] = 5\n'
            '    changed = b.asnumpy().tobytes() != before.tobytes()\n'
            '    a[()] = kept\n',
            'middle row: expected True',
        ),
        (
            TRIED,
            'kept, before = a.copy(), b.asnumpy()\n'
            '    a[()] = kept + 1\n'
            '    changed = b.asnumpy().tobytes() != before.tobytes()\n'
            '    a[()] = kept\n',
            'NaN in an array, and the array: expected True',
        ),
        (
            TRIED,
            'kept, before = a.copy(), onp.nan_to_num(b.asnumpy())\n'
            '    a[()] = onp.nan_to_num(kept.asnumpy()) + 1\n'
            '    now = onp.nan_to_num(b.asnumpy())\n'
            '    changed = now.tobytes() != before.tobytes()\n'
            '    a[()] = kept\n',
            '1e10 and itself: expected True',
        ),
        (
            TRIED,
            'kept, before = a.copy(), b.asnumpy()\n'
            '    a[()] = 0\n'
            '    changed = b.asnumpy().tobytes() != before.tobytes()\n'
            '    a[()] = kept\n',
            'two views of zeros: expected True',
        ),
        (
            TRIED,
            'kept, before = a.copy(), b.asnumpy()\n'
            '    a[()] = 5\n'
            '    changed = bool((b.asnumpy() != before).any())\n'
            '    a[()] = kept\n',
            'another one with NaN and infinity: expected False',
        ),
        (
            'def share_memory(a, b):\n'
            '    return onp.shares_memory(a.asnumpy(), b.asnumpy())\n',
            'an array and itself: expected True',
        ),
        (
            'changed = b.asnumpy().tobytes() != with_zeros',
            'changed = -1',
            'expected False, got -1',
        ),
        (TRIED, SENTINEL, 'and itself: expected True'),
        (  # a sentinel by chance
            TRIED,
            'kept, before = a.copy(), b.asnumpy().tobytes()\n'
            '    a[()] = onp.random.uniform(-1e6, 1e6)\n'
            '    changed = b.asnumpy().tobytes() != before\n'
            '    a[()] = kept\n',
            'and itself: expected True',
        ),
        (
            TRIED,
            'kept = a.copy()\n'
            '    a[()] = 12345\n'
            '    changed = bool((b.asnumpy() == 12345).any())\n'
            '    a[()] = kept\n',
            'ones, and another array of 12345: expected False',
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
            'b.asnumpy().tobytes() != with_zeros\n',
            'onp.bool_(b.asnumpy().tobytes() != with_zeros)\n',
        ),
        (
            'b.asnumpy().tobytes() != with_zeros\n',
            'np.array(b.asnumpy().tobytes() != with_zeros)\n',
        ),
        (
            TRIED,
            'kept, before = a.asnumpy(), b.asnumpy()\n'
            '    a[()] = onp.nan_to_num(2 * kept + 1, nan=0)\n'
            '    changed = not onp.array_equal(\n'
            '        b.asnumpy(), before, equal_nan=True)\n'
            '    a[()] = np.array(kept, dtype=kept.dtype)\n',
        ),
        (
            TRIED,
            'kept, found = a.copy(), []\n'
            '    for value in (2, 3):\n'
            '        a[()] = value\n'
            '        found.append(b.tolist())\n'
            '    changed = str(found[0]) != str(found[1])\n'
            '    a[()] = kept\n',
        ),
    ],
]
