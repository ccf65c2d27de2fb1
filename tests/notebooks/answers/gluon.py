# 1 wrong: rounds each by itself -> has the sum
def shares(rates, n):
    return [round(n * rate / sum(rates)) for rate in rates]

# 1 wrong: fractions of images -> cannot be divided
def shares(rates, n):
    return [n * rate / sum(rates) for rate in rates]

# 1 wrong: as if all were equally fast -> should take about
def shares(rates, n):
    k = len(rates)
    return [n * (i + 1) // k - n * i // k for i in range(k)]

# 1 wrong: the last device takes what rounding left -> should take about
def shares(rates, n):
    counts = [round(n * rate / sum(rates)) for rate in rates]
    counts[-1] += n - sum(counts)
    return counts

# 1 right: an array of MXNet
def shares(rates, n):
    exact = [n * rate / sum(rates) for rate in rates]
    counts = [int(share) for share in exact]
    lost = [share - count for share, count in zip(exact, counts)]
    for i in sorted(range(len(rates)), key=lambda i: -lost[i])[
            :n - sum(counts)]:
        counts[i] += 1
    return np.array(counts)

# 1 right: rounded ends
def shares(rates, n):
    ends = [int(n * sum(rates[:i]) / sum(rates) + 0.5)
            for i in range(len(rates) + 1)]
    return [end - start for start, end in zip(ends, ends[1:])]

# 2 wrong: the norm of a sum beside the limit for a mean -> the mean gradient must stay
def clipped_step(X, y, net, trainer, devices, max_norm):
    backward_on_all(X, y, net, devices)
    trainer.allreduce_grads()
    params = [param for param in net.collect_params().values()
              if param.grad_req != 'null']
    squares = sum(float((param.grad(devices[0]) ** 2).sum())
                  for param in params)
    scale = min(1, max_norm / max(squares ** 0.5, 1e-12))
    for param in params:
        for device in devices:
            param.grad(device)[:] *= scale
    trainer.update(len(X))

# 2 wrong: clips each parameter by itself -> after clipping
def clipped_step(X, y, net, trainer, devices, max_norm):
    backward_on_all(X, y, net, devices)
    trainer.allreduce_grads()
    for param in net.collect_params().values():
        norm = float((param.grad(devices[0]) ** 2).sum()) ** 0.5
        for device in devices:
            param.grad(device)[:] *= min(1, max_norm * len(X) / norm)
    trainer.update(len(X))

# 2 wrong: clips on each device, before the sum -> after clipping
def clipped_step(X, y, net, trainer, devices, max_norm):
    backward_on_all(X, y, net, devices)
    params = list(net.collect_params().values())
    for device in devices:
        squares = sum(float((p.grad(device) ** 2).sum()) for p in params)
        for p in params:
            p.grad(device)[:] *= min(1, max_norm * len(X) / squares ** 0.5)
    trainer.allreduce_grads()
    trainer.update(len(X))

# 2 wrong: leaves the learning rate changed -> another learning rate
def clipped_step(X, y, net, trainer, devices, max_norm):
    backward_on_all(X, y, net, devices)
    trainer.allreduce_grads()
    params = [param for param in net.collect_params().values()
              if param.grad_req != 'null']
    squares = sum(float((param.grad(devices[0]) ** 2).sum())
                  for param in params)
    scale = min(1, max_norm * len(X) / max(squares ** 0.5, 1e-12))
    trainer.set_learning_rate(trainer.learning_rate * scale)
    trainer.update(len(X))

# 2 wrong: divides by a norm of 0 -> step 1: your answer raises ZeroDivisionError
def clipped_step(X, y, net, trainer, devices, max_norm):
    backward_on_all(X, y, net, devices)
    trainer.allreduce_grads()
    params = [param for param in net.collect_params().values()
              if param.grad_req != 'null']
    squares = sum(float((param.grad(devices[0]) ** 2).sum())
                  for param in params)
    scale = min(1, max_norm * len(X) / squares ** 0.5)
    for param in params:
        for device in devices:
            param.grad(device)[:] *= scale
    trainer.update(len(X))

# 2 right: a smaller learning rate for one step
def clipped_step(X, y, net, trainer, devices, max_norm):
    backward_on_all(X, y, net, devices)
    trainer.allreduce_grads()
    params = [param for param in net.collect_params().values()
              if param.grad_req != 'null']
    squares = sum(float((param.grad(devices[0]) ** 2).sum())
                  for param in params)
    scale = min(1, max_norm * len(X) / max(squares ** 0.5, 1e-12))
    rate = trainer.learning_rate
    trainer.set_learning_rate(rate * scale)
    trainer.update(len(X))
    trainer.set_learning_rate(rate)

# 2 right: the norm in NumPy
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

# 3 wrong: divides by the minibatch once more -> how many times
def step_argument(lengths):
    if len(set(lengths)) > 1:
        return None
    return sum(lengths)

# 3 wrong: as if Trainer took the mean -> how many times
def step_argument(lengths):
    if len(set(lengths)) > 1:
        return None
    return 1

# 3 wrong: looks at the ends only -> so None
def step_argument(lengths):
    if lengths[0] != lengths[-1]:
        return None
    return len(lengths)

# 3 wrong: the mean is the first length by chance -> \[2, 1, 3\]: 3 makes nothing right
def step_argument(lengths):
    mean = sum(lengths) / len(lengths)
    return len(lengths) if mean == lengths[0] else None

# 3 right: an array of MXNet
def step_argument(lengths):
    if len(set(lengths)) > 1:
        return None
    return np.array(len(lengths))

# 3 right: from the sum
def step_argument(lengths):
    if len(set(lengths)) > 1:
        return None
    return sum(lengths) / lengths[0]
