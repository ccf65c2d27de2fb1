# 1 wrong: drops the remainder -> are lost
def split_slices(n, k):
    size = n // k
    return [slice(i * size, (i + 1) * size) for i in range(k)]

# 1 wrong: rounds every length up -> the lengths differ by 2
def split_slices(n, k):
    size = -(-n // k)
    return [slice(i * size, (i + 1) * size) for i in range(k)]

# 1 wrong: the last part takes the remainder -> the longer parts come first|All wait
def split_slices(n, k):
    size = n // k
    ends = [i * size for i in range(k)] + [n]
    return [slice(a, b) for a, b in zip(ends, ends[1:])]

# 1 wrong: rounds every end down -> the longer parts come first
def split_slices(n, k):
    return [slice(i * n // k, (i + 1) * n // k) for i in range(k)]

# 1 wrong: every k-th item -> keep the order
def split_slices(n, k):
    return [slice(i, n, k) for i in range(k)]

# 1 wrong: parts that overlap or leave gaps -> are lost
def split_slices(n, k):
    size, longer = divmod(n, k)
    return [slice(i * size, (i + 1) * size + (i < longer)) for i in range(k)]

# 1 wrong: pairs of numbers -> a list of slices
def split_slices(n, k):
    size, longer = divmod(n, k)
    starts = [i * size + min(i, longer) for i in range(k + 1)]
    return list(zip(starts, starts[1:]))

# 1 wrong: no empty parts -> 5 parts, not 3
def split_slices(n, k):
    size, longer = divmod(n, k)
    starts = [i * size + min(i, longer) for i in range(k + 1)]
    return [slice(a, b) for a, b in zip(starts, starts[1:]) if a < b]

# 1 wrong: everything for each device -> are in two parts
def split_slices(n, k):
    return [slice(0, n)] * k

# 1 wrong: everything for the first device -> All wait for the longest
def split_slices(n, k):
    return [slice(0, n)] + [slice(n, n)] * (k - 1)

# 1 wrong: a generator -> a list of slices
def split_slices(n, k):
    return (slice(i, i + 1) for i in range(k))

# 1 right: a loop with a running end
def split_slices(n, k):
    size, longer = divmod(n, k)
    parts, start = [], 0
    for i in range(k):
        end = start + size + (1 if i < longer else 0)
        parts.append(slice(start, end))
        start = end
    return parts

# 1 right: the long parts, then the short ones
def split_slices(n, k):
    size, longer = n // k, n % k
    long = [slice(i * (size + 1), (i + 1) * (size + 1))
            for i in range(longer)]
    begin = longer * (size + 1)
    short = [slice(begin + i * size, begin + (i + 1) * size)
             for i in range(k - longer)]
    return long + short

# 1 right: the first part, then the others by recursion
def split_slices(n, k):
    if k == 1:
        return [slice(0, n)]
    first = -(-n // k)
    rest = split_slices(n - first, k - 1)
    return [slice(0, first)] + [
        slice(part.start + first, part.stop + first) for part in rest]

# 1 right: lengths from array_split of NumPy
def split_slices(n, k):
    lengths = [len(part) for part in onp.array_split(onp.arange(n), k)]
    ends = onp.cumsum([0] + lengths)
    return [slice(int(a), int(b)) for a, b in zip(ends, ends[1:])]

# 1 right: what is left, divided by the devices that are left
def split_slices(n, k):
    parts = []
    while k:
        done = parts[-1].stop if parts else 0
        size = -(-(n - done) // k)
        parts.append(slice(done, done + size))
        k -= 1
    return parts

# 1 right: items dealt out like cards
def split_slices(n, k):
    sizes = [0] * k
    for item in range(n):
        sizes[item % k] += 1
    return [slice(sum(sizes[:i]), sum(sizes[:i + 1])) for i in range(k)]

# 1 right: sums by accumulate
def split_slices(n, k):
    from itertools import accumulate
    size, longer = divmod(n, k)
    ends = list(accumulate([size + 1] * longer + [size] * (k - longer)))
    return [slice(end - (size + (i < longer)), end)
            for i, end in enumerate(ends)]

# 1 right: a function for each start
def split_slices(n, k):
    def start(i):
        return i * (n // k) + min(i, n % k)
    return [slice(start(i), start(i + 1)) for i in range(k)]

# 1 right: a tuple, each end by a formula
def split_slices(n, k):
    size, longer = divmod(n, k)
    return tuple(slice(i * size + min(i, longer),
                       (i + 1) * size + min(i + 1, longer))
                 for i in range(k))

# 1 right: sorted lengths, and slices with a step
def split_slices(n, k):
    sizes = sorted([(i + 1) * n // k - i * n // k for i in range(k)],
                   reverse=True)
    parts, start = [], 0
    for size in sizes:
        parts.append(slice(start, start + size, 1))
        start += size
    return parts

# 1 right: each start as a sum
def split_slices(n, k):
    starts = [sum(-(-(n - j) // k) for j in range(i)) for i in range(k + 1)]
    return [slice(a, b) for a, b in zip(starts, starts[1:])]

# 1 right: edges, one after the other
def split_slices(n, k):
    step, rest = divmod(n, k)
    edges = [0]
    for i in range(k):
        edges.append(edges[-1] + step)
        if i < rest:
            edges[-1] += 1
    return list(map(slice, edges[:-1], edges[1:]))
