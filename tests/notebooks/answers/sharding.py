# 1 wrong: nothing is gathered -> Gather after the update
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    grads = [reduce_scatter([p.grad for p in params])
             for params in zip(*device_params)]
    parts = [[split_views(p, k)[j] for p in params]
             for j, params in enumerate(device_params)]
    update_shards(parts, list(zip(*grads)), lr, states, update)

# 1 wrong: gathers before the update -> Gather after the update
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    grads = [reduce_scatter([p.grad for p in params])
             for params in zip(*device_params)]
    parts = [[split_views(p, k)[j] for p in params]
             for j, params in enumerate(device_params)]
    for own, params in zip(zip(*parts), zip(*device_params)):
        all_gather(own, params)
    update_shards(parts, list(zip(*grads)), lr, states, update)

# 1 wrong: every device updates everything -> the memory that ZeRO saves
def zero1_step(device_params, lr, states, update=sgd_momentum):
    for params in zip(*device_params):
        d2lmulti.allreduce([p.grad for p in params])
    update_shards(device_params, [[p.grad for p in params]
                                  for params in device_params],
                  lr, states, lambda *a: update(*a))

# 1 wrong: no exchange at all -> nothing was summed
def zero1_step(device_params, lr, states, update=sgd_momentum):
    for params, state in zip(device_params, states):
        update(params, [p.grad for p in params], state, lr)

# 1 wrong: its part of its own gradient -> reduce-scatter the gradients first
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    parts = [[split_views(p, k)[j] for p in params]
             for j, params in enumerate(device_params)]
    grads = [[split_views(p.grad, k)[j] for p in params]
             for j, params in enumerate(device_params)]
    update_shards(parts, grads, lr, states, update)
    for own, params in zip(zip(*parts), zip(*device_params)):
        all_gather(own, params)

# 1 wrong: the mean -> k times too short
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    grads = [[g / k for g in reduce_scatter([p.grad for p in params])]
             for params in zip(*device_params)]
    parts = [[split_views(p, k)[j] for p in params]
             for j, params in enumerate(device_params)]
    update_shards(parts, list(zip(*grads)), lr, states, update)
    for own, params in zip(zip(*parts), zip(*device_params)):
        all_gather(own, params)

# 1 wrong: an allreduce, and then a reduce-scatter -> summed twice
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    for params in zip(*device_params):
        d2lmulti.allreduce([p.grad for p in params])
    grads = [reduce_scatter([p.grad for p in params])
             for params in zip(*device_params)]
    parts = [[split_views(p, k)[j] for p in params]
             for j, params in enumerate(device_params)]
    update_shards(parts, list(zip(*grads)), lr, states, update)
    for own, params in zip(zip(*parts), zip(*device_params)):
        all_gather(own, params)

# 1 wrong: an allreduce in place of the reduce-scatter -> a whole array sent where a part
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    for params in zip(*device_params):
        direct_allreduce([p.grad for p in params])
    parts = [[split_views(p, k)[j] for p in params]
             for j, params in enumerate(device_params)]
    grads = [[split_views(p.grad, k)[j] for p in params]
             for j, params in enumerate(device_params)]
    update_shards(parts, grads, lr, states, update)
    for own, params in zip(zip(*parts), zip(*device_params)):
        all_gather(own, params)

# 1 wrong: gathers the gradients, and puts new arrays into the list -> write into the arrays
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    for params in device_params:
        params[:] = [p.copy() for p in params]

# 1 wrong: updates the gradients -> nothing moved
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    grads = [reduce_scatter([p.grad for p in params])
             for params in zip(*device_params)]
    parts = [[split_views(p, k)[j].copy() for p in params]
             for j, params in enumerate(device_params)]
    update_shards(parts, list(zip(*grads)), lr, states, update)

# 1 wrong: a new state in every step -> Is states\[j\]
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    grads = [reduce_scatter([p.grad for p in params])
             for params in zip(*device_params)]
    parts = [[split_views(p, k)[j] for p in params]
             for j, params in enumerate(device_params)]
    for own, grad in zip(parts, zip(*grads)):
        update(own, grad, [], lr)
    for own, params in zip(zip(*parts), zip(*device_params)):
        all_gather(own, params)

# 1 wrong: its own loop, without norms -> LARS needs the norms
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    grads = [reduce_scatter([p.grad for p in params])
             for params in zip(*device_params)]
    parts = [[split_views(p, k)[j] for p in params]
             for j, params in enumerate(device_params)]
    for own, grad, state in zip(parts, zip(*grads), states):
        update(own, grad, state, lr)
    for own, params in zip(zip(*parts), zip(*device_params)):
        all_gather(own, params)

# 1 wrong: the first parameter alone -> Is states
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    firsts = [params[:1] for params in device_params]
    grads = [reduce_scatter([p.grad for p in params])
             for params in zip(*firsts)]
    parts = [[split_views(p, k)[j] for p in params]
             for j, params in enumerate(firsts)]
    update_shards(parts, list(zip(*grads)), lr, states, update)
    for own, params in zip(zip(*parts), zip(*firsts)):
        all_gather(own, params)

# 1 wrong: uphill -> the step goes uphill
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    grads = [[-g for g in reduce_scatter([p.grad for p in params])]
             for params in zip(*device_params)]
    parts = [[split_views(p, k)[j] for p in params]
             for j, params in enumerate(device_params)]
    update_shards(parts, list(zip(*grads)), lr, states, update)
    for own, params in zip(zip(*parts), zip(*device_params)):
        all_gather(own, params)

# 1 wrong: by parameter where it should be by device -> not for each parameter
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    grads = [reduce_scatter([p.grad for p in params])
             for params in zip(*device_params)]
    parts = [[split_views(p, k)[j] for j, p in enumerate(params)]
             for params in zip(*device_params)]
    update_shards(parts, grads, lr, states, update)
    for own, params in zip(parts, zip(*device_params)):
        all_gather(own, params)

# 1 wrong: sums in NumPy -> are sums made elsewhere
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    parts = [[split_views(p, k)[j] for p in params]
             for j, params in enumerate(device_params)]
    grads = []
    for j, own in enumerate(parts):
        grads.append([])
        for i, part in enumerate(own):
            total = sum(split_views(params[i].grad, k)[j].asnumpy()
                        for params in device_params)
            grads[-1].append(np.array(total, ctx=part.ctx, dtype=part.dtype))
    update_shards(parts, grads, lr, states, update)
    for own, params in zip(zip(*parts), zip(*device_params)):
        all_gather(own, params)

# 1 right: the steps of the paper, one after the other
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    grads = [reduce_scatter([p.grad for p in params])
             for params in zip(*device_params)]
    parts = [[split_views(p, k)[j] for p in params]
             for j, params in enumerate(device_params)]
    update_shards(parts, list(zip(*grads)), lr, states, update)
    for own, params in zip(zip(*parts), zip(*device_params)):
        all_gather(own, params)

# 1 right: loops that append
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    parts, grads = [[] for _ in range(k)], [[] for _ in range(k)]
    for i in range(len(device_params[0])):
        sums = reduce_scatter([params[i].grad for params in device_params])
        for j in range(k):
            parts[j].append(split_views(device_params[j][i], k)[j])
            grads[j].append(sums[j])
    update_shards(parts, grads, lr, states, update)
    for i in range(len(device_params[0])):
        all_gather([own[i] for own in parts],
                   [params[i] for params in device_params])

# 1 right: slices of a flat view
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k, parts = len(device_params), []
    for j, params in enumerate(device_params):
        parts.append([p.reshape_view(-1)[split_slices(p.size, k)[j]]
                      for p in params])
    sums = map(reduce_scatter, zip(*[[p.grad for p in params]
                                     for params in device_params]))
    update_shards(parts, [list(own) for own in zip(*sums)], lr, states,
                  update)
    for own, wholes in zip(zip(*parts), zip(*device_params)):
        all_gather(list(own), list(wholes))

# 1 right: copies of the parts, which are then gathered
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    parts = [[split_views(p, k)[j].copy() for p in params]
             for j, params in enumerate(device_params)]
    grads = [reduce_scatter([p.grad for p in params])
             for params in zip(*device_params)]
    update_shards(parts, list(zip(*grads)), lr, states, update)
    for own, params in zip(zip(*parts), zip(*device_params)):
        all_gather(own, params)

# 1 right: by hand, part by part
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k, parts, grads = len(device_params), [], []
    for j, params in enumerate(device_params):
        parts.append([split_views(p, k)[j] for p in params])
        grads.append([])
        for i, p in enumerate(params):
            total = split_views(p.grad, k)[j].copy()
            for other in device_params:
                if other is not params:
                    total += split_views(other[i].grad, k)[j].copyto(p.ctx)
            grads[j].append(total)
    update_shards(parts, grads, lr, states, update)
    for j, own in enumerate(parts):
        for i, part in enumerate(own):
            for other in device_params[:j] + device_params[j + 1:]:
                part.copyto(split_views(other[i], k)[j])

# 1 right: helpers inside
def zero1_step(device_params, lr, states, update=sgd_momentum):
    def by_device(by_param):
        return [list(own) for own in zip(*by_param)]
    def own_parts(params):
        return [split_views(p, len(params))[j] for j, p in enumerate(params)]
    columns = by_device(device_params)
    parts = [own_parts(params) for params in columns]
    grads = [reduce_scatter([p.grad for p in params]) for params in columns]
    update_shards(by_device(parts), by_device(grads), lr, states, update)
    for own, params in zip(parts, columns):
        all_gather(own, params)

# 1 right: generators
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    def parts_of(j):
        for p in device_params[j]:
            yield split_views(p, k)[j]
    parts = [list(parts_of(j)) for j in range(k)]
    grads = list(zip(*(reduce_scatter([p.grad for p in params])
                       for params in zip(*device_params))))
    update_shards(parts, grads, lr, states, update)
    [all_gather(own, params) for own, params
     in zip(zip(*parts), zip(*device_params))]

# 1 right: from the package
def zero1_step(device_params, lr, states, update=sgd_momentum):
    from d2lmulti.model_parallelism import sharding
    grads = [reduce_scatter([p.grad for p in params])
             for params in zip(*device_params)]
    sharding.update_parts(device_params, list(zip(*grads)), lr, states,
                          update)

# 1 right: by map
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    gradients = map(lambda params: [p.grad for p in params],
                    zip(*device_params))
    sums = list(zip(*map(reduce_scatter, gradients)))
    parts = list(map(lambda j: [split_views(p, k)[j]
                                for p in device_params[j]], range(k)))
    update_shards(parts, sums, lr, states, update)
    list(map(all_gather, zip(*parts), zip(*device_params)))

# 1 right: the last parameter first
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k = len(device_params)
    backwards = [params[::-1] for params in device_params]
    grads = [reduce_scatter([p.grad for p in params])
             for params in zip(*backwards)]
    parts = [[split_views(p, k)[j] for p in params]
             for j, params in enumerate(backwards)]
    update_shards(parts, list(zip(*grads)), lr, states, update)
    for own, params in zip(zip(*parts), zip(*backwards)):
        all_gather(own, params)
    return device_params

# 1 right: sums into the own gradient
def zero1_step(device_params, lr, states, update=sgd_momentum):
    k, j_of = len(device_params), range(len(device_params))
    own = [[split_views(p.grad, k)[j] for p in device_params[j]] for j in j_of]
    for params in zip(*device_params):
        for j, part in enumerate(reduce_scatter([p.grad for p in params])):
            split_views(params[j].grad, k)[j][:] = part
    parts = [[split_views(p, k)[j] for p in device_params[j]] for j in j_of]
    update_shards(parts, own, lr, states, update)
    for params in zip(*device_params):
        all_gather([split_views(p, k)[j] for j, p in enumerate(params)],
                   params)

# 1 right: a while loop and tuples
def zero1_step(device_params, lr, states, update=sgd_momentum):
    columns, grads, parts, i = tuple(zip(*device_params)), [], [], 0
    while i < len(columns):
        grads.append(reduce_scatter([p.grad for p in columns[i]]))
        parts.append(tuple(split_views(p, len(columns[i]))[j]
                           for j, p in enumerate(columns[i])))
        i += 1
    update_shards(tuple(zip(*parts)), tuple(zip(*grads)), lr, states, update)
    for own, params in zip(parts, columns):
        all_gather(own, params)

# 2 wrong: takes a step with infinite gradients -> take_step is wrong
def next_scale(scale, grads, num_good, interval):
    if not all(onp.isfinite(grad).all() for grad in grads):
        return scale / 2, 0, True
    if num_good + 1 == interval:
        return 2 * scale, 0, True
    return scale, num_good + 1, True

# 2 wrong: keeps counting good steps after an infinite one -> num_good is wrong
def next_scale(scale, grads, num_good, interval):
    if not all(onp.isfinite(grad).all() for grad in grads):
        return scale / 2, num_good, False
    if num_good + 1 == interval:
        return 2 * scale, 0, True
    return scale, num_good + 1, True

# 2 wrong: doubles one step late -> scale is wrong
def next_scale(scale, grads, num_good, interval):
    if not all(onp.isfinite(grad).all() for grad in grads):
        return scale / 2, 0, False
    if num_good == interval:
        return 2 * scale, 0, True
    return scale, num_good + 1, True

# 2 wrong: an infinite gradient is good ->
def next_scale(scale, grads, num_good, interval):
    if not all(~onp.isnan(grad).all() for grad in grads):
        return scale / 2, 0, False
    if num_good + 1 == interval:
        return 2 * scale, 0, True
    return scale, num_good + 1, True

# 2 wrong: the sum of finite gradients may overflow -> scale is wrong
def next_scale(scale, grads, num_good, interval):
    if not all(onp.isfinite(grad.sum()).all() for grad in grads):
        return scale / 2, 0, False
    if num_good + 1 == interval:
        return 2 * scale, 0, True
    return scale, num_good + 1, True

# 2 right: numbers of NumPy
def next_scale(scale, grads, num_good, interval):
    if not all(onp.isfinite(grad).all() for grad in grads):
        return scale / 2, 0, False
    if num_good + 1 == interval:
        return 2 * scale, 0, True
    return onp.float32(scale), onp.int64(num_good + 1), onp.bool_(1)

# 2 right: from the largest gradient
def next_scale(scale, grads, num_good, interval):
    largest = onp.max([onp.max(abs(grad)) for grad in grads])
    if not largest < onp.inf:
        return scale / 2, 0, False
    double = num_good + 1 >= interval
    return ((2 * scale, 0, True) if double
            else (scale, num_good + 1, True))
