"""Answers to the exercises of 19_cluster, right and wrong, in order."""

SERVER = 'max(B, m * B / n)'
RING = '2 * (m - 1) / m * B * beta'

INSIDE = '    allreduce(data)\n'
EXCHANGE = '    exchange(total, comm)\n'
BACK = """    for array in data:
        np.array(total, dtype=total.dtype).copyto(array)
"""
BODY = f"""{INSIDE}    total = data[0].asnumpy()
{EXCHANGE}{BACK}"""

WRONG = [
    [
        (INSIDE, '', 'sum inside first'),
        (EXCHANGE, '', 'rank 0 exchanged nothing'),
        (BACK, '    return total\n', 'in the arrays of the caller'),
        (BACK, '    data[:] = [np.array(total)] * len(data)\n', 'caller'),
        (
            BACK,
            '    np.array(total, dtype=total.dtype).copyto(data[0])\n',
            'device 1 has 3.0',
        ),
        (
            BODY,
            """    for array in data:
        total = array.asnumpy()
        exchange(total, comm)
        np.array(total, dtype=total.dtype).copyto(array)
    allreduce(data)
""",
            '2 exchanges: what can be summed before',
        ),
        (
            BODY,
            """    total = data[0].asnumpy()
    exchange(total, comm)
    np.array(total, dtype=total.dtype).copyto(data[0])
    for array in data[1:]:
        data[0].copyto(array)
""",
            'sum inside first',
        ),
        (
            BODY,
            """    total = data[0].asnumpy()
    exchange(total, comm)
    np.array(total, dtype=total.dtype).copyto(data[0])
    allreduce(data)
""",
            'sum inside first',
        ),
        (
            EXCHANGE,
            '    comm.Iallreduce(total.copy(), total)\n',
            'device 0 has',
        ),
        (
            EXCHANGE,
            '    if comm.rank == 0:\n        exchange(total, comm)\n',
            'rank 1 exchanged nothing',
        ),
        (
            EXCHANGE + BACK,
            '    exchange(total, comm)\n    for array in data:\n'
            '        array += 10\n',
            'device 0 has 11, not 21',
        ),
        ('dtype=total.dtype', "dtype='float32'", 'in their dtype'),
        (EXCHANGE, '    comm.Allreduce(total)\n', 'let `exchange` call MPI'),
        (
            EXCHANGE,
            '    exchange(total, comm)\n    total *= len(data)\n',
            'each number count once',
        ),
    ],
    [
        ('sorted(arrivals)', 'arrivals', 'in which order'),
        ('sorted(arrivals)', 'sorted(arrivals)[::-1]', 'in which order'),
        (
            'sorted(arrivals)',
            'sorted(arrivals, key=lambda pair: pair[1])',
            'in which order',
        ),
        (
            'sorted(arrivals)',
            'sorted(arrivals, key=lambda pair: str(pair[0]))',
            '40 numbers, should give 0.0, not 18.0',
        ),  # 10 before 2
        (
            'return total',
            "return onp.array([x for _, x in sorted(arrivals)], 'float32')"
            '.sum()',
            'in which order',
        ),
        (
            'total + onp.float32(number)',
            'float(total) + number',
            'which precision',
        ),
        (
            'total = onp.float32(0)',
            'total = onp.float64(0)',
            'which precision',
        ),
        ('return total', 'return None', 'return a number'),
        ('return total', 'return str(total)', 'return a number'),
        ('return total', 'return -1', 'should give'),
        ('return total', 'return [total]', 'return a number'),
        ('return total', 'arrivals.sort(); return total', 'as it is'),
    ],
    [
        (SERVER, 'm * B / n', 'which link'),
        (SERVER, 'B', 'which link'),
        (SERVER, 'min(B, m * B / n)', 'which link'),
        (SERVER, '(B + m * B / n)', 'which link'),
        (SERVER, 'max(B, m * B)', 'which link'),
        (SERVER, 'max(B, m * B // n)', 'which link'),
        ('2 * max(', 'max(', 'how often'),
        (
            f'{SERVER} * beta',
            f'{SERVER} / beta',
            'which link',
        ),
        (RING, '2 * (m - 1) * B * beta', 'how large'),
        (RING, '(m - 1) / m * B * beta', 'how many steps'),
        (RING, '2 * B * beta', 'how many steps'),
        (RING, '2 * m / (m + 1) * B * beta', 'how many'),
        (RING, 'None', 'two numbers'),
        (RING, f'str({RING})', 'two numbers'),
        (
            'def step_seconds(m, n, B, beta):\n'
            '    return (seconds for seconds in (1, 2))\n',
            'two numbers',
        ),
    ],
]

NUMPY = 'import numpy as onp\n    return '
MXNET = 'from mxnet import np\n    return '

RIGHT = [
    [
        (
            BACK,
            """    for array in data:
        array[:] = np.array(total, dtype=total.dtype, ctx=array.ctx)
""",
        ),
        (
            BACK,
            """    np.array(total, dtype=total.dtype).copyto(data[0])
    for array in data[1:]:
        data[0].copyto(array)
""",
        ),
        (
            BODY,
            """    total = sum(array.asnumpy() for array in data)
    exchange(total, comm)
    for array in data:
        np.array(total, dtype=total.dtype).copyto(array)
""",
        ),
    ],
    [
        ('return total', 'return float(total)'),
        ('return total', MXNET + 'np.array(float(total))'),
        (
            'sorted(arrivals)',
            'sorted(arrivals, key=lambda pair: pair[0])',
        ),
        (
            'onp.float32(0)',
            "onp.cumsum([x for _, x in sorted(arrivals)], dtype='float32')[-1]"
            '; arrivals = []',
        ),
    ],
    [
        (SERVER, 'B * max(1, m / n)'),
        (f'return 2 * {SERVER}', f'return (m > 1) * 2 * {SERVER}'),
        (RING, 'sum(B / m * beta for _ in range(2 * (m - 1)))'),
        (f'return 2 * {SERVER}', NUMPY + '2 * onp.maximum(B, m * B / n)'),
        (
            f'return 2 * {SERVER} * beta, {RING}',
            MXNET + f'np.array([2 * {SERVER} * beta, {RING}])',
        ),
    ],
]
