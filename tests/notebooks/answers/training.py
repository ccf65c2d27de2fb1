"""Answers to the exercises of 05_training, right and wrong, in order."""

STEP = 'def accumulated_step(X, y, params, lr, num_micro_batches):\n'
FACTORS = 'def step_factors(num_examples, num_devices):\n'
DIFFERENCE = 'def disagreement(device_params):\n'
MEAN_OF_MEANS = (
    STEP
    + """    totals = [np.zeros_like(param) for param in params]
    for part in split_slices(len(X), num_micro_batches):
        replica = get_params(params, mx.cpu())
        with autograd.record():
            part_loss = loss(lenet(X[part], replica), y[part]).mean()
        part_loss.backward()
        for total, param in zip(totals, replica):
            total += param.grad
    return [p - lr / num_micro_batches * total
            for p, total in zip(params, totals)]
"""
)
ADDED_BY_AUTOGRAD = (
    STEP
    + """    replica = [param.copy() for param in params]
    for param in replica:
        param.attach_grad('add')
    for i in range(num_micro_batches):  # every num_micro_batches-th image
        part = slice(i, None, num_micro_batches)
        with autograd.record():
            losses = loss(lenet(X=X[part], params=replica), y[part])
        losses.backward()
    return tuple(p - lr * p.grad / len(X) for p in replica)
"""
)
ONE_LOSS = (
    STEP
    + """    replica = get_params(params, mx.cpu())
    with autograd.record():
        total = sum(
            loss(lenet(X[i::num_micro_batches], replica),
                 y[i::num_micro_batches]).sum()
            for i in range(num_micro_batches))
    total.backward()
    return [(p - lr * p.grad / len(X)).asnumpy() for p in replica]
"""
)
IN_THE_GRADIENTS = (
    STEP
    + """    replica = get_params(params, mx.cpu())
    totals = [param.grad for param in replica]
    for part in split_slices(len(X), num_micro_batches):
        with autograd.record():
            part_loss = loss(lenet(X[part], replica), y[part]).sum()
        part_loss.backward()
        for total, param in zip(totals, replica):
            total += param.grad
    return [p - lr / len(X) * total for p, total in zip(params, totals)]
"""
)

WRONG = [
    [
        ('total += param.grad', 'total[:] = param.grad', 'overwrites'),
        ('lr / len(X) * total', 'lr * total', 'divide the gradient'),
        (
            'lr / len(X) * total',
            'lr / len(X) / num_micro_batches * total',
            'update once',
        ),
        (IN_THE_GRADIENTS, 'add up in new arrays'),
        (MEAN_OF_MEANS, 'unequal length'),
        (
            'split_slices(len(X), num_micro_batches)',
            '[slice(0, len(X))]',
            'lenet has seen',
        ),
        ('len(X), num_micro_batches)', 'len(X), len(X))', 'lenet has seen'),
        (
            'split_slices(len(X), num_micro_batches)',
            'split_slices(len(X) - 1, num_micro_batches)',
            'lenet has seen',
        ),
        (
            '[p - lr / len(X) * total for p, total in zip(params, totals)]',
            '[p.__isub__(lr / len(X) * t) for p, t in zip(params, totals)]',
            'params changed',
        ),
        ('return [p - lr', 'return [p + lr', 'from the reference'),
        (STEP + '    return reference_step(X, y, params, lr)', 'has seen'),
        (STEP + '    return [params[0]] * 7', 'all eight'),
        (ONE_LOSS, 'one part at a time'),
        (
            ADDED_BY_AUTOGRAD.replace(
                'for i in range(num_micro_batches):  # every num_micro_batches-th image\n'
                '        part = slice(i, None, num_micro_batches)',
                'size = -(-len(X) // num_micro_batches)\n'
                '    for start in range(0, len(X), size):\n'
                '        part = slice(start, start + size)',
            ),
            'lenet has seen',
        ),
        (
            ADDED_BY_AUTOGRAD.replace(
                '[param.copy() for param in params]', 'params'
            ),
            'attach them to copies',
        ),
        ('lr / len(X)', '0.2 / len(X)', 'further from the reference'),
    ],
    [
        (FACTORS + '    return [num_devices] * num_devices', 'expected'),
        (FACTORS + '    return num_devices', 'one factor for each'),
        (FACTORS + '    return [2, 2]', 'one factor for each'),
        ('[num_examples / (', '[num_examples // (', 'expected'),
        (
            FACTORS
            + '    longest = -(-num_examples // num_devices)\n'
            + '    return [num_examples / longest] * num_devices',
            'expected',
        ),
        (
            'num_examples / (rows.stop - rows.start)',
            '(rows.stop - rows.start) / num_examples',
            'expected',
        ),
        ('in slices]', 'in slices[::-1]]', 'expected'),
        ('in slices]', 'in slices[:1]]', 'one factor for each'),
        ('rows.start)', 'rows.start + 1)', 'expected'),
    ],
    [
        ('in device_params\n', 'in device_params[:2]\n', 'every replica'),
        (
            'abs(param.asnumpy() - right).max()',
            '(param.asnumpy() - right).max()',
            'both directions',
        ),
        ('right).max()', 'right).mean()', 'every number'),
        ('onp.max(', 'sum(', 'with the first'),
        ('onp.max(', 'onp.min(', 'every number'),
        ('onp.max(', 'onp.nanmax(', 'NaN in replica 1|NaN in replica 0'),
        ('onp.max(', 'max(', 'NaN in replica'),
        (DIFFERENCE + '    return 0.0', 'every number'),
        (  # no NaN in a single replica
            '    first = [',
            '    if len(device_params) == 1:\n        return 0.0\n    first = [',
            'NaN in replica 0 of 1',
        ),
        (
            'abs(param.asnumpy() - right).max()',
            'abs(param.asnumpy() - right).ravel()[0]',
            'every number',
        ),
        (
            'abs(param.asnumpy() - right).max()',
            'abs(param.asnumpy().sum() - right.sum())',
            'every number',
        ),
        (
            'abs(param.asnumpy() - right).max()',
            'onp.linalg.norm(param.asnumpy() - right)',
            'every number',
        ),
        (DIFFERENCE + '    return 0.5', 'expected 0, got 0.5'),
        (
            'zip(params, first)])',
            'zip(params[-1:], first[-1:])])',
            'parameter',
        ),
        (
            DIFFERENCE
            + '    return max([max_difference(p, q) for p, q\n'
            + '                in zip(device_params, device_params[1:])] + [0])',
            'with the first',
        ),
        (
            DIFFERENCE
            + '    return max(max_difference(p, q)\n'
            + '               for p in device_params for q in device_params)',
            'with the first',
        ),
        (
            'abs(param.asnumpy() - right).max()',
            'abs(param.asnumpy() - right).ravel()[:-1].max()',
            'every number',
        ),
        (
            'abs(param.asnumpy() - right).max()',
            'abs(param.asnumpy() - right).reshape(len(right), -1)[:, 0].max()',
            'every number',
        ),
    ],
]
RIGHT = [
    [
        ADDED_BY_AUTOGRAD,
        (  # the chapter's own
            """        with autograd.record():
            part_loss = loss(lenet(X[part], replica), y[part]).sum()
        part_loss.backward()
""",
            '        from d2lmulti.training import backward\n'
            '        backward([X[part]], [y[part]], [replica])\n',
        ),
        STEP
        + """    from d2lmulti.training import train_batch
    moved = [param.copy() for param in params]
    for part in split_slices(len(X), num_micro_batches):
        replicas = [get_params(params, mx.cpu())]
        weight = len(y[part]) / len(X)
        train_batch(X[part], y[part], replicas, [mx.cpu()], lr * weight)
        for p, q, total in zip(params, replicas[0], moved):
            total += q - p
    return moved
""",
        ('zip(params, totals)]', 'zip(params, totals)][:]'),
    ],
    [
        ('return [num_examples', 'return [onp.float32(1) * num_examples'),
        FACTORS
        + '    short, longer = divmod(num_examples, num_devices)\n'
        + '    return tuple(num_examples / (short + (i < longer))\n'
        + '                 for i in range(num_devices))',
        FACTORS
        + '    lengths = [len(part) for part in onp.array_split(\n'
        + '        onp.arange(num_examples), num_devices)]\n'
        + '    return num_examples / onp.array(lengths)',
    ],
    [
        DIFFERENCE
        + '    return onp.max([max_difference(device_params[0], params)\n'
        + '                    for params in device_params])',
        (
            'abs(param.asnumpy() - right).max()',
            'float(abs(param.asnumpy() - right).max())',
        ),
        (
            'abs(param.asnumpy() - right).max()',
            'onp.linalg.norm((param.asnumpy() - right).ravel(), onp.inf)',
        ),
        DIFFERENCE
        + '    largest = np.zeros(())\n'
        + '    for params in device_params:\n'
        + '        for p, q in zip(params, device_params[0]):\n'
        + '            apart = abs(p.copyto(mx.cpu()) - q).max()\n'
        + '            largest = np.maximum(largest, apart)\n'
        + '    return largest',
    ],
]

# What other readers wrote.
WRONG[2] += [
    (
        """def disagreement(device_params):
    first, *others = [[p.asnumpy() for p in own] for own in device_params]
    return round(float(onp.max([
        abs(a - b).max() for own in [first, *others]
        for a, b in zip(first, own)])), 6)
""",
        'expected 1e-09, got 0',
    ),
]
