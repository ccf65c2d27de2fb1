"""Answers to the exercises of 06_causes, right and wrong, in order."""

LOAD = 'def speedup_with_load(load, compute, k):\n    return '
BATCH = 'def smallest_batch(fixed, per_image, k, wanted):\n'
CAUSE = 'def first_cause(load, step, slowdown, waited, exchange, fixed):\n'

WRONG = [
    [
        ('compute / k)', 'compute) / k', 'is divided by k'),
        (LOAD + 'k', 'is divided by k'),
        (LOAD + '4 / 3', 'is divided by k'),
        ('(load + compute) / (load', 'compute / (load', 'times as fast, not'),
        ('(load + compute / k)', '(load + compute / 2)', 'divided by k'),
        ('(load + compute / k)', 'max(load, compute / k)', 'divided by k'),
        (LOAD + '(load + compute / k) / (load + compute)', 'divided by k'),
        (LOAD + '"fast"[:0] or None', 'not None'),
        (
            'return (load + compute) / (load + compute / k)',
            'return min(4, (load + compute) / (load + compute / k))',
            'is divided by k',
        ),
    ],
    [
        ('n += 1\n', 'k += 0\n', 'does its loop end'),
        ('n = 1\n', 'n = 2\n', 'put your number into'),
        ('n += 1\n', 'n += 2\n', 'put your number into'),
        ('n * per_image / k) <', 'n * per_image / k / k) <', 'both times'),
        ('< wanted', '<= wanted', 'put your number into'),
        (BATCH + '    return 12', 'put your number into'),
        ('< wanted', '< 1.5', 'put your number into'),
        (  # rounded up: 3.0000000000000004
            BATCH
            + '    import math\n'
            + '    return max(1, math.ceil(fixed * (wanted - 1)\n'
            + '        / per_image / (1 - wanted / k)))',
            '3 images, not 4',
        ),
        ('n * per_image / k) <', 'n * per_image / 8) <', 'both times'),
        (
            BATCH
            + '    return max(1, int(fixed * (wanted - 1)\n'
            + '        / per_image / (1 - wanted / k)))',
            '4 images, not 3',
        ),
        ('return n\n', 'return n + (n > 1) * n % 2\n', '5 images, not 6'),
        (
            BATCH
            + '    import math\n'
            + '    factor = 2 if k == 4 else 1 / (1 - wanted / k)\n'
            + '    return max(1, math.ceil(\n'
            + '        fixed * (wanted - 1) / per_image * factor))',
            '5 images, not 3',
        ),
        # never enough: loops that do not end
        ('n * per_image / k) <', 'n * per_image / 2) <', 'does its loop end'),
        ('n * per_image / k) <', 'n * per_image) <', 'does its loop end'),
        (
            BATCH
            + '    import itertools\n'
            + '    return next(n for n in itertools.count(1)\n'
            + '                if (fixed + n * per_image) >= wanted\n'
            + '                * (fixed + n * per_image / min(k, 2)))',
            'does its loop end',
        ),
        (
            BATCH
            + '    if fixed + per_image >= wanted * (fixed + per_image / 2):\n'
            + '        return 1\n'
            + '    return 1 + smallest_batch(fixed, per_image, k, wanted)\n',
            'calls itself too often',
        ),
    ],
    [
        ('.index(True) + 1', '.index(True)', 'in order'),
        ('load > 0.2 * step', 'load > 0.2', 'a fifth'),
        ('holds.index(True) + 1', 'sum(holds)', 'in order'),
        ('slowdown > 1.35', 'slowdown > 1', 'slowdown with 1.35'),
        ('slowdown > 1.35', 'slowdown > 0.2 * step', 'slowdown with 1.35'),
        ('waited > 0.2 * step', 'waited > 0', 'a fifth'),
        ('waited > 0.2 * step', 'False', 'a fifth'),
        (CAUSE + '    return 1', 'in order'),
        (
            'holds.index(True) + 1 if',
            '5 - holds[::-1].index(True) if',
            'in order',
        ),
        ('load > 0.2 * step', 'load > 0.25 * step', 'a fifth'),
        ('waited > 0.2 * step', 'waited > 0.25 * step', 'a fifth'),
        ('exchange > 0.2 * step', 'exchange > 0.25 * step', 'a fifth'),
        ('fixed > 0.2 * step', 'fixed > 0.25 * step', 'a fifth'),
        ('load > 0.2 * step', 'load > 0.2 * (load + step)', 'a fifth'),
        ('waited > 0.2 * step', 'waited > 0.3', 'a fifth'),
        ('load > 0.2 * step', 'load >= 0.2 * step', 'a fifth'),
        ('slowdown > 1.35', 'slowdown >= 1.35', 'with 1.35'),
        ('waited > 0.2 * step', 'waited >= 0.2 * step', 'a fifth'),
        ('exchange > 0.2 * step', 'exchange >= 0.2 * step', 'a fifth'),
        ('fixed > 0.2 * step', 'fixed >= 0.2 * step', 'a fifth'),
        (
            CAUSE
            + '    holds = {2: slowdown > 1.35, 1: load > step / 5,\n'
            + '             3: waited > step / 5, 4: exchange > step / 5,\n'
            + '             5: fixed > step / 5}\n'
            + '    return next((i for i in holds if holds[i]), 0)',
            'in order',
        ),
        (
            CAUSE
            + '    holds = {1: load > step / 5, 2: slowdown > 1.35,\n'
            + '             4: exchange > step / 5, 3: waited > step / 5,\n'
            + '             5: fixed > step / 5}\n'
            + '    return next((i for i in holds if holds[i]), 0)',
            'in order',
        ),
        ('fixed > 0.2', 'fixed - exchange > 0.2', 'a fifth'),
    ],
]

RIGHT = [
    [
        LOAD + '1 / ((load + compute / k) / (load + compute))',
        (
            'return (load',
            'return onp.float32(load',
        ),
        (
            'return (load + compute) / (load + compute / k)',
            'return onp.array((load + compute) / (load + compute / k))',
        ),
        LOAD + 'k * (load + compute) / (k * load + compute)',
    ],
    [
        ('return n\n', 'return float(n)\n'),
        ('return n\n', 'return onp.int64(n)\n'),
        BATCH
        + '    import math\n'
        + '    return max(1, math.ceil(round(fixed * (wanted - 1)\n'
        + '        / per_image / (1 - wanted / k), 6)))',
        BATCH
        + '    return next(n for n in range(1, 10 ** 6)\n'
        + '                if fixed + n * per_image\n'
        + '                >= wanted * (fixed + n * per_image / k))',
        BATCH
        + '    n = onp.arange(1, 10**5)\n'
        + '    speedups = (fixed + n * per_image) / (fixed + n * per_image / k)\n'
        + '    return n[speedups >= wanted][0]',
        BATCH  # exactly
        + '    import math\n'
        + '    from fractions import Fraction\n'
        + '    fixed, each, wanted = map(Fraction, (fixed, per_image, wanted))\n'
        + '    exact = fixed * (wanted - 1) / each / (1 - wanted / k)\n'
        + '    return max(1, math.ceil(exact))',
        BATCH
        + '    return min(n for n in range(1, 10**5) if fixed + n * per_image\n'
        + '               >= wanted * (fixed + n * per_image / k))',
    ],
    [
        CAUSE
        + '    if load > step / 5:\n        return 1\n'
        + '    if slowdown > 1.35:\n        return 2\n'
        + '    for i, part in enumerate((waited, exchange, fixed), 3):\n'
        + '        if part > step / 5:\n            return i\n'
        + '    return 0',
        (
            'return holds.index(True) + 1 if any(holds) else 0',
            'return onp.int64(holds.index(True) + 1 if any(holds) else 0)',
        ),
        (
            'return holds.index(True) + 1 if any(holds) else 0',
            'return float(([False] + holds + [True]).index(True) % 6)',
        ),
    ],
]

# What other readers wrote.
WRONG[0] += [
    (
        """def speedup_with_load(load, compute, k):
    if load > compute:
        return 1
    return (load + compute) / (load + compute / k)
""",
        r'1\.1+ times as fast, not 1',
    ),
]
WRONG[1] += [
    (
        """def smallest_batch(fixed, per_image, k, wanted):
    n = k if fixed else 1
    while (fixed + n * per_image) / (fixed + n * per_image / k) < wanted:
        n += 1
    return n
""",
        '1 images, not 4',
    ),
    (
        """def smallest_batch(fixed, per_image, k, wanted):
    import math
    n = fixed * (wanted - 1) / (per_image * (1 - wanted / k))
    return math.ceil(n) or 1
""",
        '1 images, not -',
    ),
    (
        """def smallest_batch(fixed, per_image, k, wanted):
    for n in range(1, 10_001):
        if (fixed + n * per_image) / (fixed + n * per_image / k) >= wanted:
            return n
""",
        '30000 images, not None',
    ),
]
WRONG[2] += [
    (
        """def first_cause(load, step, slowdown, waited, exchange, fixed):
    for i, part in enumerate((load, 0, waited, exchange, fixed), 1):
        if i == 2 and slowdown > 1.35 or round(part / step, 2) > 0.2:
            return i
    return 0
""",
        '1, not 0',
    ),
]
