# 1 wrong: takes parts that have no keys -> top should be
def join_softmaxes(parts):
    top = max(part[0] for part in parts)
    totals = [total * onp.exp(own - top) for own, total, _ in parts]
    mean = sum(total * part[2] for total, part in zip(totals, parts))
    return top, sum(totals), mean / sum(totals)

# 1 wrong: sums that belong to different maxima -> total should
def join_softmaxes(parts):
    parts = [part for part in parts if part[1] > 0]
    top = max(part[0] for part in parts)
    totals = [total for _, total, _ in parts]
    mean = sum(total * part[2] for total, part in zip(totals, parts))
    return top, sum(totals), mean / sum(totals)

# 1 wrong: a weighted sum, not the mean -> mean should be
def join_softmaxes(parts):
    parts = [part for part in parts if part[1] > 0]
    top = max(part[0] for part in parts)
    totals = [total * onp.exp(own - top) for own, total, _ in parts]
    mean = sum(total * part[2] for total, part in zip(totals, parts))
    return top, sum(totals), mean

# 1 wrong: the largest score is at least 0 -> top should be
def join_softmaxes(parts):
    parts = [part for part in parts if part[1] > 0]
    top = max(0, *[part[0] for part in parts])
    totals = [total * onp.exp(own - top) for own, total, _ in parts]
    mean = sum(total * part[2] for total, part in zip(totals, parts))
    return top, sum(totals), mean / sum(totals)

# 1 right: with math
def join_softmaxes(parts):
    parts = [part for part in parts if part[1] > 0]
    top = max(part[0] for part in parts)
    totals = [total * math.exp(own - top) for own, total, _ in parts]
    mean = sum(total * part[2] for total, part in zip(totals, parts))
    return top, sum(totals), mean / sum(totals)

# 1 right: arrays of NumPy
def join_softmaxes(parts):
    tops, totals, means = zip(*[p for p in parts if p[1]])
    weights = onp.array(totals) * onp.exp(onp.array(tops) - max(tops))
    return max(tops), weights.sum(), weights @ onp.array(means) / weights.sum()

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
