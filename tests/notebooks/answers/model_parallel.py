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

# 2 wrong: each device its own softmax -> It must sum to 0|sent
def score_gradients(scores, ys, largest=largest, summed=summed):
    grads = []
    for s, y, own in zip(scores, ys, own_tokens([s.shape[2] for s in scores])):
        place = np.arange(own.start, own.stop, dtype=y.dtype, ctx=y.ctx)
        grads.append((npx.softmax(s) - (place == y[:, :, None]).astype(
            s.dtype)) * (y != PADDING).astype(s.dtype)[:, :, None])
    return grads

# 2 wrong: each device its own maximum -> the same maximum
def score_gradients(scores, ys, largest=largest, summed=summed):
    powers = [np.exp(s - s.max(axis=2, keepdims=True)) for s in scores]
    totals = summed([p.sum(axis=2, keepdims=True) for p in powers])
    grads = []
    for p, total, y, own in zip(powers, totals, ys, own_tokens(
            [s.shape[2] for s in scores])):
        place = np.arange(own.start, own.stop, dtype=y.dtype, ctx=y.ctx)
        grads.append((p / total - (place == y[:, :, None]).astype(
            p.dtype)) * (y != PADDING).astype(p.dtype)[:, :, None])
    return grads

# 2 wrong: each device its own sum -> It must sum to 0
def score_gradients(scores, ys, largest=largest, summed=summed):
    tops = largest([s.max(axis=2, keepdims=True) for s in scores])
    powers = [np.exp(s - top) for s, top in zip(scores, tops)]
    grads = []
    for p, y, own in zip(powers, ys, own_tokens(
            [s.shape[2] for s in scores])):
        place = np.arange(own.start, own.stop, dtype=y.dtype, ctx=y.ctx)
        grads.append((p / p.sum(axis=2, keepdims=True) - (
            place == y[:, :, None]).astype(p.dtype)) * (
                y != PADDING).astype(p.dtype)[:, :, None])
    return grads

# 2 wrong: no maximum -> exponential of a large score
def score_gradients(scores, ys, largest=largest, summed=summed):
    powers = [np.exp(s) for s in scores]
    totals = summed([p.sum(axis=2, keepdims=True) for p in powers])
    grads = []
    for p, total, y, own in zip(powers, totals, ys, own_tokens(
            [s.shape[2] for s in scores])):
        place = np.arange(own.start, own.stop, dtype=y.dtype, ctx=y.ctx)
        grads.append((p / total - (place == y[:, :, None]).astype(
            p.dtype)) * (y != PADDING).astype(p.dtype)[:, :, None])
    return grads

# 2 wrong: padding learns -> nothing to predict where y is 0
def score_gradients(scores, ys, largest=largest, summed=summed):
    tops = largest([s.max(axis=2, keepdims=True) for s in scores])
    powers = [np.exp(s - top) for s, top in zip(scores, tops)]
    totals = summed([p.sum(axis=2, keepdims=True) for p in powers])
    grads = []
    for p, total, y, own in zip(powers, totals, ys, own_tokens(
            [s.shape[2] for s in scores])):
        place = np.arange(own.start, own.stop, dtype=y.dtype, ctx=y.ctx)
        grads.append(p / total - (place == y[:, :, None]).astype(p.dtype))
    return grads

# 2 wrong: every device counts its tokens from 0 -> one device only subtracts 1
def score_gradients(scores, ys, largest=largest, summed=summed):
    tops = largest([s.max(axis=2, keepdims=True) for s in scores])
    powers = [np.exp(s - top) for s, top in zip(scores, tops)]
    totals = summed([p.sum(axis=2, keepdims=True) for p in powers])
    grads = []
    for p, total, y in zip(powers, totals, ys):
        place = np.arange(p.shape[2], dtype=y.dtype, ctx=y.ctx)
        grads.append((p / total - (place == y[:, :, None]).astype(
            p.dtype)) * (y != PADDING).astype(p.dtype)[:, :, None])
    return grads

# 2 wrong: the softmax alone -> one device only subtracts 1|of the summed loss
def score_gradients(scores, ys, largest=largest, summed=summed):
    tops = largest([s.max(axis=2, keepdims=True) for s in scores])
    powers = [np.exp(s - top) for s, top in zip(scores, tops)]
    totals = summed([p.sum(axis=2, keepdims=True) for p in powers])
    return [p / total * (y != PADDING).astype(p.dtype)[:, :, None]
            for p, total, y in zip(powers, totals, ys)]

# 2 wrong: of the mean loss -> of the summed loss
def score_gradients(scores, ys, largest=largest, summed=summed):
    tops = largest([s.max(axis=2, keepdims=True) for s in scores])
    powers = [np.exp(s - top) for s, top in zip(scores, tops)]
    totals = summed([p.sum(axis=2, keepdims=True) for p in powers])
    grads = []
    for p, total, y, own in zip(powers, totals, ys, own_tokens(
            [s.shape[2] for s in scores])):
        place = np.arange(own.start, own.stop, dtype=y.dtype, ctx=y.ctx)
        grads.append((p / total - (place == y[:, :, None]).astype(
            p.dtype)) * (y != PADDING).astype(p.dtype)[:, :, None]
            / count_words(y))
    return grads

def count_words(y):
    return 2 * max(1, int((y != 0).sum()))

# 2 wrong: the other sign -> of the summed loss
def score_gradients(scores, ys, largest=largest, summed=summed):
    tops = largest([s.max(axis=2, keepdims=True) for s in scores])
    powers = [np.exp(s - top) for s, top in zip(scores, tops)]
    totals = summed([p.sum(axis=2, keepdims=True) for p in powers])
    grads = []
    for p, total, y, own in zip(powers, totals, ys, own_tokens(
            [s.shape[2] for s in scores])):
        place = np.arange(own.start, own.stop, dtype=y.dtype, ctx=y.ctx)
        grads.append(((place == y[:, :, None]).astype(p.dtype) - p / total)
                     * (y != PADDING).astype(p.dtype)[:, :, None])
    return grads

# 2 wrong: all scores go to every device -> too many to send
def score_gradients(scores, ys, largest=largest, summed=summed):
    grads = []
    for s, y, own in zip(scores, ys, own_tokens([s.shape[2] for s in scores])):
        whole = np.concatenate([part.as_in_ctx(s.ctx) for part in scores],
                               axis=2)
        place = np.arange(own.start, own.stop, dtype=y.dtype, ctx=y.ctx)
        grads.append((npx.softmax(whole)[:, :, own] - (
            place == y[:, :, None]).astype(s.dtype)) * (
                y != PADDING).astype(s.dtype)[:, :, None])
    return grads

# 2 wrong: in one array -> return a list
def score_gradients(scores, ys, largest=largest, summed=summed):
    whole = np.concatenate([s.as_in_ctx(scores[0].ctx) for s in scores],
                           axis=2)
    return npx.softmax(whole)

# 2 right: by index
def score_gradients(scores, ys, largest=largest, summed=summed):
    k = len(scores)
    tokens = own_tokens([scores[i].shape[2] for i in range(k)])
    tops = largest([np.max(scores[i], axis=2, keepdims=True)
                    for i in range(k)])
    powers = [np.exp(scores[i] - tops[i]) for i in range(k)]
    totals = summed([np.sum(powers[i], axis=2, keepdims=True)
                     for i in range(k)])
    grads = []
    for i in range(k):
        grad = powers[i] / totals[i]
        y = ys[i].asnumpy()
        for a, b in onp.ndindex(*y.shape):
            if tokens[i].start <= y[a, b] < tokens[i].stop:
                grad[a, b, int(y[a, b]) - tokens[i].start] -= 1
            if y[a, b] == 0:
                grad[a, b] = 0
        grads.append(grad)
    return grads

# 2 right: one-hot rows, and logarithms
def score_gradients(scores, ys, largest=largest, summed=summed):
    tops = largest([s.max(axis=2) for s in scores])
    totals = summed([np.exp(s - top[:, :, None]).sum(axis=2)
                     for s, top in zip(scores, tops)])
    grads, start = [], 0
    for s, top, total, y in zip(scores, tops, totals, ys):
        V = s.shape[2]
        log = top + np.log(total)
        hot = npx.one_hot(y - start, V).astype(s.dtype)
        grads.append((np.exp(s - log[:, :, None]) - hot)
                     * (y > 0).astype(s.dtype)[:, :, None])
        start += V
    return grads

# 2 right: through NumPy, device by device
def score_gradients(scores, ys, largest=largest, summed=summed):
    def arrays(found):
        return [np.array(each, dtype='float64', ctx=s.ctx)
                for each, s in zip(found, scores)]
    own = [s.asnumpy() for s in scores]
    tops = [top.asnumpy() for top in largest(arrays(
        [s.max(2, keepdims=True) for s in own]))]
    powers = [onp.exp(s - top) for s, top in zip(own, tops)]
    totals = [total.asnumpy() for total in summed(arrays(
        [p.sum(2, keepdims=True) for p in powers]))]
    grads = []
    for p, total, y, part in zip(powers, totals, ys, own_tokens(
            [s.shape[2] for s in own])):
        y = y.asnumpy()[:, :, None]
        hot = onp.arange(part.start, part.stop) == y
        grads.append((p / total - hot) * (y != 0))
    return arrays(grads)

# 2 right: a generator, and in place
def score_gradients(scores, ys, largest=largest, summed=summed):
    def each():
        tokens = own_tokens([s.shape[2] for s in scores])
        tops = largest([s.max(axis=-1, keepdims=True) for s in scores])
        powers = [np.exp(s - top) for s, top in zip(scores, tops)]
        totals = summed([p.sum(axis=-1, keepdims=True) for p in powers])
        for p, total, y, own in zip(powers, totals, ys, tokens):
            p /= total
            place = np.arange(own.start, own.stop, dtype=y.dtype, ctx=y.ctx)
            p -= (place == np.expand_dims(y, 2)).astype(p.dtype)
            p *= np.expand_dims(y != 0, 2).astype(p.dtype)
            yield p
    return list(each())

# 2 right: an inner function for each device
def score_gradients(scores, ys, largest=largest, summed=summed):
    def one(p, total, y, own):
        place = np.arange(own.start, own.stop, dtype='int32', ctx=y.ctx)
        right = (place == y.reshape(*y.shape, 1)).astype(p.dtype)
        counts = (y != PADDING).astype(p.dtype)
        return (p / total - right) * counts.reshape(*y.shape, 1)
    tops = largest([s.max(axis=2, keepdims=True) for s in scores])
    powers = [np.exp(s - top) for s, top in zip(scores, tops)]
    totals = summed([p.sum(axis=2, keepdims=True) for p in powers])
    return [*map(one, powers, totals, ys, own_tokens(
        [s.shape[2] for s in scores]))]

# 2 right: the counts of words first
def score_gradients(scores, ys, largest=largest, summed=summed):
    masks = [(y != 0).astype(s.dtype)[:, :, None] for s, y in zip(scores, ys)]
    starts = [0, *onp.cumsum([s.shape[2] for s in scores]).tolist()]
    hots = [(np.arange(a, b, ctx=y.ctx).astype('int32')
             == y[:, :, None]).astype(s.dtype)
            for a, b, y, s in zip(starts, starts[1:], ys, scores)]
    tops = largest([s.max(axis=2, keepdims=True) for s in scores])
    powers = [np.exp(s - top) for s, top in zip(scores, tops)]
    totals = summed([p.sum(axis=2, keepdims=True) for p in powers])
    return [mask * (p / total - hot) for mask, p, total, hot
            in zip(masks, powers, totals, hots)]
