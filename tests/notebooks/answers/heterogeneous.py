"""Answers to the exercises of 13_heterogeneous, right and wrong."""

WRONG = [
    [
        (' / min(speeds)', ' / max(speeds)', 'which one ends the step'),
        ('sum(speeds) / len(speeds)', 'max(speeds)', 'which one ends'),
        ('sum(speeds) / len(speeds) / min(speeds)', '1.5', 'which one ends'),
        (' / len(speeds)', '', 'which one ends'),
        (
            'sum(speeds) / len(speeds) / min(speeds)',
            'min(speeds) / sum(speeds) * len(speeds)',
            'which one ends',
        ),
        (
            'sum(speeds) / len(speeds)',
            '(min(speeds) + max(speeds)) / 2',
            'which one ends',
        ),
        (
            'def gain(speeds):\n'
            '    mean = sum(1 / v for v in speeds) / len(speeds)\n'
            '    return mean * sum(speeds) / len(speeds)\n',
            'which one ends',
        ),
        ('/ len(speeds)', '/ (len(speeds) + 1)', 'which one ends'),
        ('/ min(speeds)', '// min(speeds)', 'which one ends'),
        ('/ min(speeds)', '/ max(1, min(speeds))', 'which one ends'),
        ('def gain(speeds):\n    return speeds\n', 'return a number'),
        ('min(speeds)', 'min(speeds[0], speeds[-1])', 'which one ends'),
        (
            'sum(speeds) / len(speeds) / min(speeds)',
            'str(sum(speeds) / len(speeds) / min(speeds))',
            'return a number',
        ),
    ],
    [
        (
            'sum(g * n for g, n in zip(gradients, sizes)) / sum(sizes)',
            'sum(gradients) / len(gradients)',
            'does each example count the same',
        ),
        ('/ sum(sizes)', '/ 256', 'does each example count the same'),
        (' / sum(sizes)', '', 'does each example count the same'),
        (
            'sum(g * n for g, n in zip(gradients, sizes)) / sum(sizes)',
            'sum(gradients)',
            'does each example count the same',
        ),
        ('g * n for', 'g / n for', 'does each example count the same'),
        ('/ sum(sizes)', '/ max(sizes)', 'does each example count the same'),
        (
            'sum(g * n for g, n in zip(gradients, sizes)) / sum(sizes)',
            'gradients[0]',
            'does each example count the same',
        ),
        (
            'sum(g * n for g, n in zip(gradients, sizes)) / sum(sizes)',
            'len(sizes) / sum(sizes) * sum(gradients)',
            'does each example count the same',
        ),
        (
            'def join_means(gradients, sizes):\n    return 0.5\n',
            'an array of shape',
        ),
        (
            'sum(g * n for g, n in zip(gradients, sizes)) / sum(sizes)',
            '[g * n / sum(sizes) for g, n in zip(gradients, sizes)]',
            'an array of shape',
        ),
        (
            'def join_means(gradients, sizes):\n'
            '    return [None] * len(gradients[0])\n',
            'does each example count the same',
        ),
        (
            'def join_means(gradients, sizes):\n'
            "    return ['none'] * len(gradients[0])\n",
            'an array of shape',
        ),
        # right for one dimension
        (
            'def join_means(gradients, sizes):\n'
            '    return onp.array(sizes) @ onp.stack(gradients) / sum(sizes)\n',
            'like each gradient|answer raises|count the same',
        ),
        (
            'def join_means(gradients, sizes):\n'
            '    mean = [sum(g[i] * n for g, n in zip(gradients, sizes))\n'
            '            for i in range(gradients[0].size)]\n'
            '    return onp.array(mean) / sum(sizes)\n',
            'answer raises IndexError',
        ),
        (
            'def join_means(gradients, sizes):\n'
            '    n = onp.array(sizes).reshape(-1, 1)\n'
            '    return (n * gradients).sum(axis=0) / n.sum()\n',
            'answer raises ValueError|each gradient',
        ),
        (
            'sum(g * n for g, n in zip(gradients, sizes)) / sum(sizes)',
            'onp.ravel(sum(g * n for g, n in zip(gradients, sizes)))'
            ' / sum(sizes)',
            'an array of shape',
        ),
    ],
    [
        ('exchange * (len(speeds) - 1)', 'exchange', 'and exchange'),
        ('(len(speeds) - 1)', 'len(speeds) ** 2', 'and exchange'),
        (' + exchange * (len(speeds) - 1)', '', 'and exchange'),
        ('(len(speeds) - 1)', 'onp.log2(len(speeds))', 'and exchange'),
        (
            '(len(speeds) - 1)',
            'onp.ceil(onp.log2(len(speeds)))',
            'and exchange',
        ),
        ('sum(speeds)', '(len(speeds) * speeds[0])', 'compare the times'),
        ('sum(speeds)', '(len(speeds) * speeds[-1])', 'compare the times'),
        ('sum(speeds)', '(len(speeds) * max(speeds))', 'compare the times'),
        ('b / sum(speeds)', 'b / max(speeds)', 'compare the times'),
        (
            'b / sum(speeds)',
            'b / len(speeds) / min(speeds)',
            'compare the times',
        ),
        ('b / sum(speeds)', '100 / sum(speeds)', 'compare the times'),
        ('new]) < seconds', 'new]) <= seconds', 'compare the times'),
        ('new]) < seconds', 'new]) > seconds', 'compare the times'),
        (
            'return seconds([*speeds, new]) < seconds(speeds)',
            'return True',
            'should be False',
        ),
        (
            'return seconds([*speeds, new]) < seconds(speeds)',
            'return seconds(speeds) - seconds([*speeds, new])',
            'True or False',
        ),
        (
            'seconds([*speeds, new]) < seconds(speeds)',
            'seconds(speeds) > (speeds.append(new) or seconds(speeds))',
            'list of speeds has changed',
        ),
        (
            'def worth_adding(speeds, new, b, exchange):\n'
            '    saved = b / sum(speeds) / (len(speeds) + 1)\n'
            '    return saved > exchange and new > min(speeds) / 3\n',
            'compare the times',
        ),
    ],
]

RIGHT = [
    [
        (
            'def gain(speeds):\n'
            '    v = onp.array(speeds, "float32")\n'
            '    return v.mean() / v.min()\n'
        ),
        (
            'def gain(speeds):\n'
            '    even = max(1 / len(speeds) / speed for speed in speeds)\n'
            '    proportional = 1 / sum(speeds)\n'
            '    return even / proportional\n'
        ),
        ('return sum', 'return np.array(1.0, dtype="float64") * sum'),
    ],
    [
        (
            'def join_means(gradients, sizes):\n'
            '    return onp.average(gradients, axis=0, weights=sizes)\n'
        ),
        (
            'def join_means(gradients, sizes):\n'
            '    total = onp.zeros_like(gradients[0])\n'
            '    for i, n in enumerate(sizes):\n'
            '        total += gradients[i] * (n / sum(sizes))\n'
            '    return total\n'
        ),
        (
            'return sum(g * n for g, n in zip(gradients, sizes))',
            'return sum(np.array(g) * n for g, n in zip(gradients, sizes))',
        ),
        (
            'def join_means(gradients, sizes):\n'
            '    return (onp.tensordot(sizes, gradients, 1)\n'
            '            / sum(sizes)).tolist()\n'
        ),
        (
            'def join_means(gradients, sizes):\n'
            '    n = onp.array(sizes).reshape(-1, *[1] * gradients[0].ndim)\n'
            '    return (n * gradients).sum(axis=0) / n.sum()\n'
        ),
    ],
    [
        (
            'def worth_adding(speeds, new, b, exchange):\n'
            '    before = b / onp.sum(speeds)\n'
            '    after = b / onp.sum([*speeds, new])\n'
            '    return before - after > exchange\n'
        ),
        (
            'def worth_adding(speeds, new, b, exchange):\n'
            '    k, v = len(speeds), sum(speeds)\n'
            '    if b / (v + new) + exchange * k < b / v + exchange * (k - 1):'
            '\n        return True\n'
            '    return False\n'
        ),
        (
            'seconds([*speeds, new]) < seconds(speeds)',
            'not seconds(speeds) <= seconds(speeds + [new])',
        ),
    ],
]
