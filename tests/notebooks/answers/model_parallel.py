# 1 wrong: the bubble beside the work, not in it -> of the ideal time
def micro_batches_needed(p, max_fraction):
    m = 1
    while (p - 1) / m > max_fraction:
        m += 1
    return m

# 1 wrong: rounds up what is whole already -> not 2|not 90
def micro_batches_needed(p, max_fraction):
    m = (p - 1) / max_fraction - (p - 1)
    return max(1, int(m) + 1)

# 1 wrong: rounding: 89.00000001 is not 90 -> 0.11: 89, not 90
def micro_batches_needed(p, max_fraction):
    return max(1, int(onp.ceil((p - 1) * (1 / max_fraction - 1))))

# 1 wrong: gives up at 100 -> 295, not 100
def micro_batches_needed(p, max_fraction):
    m = 1
    while (p - 1) / (m + p - 1) > max_fraction and m < 100:
        m += 1
    return m

# 1 right: solved for m, rounded up
def micro_batches_needed(p, max_fraction):
    return max(1, int(onp.ceil((p - 1) / max_fraction - (p - 1))))

# 1 right: an array of MXNet
def micro_batches_needed(p, max_fraction):
    m = 1
    while (p - 1) / (m + p - 1) > max_fraction:
        m += 1
    return np.array(m)

# 2 wrong: one live micro-batch too many -> too many on stage 0: 2
def order_1f1b(s, p, m):
    warmup = min(p - s, m)
    order = [('forward', i) for i in range(warmup)]
    for i in range(m - warmup):
        order += [('forward', warmup + i), ('backward', i)]
    return order + [('backward', i) for i in range(m - warmup, m)]

# 2 wrong: all forward passes first, as in GPipe -> a live micro-batch too many
def order_1f1b(s, p, m):
    warmup = m
    order = [('forward', i) for i in range(warmup)]
    for i in range(m - warmup):
        order += [('forward', warmup + i), ('backward', i)]
    return order + [('backward', i) for i in range(m - warmup, m)]

# 2 wrong: no warm-up: stage 1 gets nothing -> never ends|long enough
def order_1f1b(s, p, m):
    warmup = 0
    order = [('forward', i) for i in range(warmup)]
    for i in range(m - warmup):
        order += [('forward', warmup + i), ('backward', i)]
    return order + [('backward', i) for i in range(m - warmup, m)]

# 2 wrong: more forward passes than micro-batches -> has .*1 time, but needs forward
def order_1f1b(s, p, m):
    warmup = p - s - 1
    order = [('forward', i) for i in range(warmup)]
    for i in range(m - warmup):
        order += [('forward', warmup + i), ('backward', i)]
    return order + [('backward', i) for i in range(m - warmup, m)]

# 2 wrong: the backward pass before its forward pass -> never ends
def order_1f1b(s, p, m):
    warmup = min(p - s - 1, m)
    order = [('forward', i) for i in range(warmup)]
    for i in range(m - warmup):
        order += [('backward', i), ('forward', warmup + i)]
    return order + [('backward', i) for i in range(m - warmup, m)]

# 2 right: with a list of live micro-batches
def order_1f1b(s, p, m):
    order, live = [], []
    for i in range(m):
        order.append(('forward', i))
        live.append(i)
        if len(live) == p - s:
            order.append(('backward', live.pop(0)))
    return order + [('backward', i) for i in live]

# 2 right: from the chapter
def order_1f1b(s, p, m):
    return d2lmulti.one_f_one_b_schedule(p, m)[s]

# 3 wrong: adds b on every device -> k = 2, .*: b was added 2 times
def scores_from(units, weights, b):
    return sum(np.dot(h, W) + b for h, W in zip(units, weights))

# 3 wrong: forgets b -> k = 1, .*: b was added 0 times
def scores_from(units, weights, b):
    return sum(np.dot(h, W) for h, W in zip(units, weights))

# 3 wrong: the mean of the parts -> k = 2, .*: is every part
def scores_from(units, weights, b):
    return sum(np.dot(h, W) for h, W in zip(units, weights)) / len(units) + b

# 3 wrong: overwrites b -> b was changed
def scores_from(units, weights, b):
    b /= len(units)
    return sum((np.dot(h, W) + b).as_in_ctx(units[0].ctx)
               for h, W in zip(units, weights))

# 3 right: joined first
def scores_from(units, weights, b):
    return np.dot(np.concatenate(units, axis=1),
                  np.concatenate(weights)) + b

# 3 right: lists, from NumPy
def scores_from(units, weights, b):
    parts = [h.asnumpy() @ W.asnumpy()
             for h, W in zip(units, weights)]
    return (sum(parts) + b.asnumpy()).tolist()
