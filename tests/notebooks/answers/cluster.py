"""Answers to the exercises of 19_cluster, right and wrong, in order."""

BOTH = 'return B, m * B / n'
SERVER = 'max(B, m * B / n)'
RING = '2 * (m - 1) / m * B * beta'

WRONG = [
    [
        (BOTH, 'return d * B, m * B / n', 'what is left'),
        (BOTH, 'return B / n, m * B / n', 'what is left'),
        (BOTH, 'return 2 * B, 2 * m * B / n', 'what is left'),
        (BOTH, 'return m * B / n, B', 'what is left'),
        (BOTH, 'return 8, 8', 'a server receives'),
        ('m * B / n', 'm * B', 'who pushes'),
        ('m * B / n', 'B / n', 'who pushes'),
        ('m * B / n', 'm * d * B / n', 'who pushes'),
        ('m * B / n', 'm * B // n', 'who pushes'),
        (BOTH, 'return B', 'two numbers'),
        (BOTH, 'return B, None', 'two numbers'),
        (BOTH, 'return str(B), str(m * B / n)', 'two numbers'),
        ('m * B / n', 'B * max(m / n, 0.5)', 'who pushes'),
        ('B, m * B / n', '(size for size in (B, m * B / n))', 'two numbers'),
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
        (BOTH, 'return [B, B * (m / n)]'),
        (BOTH, 'return (B, m * B / n) if m > 1 else (0, 0)'),
        (BOTH, NUMPY + 'onp.array([B, m * B / n])'),
        (BOTH, MXNET + 'np.array([B, m * B / n])'),
        (BOTH, NUMPY + '(onp.float32(B), onp.float32(m * B / n))'),
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
