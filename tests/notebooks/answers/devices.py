"""Answers to the exercises of 01_devices, right and wrong, in order."""

HEAD = 'def layers_seconds(k):\n'
INPUTS = (
    '    args = [[np.ones(shape, ctx=mx.cpu(i)) * 0.01 for shape in shapes]\n'
    '            for i in range(k)]\n'
)
CLOCK = '    npx.waitall()\n    start = time.perf_counter()\n'
MEASURED = 'median_seconds(lambda: [twenty_layers(*arg) for arg in args])'

SERIAL = (  # each device needs the result of the one before
    HEAD
    + INPUTS
    + '    def work():\n'
    + '        y = args[0][0]\n'
    + '        for x, W, b in args:\n'
    + '            y = twenty_layers(x + 0 * y.copyto(x.ctx), W, b)\n'
    + '    return median_seconds(work)'
)

SLICES_WRONG = [
    (
        """def split_slices(n, k):
    size = n // k
    return [slice(i * size, (i + 1) * size) for i in range(k)]
""",
        'are lost',
    ),
    (
        """def split_slices(n, k):
    size = -(-n // k)
    return [slice(i * size, (i + 1) * size) for i in range(k)]
""",
        'All wait for the longest part|the longer parts',
    ),
    (
        """def split_slices(n, k):
    size = n // k
    ends = [i * size for i in range(k)] + [n]
    return [slice(a, b) for a, b in zip(ends, ends[1:])]
""",
        'the longer parts come first|All wait',
    ),
    (
        """def split_slices(n, k):
    return [slice(i * n // k, (i + 1) * n // k) for i in range(k)]
""",
        'the longer parts come first',
    ),
    (
        """def split_slices(n, k):
    return [slice(i, n, k) for i in range(k)]
""",
        'keep the order',
    ),
    (
        """def split_slices(n, k):
    size, longer = divmod(n, k)
    return [slice(i * size, (i + 1) * size + (i < longer)) for i in range(k)]
""",
        'are lost',
    ),
    (
        """def split_slices(n, k):
    size, longer = divmod(n, k)
    starts = [i * size + min(i, longer) for i in range(k + 1)]
    return list(zip(starts, starts[1:]))
""",
        'a list of slices',
    ),
    (
        """def split_slices(n, k):
    size, longer = divmod(n, k)
    return [size + (i < longer) for i in range(k)]
""",
        'a list of slices',
    ),
    (
        """def split_slices(n, k):
    size, longer = divmod(n, k)
    starts = [i * size + min(i, longer) for i in range(k + 1)]
    parts = [slice(a, b) for a, b in zip(starts, starts[1:])]
    return parts[::-1]
""",
        'keep the order',
    ),
    (
        """def split_slices(n, k):
    size, longer = divmod(n, k)
    starts = [i * size + min(i, longer) for i in range(k + 1)]
    return [slice(a, b - 1) for a, b in zip(starts, starts[1:])]
""",
        'are lost',
    ),
    (
        """def split_slices(n, k):
    size, longer = divmod(n, k)
    starts = [i * size + min(i, longer) for i in range(k + 1)]
    return [slice(a, b) for a, b in zip(starts, starts[1:]) if a < b]
""",
        '5 parts, not 3',
    ),
    (
        """def split_slices(n, k):
    return [slice(0, n)] * k
""",
        'are in two parts',
    ),
    (
        """def split_slices(n, k):
    return [slice(0, n)] + [slice(n, n)] * (k - 1)
""",
        'All wait for the longest',
    ),
    (
        """def split_slices(n, k):
    return (slice(i, i + 1) for i in range(k))
""",
        'a list of slices',
    ),
    (
        """def split_slices(n, k):
    return [list(range(n))[i::k] for i in range(k)]
""",
        'a list of slices',
    ),
]
SLICES_RIGHT = [
    """def split_slices(n, k):
    size, longer = divmod(n, k)
    parts, start = [], 0
    for i in range(k):
        end = start + size + (1 if i < longer else 0)
        parts.append(slice(start, end))
        start = end
    return parts
""",
    """def split_slices(n, k):
    size, longer = n // k, n % k
    long = [slice(i * (size + 1), (i + 1) * (size + 1))
            for i in range(longer)]
    begin = longer * (size + 1)
    short = [slice(begin + i * size, begin + (i + 1) * size)
             for i in range(k - longer)]
    return long + short
""",
    """def split_slices(n, k):
    if k == 1:
        return [slice(0, n)]
    first = -(-n // k)
    rest = split_slices(n - first, k - 1)
    return [slice(0, first)] + [
        slice(part.start + first, part.stop + first) for part in rest]
""",
    """def split_slices(n, k):
    lengths = [len(part) for part in onp.array_split(onp.arange(n), k)]
    ends = onp.cumsum([0] + lengths)
    return [slice(int(a), int(b)) for a, b in zip(ends, ends[1:])]
""",
    """def split_slices(n, k):
    parts = []
    while k:
        done = parts[-1].stop if parts else 0
        size = -(-(n - done) // k)
        parts.append(slice(done, done + size))
        k -= 1
    return parts
""",
    """def split_slices(n, k):
    sizes = [0] * k
    for item in range(n):
        sizes[item % k] += 1
    return [slice(sum(sizes[:i]), sum(sizes[:i + 1])) for i in range(k)]
""",
    """def split_slices(n, k):
    from itertools import accumulate
    size, longer = divmod(n, k)
    ends = list(accumulate([size + 1] * longer + [size] * (k - longer)))
    return [slice(end - (size + (i < longer)), end)
            for i, end in enumerate(ends)]
""",
    """def split_slices(n, k):
    def start(i):
        return i * (n // k) + min(i, n % k)
    return [slice(start(i), start(i + 1)) for i in range(k)]
""",
    """def split_slices(n, k):
    size, longer = divmod(n, k)
    return tuple(slice(i * size + min(i, longer),
                       (i + 1) * size + min(i + 1, longer))
                 for i in range(k))
""",
    """def split_slices(n, k):
    sizes = sorted([(i + 1) * n // k - i * n // k for i in range(k)],
                   reverse=True)
    parts, start = [], 0
    for size in sizes:
        parts.append(slice(start, start + size, 1))
        start += size
    return parts
""",
    """def split_slices(n, k):
    starts = [sum(-(-(n - j) // k) for j in range(i)) for i in range(k + 1)]
    return [slice(a, b) for a, b in zip(starts, starts[1:])]
""",
    """def split_slices(n, k):
    step, rest = divmod(n, k)
    edges = [0]
    for i in range(k):
        edges.append(edges[-1] + step)
        if i < rest:
            edges[-1] += 1
    return list(map(slice, edges[:-1], edges[1:]))
""",
]

WRONG = [
    SLICES_WRONG,
    [
        (HEAD + '    return 1.0', '0 calls'),
        (MEASURED, f'{MEASURED} * 0 + 1000', 'but a round took'),
        (MEASURED, f'k * {MEASURED} / 50', 'but a round took'),
        (
            HEAD
            + INPUTS
            + CLOCK
            + '    for _ in range(9):\n'
            + '        [twenty_layers(*arg) for arg in args]\n'
            + '    return (time.perf_counter() - start) / 9',
            'before you read the clock',
        ),
        (  # five rounds, and no part of them
            HEAD
            + INPUTS
            + CLOCK
            + '    for _ in range(5):\n'
            + '        [twenty_layers(*arg) for arg in args]\n'
            + '    npx.waitall()\n'
            + '    return time.perf_counter() - start',
            'but a round took',
        ),
        (MEASURED, f'str({MEASURED})', 'return a number of seconds'),
        (MEASURED, f'{MEASURED} / k', 'but a round took'),
        (SERIAL, 'result of another|make the inputs once'),
        (
            SERIAL.replace('b in args', 'b in args[::-1]'),
            'another|inputs once',
        ),
        ('range(k)', 'range(1)', 'start the work of all 3 devices'),
        (
            'for shape in shapes]',
            'for shape in ((shapes[0][0] // 2, shapes[0][1]), *shapes[1:])]',
            'expected x, W, b',
        ),
        (  # strong scaling
            'for shape in shapes]',
            'for shape in ((shapes[0][0] // k, shapes[0][1]), *shapes[1:])]',
            'expected x, W, b',
        ),
        (
            'ctx=mx.cpu(i))',
            "ctx=mx.cpu(i), dtype='float64')",
            'expected x, W, b',
        ),
        (
            HEAD
            + '    return median_seconds(lambda: [twenty_layers(*[\n'
            + '        np.ones(shape, ctx=mx.cpu(i)) * 0.01\n'
            + '        for shape in shapes]) for i in range(k)])',
            'make the inputs once',
        ),
        (
            MEASURED,
            'median_seconds(lambda: [\n'
            '        twenty_layers(*args[0]).wait_to_read(),\n'
            '        *[twenty_layers(*arg) for arg in args[1:]]])',
            'waits for another',
        ),
        ('ctx=mx.cpu(i)', 'ctx=mx.cpu(0)', 'start the work of all 3 devices'),
        (
            'ctx=mx.cpu(i)',
            'ctx=mx.cpu(i * (shape[0] == 256))',
            'start the work of all 3',
        ),
        (
            'twenty_layers(*arg) for',
            'twenty_layers(*arg).wait_to_read() for',
            'waits for another',
        ),
        (
            HEAD
            + INPUTS
            + CLOCK
            + '    [twenty_layers(*arg) for arg in args]\n'
            + '    return time.perf_counter() - start',
            'read the clock|waits for another|round took',
        ),
        (  # one run, and no wait before it
            HEAD
            + INPUTS
            + '    start = time.perf_counter()\n'
            + '    [twenty_layers(*arg) for arg in args]\n'
            + '    npx.waitall()\n'
            + '    return time.perf_counter() - start',
            'also before you start it',
        ),
        (
            HEAD
            + INPUTS
            + CLOCK
            + '    results = [twenty_layers(*arg) for arg in args]\n'
            + '    results[-1].wait_to_read()\n'
            + '    return time.perf_counter() - start',
            'before you read the clock',
        ),
    ],
    [
        (
            'def copy_batched(arrays, device):\n'
            '    return [x.copyto(device) for x in arrays]',
            'expected one copy between devices, by copyto or as_in_ctx, got 4',
        ),
        (
            'def copy_batched(arrays, device):\n'
            '    return [np.array(x.asnumpy(), ctx=device) for x in arrays]',
            'expected one copy between devices, by copyto or as_in_ctx, got 0',
        ),
        (  # from the first CPU device, where the arrays need not be
            'x.reshape(-1) for x',
            'x.reshape(-1).as_in_ctx(mx.cpu(0)) for x',
            'expected one copy between devices, by copyto or as_in_ctx, got 5',
        ),
        (
            'np.concatenate([x.reshape(-1) for x in arrays])',
            'np.array(onp.concatenate(\n'
            '        [x.asnumpy().ravel() for x in arrays]))',
            'sent from cpu.0., not cpu.1.',
        ),
        ('.copyto(device)', '', 'a copy lives on'),
        ('.copyto(device)', '.copyto(mx.cpu(2))', 'a copy lives on'),
        ('.copyto(device)', '.copyto(mx.cpu(1))', 'not cpu.2'),
        ('.reshape(x.shape)', '', r'expected shape \(2, 3\), got \(6,\)'),
        ('start += x.size', 'start += 1', 'values changed'),
        (
            'x.reshape(-1) for x in arrays',
            'x.reshape(-1) for x in arrays * 2',
            '13 numbers of 4',
        ),
        ('return parts', 'return parts[:-1]', 'as many arrays'),
        (
            'return parts',
            "return [part.astype('float64') for part in parts]",
            'expected float32, got float64',
        ),
        (
            'return parts',
            "return [part.astype('int32') for part in parts]",
            'expected float32, got int32',
        ),
        ('return parts', 'return joined', 'a list'),
        (
            'parts.append(joined[start:start + x.size].reshape(x.shape))',
            'parts.append(joined[start:start + x.size].reshape(x.shape)'
            '.asnumpy())',
            'an MXNet array',
        ),
    ],
]

RIGHT = [
    SLICES_RIGHT,
    [
        (
            HEAD
            + INPUTS
            + CLOCK
            + '    for _ in range(5):\n'
            + '        [twenty_layers(*arg) for arg in args]\n'
            + '    npx.waitall()\n'
            + '    return (time.perf_counter() - start) / 5',
        ),
        (MEASURED, f'onp.float32({MEASURED})'),
        ('ctx=mx.cpu(i)', 'ctx=mx.cpu(i + 1)'),
        HEAD
        + '    args = [[(np.ones(shape) * 0.01).as_in_ctx(device)\n'
        + '             for shape in shapes] for device in '
        + '[mx.cpu(i) for i in range(k)]]\n'
        + '    seconds = []\n'
        + '    for _ in range(2):\n'
        + CLOCK.replace('    ', '        ')
        + '        for x, W, b in args:\n'
        + '            twenty_layers(x, W=W, b=b)\n'
        + '        npx.waitall()\n'
        + '        seconds.append(time.perf_counter() - start)\n'
        + '    return min(seconds)',
        HEAD
        + INPUTS
        + '    twenty_layers(*args[0])  # warms up\n'
        + CLOCK
        + '    [twenty_layers(*arg) for arg in args]\n'
        + '    npx.waitall()\n'
        + '    return time.perf_counter() - start',
        HEAD
        + INPUTS
        + CLOCK
        + '    outputs = [twenty_layers(*arg) for arg in args]\n'
        + '    for output in outputs:\n'
        + '        output.wait_to_read()\n'
        + '    return time.perf_counter() - start',
    ],
    [
        ('.copyto(device)', '.as_in_ctx(device)'),
        'def copy_batched(arrays, device):\n'
        '    joined = np.concatenate([x.reshape(-1) for x in arrays])\n'
        '    ends = onp.cumsum([x.size for x in arrays])[:-1].tolist()\n'
        '    return [part.reshape(x.shape) for part, x in zip(\n'
        '        np.split(joined.copyto(device), ends), arrays)]',
        ('return parts', 'return tuple(parts)'),
        (
            'np.concatenate([x.reshape(-1) for x in arrays])',
            'np.concatenate([np.ravel(x) for x in arrays], axis=0)',
        ),
        'def copy_batched(arrays, device):\n'
        '    ends = onp.cumsum([x.size for x in arrays]).tolist()\n'
        '    joined = np.concatenate([x.flatten() for x in arrays])\n'
        '    there = np.empty(joined.shape, ctx=device)\n'
        '    there[:] = joined\n'
        '    return [there[end - x.size:end].reshape(x.shape).copy()\n'
        '            for x, end in zip(arrays, ends)]',
    ],
]
