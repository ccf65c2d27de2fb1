"""Answers to the exercises of 10_compression, right and wrong, in order."""

ONE_DIMENSION = """def compress(gradient, residual, threshold):
    sent, left = [], []
    for g, r in zip(gradient, residual):
        total = g + r
        value = int(total >= threshold) - int(total <= -threshold)
        sent.append(value * threshold)
        left.append(total - value * threshold)
    return sent, left
"""

WRONG = [
    [
        ('gradient + residual', 'gradient', 'all that there was to send'),
        ('total - sent', '0 * total', 'all that there was'),
        ('total - sent', 'gradient - sent', 'all that there was'),
        ('total - sent', 'residual', 'all that there was'),
        ('total - sent', 'sent - total', 'all that there was'),
        ('threshold * onp.sign(total)', 'total', 'or 0'),
        ('threshold * onp.sign', 'onp.sign', 'or 0'),
        ('onp.sign(total)', 'onp.sign(gradient)', 'MXNet sends'),
        ('threshold * onp.sign', 'threshold / onp.sign', 'or 0'),
        ('>= threshold', '> threshold', 'MXNet sends'),
        ('abs(total) >= threshold', 'total > threshold', 'MXNet sends'),
        ('abs(total) >= threshold', 'total == total', 'MXNet sends'),
        (
            'abs(total) >= threshold',
            'abs(gradient) > threshold',
            'MXNet sends',
        ),
        (
            'total = gradient + residual\n',
            'residual += gradient\n    total = residual\n',
            'arguments changed',
        ),
        ('return sent, total - sent', 'return sent', 'return two arrays'),
        (
            'def compress(gradient, residual, threshold):\n    return None\n',
            'return two arrays',
        ),
        ('(abs(total) >= threshold)', '(abs(total) >= 0.5)', 'MXNet sends'),
        (
            '(abs(total) >= threshold)',
            '(total**2 >= threshold / 2)',
            'MXNet sends',
        ),
        (ONE_DIMENSION, r'shape \(5, 8\), push 1: your answer raises'),
        (  # as the whole vector, not number by number
            'return sent, total - sent',
            'return sent.ravel(), (total - sent).ravel()',
            r'shape \(5, 8\).*of the shape of the gradient',
        ),
        (
            '(abs(total) >= threshold)',
            '(abs(total) >= 0.25)',
            r'shape \(5, 8\).*MXNet sends',
        ),
    ],
    [
        ('m * n // (factor * (m + n))', 'm * n // (m + n)', 'should be 1'),
        ('(m + n)', 'm', 'should be'),
        ('(m + n)', '2 * (m + n)', 'should be'),
        ('m * n //', '4 * m * n //', 'should be'),
        ('m * n //', 'm * n /', 'should be'),
        ('return m', 'return 1 + m', 'should be'),
        ('return m', 'return -m', 'should be'),
        ('m * n // (factor * (m + n))', 'min(m, n) // factor', 'should be'),
        (
            'def largest_rank(m, n, factor):\n'
            '    return max(1, m * n // (factor * (m + n)))',
            'should be 0',
        ),
        (
            'def largest_rank(m, n, factor):\n    return [m]',
            'not .[0-9]',
        ),
        (
            'def largest_rank(m, n, factor):\n    return m[0]',
            'raises TypeError',
        ),
        (
            'def largest_rank(m, n, factor):\n'
            '    return max(r for r in range(65)\n'
            '               if r * (m + n) * factor <= m * n)\n',
            'should be 450, not 64',
        ),
        # quotients of floats, just below a whole number
        (
            'm * n // (factor * (m + n))',
            'int(1 / (factor * (1 / m + 1 / n)))',
            'largest_rank.15, 10, 2. should be 3',
        ),
        (
            'm * n // (factor * (m + n))',
            'int(1 / factor / (1 / m + 1 / n))',
            'largest_rank.10, 15, 3. should be 2',
        ),
        (
            'def largest_rank(m, n, factor):\n'
            '    return max(r for r in range(min(m, n) + 1)\n'
            '               if r * (1 / m + 1 / n) <= 1 / factor)\n',
            'largest_rank.10, 15, 3. should be 2',
        ),
    ],
    [
        ('start - onp.mean', 'onp.mean', 'return two|velocity is wrong'),
        (
            'start - onp.mean(arrived, axis=0)',
            'onp.mean(arrived, axis=0) - start',
            'velocity is wrong',
        ),
        ('onp.mean(arrived', 'onp.sum(arrived', 'velocity is wrong'),
        ('onp.mean(arrived, axis=0)', 'arrived[0]', 'velocity is wrong'),
        ('(moved + momentum * velocity)', 'velocity', 'along the gradient'),
        ('(moved + momentum * velocity)', 'moved', 'along the gradient'),
        ('start - outer_lr', 'start + outer_lr', 'along the gradient'),
        ('- outer_lr * (', '- (', 'along the gradient'),
        ('return start', 'return onp.mean(arrived, axis=0)', 'the gradient'),
        ('momentum * velocity + moved', 'moved', 'velocity is wrong'),
        (
            'momentum * velocity + moved',
            'momentum * velocity + (1 - momentum) * moved',
            'velocity is wrong',
        ),
        (
            '    velocity = momentum * velocity + moved\n',
            '    velocity *= momentum\n    velocity += moved\n',
            'arguments were changed',
        ),
        (  # the arrays stay, but not in the list
            'start - onp.mean(arrived, axis=0)',
            '0\n    for i in range(len(arrived)):\n'
            '        arrived[i] = start - arrived[i]\n'
            '        moved = moved + arrived[i] / len(arrived)',
            'arguments were changed',
        ),
        (
            'def outer_step(start, arrived, velocity, outer_lr, momentum):\n'
            '    workers, moved = len(arrived), start\n'
            '    while arrived:\n'
            '        moved = moved - arrived.pop() / workers\n'
            '    velocity = momentum * velocity + moved\n'
            '    step = outer_lr * (moved + momentum * velocity)\n'
            '    return start - step, velocity\n',
            'arguments were changed',
        ),
        ('velocity), velocity', 'velocity)', 'return two arrays'),
        (  # right for one dimension
            'onp.mean(arrived, axis=0)',
            'onp.mean(onp.vstack(arrived), axis=0)',
            r'shape \(2, 3\)',
        ),
        (
            'onp.mean(arrived, axis=0)',
            'onp.transpose(arrived).mean(-1)',
            r'shape \(2, 3\)',
        ),
        (
            'onp.mean(arrived, axis=0)',
            'onp.array(arrived).T.mean(axis=1)',
            r'shape \(',
        ),
        ('onp.mean(arrived, axis=0)', 'onp.mean(arrived)', 'velocity is'),
    ],
]

RIGHT = [
    [
        """def compress(gradient, residual, threshold):
    sent, left = [], []
    for g, r in zip(gradient.ravel(), residual.ravel()):
        total = g + r
        value = int(total >= threshold) - int(total <= -threshold)
        sent.append(value * threshold)
        left.append(total - value * threshold)
    shape = gradient.shape
    return onp.reshape(sent, shape), onp.reshape(left, shape)
""",
        """import numpy
def compress(gradient, residual, threshold):
    total = numpy.float32(gradient + residual)
    sent = numpy.where(total >= threshold, threshold, 0) - numpy.where(
        total <= -threshold, threshold, 0)
    return numpy.float32(sent), total - numpy.float32(sent)
""",
        (
            'return sent, total - sent',
            'return np.array(sent), np.array(total - sent)',
        ),
    ],
    [
        ('return m', 'return onp.int64(1) * m'),
        ('return m', 'return 1.0 * m'),
        'def largest_rank(m, n, factor):\n'
        '    rank = 0\n'
        '    while factor * (rank + 1) * (m + n) <= m * n:\n'
        '        rank += 1\n'
        '    return rank\n',
        (
            'def largest_rank(m, n, factor):\n'
            '    from fractions import Fraction\n'
            '    return Fraction(m * n // (factor * (m + n)))\n'
        ),
    ],
    [
        ('velocity), velocity', 'velocity), velocity.copy()'),
        ('onp.mean(arrived, axis=0)', 'sum(arrived) / len(arrived)'),
        (
            'onp.mean(arrived, axis=0)',
            'onp.array([sum(column) / len(arrived)\n'
            '                               for column in zip(*arrived)])',
        ),
        """def outer_step(start, arrived, velocity, outer_lr, momentum):
    moved = sum(start - params for params in arrived) / len(arrived)
    new = moved + momentum * velocity
    return [start - outer_lr * moved - outer_lr * momentum * new, new]
""",
    ],
]

# What other readers wrote.
WRONG[0] += [
    (
        """def compress(gradient, residual, threshold):
    total = gradient + residual
    if abs(total).max() < threshold:
        return onp.zeros_like(total), residual
    sent = threshold * onp.sign(total) * (abs(total) >= threshold)
    return sent, total - sent
""",
        'push 1: ',
    ),
]
WRONG[1] += [
    (
        """def largest_rank(m, n, factor):
    return int(m / (m + n) * n / factor)
""",
        r'\(66, 55, 1\) should be 30',
    ),
]
