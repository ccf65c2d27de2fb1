"""Answers to the exercises of 04_data, right and wrong, in order."""

TIMES = 'max(size / speed for size, speed in zip(sizes, speeds))'
TOTAL = 'sum(correct) / sum(sizes)'

SPLIT_WRONG = [
    (
        """def split_and_load(data, devices):
    n, k = len(data), len(devices)
    size = n // k
    return [data[i * size:(i + 1) * size].copyto(devices[i])
            for i in range(k)]
""",
        'are lost',
    ),
    (
        """def split_and_load(data, devices):
    n, k = len(data), len(devices)
    size = -(-n // k)
    return [data[i * size:(i + 1) * size].copyto(devices[i])
            for i in range(k)]
""",
        'the longer shards come first|longest shard|a device has nothing',
    ),
    (
        """def split_and_load(data, devices):
    n, k = len(data), len(devices)
    size = n // k
    ends = [i * size for i in range(k)] + [n]
    return [data[a:b].copyto(device)
            for a, b, device in zip(ends, ends[1:], devices)]
""",
        'the longer shards come first|longest shard',
    ),
    (
        """def split_and_load(data, devices):
    return [data[rows].as_in_ctx(device) for rows, device
            in zip(split_slices(len(data), len(devices)), devices)]
""",
        'a slice is a view',
    ),
    (
        """def split_and_load(data, devices):
    return [data[rows] for rows in split_slices(len(data), len(devices))]
""",
        'shard 1 lives on cpu.0.',
    ),
    (
        """def split_and_load(data, devices):
    return [data[rows].copy() for rows
            in split_slices(len(data), len(devices))]
""",
        'shard 1 lives on cpu.0.',
    ),
    (
        """def split_and_load(data, devices):
    return [data.copyto(device) for device in devices]
""",
        'is there twice',
    ),
    (
        """def split_and_load(data, devices):
    k = len(devices)
    return [data.copyto(mx.cpu(0))[i::k].copyto(device)
            for i, device in enumerate(devices)]
""",
        'keep the order',
    ),
    (
        """def split_and_load(data, devices):
    return [data[rows].copyto(devices[0]) for rows
            in split_slices(len(data), len(devices))]
""",
        'shard 1 lives on cpu.0.',
    ),
    (
        """def split_and_load(data, devices):
    slices = split_slices(len(data), len(devices))[::-1]
    return [data[rows].copyto(device)
            for rows, device in zip(slices, devices)]
""",
        'keep the order',
    ),
    (
        """def split_and_load(data, devices):
    return [data[rows].asnumpy() for rows
            in split_slices(len(data), len(devices))]
""",
        'an array of MXNet',
    ),
    (
        """def split_and_load(data, devices):
    rows = split_slices(len(data), len(devices))[0]
    return [data[rows].copyto(devices[0])]
""",
        'a list of 2 shards',
    ),
    (
        """def split_and_load(data, devices):
    return [np.array(data[rows].asnumpy(), dtype='float32', ctx=device)
            for rows, device
            in zip(split_slices(len(data), len(devices)), devices)]
""",
        'shard 0 .*float32',
    ),
    (
        """def split_and_load(data, devices):
    for rows, device in zip(split_slices(len(data), len(devices)), devices):
        shard = data[rows].copyto(device)
    return shard
""",
        'a list of 2 shards',
    ),
    (
        """def split_and_load(data, devices):
    n, k = len(data), len(devices)
    ends = [round(i * n / k) for i in range(k + 1)]
    return [data[a:b].copyto(device)
            for a, b, device in zip(ends, ends[1:], devices)]
""",
        'the longer shards come first',
    ),
    (
        """def split_and_load(data, devices):
    return (data[rows].copyto(device) for rows, device
            in zip(split_slices(len(data), len(devices)), devices))
""",
        'a list of 2 shards',
    ),
]
SPLIT_RIGHT = [
    """def split_and_load(data, devices):
    shards = []
    for rows, device in zip(split_slices(len(data), len(devices)), devices):
        shards.append(data[rows].copyto(device))
    return shards
""",
    """def split_and_load(data, devices):
    n, k = len(data), len(devices)
    size, longer = divmod(n, k)
    shards, start = [], 0
    for i, device in enumerate(devices):
        end = start + size + (i < longer)
        shards.append(data[start:end].copyto(device))
        start = end
    return shards
""",
    """def split_and_load(data, devices):
    return [data[rows].copy().as_in_ctx(device) for rows, device
            in zip(split_slices(len(data), len(devices)), devices)]
""",
    """def split_and_load(data, devices):
    parts = onp.array_split(data.asnumpy(), len(devices))
    return [np.array(part, dtype=part.dtype, ctx=device)
            for part, device in zip(parts, devices)]
""",
    """def split_and_load(data, devices):
    from mxnet import gluon
    return [shard.copy() for shard in gluon.utils.split_and_load(
        data, devices, even_split=False)]
""",
    """def split_and_load(data, devices):
    slices = split_slices(len(data), len(devices))
    return tuple(map(lambda rows, device: data[rows].copyto(device),
                     slices, devices))
""",
    """def split_and_load(data, devices):
    if len(devices) == 1:
        return [data.copyto(devices[0])]
    first = -(-len(data) // len(devices))
    return [data[:first].copyto(devices[0]),
            *split_and_load(data[first:], devices[1:])]
""",
    """def split_and_load(data, devices):
    shards = []
    for rows, device in zip(split_slices(len(data), len(devices)), devices):
        shard = np.empty(data[rows].shape, dtype=data.dtype, ctx=device)
        data[rows].copyto(shard)
        shards.append(shard)
    return shards
""",
    """def split_and_load(data, devices):
    data = data.copy()
    return [data[rows].copyto(device) for rows, device
            in zip(split_slices(len(data), len(devices)), devices)]
""",
    """def split_and_load(data, devices):
    n, k = len(data), len(devices)
    ends = [-(-i * n // k) for i in range(k + 1)]
    sizes = sorted([b - a for a, b in zip(ends, ends[1:])], reverse=True)
    shards = []
    for size, device in zip(sizes, devices):
        start = sum(map(len, shards))
        shards.append(data[start:start + size].copyto(device))
    return shards
""",
    """def split_and_load(data, devices):
    slices = split_slices(len(data), len(devices))
    shards = {}
    for i in range(len(devices)):
        shards[i] = data[slices[i]].copyto(devices[i])
    return list(shards.values())
""",
    """def split_and_load(data, devices):
    def load(rows, device):
        return data[rows.start:rows.stop].copyto(device)
    return [load(rows, device) for rows, device
            in zip(split_slices(len(data), len(devices)), devices)]
""",
]

WRONG = [
    SPLIT_WRONG,
    [
        ('max(size', 'min(size', 'the last is done after'),
        ('max(size', 'sum(size', 'the last is done after'),
        (TIMES, 'sum(sizes) / sum(speeds)', 'the last is done after'),
        (
            TIMES,
            'sizes[speeds.index(min(speeds))] / min(speeds)',
            'the last is done after',
        ),
        (TIMES, 'max(sizes) / max(speeds)', 'the last is done after'),
        (TIMES, 'max(sizes) / min(speeds)', 'the last is done after'),
        (
            TIMES,
            'sum(n / v for n, v in zip(sizes, speeds)) / len(sizes)',
            'the last is done after',
        ),
        ('size / speed', 'size * speed', 'the last is done after'),
        (TIMES, '1.5', 'the last is done after'),
        (
            TIMES,
            'max(sizes[0] / speeds[0], sizes[-1] / speeds[-1])',
            'the last is done after',
        ),
        (TIMES, f'[{TIMES}]', 'return a number of seconds'),
        (
            TIMES,
            'max(sizes[i] / speeds[i] for i in ('
            'sizes.index(max(sizes)), speeds.index(min(speeds))))',
            'the last is done after',
        ),
        ('size / speed for', 'round(size / speed, 3) for', 'the last'),
    ],
    [
        (
            TOTAL,
            'sum(c / s for c, s in zip(correct, sizes)) / len(sizes)',
            'every example counts',
        ),
        (TOTAL, 'sum(correct) / len(sizes)', 'every example counts'),
        (
            TOTAL,
            'sum(correct) / (len(sizes) * sizes[0])',
            'every example counts',
        ),
        (TOTAL, 'correct[0] / sizes[0]', 'every example counts'),
        (
            TOTAL,
            'max(c / s for c, s in zip(correct, sizes))',
            'every example counts',
        ),
        (TOTAL, 'sum(sizes) / max(1, sum(correct))', 'every example counts'),
        (TOTAL, '0.5', 'every example counts'),
        (TOTAL, f'100 * {TOTAL}', 'every example counts'),
        (TOTAL, f'f"{{{TOTAL}}}"', 'a number'),
        (TOTAL, f'round({TOTAL}, 4)', 'every example'),
    ],
]

ACCURACY = 'def epoch_accuracy(correct, sizes):\n    import numpy as onp\n'

RIGHT = [
    SPLIT_RIGHT,
    [
        'def step_time(sizes, speeds):\n'
        '    from mxnet import np\n'
        '    return (np.array(sizes) / np.array(speeds)).max()',
        (TIMES, f'int({TIMES}) if {TIMES} % 1 == 0 else {TIMES}'),
        'def step_time(sizes, speeds):\n'
        '    import numpy as onp\n'
        '    return (onp.float32(sizes) / onp.float32(speeds)).max()',
    ],
    [
        (
            TOTAL,
            'sum(c / s * s for c, s in zip(correct, sizes)) / sum(sizes)',
        ),
        ACCURACY + '    return onp.sum(correct) / onp.sum(sizes)',
        ACCURACY + '    return onp.float32(sum(correct) / sum(sizes))',
        ACCURACY + '    rates = onp.array(correct) / sizes\n'
        '    return onp.average(rates, weights=sizes)',
    ],
]
