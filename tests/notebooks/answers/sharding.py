# 1 wrong: shards the parameters first -> should be
def devices_needed(num_params, stage, room):
    sharded = sum((8, 4, 4)[3 - stage:]) * num_params
    left = room - 16 * num_params + sharded
    if left < 0 or (sharded and left == 0):
        return None
    return max(1, -(-sharded // left)) if sharded else 1

# 1 wrong: rounds down -> should be
def devices_needed(num_params, stage, room):
    sharded = sum((4, 4, 8)[3 - stage:]) * num_params
    left = room - 16 * num_params + sharded
    if left < 0 or (sharded and left == 0):
        return None
    return max(1, sharded // left) if sharded else 1

# 1 wrong: as if all of it were sharded -> should be None
def devices_needed(num_params, stage, room):
    return -(-16 * num_params // room)

# 1 wrong: floating-point numbers: 30 devices just miss -> should be 30, not 31|16001
def devices_needed(num_params, stage, room):
    for k in range(1, 10**5):
        held = [4, 4, 8]
        for i in range(stage):
            held[2 - i] /= k
        if num_params * sum(held) <= room:
            return k

# 1 right: a float
def devices_needed(num_params, stage, room):
    sharded = sum((4, 4, 8)[3 - stage:]) * num_params
    left = room - 16 * num_params + sharded
    if left < 0 or (sharded and left == 0):
        return None
    return 1.0 * max(1, -(-sharded // left)) if sharded else 1

# 1 right: fractions, one number of devices after the other
def devices_needed(num_params, stage, room):
    from fractions import Fraction
    for k in range(1, 10**5):
        held = 16 - [0, 8, 12, 16][stage] * Fraction(k - 1, k)
        if num_params * held <= room:
            return k

# 2 wrong: the sum of the gradients, not their mean -> divided by all examples
def zero1_step(params, grads, states, lr, num_examples):
    parts = [split_views(param, len(params))[j]
             for j, param in enumerate(params)]
    for part, grad, state in zip(parts, reduce_scatter(grads), states):
        sgd_momentum([part], [grad], state, lr)
    all_gather(parts, params)

# 2 wrong: every device updates everything -> part j alone
def zero1_step(params, grads, states, lr, num_examples):
    d2lmulti.allreduce(grads)
    for param, grad, state in zip(params, grads, states):
        sgd_momentum([param], [grad / num_examples], state, lr)

# 2 wrong: nobody sends the new parameters -> only its own part moved
def zero1_step(params, grads, states, lr, num_examples):
    parts = [split_views(param, len(params))[j]
             for j, param in enumerate(params)]
    for part, grad, state in zip(parts, reduce_scatter(grads), states):
        sgd_momentum([part], [grad / num_examples], state, lr)

# 2 wrong: puts new arrays into the list -> write into the arrays, not into the list
def zero1_step(params, grads, states, lr, num_examples):
    params[:] = [param.copy() for param in params]
    parts = [split_views(param, len(params))[j]
             for j, param in enumerate(params)]
    for part, grad, state in zip(parts, reduce_scatter(grads), states):
        sgd_momentum([part], [grad / num_examples], state, lr)
    all_gather(parts, params)

# 2 wrong: a velocity without the rate: the rate changes -> step 3.*wrong parameters
def zero1_step(params, grads, states, lr, num_examples):
    parts = [split_views(param, len(params))[j]
             for j, param in enumerate(params)]
    for part, grad, state in zip(parts, reduce_scatter(grads),
                                 states):
        if not state:
            state.append(np.zeros_like(part))
        state[0][:] = 0.9 * state[0] + grad / num_examples
        part -= lr * state[0]
    all_gather(parts, params)

# 2 right: slices by hand, device by device
def zero1_step(params, grads, states, lr, num_examples):
    k, devices = len(params), [param.ctx for param in params]
    slices = split_slices(params[0].size, k)
    for j, part in enumerate(slices):
        grad = sum(g[part].as_in_ctx(devices[j]) for g in grads)
        own = params[j][part]
        sgd_momentum([own], [grad / num_examples], states[j], lr)
        for param, device in zip(params, devices):
            param[part] = own.as_in_ctx(device)

# 2 right: divides before it sums
def zero1_step(params, grads, states, lr, num_examples):
    parts = [split_views(param, len(params))[j]
             for j, param in enumerate(params)]
    means = reduce_scatter([g / num_examples for g in grads])
    for part, mean, state in zip(parts, means, states):
        sgd_momentum([part], [mean], state, lr)
    all_gather(parts, params)

# 3 wrong: takes a step with infinite gradients -> take_step is wrong
def next_scale(scale, grads, num_good, interval):
    if not all(onp.isfinite(grad).all() for grad in grads):
        return scale / 2, 0, True
    if num_good + 1 == interval:
        return 2 * scale, 0, True
    return scale, num_good + 1, True

# 3 wrong: keeps counting good steps after an infinite one -> num_good is wrong
def next_scale(scale, grads, num_good, interval):
    if not all(onp.isfinite(grad).all() for grad in grads):
        return scale / 2, num_good, False
    if num_good + 1 == interval:
        return 2 * scale, 0, True
    return scale, num_good + 1, True

# 3 wrong: doubles one step late -> scale is wrong
def next_scale(scale, grads, num_good, interval):
    if not all(onp.isfinite(grad).all() for grad in grads):
        return scale / 2, 0, False
    if num_good == interval:
        return 2 * scale, 0, True
    return scale, num_good + 1, True

# 3 wrong: an infinite gradient is good ->
def next_scale(scale, grads, num_good, interval):
    if not all(~onp.isnan(grad).all() for grad in grads):
        return scale / 2, 0, False
    if num_good + 1 == interval:
        return 2 * scale, 0, True
    return scale, num_good + 1, True

# 3 wrong: the sum of finite gradients may overflow -> scale is wrong
def next_scale(scale, grads, num_good, interval):
    if not all(onp.isfinite(grad.sum()).all() for grad in grads):
        return scale / 2, 0, False
    if num_good + 1 == interval:
        return 2 * scale, 0, True
    return scale, num_good + 1, True

# 3 right: numbers of NumPy
def next_scale(scale, grads, num_good, interval):
    if not all(onp.isfinite(grad).all() for grad in grads):
        return scale / 2, 0, False
    if num_good + 1 == interval:
        return 2 * scale, 0, True
    return onp.float32(scale), onp.int64(num_good + 1), onp.bool_(1)

# 3 right: from the largest gradient
def next_scale(scale, grads, num_good, interval):
    largest = onp.max([onp.max(abs(grad)) for grad in grads])
    if not largest < onp.inf:
        return scale / 2, 0, False
    double = num_good + 1 >= interval
    return ((2 * scale, 0, True) if double
            else (scale, num_good + 1, True))
