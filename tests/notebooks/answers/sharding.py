"""Answers to the exercises of 16_sharding, right and wrong, in order."""

WRONG = [
    [
        ('(4, 4, 8)[3 - stage:]', '(4, 4, 4)[3 - stage:]', 'should be'),
        ('(4, 4, 8)[3 - stage:]', '(8, 4, 4)[3 - stage:]', 'should be'),
        ('(4, 4, 8)[3 - stage:]', '(4, 4, 8)', 'should be None'),
        ('-(-sharded // left)', 'sharded // left', 'should be'),
        ('-(-sharded // left)', 'sharded // left + 1', 'should be 4, not 5'),
        ('left < 0 or', 'left < -1 or', ''),
        (
            'def devices_needed(num_params, stage, room):\n    return 4',
            'should be 1, not 4',
        ),
        (
            'def devices_needed(num_params, stage, room):\n'
            '    return -(-16 * num_params // room)',
            'should be None',
        ),
        (
            "def devices_needed(num_params, stage, room):\n    return '4'",
            "not '4'",
        ),
        (
            'def devices_needed(num_params, stage, room):\n'
            '    return num_params[0]',
            'raises TypeError',
        ),
        (
            'def devices_needed(num_params, stage, room):\n'
            '    for k in range(1, 1001):\n'
            '        held = [4, 4, 8]\n'
            '        for j in range(stage):\n'
            '            held[2 - j] /= k\n'
            '        if num_params * sum(held) <= room:\n'
            '            return k\n',
            'should be 5000, not None',
        ),
        (
            'def devices_needed(num_params, stage, room):\n'
            '    part = sum((4, 4, 8)[3 - stage:]) * num_params\n'
            '    whole = 16 * num_params - part\n'
            '    for k in range(1, num_params + 1):\n'
            '        if whole + part / k <= room:\n'
            '            return k\n',
            'should be 200, not None',
        ),  # no more devices than numbers
        (
            'def devices_needed(num_params, stage, room):\n'
            '    for k in range(1, 10**5):\n'
            '        part = -(-num_params // k)\n'  # whole numbers
            '        held = [num_params] * (3 - stage) + [part] * stage\n'
            '        if 4 * (held[0] + held[1] + 2 * held[2]) <= room:\n'
            '            return k\n',
            'should be 16000, not 16130',
        ),  # shards of whole numbers
        # sums of floats, a little above the limit
        (
            'def devices_needed(num_params, stage, room):\n'
            '    for k in range(1, 10**5):\n'
            '        held = [4, 4, 8]\n'
            '        for i in range(stage):\n'
            '            held[2 - i] /= k\n'
            '        if num_params * sum(held) <= room:\n'
            '            return k\n',
            'should be 30, not 31|16001',
        ),
        (
            'def devices_needed(num_params, stage, room):\n'
            '    sharded = [0, 8, 12, 16][stage]\n'
            '    for k in range(1, 10**5):\n'
            '        if num_params * (16 - sharded + sharded / k) <= room:\n'
            '            return k\n',
            'should be 30, not 31|16001',
        ),
        ('return max(', 'return min(10**4, ', 'should be'),
        (
            'max(1, -(-sharded // left))',
            'max(1, round(sharded / left))',
            'should be',
        ),
    ],
    [
        (
            'sgd_momentum([part], [grad / num_examples], state, lr)',
            'sgd_momentum([part], [grad / num_examples], state, lr)\n'
            '        sgd_momentum([part], [grad / num_examples], state, lr)',
            'updated once',
        ),  # a shard updated twice
        (
            'grad / num_examples',
            'grad',
            'divided by all examples',
        ),
        (
            'grad / num_examples',
            'grad / (num_examples // len(params))',
            'wrong parameters',
        ),  # the shard's examples
        (
            'reduce_scatter(grads), states)',
            'reduce_scatter(grads), states[::-1])',
            'the state of part j alone|belongs to other|states',
        ),  # the state of another shard
        (
            'reduce_scatter(grads), states)',
            'reduce_scatter(grads), [*states[:1], *states[:0:-1]])',
            'state',
        ),  # two states of one size exchanged
        ('    all_gather(parts, params)', '', 'only its own part moved'),
        (
            'def zero1_step(params, grads, states, lr, num_examples):\n'
            '    parts = [split_views(param, len(params))[j]\n'
            '             for j, param in enumerate(params)]\n'
            '    all_gather(parts, params)\n'
            '    for part, grad, state in zip(parts, reduce_scatter(grads),\n'
            '                                 states):\n'
            '        sgd_momentum([part], [grad / num_examples], state, lr)\n',
            'only its own part moved',
        ),  # a gather before the update
        (
            'def zero1_step(params, grads, states, lr, num_examples):\n'
            '    d2lmulti.allreduce(grads)\n'
            '    for param, grad, state in zip(params, grads, states):\n'
            '        sgd_momentum([param], [grad / num_examples], state, lr)\n',
            'part j alone',
        ),
        (
            'def zero1_step(params, grads, states, lr, num_examples):\n'
            '    k = len(params)\n'
            '    parts = [split_views(params[j], k)[j].copy() '
            'for j in range(k)]\n'
            '    d2lmulti.allreduce(grads)\n'
            '    for j in range(k):\n'
            '        grad = split_views(grads[j], k)[j] / num_examples\n'
            '        sgd_momentum([parts[j]], [grad], states[j], lr)\n'
            '    all_gather(parts, params)\n',
            'as by allreduce',
        ),
        (
            'def zero1_step(params, grads, states, lr, num_examples):\n'
            '    total = sum(grad.asnumpy() for grad in grads)\n'
            '    whole = params[0].asnumpy()\n'
            '    slices = split_slices(len(whole), len(params))\n'
            '    for part, state, param in zip(slices, states, params):\n'
            '        own = np.array(whole[part], ctx=param.ctx)\n'
            '        grad = np.array(total[part] / num_examples, '
            'ctx=param.ctx)\n'
            '        sgd_momentum([own], [grad], state, lr)\n'
            '        whole[part] = own.asnumpy()\n'
            '    for param in params:\n'
            '        param[:] = whole\n',
            'as in NumPy',
        ),
        (
            'reduce_scatter(grads)',
            '[split_views(g, len(params))[j] for j, g in enumerate(grads)]',
            'summed over all devices',
        ),
        (
            'def zero1_step(params, grads, states, lr, num_examples):\n'
            '    return params\n',
            'nothing moved',
        ),
        (  # new arrays in the list
            '    parts = [',
            '    params[:] = [param.copy() for param in params]\n    parts = [',
            'write into the arrays, not into the list',
        ),
        (', state, lr)', ', [], lr)', 'states'),
        (', state, lr)', ', state, 0.1)', 'step 3.*wrong parameters'),
        (  # the rate and the number of the first step
            '    parts = [',
            '    first = zero1_step.__dict__.setdefault(id(states), (lr, num_examples))\n'
            '    lr, num_examples = first\n'
            '    parts = [',
            'step 3.*wrong parameters',
        ),
        (  # the rate outside of the momentum
            'def zero1_step(params, grads, states, lr, num_examples):\n'
            '    parts = [split_views(param, len(params))[j]\n'
            '             for j, param in enumerate(params)]\n'
            '    for part, grad, state in zip(parts, reduce_scatter(grads),\n'
            '                                 states):\n'
            '        if not state:\n'
            '            state.append(np.zeros_like(part))\n'
            '        state[0][:] = 0.9 * state[0] + grad / num_examples\n'
            '        part -= lr * state[0]\n'
            '    all_gather(parts, params)\n',
            'step 3.*wrong parameters',
        ),
    ],
    [
        ('scale / 2, 0, False', 'scale / 2, 0, True', 'take_step is wrong'),
        ('scale / 2, 0, False', 'scale, 0, False', 'scale is wrong'),
        ('scale / 2, 0', 'scale / 2, num_good', 'num_good is wrong'),
        ('2 * scale, 0, True', '2 * scale, 1, True', 'num_good is wrong'),
        ('2 * scale, 0, True', 'scale, 0, True', 'scale is wrong'),
        ('num_good + 1 == interval', 'num_good == interval', 'scale is wrong'),
        ('.all() for grad', '.any() for grad', 'scale is wrong'),
        ('if not all(onp.isfinite(grad)', 'if not all(~onp.isnan(grad)', ''),
        ('in grads)', 'in grads[:1])', 'scale is wrong'),
        ('isfinite(grad)', 'isfinite(grad.sum())', 'scale is wrong'),
        (
            'isfinite(grad)',
            'isfinite(onp.linalg.norm(grad.astype("float16")))',
            'scale is wrong',
        ),
        ('isfinite(grad)', 'isfinite((grad**2).sum())', 'scale is wrong'),
        (
            'def next_scale(scale, grads, num_good, interval):\n'
            '    return scale',
            'three values',
        ),
        ('for grad in grads)', 'for grad in grads[::2])', 'is wrong'),
        ('(grad).all()', '(grad.ravel()[-1])', 'is wrong'),
        ('onp.isfinite(grad)', '(abs(grad) <= 65_504)', 'finite'),
        (
            'return 2 * scale',
            'return min(2 * scale, 1 << 16)',
            'scale is wrong',
        ),
        ('return 2 * scale', 'return min(2 * scale, 2**24)', 'scale is wrong'),
        ('scale / 2, 0', 'max(scale / 2, 1), 0', 'scale is wrong'),
        ('scale / 2, 0', 'max(scale / 2, 2**-9), 0', 'scale is wrong'),
        ('isfinite(grad)', 'isfinite(abs(grad).mean())', 'scale is wrong'),
        (  # max of Python skips a nan after a number
            'def next_scale(scale, grads, num_good, interval):\n'
            '    largest = max(abs(x) for grad in grads for x in grad.ravel())\n'
            '    if not largest < onp.inf:\n'
            '        return scale / 2, 0, False\n'
            '    if num_good + 1 == interval:\n'
            '        return 2 * scale, 0, True\n'
            '    return scale, num_good + 1, True\n',
            'is wrong',
        ),
        ('onp.isfinite(grad)', '(grad[0] < onp.inf)', 'is wrong'),
    ],
]

RIGHT = [
    [
        ('return max(', 'return onp.int64(1) * max('),
        ('return max(', 'return 1.0 * max('),
        'def devices_needed(num_params, stage, room):\n'
        '    for k in range(1, 10**5):\n'
        '        held = [4, 4, 8]\n'
        '        for i in range(stage):\n'
        '            held[2 - i] /= k\n'
        '        if num_params * sum(held) <= room + 1e-9:\n'
        '            return k\n',
        'def devices_needed(num_params, stage, room):\n'
        '    from fractions import Fraction\n'
        '    for k in range(1, 10**5):\n'
        '        held = 16 - [0, 8, 12, 16][stage] * Fraction(k - 1, k)\n'
        '        if num_params * held <= room:\n'
        '            return k\n',
        (
            'def devices_needed(num_params, stage, room):\n'
            '    from fractions import Fraction\n'
            '    for k in range(1, 10**5):\n'
            '        share = [0, 8, 12, 16][stage] * Fraction(k - 1, k)\n'
            '        if num_params * (16 - share) <= room:\n'
            '            return Fraction(k)\n'
        ),
    ],
    [
        (
            'sgd_momentum([part], [grad / num_examples], state, lr)',
            'sgd_momentum((part,), (grad / num_examples,), state, lr)',
        ),
        (
            'for part, grad, state in zip(parts, reduce_scatter(grads), states):',
            'sums = reduce_scatter([g / num_examples for g in grads])\n'
            '    num_examples = 1\n'
            '    for part, grad, state in zip(parts, sums, states):',
        ),
        'def zero1_step(params, grads, states, lr, num_examples):\n'
        '    k, devices = len(params), [param.ctx for param in params]\n'
        '    slices = split_slices(params[0].size, k)\n'
        '    for j, part in enumerate(slices):\n'
        '        grad = sum(g[part].as_in_ctx(devices[j]) for g in grads)\n'
        '        own = params[j][part]\n'
        '        sgd_momentum([own], [grad / num_examples], states[j], lr)\n'
        '        for param, device in zip(params, devices):\n'
        '            param[part] = own.as_in_ctx(device)\n',
    ],
    [
        ('return scale / 2, 0, False', 'return [scale * 0.5, 0, False]'),
        (
            'return scale, num_good + 1, True',
            'return onp.float32(scale), onp.int64(num_good + 1), onp.bool_(1)',
        ),
        'def next_scale(scale, grads, num_good, interval):\n'
        '    largest = onp.max([onp.max(abs(grad)) for grad in grads])\n'
        '    if not largest < onp.inf:\n'
        '        return scale / 2, 0, False\n'
        '    double = num_good + 1 >= interval\n'
        '    return ((2 * scale, 0, True) if double\n'
        '            else (scale, num_good + 1, True))\n',
    ],
]
