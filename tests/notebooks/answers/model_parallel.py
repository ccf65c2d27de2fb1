# 1 wrong: one live micro-batch too many -> stage 0 holds 3 live
def one_f_one_b_schedule(num_stages, num_micro_batches):
    orders = []
    for s in range(num_stages):
        warmup = min(num_stages - s, num_micro_batches)
        order = passes('forward', warmup)
        for i in range(num_micro_batches - warmup):
            order += [('forward', warmup + i), ('backward', i)]
        orders.append(order + [('backward', i) for i in range(
            num_micro_batches - warmup, num_micro_batches)])
    return orders

# 1 wrong: all forward passes first -> That is GPipe
def one_f_one_b_schedule(num_stages, num_micro_batches):
    return gpipe_schedule(num_stages, num_micro_batches)

# 1 wrong: no warm-up -> stage 0 holds at most 1 live, not 2
def one_f_one_b_schedule(num_stages, num_micro_batches):
    return [[(phase, i) for i in range(num_micro_batches)
             for phase in ('forward', 'backward')]] * num_stages

# 1 wrong: more forward passes than micro-batches -> there are only 1
def one_f_one_b_schedule(num_stages, num_micro_batches):
    orders = []
    for s in range(num_stages):
        warmup = num_stages - s - 1
        order = passes('forward', warmup)
        for i in range(num_micro_batches - warmup):
            order += [('forward', warmup + i), ('backward', i)]
        orders.append(order + [('backward', i) for i in range(
            max(0, num_micro_batches - warmup), num_micro_batches)])
    return orders

# 1 wrong: the backward pass first in each turn -> at most 1 live
def one_f_one_b_schedule(num_stages, num_micro_batches):
    orders, m = [], num_micro_batches
    for s in range(num_stages):
        warmup = min(num_stages - s - 1, m)
        order = passes('forward', warmup)
        for i in range(m - warmup):
            order += [('backward', i), ('forward', warmup + i)]
        orders.append(order + [('backward', i) for i in range(m - warmup, m)])
    return orders

# 1 wrong: forgets what is left at the end -> runs the backward pass of micro-batch 2 0 times
def one_f_one_b_schedule(num_stages, num_micro_batches):
    orders, m = [], num_micro_batches
    for s in range(num_stages):
        warmup = min(num_stages - s - 1, m)
        order = passes('forward', warmup)
        for i in range(m - warmup):
            order += [('forward', warmup + i), ('backward', i)]
        orders.append(order)
    return orders

# 1 wrong: the same warm-up on each stage -> stage 1 holds 2 live
def one_f_one_b_schedule(num_stages, num_micro_batches):
    warmup = min(num_stages - 1, num_micro_batches)
    order = passes('forward', warmup)
    for i in range(num_micro_batches - warmup):
        order += [('forward', warmup + i), ('backward', i)]
    order += [('backward', i) for i in range(
        num_micro_batches - warmup, num_micro_batches)]
    return [order] * num_stages

# 1 wrong: the stages from the last to the first -> stage 0 holds at most 1 live
def one_f_one_b_schedule(num_stages, num_micro_batches):
    orders, m = [], num_micro_batches
    for s in range(num_stages):
        warmup = min(s, m)
        order = passes('forward', warmup)
        for i in range(m - warmup):
            order += [('forward', warmup + i), ('backward', i)]
        orders.append(order + [('backward', i) for i in range(m - warmup, m)])
    return orders

# 1 wrong: the last micro-batch comes back first -> in the order \[1, 2, 0
def one_f_one_b_schedule(num_stages, num_micro_batches):
    orders = []
    for s in range(num_stages):
        order, live = [], []
        for i in range(num_micro_batches):
            order.append(('forward', i))
            live.append(i)
            if len(live) == num_stages - s:
                order.append(('backward', live.pop()))
        orders.append(order + [('backward', i) for i in live[::-1]])
    return orders

# 1 wrong: in rounds: a warm-up, then all of it back -> instruction 3 is .*one forward and one backward
def one_f_one_b_schedule(num_stages, num_micro_batches):
    orders = []
    for s in range(num_stages):
        order, size = [], num_stages - s
        for start in range(0, num_micro_batches, size):
            part = range(start, min(start + size, num_micro_batches))
            order += [('forward', i) for i in part]
            order += [('backward', i) for i in part]
        orders.append(order)
    return orders

# 1 wrong: the list of one stage -> a list with 2 lists
def one_f_one_b_schedule(num_stages, num_micro_batches):
    s, m = 0, num_micro_batches
    warmup = min(num_stages - s - 1, m)
    order = passes('forward', warmup)
    for i in range(m - warmup):
        order += [('forward', warmup + i), ('backward', i)]
    return order + [('backward', i) for i in range(m - warmup, m)]

# 1 wrong: each turn the other way round, also on the last stage -> before its forward pass
def one_f_one_b_schedule(num_stages, num_micro_batches):
    orders = d2lmulti.one_f_one_b_schedule(num_stages, num_micro_batches)
    orders[-1] = [each for i in range(num_micro_batches)
                  for each in (('backward', i), ('forward', i))]
    return orders

# 1 wrong: counts micro-batches from 1 -> counted from 0
def one_f_one_b_schedule(num_stages, num_micro_batches):
    return [[(phase, i + 1) for phase, i in order] for order in
            d2lmulti.one_f_one_b_schedule(num_stages, num_micro_batches)]

# 1 wrong: letters for the phases -> an instruction is a pair
def one_f_one_b_schedule(num_stages, num_micro_batches):
    return [[(phase[0].upper(), i) for phase, i in order] for order in
            d2lmulti.one_f_one_b_schedule(num_stages, num_micro_batches)]

# 1 wrong: a backward pass twice -> 2 times, not once
def one_f_one_b_schedule(num_stages, num_micro_batches):
    return [order + [('backward', 0)] for order in
            d2lmulti.one_f_one_b_schedule(num_stages, num_micro_batches)]

# 1 wrong: a name that is not there -> raises NameError: .*m_micro
def one_f_one_b_schedule(num_stages, num_micro_batches):
    return [passes('forward', m_micro) for s in range(num_stages)]

# 1 right: the three parts
def one_f_one_b_schedule(num_stages, num_micro_batches):
    orders, m = [], num_micro_batches
    for s in range(num_stages):
        warmup = min(num_stages - s - 1, m)
        order = passes('forward', warmup)
        for i in range(m - warmup):
            order += [('forward', warmup + i), ('backward', i)]
        orders.append(order + [('backward', i) for i in range(m - warmup, m)])
    return orders

# 1 right: with a list of live micro-batches
def one_f_one_b_schedule(num_stages, num_micro_batches):
    orders = []
    for s in range(num_stages):
        order, live = [], []
        for i in range(num_micro_batches):
            order.append(('forward', i))
            live.append(i)
            if len(live) == num_stages - s:
                order.append(('backward', live.pop(0)))
        orders.append(order + [('backward', i) for i in live])
    return orders

# 1 right: counters and a while loop
def one_f_one_b_schedule(num_stages, num_micro_batches):
    result = []
    for s in range(num_stages):
        order, f, b = [], 0, 0
        while b < num_micro_batches:
            if f < num_micro_batches and f - b < num_stages - s:
                order.append(('forward', f))
                f += 1
            else:
                order.append(('backward', b))
                b += 1
        result.append(order)
    return result

# 1 right: two queues
def one_f_one_b_schedule(num_stages, num_micro_batches):
    def one(max_live):
        forward = passes('forward', num_micro_batches)
        backward = passes('backward', num_micro_batches)
        order = forward[:max_live]
        for i, instruction in enumerate(backward):
            order += [instruction, *forward[max_live + i:max_live + i + 1]]
        return order
    return [one(num_stages - s) for s in range(num_stages)]

# 1 right: recursion
def one_f_one_b_schedule(num_stages, num_micro_batches):
    def rest(f, b, most):
        if b == num_micro_batches:
            return []
        if f < num_micro_batches and f - b < most:
            return [('forward', f)] + rest(f + 1, b, most)
        return [('backward', b)] + rest(f, b + 1, most)
    return [rest(0, 0, num_stages - s) for s in range(num_stages)]

# 1 right: a generator, tuples
def one_f_one_b_schedule(num_stages, num_micro_batches):
    def order(warmup):
        for i in range(num_micro_batches + warmup):
            if i < num_micro_batches:
                yield 'forward', i
            if i >= warmup:
                yield 'backward', i - warmup
    return tuple(tuple(order(num_stages - s - 1)) for s in range(num_stages))

# 1 right: sorted by when it runs
def one_f_one_b_schedule(num_stages, num_micro_batches):
    m = num_micro_batches
    return [sorted(passes('forward', m) + passes('backward', m),
                   key=lambda each: (
                       2 * each[1] if each[0] == 'forward'
                       else 2 * (each[1] + num_stages - s - 1) + 1))
            for s in range(num_stages)]

# 1 right: pairs of itertools
def one_f_one_b_schedule(num_stages, num_micro_batches):
    orders = []
    for s in range(num_stages):
        padding = [None] * (num_stages - s - 1)
        pairs = itertools.zip_longest(
            passes('forward', num_micro_batches),
            padding + passes('backward', num_micro_batches))
        orders.append([each for pair in pairs for each in pair if each])
    return orders

# 1 right: numbers of NumPy, lists for pairs
def one_f_one_b_schedule(num_stages, num_micro_batches):
    orders = []
    for s in range(num_stages):
        warmup = min(num_stages - s - 1, num_micro_batches)
        order = [['forward', i] for i in onp.arange(warmup)]
        for i in onp.arange(num_micro_batches):
            if warmup + i < num_micro_batches:
                order.append(['forward', warmup + i])
            order.append(['backward', i])
        orders.append(order)
    return orders

# 1 right: from the package
def one_f_one_b_schedule(num_stages, num_micro_batches):
    return d2lmulti.one_f_one_b_schedule(num_stages, num_micro_batches)

# 1 right: one list that is cut
def one_f_one_b_schedule(num_stages, num_micro_batches):
    m, orders = num_micro_batches, [[] for _ in range(num_stages)]
    for s in range(num_stages):
        w = min(num_stages - 1 - s, m)
        orders[s].extend(('forward', i) for i in range(w))
        orders[s].extend(x for i in range(w, m)
                         for x in (('forward', i), ('backward', i - w)))
        orders[s].extend(('backward', i) for i in range(m - w, m))
    return orders

# 1 right: stacks, from the last stage to the first
def one_f_one_b_schedule(num_stages, num_micro_batches):
    orders = []
    for most in range(1, num_stages + 1):
        forward = passes('forward', num_micro_batches)[::-1]
        backward = passes('backward', num_micro_batches)[::-1]
        order = []
        while backward:
            ahead = len(backward) - len(forward)
            queue = forward if forward and ahead < most else backward
            order.append(queue.pop())
        orders.insert(0, order)
    return orders

# 2 wrong: b_out on each device -> 2 devices .* b_out was added 2 times
def parallel_scores(wholes, device_parts, layer):
    bias = device_parts[0][3].asnumpy()
    return [np.dot(layer(h, W, b), W_out) + np.array(bias, ctx=h.ctx)
            for h, (W, b, W_out, _) in zip(wholes, device_parts)]

# 2 wrong: forgets b_out -> b_out was added 0 times
def parallel_scores(wholes, device_parts, layer):
    return [np.dot(layer(h, W, b), W_out)
            for h, (W, b, W_out, b_out) in zip(wholes, device_parts)]

# 2 wrong: adds None -> raises TypeError
def parallel_scores(wholes, device_parts, layer):
    return [np.dot(layer(h, W, b), W_out) + b_out
            for h, (W, b, W_out, b_out) in zip(wholes, device_parts)]

# 2 wrong: the sum, on one device -> a list with an array of shape
def parallel_scores(wholes, device_parts, layer):
    device = wholes[0].ctx
    return device_parts[0][3] + sum(
        np.dot(layer(h, W, b), W_out).as_in_ctx(device)
        for h, (W, b, W_out, b_out) in zip(wholes, device_parts))

# 2 wrong: an all-gather of the units first -> they sent .* Column, then row
def parallel_scores(wholes, device_parts, layer):
    units = [layer(h, W, b)
             for h, (W, b, W_out, b_out) in zip(wholes, device_parts)]
    result, start = [], 0
    for h, (W, b, W_out, b_out) in zip(wholes, device_parts):
        joined = np.concatenate([u.as_in_ctx(h.ctx) for u in units], axis=1)
        part = np.dot(joined[:, start:start + len(W_out)], W_out)
        start += len(W_out)
        result.append(part if b_out is None else part + b_out)
    return result

# 2 wrong: the sum on every device -> they sent
def parallel_scores(wholes, device_parts, layer):
    parts = [np.dot(layer(h, W, b), W_out)
             for h, (W, b, W_out, b_out) in zip(wholes, device_parts)]
    parts[0] = parts[0] + device_parts[0][3]
    return [sum(part.as_in_ctx(own.ctx) for part in parts) for own in parts]

# 2 wrong: the mean of the parts -> the parts sum to
def parallel_scores(wholes, device_parts, layer):
    parts = [np.dot(layer(h, W, b), W_out) / len(wholes)
             for h, (W, b, W_out, b_out) in zip(wholes, device_parts)]
    parts[0] = parts[0] + device_parts[0][3]
    return parts

# 2 wrong: without the first bias -> the parts sum to
def parallel_scores(wholes, device_parts, layer):
    parts = [np.dot(layer(h, W, 0 * b), W_out)
             for h, (W, b, W_out, b_out) in zip(wholes, device_parts)]
    parts[0] = parts[0] + device_parts[0][3]
    return parts

# 2 wrong: without relu -> the parts sum to
def parallel_scores(wholes, device_parts, layer):
    parts = [np.dot(np.dot(h, W) + b, W_out)
             for h, (W, b, W_out, b_out) in zip(wholes, device_parts)]
    parts[0] = parts[0] + device_parts[0][3]
    return parts

# 2 wrong: the first device alone -> a list with an array
def parallel_scores(wholes, device_parts, layer):
    W, b, W_out, b_out = device_parts[0]
    return [np.dot(layer(wholes[0], W, b), W_out) + b_out]

# 2 wrong: the units, without the second layer -> a list with an array of shape
def parallel_scores(wholes, device_parts, layer):
    return [layer(h, W, b)
            for h, (W, b, W_out, b_out) in zip(wholes, device_parts)]

# 2 wrong: through NumPy -> autograd lost track
def parallel_scores(wholes, device_parts, layer):
    parts = []
    for h, (W, b, W_out, b_out) in zip(wholes, device_parts):
        part = onp.dot(layer(h, W, b).asnumpy(), W_out.asnumpy())
        if b_out is not None:
            part = part + b_out.asnumpy()
        parts.append(np.array(part, ctx=h.ctx, dtype=h.dtype))
    return parts

# 2 wrong: copies of the weights, which get no gradient -> the gradient of W is not
def parallel_scores(wholes, device_parts, layer):
    parts = []
    for h, (W, b, W_out, b_out) in zip(wholes, device_parts):
        part = np.dot(layer(h, W.detach(), b), W_out)
        parts.append(part if b_out is None else part + b_out)
    return parts

# 2 wrong: everything on the first device -> does not run|they sent|DeviceError|copy
def parallel_scores(wholes, device_parts, layer):
    return [np.dot(layer(wholes[0], W, b), W_out)
            for W, b, W_out, b_out in device_parts]

# 2 right: a loop that appends
def parallel_scores(wholes, device_parts, layer):
    parts = []
    for h, (W, b, W_out, b_out) in zip(wholes, device_parts):
        part = np.dot(layer(h, W, b), W_out)
        parts.append(part if b_out is None else part + b_out)
    return parts

# 2 right: a comprehension, then the bias
def parallel_scores(wholes, device_parts, layer):
    parts = [np.dot(layer(h, *own[:2]), own[2])
             for h, own in zip(wholes, device_parts)]
    parts[0] = parts[0] + device_parts[0][3]
    return parts

# 2 right: a tuple, by map
def parallel_scores(wholes, device_parts, layer):
    def one(h, own):
        W, b, W_out, b_out = own
        return output_layer(layer(h, W, b), W_out, 0 if b_out is None else b_out)
    return tuple(map(one, wholes, device_parts))

# 2 right: by index
def parallel_scores(wholes, device_parts, layer):
    result = [None] * len(wholes)
    for i in range(len(wholes)):
        W, b, W_out, b_out = device_parts[i]
        result[i] = layer(wholes[i], W, b) @ W_out
        if i == 0:
            result[i] = result[i] + b_out
    return result

# 2 right: first all units, then all products
def parallel_scores(wholes, device_parts, layer):
    units = [layer(h, W, b) for h, (W, b, *_) in zip(wholes, device_parts)]
    parts = [np.dot(h, own[2]) for h, own in zip(units, device_parts)]
    return [parts[0] + device_parts[0][3], *parts[1:]]

# 2 right: by recursion
def parallel_scores(wholes, device_parts, layer):
    if not wholes:
        return []
    W, b, W_out, b_out = device_parts[0]
    part = np.dot(layer(wholes[0], W, b), W_out)
    if b_out is not None:
        part = part + b_out
    return [part] + parallel_scores(wholes[1:], device_parts[1:], layer)

# 2 right: zeros for the missing biases
def parallel_scores(wholes, device_parts, layer):
    classes = device_parts[0][3].size
    biases = [np.zeros(classes, dtype=own[0].dtype, ctx=own[0].ctx)
              if own[3] is None else own[3] for own in device_parts]
    return [np.dot(layer(h, own[0], own[1]), own[2]) + bias
            for h, own, bias in zip(wholes, device_parts, biases)]

# 2 right: a fully connected operator
def parallel_scores(wholes, device_parts, layer):
    return [npx.fully_connected(
        layer(h, W, b), W_out.T, *([] if b_out is None else [b_out]),
        num_hidden=W_out.shape[1], no_bias=b_out is None)
        for h, (W, b, W_out, b_out) in zip(wholes, device_parts)]

# 2 right: an einsum
def parallel_scores(wholes, device_parts, layer):
    parts = []
    for h, (W, b, W_out, b_out) in zip(wholes, device_parts):
        part = np.einsum('nu,uc->nc', layer(h, W, b), W_out)
        parts.append(part + b_out if b_out is not None else part)
    return parts

# 2 right: the last device first
def parallel_scores(wholes, device_parts, layer):
    parts = []
    for i in reversed(range(len(wholes))):
        W, b, W_out, b_out = device_parts[i]
        part = np.matmul(layer(wholes[i], W, b), W_out)
        parts.insert(0, part if i else b_out + part)
    return parts

# 2 right: a generator
def parallel_scores(wholes, device_parts, layer):
    def scores():
        for h, own in zip(wholes, device_parts):
            score = np.dot(layer(h, own[0], own[1]), own[2])
            yield score if own[3] is None else np.add(score, own[3])
    return list(scores())

# 2 right: flattened first, and a while loop
def parallel_scores(wholes, device_parts, layer):
    parts, i = [], 0
    while i < len(wholes):
        W, b, W_out, b_out = device_parts[i]
        units = layer(wholes[i], W, b).reshape(len(wholes[i]), -1)
        parts += [np.dot(units, W_out) + (0 if b_out is None else b_out)]
        i += 1
    return parts
