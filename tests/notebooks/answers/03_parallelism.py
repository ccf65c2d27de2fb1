"""Answers to the exercises of 03_parallelism, right and wrong, in order."""

PHASES = """    for micro_batch in micro_batches:
        for s in range(len(stages)):
            forward_stage(micro_batch, stages, stage_devices, s)
    for micro_batch in micro_batches:
        for s in reversed(range(len(stages))):
            backward_stage(micro_batch, stages, stage_devices, s)
"""
ONE_BY_ONE = """    for micro_batch in micro_batches:
        for s in range(len(stages)):
            forward_stage(micro_batch, stages, stage_devices, s)
        for s in reversed(range(len(stages))):
            backward_stage(micro_batch, stages, stage_devices, s)
"""
RETURN = """return take_gradients([param for stage in stages
                           for layer, W, b in stage for param in (W, b)])"""
LABELS_NOT_MOVED = 'X = X.as_in_ctx(stage_devices[0])'
MOVED = 'X, y = X.as_in_ctx(stage_devices[0]), y.as_in_ctx(stage_devices[-1])'

WRONG = [
    [
        (
            '> max_fraction',
            '>= max_fraction',
            '0.5: 1, not 2; is that the smallest',
        ),
        ('(m + p - 1) > max', '(m + p) > max', '0.3: 3, not 2'),
        ('(p - 1) / (m + p - 1) >', '(p - 1) / m >', 'of the ideal time'),
        ('return m', 'return m - 1', 'at least 1'),
        ('m += 1', 'm += 2', 'the smallest m'),
        ('> max_fraction:', '> max_fraction and m < 100:', '295, not 100'),
        ('(p - 1) / (m + p - 1) >', '1 / (m + 1) >', 'p = 1'),
        ('> max_fraction', '> 0.3', '1, not 3'),
        ('return m', 'return float("nan")', 'not nan'),
    ],
    [
        ('return n + n % 2', 'return n', 'must be even'),
        (
            '-(-num_params // activations)',
            'num_params // activations',
            '10 must be even',
        ),
        ('-(-num_params', '-(-2 * num_params', 'the smallest'),
        ('return n + n % 2', 'return n + 2 - n % 2', 'the smallest'),
        ('return n + n % 2', 'return 162', '10 activations'),
        (
            'return n + n % 2',
            'return n - n % 2',
            'the 2 . 10 . 10 activations',
        ),
        ('num_params // activations', '129_068 // activations', '100 param'),
        ('return n + n % 2', 'return str(n + n % 2)', 'is it a number'),
    ],
    [
        (
            'np.dot(h, W) for h, W in zip(units, weights)) + b',
            'np.dot(h, W) + b for h, W in zip(units, weights))',
            'k = 2: b was added 2 times',
        ),
        (' + b\n', '\n', 'k = 1: b was added 0 times'),
        (' + b\n', ' + 1\n', 'is every part in the sum'),
        (
            'zip(units, weights)) + b',
            'zip(units, weights)) / len(units) + b',
            'k = 2: is every part',
        ),
        (
            'zip(units, weights)) + b',
            'zip(units[:1], weights)) + b',
            'k = 2: is every part',
        ),
        (
            'zip(units, weights)) + b',
            'zip(units[::-1], weights[::-1])) + len(units) * b',
            'b was added 2 times',
        ),
        (') + b\n', ').sum(axis=0) + b\n', 'a row of three scores'),
        ('    return sum', '    sum', 'a row of three scores'),
    ],
    [
        (
            '    for micro_batch in micro_batches:\n        for s in reversed',
            '    npx.waitall()\n    for micro_batch in micro_batches:\n'
            '        for s in reversed',
            'this waits',
        ),
        (
            '    for micro_batch in micro_batches:\n        for s in reversed',
            '    micro_batches[0].outputs[-1].asnumpy()\n'
            '    for micro_batch in micro_batches:\n        for s in reversed',
            'this waits',
        ),
        (
            '    for micro_batch in micro_batches:\n        for s in reversed',
            '    float(micro_batches[0].outputs[-1])\n'
            '    for micro_batch in micro_batches:\n        for s in reversed',
            'this waits',
        ),
        (
            'split_slices(len(X), num_micro_batches)',
            'split_slices(len(X), 1)',
            'activations and gradients',
        ),
        (
            'split_slices(len(X), num_micro_batches)',
            'split_slices(len(X), num_micro_batches)[1:]',
            'gradients|eight',
        ),
        (
            'split_slices(len(X), num_micro_batches)',
            'split_slices(len(X) - len(X) % num_micro_batches,'
            ' num_micro_batches)',
            'm = 7, first call.* is every example',
        ),
        (
            PHASES,
            PHASES.replace('range(len(stages))', 'range(2)'),
            'with 1 stages',
        ),
        (MOVED, LABELS_NOT_MOVED, '0 bytes of labels'),
        (PHASES, ONE_BY_ONE, 'before the last forward pass'),
        (
            'take_gradients([param for stage in stages',
            '([param.grad for stage in stages',
            'second call',
        ),
        (RETURN, RETURN.replace('in stages', 'in stages[:1]'), 'eight param'),
        (RETURN, RETURN[7:], 'a list of MXNet arrays, not None'),
        (
            'def engine_order(X, y, stages, num_micro_batches):\n'
            '    return pipeline_gradients(X, y, stages, num_micro_batches)\n',
            'this waits',
        ),
    ],
]

RIGHT = [
    [
        'def micro_batches_needed(p, max_fraction):\n'
        '    return max(1, int(onp.ceil((p - 1) / max_fraction - (p - 1))))\n',
        ('return m', 'return float(m)'),
        ('return m', 'return onp.int64(m)'),
        ('return m', 'return np.array(m)'),
    ],
    [
        'def images_needed(activations, num_params):\n'
        '    n = 2\n'
        '    while 2 * activations * n < 2 * num_params:\n'
        '        n += 2\n'
        '    return n\n',
        'def images_needed(activations, num_params):\n'
        '    return 2 * onp.ceil(num_params / activations / 2)\n',
        ('return n + n % 2', 'return onp.int32(n + n % 2)'),
        ('return n + n % 2', 'return onp.float32(n + n % 2)'),
    ],
    [
        'def scores_from(units, weights, b):\n'
        '    scores = b\n'
        '    for h, W in zip(units, weights):\n'
        '        scores = scores + np.dot(h, W)\n'
        '    return scores\n',
        'def scores_from(units, weights, b):\n'
        '    return np.dot(np.concatenate(units, axis=1),\n'
        '                  np.concatenate(weights)) + b\n',
        (' + b\n', ' + b.reshape(1, 3)\n'),
        'def scores_from(units, weights, b):\n'
        '    parts = [h.asnumpy() @ W.asnumpy()\n'
        '             for h, W in zip(units, weights)]\n'
        '    return (sum(parts) + b.asnumpy()).tolist()\n',
    ],
    [
        (
            '    for micro_batch in micro_batches:\n        for s in reversed',
            '    for micro_batch in micro_batches[::-1]:\n'
            '        for s in reversed',
        ),
        (RETURN, f'return tuple({RETURN[7:]})'),
        (
            PHASES,
            '    for s in range(len(stages)):\n'
            '        for micro_batch in micro_batches:\n'
            '            forward_stage(micro_batch, stages, stage_devices, s)'
            '\n'
            '    for s in reversed(range(len(stages))):\n'
            '        for micro_batch in micro_batches:\n'
            '            backward_stage(micro_batch, stages, stage_devices, s)'
            '\n',
        ),
        (
            MOVED + '\n    micro_batches = [MicroBatch(X[part], y[part])',
            'X = X.as_in_ctx(stage_devices[0])\n'
            '    micro_batches = [MicroBatch('
            'X[part], y[part].as_in_ctx(stage_devices[-1]))',
        ),
    ],
]
