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

WRONG = [
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
    [
        (
            'many = sum(latency + size / bandwidth for size in sizes)',
            'many = latency + sum(sizes) / bandwidth',
            'how often is the latency',
        ),
        (
            '(latency + sum(sizes) / bandwidth)',
            '(latency + max(sizes) / bandwidth)',
            'how many bytes are sent',
        ),
        ('return many / (', 'return many - (', 'how often'),
        ('return many', 'return len(sizes) or many', 'how often'),
        ('return many / (', 'return 1.2 or many / (', 'how often'),
        (
            'many = sum(latency + size / bandwidth for size in sizes)',
            'many = sum(latency + size * bandwidth for size in sizes)',
            'how often',
        ),
        ('sum(sizes) / bandwidth)', 'sizes[0] / bandwidth)', 'how often'),
        ('return many', 'return str(many) or many', 'a number'),
        (
            'many = sum(',
            'bandwidth = 1e6\n    many = sum(',
            'how often',
        ),
        (
            'many = sum(latency + size / bandwidth for size in sizes)',
            'many = sum(size / bandwidth for size in sizes)',
            'how often',
        ),
    ],
]

RIGHT = [
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
    [
        ('return many', 'return onp.float64(1) * many'),
        (
            'many = sum(latency + size / bandwidth for size in sizes)',
            'many = len(sizes) * latency + sum(sizes) / bandwidth',
        ),
        'def copy_speedup(sizes, latency, bandwidth):\n'
        '    times = latency + onp.array(sizes) / bandwidth\n'
        '    one = latency + onp.sum(sizes) / bandwidth\n'
        '    return np.array(times.sum() / one, dtype="float64")',
    ],
]
