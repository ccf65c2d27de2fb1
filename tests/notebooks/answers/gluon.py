"""Answers to the exercises of 07_gluon, right and wrong, in order."""

WRONG = [
    [
        (  # not rounded
            """
def shares(rates, n):
    return [n * rate / sum(rates) for rate in rates]
""",
            'cannot be divided',
        ),
        (  # equal shares
            """
def shares(rates, n):
    k = len(rates)
    return [n * (i + 1) // k - n * i // k for i in range(k)]
""",
            'should take about',
        ),
        (  # each rounded alone
            """
def shares(rates, n):
    return [round(n * rate / sum(rates)) for rate in rates]
""",
            'has the sum',
        ),
        (':n - sum(counts)]', ':0]', 'has the sum'),  # rounded down
        # each rounded, the rest to the last, the first or the fastest
        (
            """
def shares(rates, n):
    counts = [round(n * rate / sum(rates)) for rate in rates]
    counts[-1] += n - sum(counts)
    return counts
""",
            'should take about',
        ),
        (
            """
def shares(rates, n):
    counts = [round(n * rate / sum(rates)) for rate in rates]
    counts[0] += n - sum(counts)
    return counts
""",
            'should take about',
        ),
        (
            """
def shares(rates, n):
    counts = [round(n * rate / sum(rates)) for rate in rates]
    counts[rates.index(max(rates))] += n - sum(counts)
    return counts
""",
            'should take about',
        ),
        # each the rounded part of what is left
        (
            """
def shares(rates, n):
    counts, total = [], sum(rates)
    for rate in rates:
        counts.append(round(n * rate / total))
        n -= counts[-1]
        total -= rate
    return counts
""",
            'should take about',
        ),
        # rounded down, the rest to the first or the fastest
        (
            """
def shares(rates, n):
    counts = [int(n * rate / sum(rates)) for rate in rates]
    counts[0] += n - sum(counts)
    return counts
""",
            'should take about',
        ),
        (
            """
def shares(rates, n):
    counts = [int(n * rate / sum(rates)) for rate in rates]
    counts[rates.index(max(rates))] += n - sum(counts)
    return counts
""",
            'should take about',
        ),
        # rounded down, the rest one by one from the first
        (
            """
def shares(rates, n):
    counts = [int(n * rate / sum(rates)) for rate in rates]
    for i in range(n - sum(counts)):
        counts[i] += 1
    return counts
""",
            'should take about',
        ),
        (  # all that rounding down loses goes to the first
            'counts[i] += 1',
            'counts[0] += 1',
            'should take about',
        ),
        (  # the slow device takes more
            'exact = [n * rate / sum(rates) for rate in rates]',
            'exact = [n / rate / sum(1 / r for r in rates) for rate in rates]',
            'should take about',
        ),
        ('    return counts', '    return sorted(counts)', 'should take'),
        (
            '    return counts',
            '    return sorted(counts)[::-1]',
            'should take about',
        ),
        (':n - sum(counts)]', ':n - 1 - sum(counts)]', 'has the sum'),
        ('    return counts', '    return [n]', 'devices, but 1 numbers'),
        (
            '    return counts',
            '    return [str(count) for count in counts]',
            'numbers is needed',
        ),
        ('    return counts', '    return [233, 23]', 'should take|the sum'),
        (
            'def shares(rates, n):\n'
            '    ends = [round(n * sum(rates[:i]) / sum(rates))\n'
            '            for i in range(len(rates) + 1)]\n'
            '    return [b - a for a, b in zip(ends, ends[1:])]\n',
            'should take about 1.0',
        ),
        (  # a generator is no list
            '\ndef shares(rates, n):\n    return (n for _ in rates)\n',
            'a list of',
        ),
    ],
    [
        ('max_norm * len(X) /', 'max_norm /', 'the mean gradient must stay'),
        (  # the second replica is not scaled
            '        for device in devices:\n',
            '        for device in devices[:1]:\n',
            'replicas differ',
        ),
        ('min(1, ', 'max(0, ', 'large max_norm'),
        ('scale = min(1, ', 'scale = max(1, ', 'large max_norm'),
        (  # the square, not its root
            'max(squares ** 0.5, 1e-12)',
            'max(squares, 1e-12)',
            'must stay',
        ),
        (  # the norm without the biases
            'for param in params)\n    scale',
            'for param in params if param.grad(devices[0]).ndim > 1)\n'
            '    scale',
            'after clipping',
        ),
        (  # without the last bias
            'for param in params)\n    scale',
            'for param in params[:-1])\n    scale',
            'after clipping|batch normalization',
        ),
        (  # off by a hundredth
            '/ max(squares ** 0.5, 1e-12)',
            '/ max(1.01 * squares ** 0.5, 1e-12)',
            'after clipping',
        ),
        (  # ignores max_norm
            """
def clipped_step(X, y, net, trainer, devices, max_norm):
    gluon_step(X, y, net, trainer, devices)
""",
            'after clipping',
        ),
        (  # every replica's gradient counts
            'float((param.grad(devices[0]) ** 2).sum())\n'
            '                  for param in params)',
            'float((param.grad(device).copyto(mx.cpu()) ** 2).sum())\n'
            '                  for param in params for device in devices)',
            'after clipping',
        ),
        (  # each parameter alone
            """
def clipped_step(X, y, net, trainer, devices, max_norm):
    backward_on_all(X, y, net, devices)
    trainer.allreduce_grads()
    for param in net.collect_params().values():
        norm = float((param.grad(devices[0]) ** 2).sum()) ** 0.5
        for device in devices:
            param.grad(device)[:] *= min(1, max_norm * len(X) / norm)
    trainer.update(len(X))
""",
            'after clipping',
        ),
        (  # each number alone
            """
def clipped_step(X, y, net, trainer, devices, max_norm):
    backward_on_all(X, y, net, devices)
    trainer.allreduce_grads()
    for param in net.collect_params().values():
        for gradient in param.list_grad():
            limit = max_norm * len(X) / gradient.size ** 0.5
            gradient[:] = np.clip(gradient, -limit, limit)
    trainer.update(len(X))
""",
            'must stay',
        ),
        (  # before the gradients are summed
            """
def clipped_step(X, y, net, trainer, devices, max_norm):
    backward_on_all(X, y, net, devices)
    params = list(net.collect_params().values())
    for device in devices:
        squares = sum(float((p.grad(device) ** 2).sum()) for p in params)
        for p in params:
            p.grad(device)[:] *= min(1, max_norm * len(X) / squares ** 0.5)
    trainer.allreduce_grads()
    trainer.update(len(X))
""",
            'after clipping',
        ),
        (  # leaves the trainer with another learning rate
            """
    for param in params:
        for device in devices:
            param.grad(device)[:] *= scale
    trainer.update(len(X))
""",
            '\n    trainer.set_learning_rate(trainer.learning_rate * scale)\n'
            '    trainer.update(len(X))\n',
            'another learning rate',
        ),
        (  # the gradients are never summed
            '    trainer.allreduce_grads()\n',
            '',
            'replicas differ',
        ),
        (  # the name of the gradient is bound to another array
            'param.grad(device)[:] *= scale',
            'gradient = param.grad(device)\n'
            '            gradient = gradient * scale',
            'after clipping',
        ),
        (  # running statistics have no gradient
            """values()
              if param.grad_req != 'null']""",
            'values()]',
            'batch normalization.*your answer raises',
        ),
        (  # only layers that LeNet has
            "if param.grad_req != 'null'",
            "if param.name.endswith(('weight', 'bias'))",
            'batch normalization.*max_norm 0.2',
        ),
        (  # divides by a norm of zero
            'max(squares ** 0.5, 1e-12)',
            'squares ** 0.5',
            'step 1: your answer raises ZeroDivisionError',
        ),
        (  # 0 / 0, in NumPy
            'scale = min(1, max_norm * len(X) / max(squares ** 0.5, 1e-12))',
            'norm = onp.float64(squares) ** 0.5\n'
            '    scale = onp.minimum(norm, max_norm * len(X)) / norm',
            'step 1: gradient 0',
        ),
        (  # its own update, without momentum
            """
    for param in params:
        for device in devices:
            param.grad(device)[:] *= scale
    trainer.update(len(X))
""",
            """
    rate = trainer.learning_rate * scale / len(X)
    for param in params:
        for data, grad in zip(param.list_data(), param.list_grad()):
            data -= rate * grad
""",
            'momentum 0.9, step 3',
        ),
        (  # the fixed learning rate, and a step in NumPy
            """
    for param in params:
        for device in devices:
            param.grad(device)[:] *= scale
    trainer.update(len(X))
""",
            """
    for param in params:
        step = 0.1 * scale / len(X) * param.grad(devices[0]).asnumpy()
        param.set_data(np.array(param.data(devices[0]).asnumpy() - step))
""",
            'momentum 0.9, step 3',
        ),
    ],
    [
        ('return len(lengths)', 'return sum(lengths)', 'how many times'),
        ('len(set(lengths)) > 1', 'False', 'so None'),
        ('return len(lengths)', 'return 1', 'how many times'),
        ('return len(lengths)', 'return 2', 'how many times'),
        ('return len(lengths)', 'return lengths[0]', 'how many times'),
        ('return len(lengths)', 'return 1 / len(lengths)', 'how many times'),
        ('len(set(lengths)) > 1', 'lengths[0] != lengths[-1]', 'so None'),
        (
            'len(set(lengths)) > 1',
            'max(lengths) - min(lengths) > 1',
            'so None',
        ),
        ('len(set(lengths)) > 1', 'len(lengths) > 1', 'how many times'),
        (
            'len(set(lengths)) > 1',
            'sum(lengths) % len(lengths) > 0',
            'so None',
        ),
        (
            'len(set(lengths)) > 1',
            'len(set(lengths)) > 1 and lengths != sorted(lengths)',
            'so None',
        ),
        (
            'len(set(lengths)) > 1',
            'len(set(lengths)) > 1 and max(lengths) < 60',
            'so None',
        ),
    ],
]

RIGHT = [
    [
        ('    return counts', '    return tuple(counts)'),
        ('    return counts', '    return onp.array(counts)'),
        ('    return counts', '    return np.array(counts)'),
        ('    return counts', '    return [float(c) for c in counts]'),
        """
def shares(rates, n):
    ends = [int(n * sum(rates[:i]) / sum(rates) + 0.5)
            for i in range(len(rates) + 1)]
    return [end - start for start, end in zip(ends, ends[1:])]
""",
    ],
    [
        (  # the update divides by more
            """
    for param in params:
        for device in devices:
            param.grad(device)[:] *= scale
    trainer.update(len(X))
""",
            '\n    trainer.update(len(X) / scale)\n',
        ),
        (  # a shorter step, for this minibatch only
            """
    for param in params:
        for device in devices:
            param.grad(device)[:] *= scale
    trainer.update(len(X))
""",
            '\n    rate = trainer.learning_rate\n'
            '    trainer.set_learning_rate(rate * scale)\n'
            '    trainer.update(len(X))\n'
            '    trainer.set_learning_rate(rate)\n',
        ),
        (
            '        for device in devices:\n'
            '            param.grad(device)[:] *= scale\n',
            '        for gradient in param.list_grad():\n'
            '            gradient *= scale\n',
        ),
        """
def clipped_step(X, y, net, trainer, devices, max_norm):
    backward_on_all(X, y, net, devices)
    trainer.allreduce_grads()
    params = [p for p in net.collect_params().values() if p.grad_req != 'null']
    norm = onp.linalg.norm(onp.concatenate(
        [p.grad(devices[-1]).asnumpy().ravel() for p in params])) / len(X)
    if norm > max_norm:
        for p in params:
            for device in devices:
                p.grad(device)[:] = p.grad(device) * float(max_norm / norm)
    trainer.update(len(X))
""",
        """
def clipped_step(X, y, net, trainer, devices, max_norm):
    backward_on_all(X, y, net, devices)
    trainer.allreduce_grads()
    params = [p for p in net.collect_params().values() if p.grad_req != 'null']
    norm = np.linalg.norm(np.concatenate(
        [p.grad(devices[0]).reshape(-1) for p in params])).item() / len(X)
    for p in params:
        for gradient in p.list_grad():
            gradient *= min(1, max_norm / max(norm, 1e-12))
    trainer.update(len(X))
""",
        (  # the norm of the norms, each of them in float32
            'squares = sum(float((param.grad(devices[0]) ** 2).sum())',
            'squares = sum(float(np.linalg.norm(param.grad(devices[0]))) ** 2',
        ),
        """
def clipped_step(X, y, net, trainer, devices, max_norm):
    backward_on_all(X, y, net, devices)
    trainer.allreduce_grads()
    grads = [p.list_grad() for p in net.collect_params().values()
             if p.grad_req == 'write']
    norm = float(sum((g[0] ** 2).sum() for g in grads)) ** 0.5 / len(X)
    while norm > max_norm:
        for replicas in grads:
            for g in replicas:
                g *= max_norm / norm
        norm = max_norm
    trainer.update(len(X))
""",
    ],
    [
        ('return len(lengths)', 'return float(len(lengths))'),
        ('return len(lengths)', 'return onp.int64(len(lengths))'),
        ('return len(lengths)', 'return np.array(len(lengths))'),
        ('len(set(lengths)) > 1', 'min(lengths) != max(lengths)'),
        ('return len(lengths)', 'return sum(lengths) / lengths[0]'),
    ],
]

# What other readers wrote.
WRONG[2] += [
    (
        """def step_argument(lengths):
    mean = sum(lengths) / len(lengths)
    return len(lengths) if mean == lengths[0] else None
""",
        r'\[2, 1, 3\]: 3 makes nothing right',
    ),
]
