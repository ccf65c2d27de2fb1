"""Answers to the exercises of 02_network, right and wrong, in order."""

SIZES = '[4 * (W.size + b.size) for W, b in zip(params[::2], params[1::2])]'
SHIFT = 'y_hat = y_hat - y_hat.max(axis=1, keepdims=True)'
RESULT = 'np.log(np.exp(y_hat).sum(axis=1)) - npx.pick(y_hat, y)'

WRONG = [
    [
        ('4 * (W.size + b.size)', 'W.size + b.size', '4 bytes'),
        ('4 * (W.size + b.size)', '4 * W.size', '4 bytes'),
        ('4 * (W.size + b.size)', '[4 * W.size, 4 * b.size]', 'per layer'),
        ('zip(params[::2], params[1::2])', 'zip(params, params)', '4 layers'),
        (SIZES, '[800, 100200, 410112, 5160]', '2 layers'),
        (SIZES, f'sorted({SIZES})', 'not layers'),
        (SIZES, f'{SIZES}[::-1]', 'not layers'),
        (SIZES, f'sum({SIZES})', 'return a list'),
        (SIZES, f'dict(zip("abcd", {SIZES}))', 'numbers of bytes|not 4|2 l'),
        (SIZES, f'[0] * (len(params) // 2 - 1) + [sum({SIZES})]', 'not layer'),
    ],
    [
        (SHIFT, 'pass', 'not finite'),
        ('.sum(axis=1)', '.sum()', 'expected the cross-entropy'),
        (RESULT, f'({RESULT}).mean()', 'one loss per example'),
        (RESULT, 'loss(y_hat, y)', 'without log_softmax'),
        (
            '- npx.pick(y_hat, y)',
            '- y_hat[:, 3]',
            'expected the cross-entropy',
        ),
        (
            SHIFT,
            'y_hat -= y_hat.max(axis=1, keepdims=True)',
            'y_hat was changed',
        ),
        (RESULT, f'-({RESULT})', 'expected the cross-entropy'),
        (
            SHIFT,
            'y_hat = y_hat / abs(y_hat).max()',
            'expected the cross-entropy',
        ),
        (
            RESULT,
            '-np.log(npx.pick(np.exp(y_hat), y) / np.exp(y_hat).sum(axis=1))',
            'logarithm of 0',
        ),
        (
            RESULT,
            '-np.log(npx.pick(np.exp(y_hat), y) / np.exp(y_hat).sum(axis=1)'
            ' + 1e-9)',
            'expected the cross-entropy',
        ),
        (RESULT, f'({RESULT}).asnumpy()', 'an MXNet array, not'),
        (
            RESULT,
            'np.array([onp.log(onp.exp(row).sum()) - row[int(label)]'
            ' for row, label in zip(y_hat.asnumpy(), y)], dtype="float64")',
            'has no gradient',
        ),
        (RESULT, f'({RESULT}).detach()', 'has no gradient'),
        (
            RESULT,
            'np.log(np.exp(y_hat).sum(axis=1)) - npx.pick(y_hat.detach(), y)',
            'the gradient is wrong',
        ),
        (
            'y_hat.max(axis=1, keepdims=True)',
            'np.maximum(y_hat.max(axis=1, keepdims=True), 0)',
            'not finite',
        ),
    ],
    [
        ('n - size + 1', 'n - size', '28 pixels'),
        ('n - size + 1', 'n - 2', 'pixels through'),
        ('n - size + 1', 'n - size // 2 * 2', 'pixels through'),
        ('n // size', 'n / size', 'half a pixel is none'),
        ('n // size', '-(-n // size)', 'half a pixel is none'),
        ('for kind, size in layers', 'for kind, size in layers[:2]', 'pixels'),
        ('in layers:', 'in layers[::-1]:', 'pixels through'),
        ('return n\n', 'return 4\n', 'pixels through'),
        ('return n\n', 'return n * n\n', 'pixels through'),
    ],
]

RIGHT = [
    [
        (SIZES, f'tuple({SIZES})'),
        (SIZES, f'onp.array({SIZES})'),
        (SIZES, f'[float(size) for size in {SIZES}]'),
        (
            SIZES,
            '[sum(p.asnumpy().nbytes for p in params[i:i + 2])'
            ' for i in range(0, len(params), 2)]',
        ),
    ],
    [
        (
            RESULT,
            'np.log(np.exp(y_hat).sum(axis=1)) - '
            '(y_hat * npx.one_hot(y, 10)).sum(axis=1)',
        ),
        (SHIFT, 'y_hat = y_hat - np.max(y_hat, axis=1).reshape(-1, 1)'),
        (
            RESULT,
            'np.log(np.exp(y_hat).sum(axis=1)) - y_hat[\n'
            '        np.arange(len(y), dtype=y.dtype), y]',
        ),
    ],
    [
        ('n // size', 'int(n / size)'),
        ('return n\n', 'return onp.int64(n)\n'),
        ('return n\n', 'return float(n)\n'),
        (
            'n = n - size + 1 if kind',
            'n = len(range(n - size + 1)) if kind',
        ),
        ('n // size', 'n // 2'),
    ],
]
