"""Answers to the exercises of 25_claims, right and wrong."""

PRICE = 'dollars / (flop / flops / 3_600)'
PAIR = '(rate / rates[0], rate / rates[0] * devices[0] / k)'

WRONG = [
    [
        (PRICE, 'dollars / (flop / flops)', 'divide the dollars'),
        (PRICE, 'dollars / (flop / flops / 60)', 'divide the dollars'),
        (PRICE, 'dollars / (flop / flops / 86_400)', 'divide the dollars'),
        (PRICE, 'dollars * flop / flops', 'divide the dollars'),
        (PRICE, 'dollars / (flop // flops / 3_600)', 'divide the dollars'),
        (PRICE, 'flop / flops / 3_600', 'divide the dollars'),
        (PRICE, '1.476688', 'divide the dollars'),
        (PRICE, f'f"{{{PRICE}}} dollars"', 'return a number'),
        (PRICE, f'round({PRICE}, 1)', 'divide the dollars'),
    ],
    [
        ('n / s for', 'n * s for', 'compare the examples per second'),
        ('n / s for', '1 / s for', 'compare the examples per second'),
        ('n / s for', 'n for', 'compare the examples per second'),
        (PAIR, '(rate, rate / k)', 'compare the examples per second'),
        (' * devices[0] / k', ' / k', 'how many times as many devices'),
        (' * devices[0] / k', ' * devices[0]', 'how many times as many'),
        (' * devices[0] / k', ' * k / devices[0]', 'how many times as many'),
        (PAIR, 'rate / rates[0]', 'a list of pairs'),
        ('zip(rates, devices)]', 'zip(rates, devices)][1:]', 'pairs, not'),
        (PAIR, "('fast', 'slow')", 'a list of pairs'),
        (
            '(rate / rates[0], rate / rates[0] *',
            '(rate / min(rates), rate / min(rates) *',
            'speedup',
        ),
        (
            'def speedups(devices, examples, seconds):\n'
            '    return ((1, 1) for _ in devices)\n',
            'a list of pairs',
        ),
    ],
    [
        ('max(0, 1 - visible / exchange)', '1 - visible / exchange', 'right'),
        ('max(0, 1 - visible / exchange)', 'visible / exchange', 'right'),
        ('max(0, 1 - visible / exchange)', 'efficiency', 'right'),
        ('compute / efficiency', 'compute * efficiency', 'right'),
        ('compute / efficiency - compute', 'compute / efficiency', 'right'),
        ('visible / exchange', 'visible', 'is not right'),
        ('max(0, ', 'min(1, ', 'is not right'),
        ('return max', 'return [0] or max', 'return a number'),
        ('return max', "return '1' or max", 'return a number'),
    ],
]

RIGHT = [
    [
        (PRICE, 'dollars * 3_600 * flops / flop'),
        ('return ', 'import numpy as onp\n    return onp.float32(1) * '),
        (
            'def implied_price(dollars, flop, flops):\n'
            '    seconds = flop / flops\n'
            '    hours = seconds / 60 / 60\n'
            '    return dollars / hours\n'
        ),
    ],
    [
        (
            'def speedups(devices, examples, seconds):\n'
            '    import numpy as onp\n'
            '    rate = onp.array(examples) / onp.array(seconds)\n'
            '    faster = rate / rate[0]\n'
            '    more = onp.array(devices) / devices[0]\n'
            '    return onp.stack([faster, faster / more], axis=1)\n'
        ),
        (PAIR, PAIR.replace('(rate', '[rate').replace('/ k)', '/ k]')),
        (
            'def speedups(devices, examples, seconds):\n'
            '    found = []\n'
            '    for k, n, s in zip(devices, examples, seconds):\n'
            '        faster = n * seconds[0] / (s * examples[0])\n'
            '        found.append((faster, faster / k * devices[0]))\n'
            '    return tuple(found)\n'
        ),
    ],
    [
        (
            'def hidden_fraction(compute, exchange, efficiency):\n'
            '    step = compute / efficiency\n'
            '    saved = compute + exchange - step\n'
            '    return max(0.0, saved) / exchange\n'
        ),
        (
            'return max',
            'import numpy as onp\n    return onp.float32(1) * max',
        ),
        (
            'max(0, 1 - visible / exchange)',
            '1 - min(visible, exchange) / exchange',
        ),
    ],
]
