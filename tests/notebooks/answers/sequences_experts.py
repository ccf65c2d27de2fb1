# 1 wrong: the old sum is not corrected -> total is 3.5: the old sum counts as it was
def add_block(top, total, mean, S, V):
    new_top = np.maximum(top, S.max(axis=3, keepdims=True))
    A = np.exp(S - new_top)
    new_total = total + A.sum(axis=3, keepdims=True)
    return new_top, new_total, (mean * total + np.matmul(A, V)) / new_total

# 1 wrong: the factor upside down -> exp.m' - m.*grows
def add_block(top, total, mean, S, V):
    new_top = np.maximum(top, S.max(axis=3, keepdims=True))
    old, A = total * np.exp(new_top - top), np.exp(S - new_top)
    new_total = old + A.sum(axis=3, keepdims=True)
    return new_top, new_total, (mean * old + np.matmul(A, V)) / new_total

# 1 wrong: exponentials of the block against the old maximum -> not of S - m'
def add_block(top, total, mean, S, V):
    new_top = np.maximum(top, S.max(axis=3, keepdims=True))
    old, A = total * np.exp(top - new_top), np.exp(S - top)
    new_total = old + A.sum(axis=3, keepdims=True)
    return new_top, new_total, (mean * old + np.matmul(A, V)) / new_total

# 1 wrong: no maximum is taken off -> 89 overflows
def add_block(top, total, mean, S, V):
    new_top = np.maximum(top, S.max(axis=3, keepdims=True))
    old, A = total * np.exp(top), np.exp(S)
    new_total = old + A.sum(axis=3, keepdims=True)
    return new_top, new_total, (mean * old + np.matmul(A, V)) / new_total

# 1 wrong: forgets what came before -> only the block is in it
def add_block(top, total, mean, S, V):
    new_top = S.max(axis=3, keepdims=True)
    A = np.exp(S - new_top)
    new_total = A.sum(axis=3, keepdims=True)
    return new_top, new_total, np.matmul(A, V) / new_total

# 1 wrong: overwrites the old maximum before it is used -> the old sum counts as it was
def add_block(top, total, mean, S, V):
    top[:] = np.maximum(top, S.max(axis=3, keepdims=True))
    old, A = total * np.exp(top - top), np.exp(S - top)
    total = old + A.sum(axis=3, keepdims=True)
    return top, total, (mean * old + np.matmul(A, V)) / total

# 1 wrong: the sum of values, not their mean -> a sum, not a mean
def add_block(top, total, mean, S, V):
    new_top = np.maximum(top, S.max(axis=3, keepdims=True))
    old, A = total * np.exp(top - new_top), np.exp(S - new_top)
    new_total = old + A.sum(axis=3, keepdims=True)
    return new_top, new_total, mean * old + np.matmul(A, V)

# 1 wrong: the mean is weighted by the sum before the correction -> counts 2, as before
def add_block(top, total, mean, S, V):
    new_top = np.maximum(top, S.max(axis=3, keepdims=True))
    old, A = total * np.exp(top - new_top), np.exp(S - new_top)
    new_total = old + A.sum(axis=3, keepdims=True)
    return new_top, new_total, (mean * total + np.matmul(A, V)) / new_total

# 1 wrong: takes the mean for a sum -> counts as one key
def add_block(top, total, mean, S, V):
    new_top = np.maximum(top, S.max(axis=3, keepdims=True))
    factor, A = np.exp(top - new_top), np.exp(S - new_top)
    new_total = total * factor + A.sum(axis=3, keepdims=True)
    return new_top, new_total, (mean * factor + np.matmul(A, V)) / new_total

# 1 wrong: the mean of two means -> the mean of two means
def add_block(top, total, mean, S, V):
    new_top = np.maximum(top, S.max(axis=3, keepdims=True))
    A = np.exp(S - new_top)
    own = A.sum(axis=3, keepdims=True)
    new_total = total * np.exp(top - new_top) + own
    return new_top, new_total, (mean + np.matmul(A, V) / own) / 2

# 1 wrong: the block's maximum alone -> inf or nan|top of some query
def add_block(top, total, mean, S, V):
    new_top = S.max(axis=3, keepdims=True)
    old, A = total * np.exp(top - new_top), np.exp(S - new_top)
    new_total = old + A.sum(axis=3, keepdims=True)
    return new_top, new_total, (mean * old + np.matmul(A, V)) / new_total

# 1 wrong: one maximum for all queries -> top of some query is
def add_block(top, total, mean, S, V):
    new_top = np.maximum(top, S.max())
    old, A = total * np.exp(top - new_top), np.exp(S - new_top)
    new_total = old + A.sum(axis=3, keepdims=True)
    return new_top, new_total, (mean * old + np.matmul(A, V)) / new_total

# 1 wrong: without keepdims -> keepdims=True the last axis|your add_block raises
def add_block(top, total, mean, S, V):
    new_top = np.maximum(top[..., 0], S.max(axis=3))
    old, A = total[..., 0] * np.exp(top[..., 0] - new_top), np.exp(
        S - new_top[..., None])
    new_total = old + A.sum(axis=3)
    mean = (mean * old[..., None] + np.matmul(A, V)) / new_total[..., None]
    return new_top, new_total, mean

# 1 wrong: overwrites the scores -> S has changed
def add_block(top, total, mean, S, V):
    new_top = np.maximum(top, S.max(axis=3, keepdims=True))
    S -= new_top
    old, A = total * np.exp(top - new_top), np.exp(S)
    new_total = old + A.sum(axis=3, keepdims=True)
    return new_top, new_total, (mean * old + np.matmul(A, V)) / new_total

# 1 wrong: the mean alone -> return .top, total, mean.
def add_block(top, total, mean, S, V):
    new_top = np.maximum(top, S.max(axis=3, keepdims=True))
    old, A = total * np.exp(top - new_top), np.exp(S - new_top)
    return (mean * old + np.matmul(A, V)) / (
        old + A.sum(axis=3, keepdims=True))

# 1 wrong: arrays of NumPy -> must be an array of MXNet
def add_block(top, total, mean, S, V):
    top, total, mean, S, V = [a.asnumpy() for a in (top, total, mean, S, V)]
    new_top = onp.maximum(top, S.max(axis=3, keepdims=True))
    old, A = total * onp.exp(top - new_top), onp.exp(S - new_top)
    new_total = old + A.sum(axis=3, keepdims=True)
    return new_top, new_total, (mean * old + A @ V) / new_total

# 1 wrong: a softmax of the block, added -> not 3.5|total is 3:|total is
def add_block(top, total, mean, S, V):
    new_top = np.maximum(top, S.max(axis=3, keepdims=True))
    A = npx.softmax(S)
    old = total * np.exp(top - new_top)
    new_total = old + A.sum(axis=3, keepdims=True)
    return new_top, new_total, (mean * old + np.matmul(A, V)) / new_total

# 1 wrong: divides by the old sum -> divided by the old total
def add_block(top, total, mean, S, V):
    new_top = np.maximum(top, S.max(axis=3, keepdims=True))
    old, A = total * np.exp(top - new_top), np.exp(S - new_top)
    new_total = old + A.sum(axis=3, keepdims=True)
    return new_top, new_total, (mean * old + np.matmul(A, V)) / total

# 1 right: step by step
def add_block(top, total, mean, S, V):
    m = np.maximum(top, S.max(axis=3, keepdims=True))
    factor = np.exp(top - m)
    A = np.exp(S - m)
    l = total * factor + A.sum(axis=3, keepdims=True)
    o = (mean * total * factor + np.matmul(A, V)) / l
    return m, l, o

# 1 right: einsum, and a list
def add_block(top, total, mean, S, V):
    m = np.maximum(top, np.max(S, axis=-1, keepdims=True))
    A = np.exp(S - m)
    old = total * np.exp(top - m)
    l = old + np.sum(A, axis=-1, keepdims=True)
    return [m, l, mean * (old / l) + np.einsum('nhqk,nhkw->nhqw', A, V) / l]

# 1 right: into the arrays of the state
def add_block(top, total, mean, S, V):
    m = np.maximum(top, S.max(axis=3, keepdims=True))
    A = np.exp(S - m)
    mean *= total
    mean *= np.exp(top - m)
    mean += np.matmul(A, V)
    total *= np.exp(top - m)
    total += A.sum(axis=3, keepdims=True)
    mean /= total
    top[:] = m
    return top, total, mean

# 1 right: key by key
def add_block(top, total, mean, S, V):
    for j in range(S.shape[3]):
        s, v = S[..., j:j + 1], V[:, :, j:j + 1]
        m = np.maximum(top, s)
        old, a = total * np.exp(top - m), np.exp(s - m)
        mean = (mean * old + a * v) / (old + a)
        top, total = m, old + a
    return top, total, mean

# 1 right: joins two softmaxes
def add_block(top, total, mean, S, V):
    own_top = S.max(axis=3, keepdims=True)
    A = np.exp(S - own_top)
    own_total = A.sum(axis=3, keepdims=True)
    own_mean = np.matmul(A, V) / own_total
    m = np.maximum(top, own_top)
    a, b = total * np.exp(top - m), own_total * np.exp(own_top - m)
    return m, a + b, (a * mean + b * own_mean) / (a + b)

# 1 right: the old keys as one more column
def add_block(top, total, mean, S, V):
    m = np.concatenate([top, S], axis=3).max(axis=3, keepdims=True)
    A = np.exp(S - m)
    old = np.exp(top - m) * total
    l = np.concatenate([old, A], axis=3).sum(axis=3, keepdims=True)
    return m, l, (old * mean + np.matmul(A, V)) / l

# 1 right: through NumPy
def add_block(top, total, mean, S, V):
    t, l, o, s, v = [a.asnumpy() for a in (top, total, mean, S, V)]
    m = onp.maximum(t, s.max(axis=3, keepdims=True))
    a = onp.exp(s - m)
    old = l * onp.exp(t - m)
    l = old + a.sum(axis=3, keepdims=True)
    return [np.array(x, dtype=top.dtype, ctx=top.ctx)
            for x in (m, l, (o * old + a @ v) / l)]

# 1 right: with logarithms
def add_block(top, total, mean, S, V):
    m = np.maximum(top, S.max(axis=3, keepdims=True))
    weight = np.exp(top + np.log(total) - m)
    A = np.exp(S - m)
    l = weight + A.sum(axis=3, keepdims=True)
    return m, l, (weight * mean + np.matmul(A, V)) / l

# 1 right: np.where for the larger
def add_block(top, total, mean, S, V):
    high = S.max(axis=3, keepdims=True)
    m = np.where(high > top, high, top)
    down = np.where(high > top, np.exp(np.minimum(top - high, 0)), 1)
    A = np.exp(S - m)
    l = down * total + A.sum(axis=3, keepdims=True)
    return m, l, (down * total * mean + np.matmul(A, V)) / l

# 1 right: the change of the mean
def add_block(top, total, mean, S, V):
    m = np.maximum(top, S.max(axis=3, keepdims=True))
    A = np.exp(S - m)
    own = A.sum(axis=3, keepdims=True)
    l = total * np.exp(top - m) + own
    return m, l, mean + (np.matmul(A, V) - own * mean) / l

# 1 right: by recursion, in halves
def add_block(top, total, mean, S, V):
    if S.shape[3] > 1:
        half = S.shape[3] // 2
        state = add_block(top, total, mean, S[..., :half], V[:, :, :half])
        return add_block(*state, S[..., half:], V[:, :, half:])
    m = np.maximum(top, S)
    old, A = total * np.exp(top - m), np.exp(S - m)
    return m, old + A, (mean * old + A * V) / (old + A)

# 1 right: a helper, products and sums by broadcasting
def add_block(top, total, mean, S, V):
    def shrink(scores):
        return np.exp(scores - m)
    m = np.maximum(S.max(axis=3, keepdims=True), top)
    A = shrink(S)
    values = (A[..., None] * V[:, :, None]).sum(axis=3)
    l = A.sum(axis=3, keepdims=True) + shrink(top) * total
    return m, l, (values + mean * (shrink(top) * total)) / l

# 2 wrong: as if the devices took turns -> products, not
def ring_time(places):
    time = 0
    for step in range(len(places)):
        slowest = 0
        for i, queries in enumerate(places):
            keys = places[i - step]
            num_queries = (queries >= keys[0]).sum()
            num_keys = (keys <= queries[-1]).sum()
            slowest += num_queries * num_keys
        time += slowest
    return int(time)

# 2 wrong: keys never move -> products, not
def ring_time(places):
    time = 0
    for step in range(len(places)):
        slowest = 0
        for i, queries in enumerate(places):
            keys = places[i]
            num_queries = (queries >= keys[0]).sum()
            num_keys = (keys <= queries[-1]).sum()
            slowest = max(slowest, num_queries * num_keys)
        time += slowest
    return int(time)

# 2 wrong: computes with keys that nobody looks at -> products, not
def ring_time(places):
    time = 0
    for step in range(len(places)):
        slowest = 0
        for i, queries in enumerate(places):
            keys = places[i - step]
            num_queries = (queries >= keys[0]).sum()
            num_keys = len(keys)
            slowest = max(slowest, num_queries * num_keys)
        time += slowest
    return int(time)

# 2 wrong: the slowest step instead of their sum -> products, not
def ring_time(places):
    time = 0
    for step in range(len(places)):
        slowest = 0
        for i, queries in enumerate(places):
            keys = places[i - step]
            num_queries = (queries >= keys[0]).sum()
            num_keys = (keys <= queries[-1]).sum()
            slowest = max(slowest, num_queries * num_keys)
        time = max(time, slowest)
    return int(time)

# 2 right: from the mask
def ring_time(places):
    time = 0
    for step in range(len(places)):
        seen = [q[:, None] >= places[i - step] for i, q in enumerate(places)]
        time += max(s.any(1).sum() * s.any(0).sum() for s in seen)
    return time

# 2 right: fractions
def ring_time(places):
    from fractions import Fraction
    time = Fraction(0)
    for step in range(len(places)):
        seen = [q[:, None] >= places[i - step]
                for i, q in enumerate(places)]
        time += max(int(s.any(1).sum() * s.any(0).sum())
                    for s in seen)
    return time

# 3 wrong: one word too many -> are computed
def kept_words(choices, capacity):
    counts, kept = {-1: capacity}, []
    for own in choices:
        kept.append([])
        for e in own.tolist():
            kept[-1].append(counts.get(e, 0) <= capacity)
            counts[e] = counts.get(e, 0) + 1
    return kept

# 3 wrong: words that go nowhere count, too -> are computed
def kept_words(choices, capacity):
    counts, kept = {}, []
    for own in choices:
        kept.append([])
        for e in own.tolist():
            kept[-1].append(counts.get(e, 0) < capacity)
            counts[e] = counts.get(e, 0) + 1
    return kept

# 3 wrong: a capacity on each device -> are computed
def kept_words(choices, capacity):
    counts, kept = {-1: capacity}, []
    for own in choices:
        kept.append([])
        counts = {-1: capacity}
        for e in own.tolist():
            kept[-1].append(counts.get(e, 0) < capacity)
            counts[e] = counts.get(e, 0) + 1
    return kept

# 3 wrong: the capacity divided by the devices -> are computed
def kept_words(choices, capacity):
    capacity = -(-capacity // len(choices))
    counts, kept = {-1: capacity}, []
    for own in choices:
        kept.append([])
        for e in own.tolist():
            kept[-1].append(counts.get(e, 0) < capacity)
            counts[e] = counts.get(e, 0) + 1
    return kept

# 3 right: numbers instead of booleans
def kept_words(choices, capacity):
    counts, kept = {-1: capacity}, []
    for own in choices:
        kept.append([])
        for e in own.tolist():
            kept[-1].append(counts.get(e, 0) < capacity)
            counts[e] = counts.get(e, 0) + 1
    return [tuple(map(int, own)) for own in kept]

# 3 right: expert by expert, arrays of NumPy
def kept_words(choices, capacity):
    joined = onp.concatenate([onp.array(own, dtype=int) for own in choices])
    kept = onp.zeros(len(joined), bool)
    for e in {*joined.tolist()} - {-1}:
        kept[onp.flatnonzero(joined == e)[:capacity]] = True
    ends = onp.cumsum([len(own) for own in choices])
    return onp.split(kept, ends)[:-1]
