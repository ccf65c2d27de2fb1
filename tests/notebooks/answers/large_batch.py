"""Answers to the exercises of 11_large_batch, right and wrong, in order."""

SECONDS = 'b / (k * speed)'
FACTOR = 'return k  # lr·k/b against lr·k/(k·b)'

WRONG = [
    [
        (SECONDS, 'b / speed', 'should be'),  # k ignored
        (SECONDS, 'b / (k * speed) + fixed', 'should be'),  # twice
        (SECONDS, 'k * b / speed', 'should be'),  # serial
        (SECONDS, 'b // (k * speed)', 'should be'),
        (SECONDS, 'b // k / speed', 'should be 1.0'),
        (SECONDS, '-(-b // k) / speed', 'should be 1.0'),
        (SECONDS, 'b / (min(k, 2) * speed)', 'should be 1.0'),
        (SECONDS, 'round(b / k) / speed', 'should be'),
        ('fixed + b', 'b', 'should be'),
        (
            'steps * (fixed + b / (k * speed))',
            'steps * b / (k * speed) + fixed',
            'every step',
        ),
        ('steps * (fixed', '(fixed', 'should be'),
        (
            'steps * (fixed + b / (k * speed))',
            'steps * (fixed + b / speed) / k',
            'should be',
        ),
        ('steps * (fixed', '(steps - 1) * (fixed', 'should be'),
        (
            'def seconds_to(steps, b, k, fixed, speed):\n    return 10',
            'should be 2',
        ),
        (
            'steps * (fixed + b / (k * speed))',
            'round(steps * (fixed + b / (k * speed)), 2)',
            'should be 0.0329',
        ),
        (
            'steps * (fixed + b / (k * speed))',
            'steps * round(fixed + b / (k * speed), 4)',
            'should be',
        ),
        (
            "def seconds_to(steps, b, k, fixed, speed):\n    return '10'",
            "should be 10, not '10'",
        ),
    ],
    [
        (FACTOR, 'return k ** 2', 'k = 2 it'),
        (FACTOR, 'return 1', 'k = 2 it'),
        (FACTOR, 'return 1 / k', 'k = 2 it'),
        (FACTOR, 'return k ** 0.5', 'k = 2 it'),
        (FACTOR, 'return k - 1', 'k = 1 it'),
        (FACTOR, 'return min(k, 8)', 'k = 16 it'),
        (FACTOR, 'return 8', 'k = 1 it'),
        (FACTOR, 'return 2 ** (k.bit_length() - 1)', 'k = 3 it'),
        (FACTOR, 'return str(k)', "is not '1'"),
        (FACTOR, 'return [k]', 'k = 1 it'),
    ],
    [
        ('min(1, step / num_steps)', 'step / num_steps', r'\(80, 0.4, 50\)'),
        (' / 2', '', r'\(0, 0.4, 50\)'),
        ('onp.cos', 'onp.sin', 'should be 0.4'),
        ('onp.pi *', '180 *', 'should be 0.36'),
        ('step / num_steps', 'step / 50', r'\(2, 3, 6\)'),
        ('return lr *', 'return 0.4 *', r'\(2, 3, 6\)'),
        ('step / num_steps', '(step + 1) / num_steps', 'should be 0.4'),
        (
            'onp.cos(onp.pi * min(1, step / num_steps))',
            '1 - 2 * min(1, step / num_steps)',
            'should be 0.36',
        ),
        (
            '    return lr',
            '    if step > num_steps:\n        return\n    return lr',
            r'\(80, 0.4, 50\)',
        ),
        (
            'def cosine_decay(step, lr, num_steps):\n    return 0.4',
            'should be 0.36',
        ),
        (
            'min(1, step / num_steps)',
            'step / num_steps if step < num_steps - 1 else 1',
            'should be',
        ),
        (
            'return lr * (1 + onp.cos(onp.pi * min(1, step / num_steps))) / 2',
            'return round(\n'
            '        lr * (1 + onp.cos(onp.pi * min(1, step / num_steps))) / 2, 4)',
            'should be',
        ),
        ('onp.pi *', '3.14 *', 'should be'),
        ('onp.pi *', '3.14159 *', 'should be'),
        ('return lr * (1', 'return 1e-4 + lr * (1', 'should be'),
    ],
]

RIGHT = [
    [
        (SECONDS, 'b / k / speed'),
        'def seconds_to(steps, b, k, fixed, speed):\n    from decimal import Decimal\n    return steps * (Decimal(fixed) + Decimal(b) / (k * speed))',
        (
            'return steps * (fixed + b / (k * speed))',
            'return onp.float32(steps * (fixed + b / (k * speed)))',
        ),
        (
            'return steps * (fixed + b / (k * speed))',
            'return onp.array(steps * fixed + steps * b / (k * speed))',
        ),
        'def seconds_to(steps, b, k, fixed, speed):\n    return mx.np.array(steps * (fixed + b / (k * speed)))',
        'def seconds_to(steps, b, k, fixed, speed):\n    return sum(fixed + b / k / speed for _ in range(steps))',
    ],
    [
        (FACTOR, 'return float(k)'),
        (FACTOR, 'return onp.float32(k)'),
        (FACTOR, 'return onp.int64(k)'),
        (FACTOR, 'return mx.np.array(k)'),
        (FACTOR, 'return (0.1 * k / 32) / (0.1 * k / (k * 32))'),
    ],
    [
        'def cosine_decay(step, lr, num_steps):\n    import math\n    return lr * math.cos(math.pi / 2 * min(1, step / num_steps)) ** 2',
        (
            'return lr * (1 + onp.cos(onp.pi * min(1, step / num_steps))) / 2',
            'return onp.float32(lr * (1 + onp.cos(onp.pi * min(1, step / num_steps))) / 2)',
        ),
        'def cosine_decay(step, lr, num_steps):\n    if step >= num_steps:\n        return 0\n    return lr / 2 + lr / 2 * onp.cos(onp.pi * step / num_steps)',
        'def cosine_decay(step, lr, num_steps):\n    return mx.np.array(lr / 2 * (1 + onp.cos(onp.pi * min(step, num_steps) / num_steps)))',
    ],
]

# What other readers wrote.
WRONG[2] += [
    (
        """def cosine_decay(step, lr, num_steps):
    if step > num_steps + 1:
        return 0
    return lr * (1 + onp.cos(onp.pi * step / num_steps)) / 2
""",
        r'\(7, 3, 6\) should be 0',
    ),
]
