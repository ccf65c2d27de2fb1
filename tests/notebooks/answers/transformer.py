"""Answers to the exercises of 14_transformer, right and wrong, in order."""

FACTORS = '[len(num_tokens) * count / total for count in num_tokens]'
PAIR = 'return multiplications / rate, 6 * d'
LEAST = 'words.index(min(words))'

WRONG = [
    [
        ('len(num_tokens) * count', 'count', 'one word of each worker'),
        (' / total', '', 'one word of each worker'),
        (FACTORS, '[1] * len(num_tokens)', 'one word of each worker'),
        (FACTORS, '[1 / len(num_tokens)] * len(num_tokens)', 'one word of'),
        ('* count / total', '* total / max(count, 1)', 'one word of each'),
        (FACTORS, '[20 * f / total for f in num_tokens]', 'one word of each'),
        (FACTORS, FACTORS + '[:-1]', 'workers? need'),
        (FACTORS, 'len(num_tokens) / total', 'workers? need'),
        (FACTORS, '["none"] * len(num_tokens)', 'workers? need'),
        (FACTORS, 'None', 'workers? need'),
        ('sum(num_tokens)', 'max(num_tokens)', 'one word of each worker'),
        (FACTORS, '[float("nan")] * len(num_tokens)', 'finite factors'),
        (
            '* count / total for',
            '* count / total if count else float("nan") for',
            'finite factors',
        ),
    ],
    [
        ('2 * n * T * T * d', 'n * T * T * d', 'seconds of the attention'),
        ('2 * n * T * T * d', '2 * n * T * d', 'seconds of the attention'),
        ('2 * n * T * T * d', '2 * T * T * d', 'seconds of the attention'),
        ('2 * n * T * T * d', '2 * n * T * T', 'seconds of the attention'),
        ('multiplications / rate', 'multiplications', 'seconds of the'),
        ('multiplications / rate', 'rate / multiplications', 'seconds of'),
        ('6 * d', '12 * d', 'length at which it dominates'),
        ('6 * d', '384', 'length at which it dominates'),
        ('6 * d', '6 * d * d', 'length at which it dominates'),
        (PAIR, 'return multiplications / rate', 'return a pair'),
        (PAIR, 'return "1", "2"', 'seconds of the attention'),
        ('6 * d', 'None', 'length at which it dominates'),
    ],
    [
        (LEAST, 'i % k', 'shards of'),
        (LEAST, '0', 'an empty shard'),
        (LEAST, 'words.index(max(words))', 'an empty shard'),
        (LEAST, 'i * k // len(lengths)', 'shards of'),
        ('shards[least].append(i)', 'shards[least] += [i, i]', 'once'),
        ('append(i)', 'append(lengths[i])', 'each sentence once'),
        ('append(i)', 'append(float(i))', 'numbers of sentences'),
        ('return shards', 'return shards[1:]', 'lists, not'),
        ('return shards', 'return words', 'lists, not'),
        (
            'return shards',
            'return [shard[1:] for shard in shards]',
            'each sentence once',
        ),
        (
            'return shards',
            'return [list(range(len(lengths)))] + [[]] * (k - 1)',
            'an empty shard',
        ),
        (
            'def split_by_tokens(lengths, k):\n'
            '    shards = [[] for _ in range(k)]\n'
            '    for i in range(len(lengths)):\n'
            '        turn, j = divmod(i, k)\n'
            '        shards[k - 1 - j if turn % 2 else j].append(i)\n'
            '    return shards\n',
            'the largest above',
        ),
    ],
]

RIGHT = [
    [
        (
            'def loss_factors(num_tokens):\n'
            '    t = onp.array(num_tokens, "float32")\n'
            '    return t / t.mean()\n'
        ),
        (
            'def loss_factors(num_tokens):\n'
            '    return tuple(t / (sum(num_tokens) / len(num_tokens))\n'
            '                 for t in num_tokens)\n'
        ),
        (FACTORS, f'np.array({FACTORS})'),
    ],
    [
        (PAIR, 'return [multiplications / rate, 6.0 * d]'),
        (PAIR, 'return onp.array([multiplications / rate, 6 * d])'),
        (
            'def compare(n, T, d, rate):\n'
            '    return np.array(n * 2 * T ** 2 * d / rate), onp.float32(6 * d)\n'
        ),
    ],
    [
        (
            'def split_by_tokens(lengths, k):\n'
            '    shards = [[] for _ in range(k)]\n'
            '    for i in onp.argsort(lengths)[::-1]:\n'
            '        shard = min(shards, key=lambda s: sum(lengths[j] for j in s))\n'
            '        shard.append(i)\n'
            '    return tuple(map(tuple, shards))\n'
        ),
        (
            'def split_by_tokens(lengths, k):\n'
            '    order = sorted(range(len(lengths)), key=lengths.__getitem__)\n'
            '    return [order[i::k] for i in range(k)]\n'
        ),
        ('shards[least].append(i)', 'shards[least].insert(0, onp.int64(i))'),
    ],
]
