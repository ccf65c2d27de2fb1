"""Answers to the exercises of 17_sequences_experts, right and wrong."""

KEPT = '    parts = [part for part in parts if part[1] > 0]\n'
SUMS = 'totals = [total * onp.exp(own - top) for own, total, _ in parts]'
WAIT = 'slowest = max(slowest, num_queries * num_keys)'

WRONG = [
    [
        (KEPT, '', 'top should be'),  # what means nothing counts
        ('max(part[0]', 'min(part[0]', 'top should be'),
        ('max(part[0] for part in parts)', '0.0', 'top should be'),
        (SUMS, 'totals = [total for _, total, _ in parts]', 'total should'),
        ('onp.exp(own - top)', 'onp.exp(top - own)', 'total should be'),
        ('total * onp.exp', 'onp.exp', 'total should be'),
        ('mean / sum(totals)', 'mean', 'mean should be'),
        ('mean / sum(totals)', 'mean / len(totals)', 'mean should be'),
        ('sum(total * part[2]', 'sum(part[2]', 'mean should be'),
        ('return top, sum(totals), ', 'return ', 'three things'),
        ('top, sum(totals)', 'sum(totals), top', 'top should be'),
        ('parts if part[1] > 0', 'parts[:1]', 'should be'),
        (
            'max(part[0] for part in parts)',
            'max(0, *[part[0] for part in parts])',
            'top should be',
        ),
    ],
    [
        (WAIT, 'slowest += num_queries * num_keys', 'products, not'),
        (WAIT, 'slowest = num_queries * num_keys', 'products, not'),
        (WAIT, 'slowest = max(slowest, num_queries)', 'products, not'),
        ('places[i - step]', 'places[i]', 'products, not'),
        ('places[i - step]', 'places[step]', 'products, not'),
        ('(queries >= keys[0]).sum()', 'len(queries)', 'products, not'),
        ('(keys <= queries[-1]).sum()', 'len(keys)', 'products, not'),
        ('queries >= keys[0]', 'queries > keys[0]', 'products, not'),
        ('time += slowest', 'time = max(time, slowest)', 'products, not'),
        ('range(len(places))', 'range(1, len(places))', 'products, not'),
        ('return int(time)', 'return str(time)', 'products, not'),
        ('return int(time)', 'return time / len(places)', 'products, not'),
    ],
    [
        ('< capacity)', '<= capacity)', 'are computed'),
        ('{-1: capacity}, []', '{}, []', 'are computed'),  # padding
        (
            '        kept.append([])\n',
            '        kept.append([])\n        counts = {-1: capacity}\n',
            'are computed',
        ),  # each device on its own
        (
            'counts[e] = counts.get(e, 0) + 1',
            'counts[e] = counts.get(e, 0) + kept[-1][-1] * 0',
            'are computed',
        ),
        ('for own in choices', 'for own in choices[::-1]', 'are computed'),
        (
            'return kept',
            'return kept[0]',
            'list per device|are computed|raise',
        ),
        ('return kept', 'return sum(kept, [])', ''),
        ('return kept', 'return [not_kept for not_kept in choices]', ''),
        (
            'counts.get(e, 0) < capacity',
            'len(kept[-1]) < capacity',
            'are comp',
        ),
        (
            '    counts, kept',
            '    capacity = -(-capacity // len(choices))\n    counts, kept',
            'are computed',
        ),
        (
            'def kept_words(choices, capacity):\n'
            '    return [(False for _ in own) for own in choices]\n',
            'a list for each device',
        ),
    ],
]

RIGHT = [
    [
        (SUMS, SUMS.replace('onp.exp', 'math.exp')),
        ('return top, sum(totals), ', 'return onp.array(top), sum(totals), '),
        (
            'def join_softmaxes(parts):\n'
            '    arrays = [[np.array(part[i], dtype="float64").reshape('
            '1, 1, 1, -1) for i in range(3)] for part in parts if part[1]]\n'
            '    top, total, mean = arrays[0]\n'
            '    for top2, total2, mean2 in arrays[1:]:\n'
            '        new = np.maximum(top, top2)\n'
            '        a, b = total * np.exp(top - new), '
            'total2 * np.exp(top2 - new)\n'
            '        top, total, mean = new, a + b, '
            '(mean * a + mean2 * b) / (a + b)\n'
            '    return top.item(), total.item(), mean.asnumpy()[0, 0, 0]\n',
        ),
        (
            'def join_softmaxes(parts):\n'
            '    tops, totals, means = zip(*[p for p in parts if p[1]])\n'
            '    weights = onp.array(totals) * onp.exp('
            'onp.array(tops) - max(tops))\n'
            '    return max(tops), weights.sum(), '
            'weights @ onp.array(means) / weights.sum()\n',
        ),
    ],
    [
        ('return int(time)', 'return float(time)'),
        ('return int(time)', 'return time'),
        (
            'def ring_time(places):\n'
            '    time = 0\n'
            '    for step in range(len(places)):\n'
            '        seen = [q[:, None] >= places[i - step] '
            'for i, q in enumerate(places)]\n'
            '        time += max(s.any(1).sum() * s.any(0).sum() '
            'for s in seen)\n'
            '    return time\n',
        ),
        (
            'def ring_time(places):\n'
            '    from fractions import Fraction\n'
            '    time = Fraction(0)\n'
            '    for step in range(len(places)):\n'
            '        seen = [q[:, None] >= places[i - step]\n'
            '                for i, q in enumerate(places)]\n'
            '        time += max(int(s.any(1).sum() * s.any(0).sum())\n'
            '                    for s in seen)\n'
            '    return time\n'
        ),
    ],
    [
        ('return kept', 'return [onp.array(own) for own in kept]'),
        ('return kept', 'return [tuple(map(int, own)) for own in kept]'),
        (
            'def kept_words(choices, capacity):\n'
            '    joined = onp.concatenate([onp.array(own, dtype=int) '
            'for own in choices])\n'
            '    kept = onp.zeros(len(joined), bool)\n'
            '    for e in {*joined.tolist()} - {-1}:\n'
            '        kept[onp.flatnonzero(joined == e)[:capacity]] = True\n'
            '    ends = onp.cumsum([len(own) for own in choices])\n'
            '    return onp.split(kept, ends)[:-1]\n',
        ),
    ],
]

# What other readers wrote.
WRONG[2] += [
    (
        """def kept_words(choices, capacity):
    taken, kept = [0] * 4, []
    for own in choices:
        kept.append([])
        for e in own:
            if e >= 0:
                taken[e] += 1
            kept[-1].append(e >= 0 and taken[e] <= capacity)
    return kept
""",
        '',
    ),
]
