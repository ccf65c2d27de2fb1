# 1 wrong: rounds down, and leaves the rest out -> are never learned
def shard_sizes(num_rows, shares):
    sizes = [int(num_rows * share / sum(shares)) for share in shares]
    return sizes

# 1 wrong: rounds up -> more than there are
def shard_sizes(num_rows, shares):
    return [-(-num_rows * share // sum(shares)) for share in shares]

# 1 wrong: the rest to the last device -> exact share is|done after
def shard_sizes(num_rows, shares):
    sizes = [int(num_rows * share / sum(shares)) for share in shares]
    sizes[-1] += num_rows - sum(sizes)
    while 0 in sizes:
        giver = max((i for i in range(len(sizes)) if sizes[i] > 1),
                    key=lambda i: sizes[i] / shares[i])
        sizes[giver] -= 1
        sizes[sizes.index(0)] += 1
    return sizes

# 1 wrong: devices without a row -> has nothing to compute
def shard_sizes(num_rows, shares):
    sizes = [int(num_rows * share / sum(shares)) for share in shares]
    first = sorted(range(len(shares)),
                   key=lambda i: (sizes[i] + 1) / shares[i])
    for i in first[:num_rows - sum(sizes)]:
        sizes[i] += 1
    return sizes

# 1 wrong: takes the last row of a device, for ever -> does not end
def shard_sizes(num_rows, shares):
    sizes = [int(num_rows * share / sum(shares)) for share in shares]
    first = sorted(range(len(shares)),
                   key=lambda i: (sizes[i] + 1) / shares[i])
    for i in first[:num_rows - sum(sizes)]:
        sizes[i] += 1
    while 0 in sizes:
        giver = max(range(len(sizes)), key=lambda i: sizes[i] / shares[i])
        sizes[giver] -= 1
        sizes[sizes.index(0)] += 1
    return sizes

# 1 wrong: fractions of rows -> are not whole numbers
def shard_sizes(num_rows, shares):
    return [num_rows * share / sum(shares) for share in shares]

# 1 wrong: the slow get the most -> exact share is|never learned
def shard_sizes(num_rows, shares):
    sizes = [int(num_rows * (1 / share) / sum(1 / s for s in shares)) for share in shares]
    first = sorted(range(len(shares)),
                   key=lambda i: (sizes[i] + 1) / shares[i])
    for i in first[:num_rows - sum(sizes)]:
        sizes[i] += 1
    while 0 in sizes:
        giver = max((i for i in range(len(sizes)) if sizes[i] > 1),
                    key=lambda i: sizes[i] / shares[i])
        sizes[giver] -= 1
        sizes[sizes.index(0)] += 1
    return sizes

# 1 wrong: an array -> return a list with
def shard_sizes(num_rows, shares):
    return onp.array([num_rows * s // sum(shares) for s in shares])

# 1 wrong: sorts the shares -> the list of shares was changed|follow|exact
def shard_sizes(num_rows, shares):
    shares.sort()
    sizes = [int(num_rows * share / sum(shares)) for share in shares]
    first = sorted(range(len(shares)),
                   key=lambda i: (sizes[i] + 1) / shares[i])
    for i in first[:num_rows - sum(sizes)]:
        sizes[i] += 1
    while 0 in sizes:
        giver = max((i for i in range(len(sizes)) if sizes[i] > 1),
                    key=lambda i: sizes[i] / shares[i])
        sizes[giver] -= 1
        sizes[sizes.index(0)] += 1
    return sizes

# 1 wrong: the last comes first among equals -> follow from the rule
def shard_sizes(num_rows, shares):
    sizes = [int(num_rows * share / sum(shares)) for share in shares]
    first = sorted(reversed(range(len(shares))),
                   key=lambda i: (sizes[i] + 1) / shares[i])
    for i in first[:num_rows - sum(sizes)]:
        sizes[i] += 1
    while 0 in sizes:
        giver = max((i for i in range(len(sizes)) if sizes[i] > 1),
                    key=lambda i: sizes[i] / shares[i])
        sizes[giver] -= 1
        sizes[sizes.index(0)] += 1
    return sizes

# 1 right: floor, sort, and give
def shard_sizes(num_rows, shares):
    sizes = [int(num_rows * share / sum(shares)) for share in shares]
    first = sorted(range(len(shares)),
                   key=lambda i: (sizes[i] + 1) / shares[i])
    for i in first[:num_rows - sum(sizes)]:
        sizes[i] += 1
    while 0 in sizes:
        giver = max((i for i in range(len(sizes)) if sizes[i] > 1),
                    key=lambda i: sizes[i] / shares[i])
        sizes[giver] -= 1
        sizes[sizes.index(0)] += 1
    return sizes

# 1 right: one after the other
def shard_sizes(num_rows, shares):
    sizes = [int(num_rows * share / sum(shares)) for share in shares]
    for _ in range(num_rows - sum(sizes)):
        exact = [num_rows * share / sum(shares) for share in shares]
        free = [i for i in range(len(sizes)) if sizes[i] <= exact[i]
                and sizes[i] == int(exact[i])]
        sizes[min(free, key=lambda i: (sizes[i] + 1) / shares[i])] += 1
    while 0 in sizes:
        giver = max((i for i in range(len(sizes)) if sizes[i] > 1),
                    key=lambda i: sizes[i] / shares[i])
        sizes[giver] -= 1
        sizes[sizes.index(0)] += 1
    return sizes

# 1 right: whole numbers and NumPy
def shard_sizes(num_rows, shares):
    exact = num_rows * onp.array(shares, float) / sum(shares)
    sizes = onp.floor(exact + 1e-9).astype(int)
    order = onp.argsort((sizes + 1) / onp.array(shares), kind='stable')
    sizes[order[:num_rows - sizes.sum()]] += 1
    while sizes.min() < 1:
        done = onp.where(sizes > 1, sizes / onp.array(shares), -1)
        sizes[done.argmax()] -= 1
        sizes[sizes.argmin()] += 1
    return sizes.tolist()

# 1 right: fractions
def shard_sizes(num_rows, shares):
    from fractions import Fraction
    shares = [Fraction(share) for share in shares]
    sizes = [int(num_rows * share / sum(shares)) for share in shares]
    first = sorted(range(len(shares)),
                   key=lambda i: (sizes[i] + 1) / shares[i])
    for i in first[:num_rows - sum(sizes)]:
        sizes[i] += 1
    while 0 in sizes:
        giver = max((i for i in range(len(sizes)) if sizes[i] > 1),
                    key=lambda i: sizes[i] / shares[i])
        sizes[giver] -= 1
        sizes[sizes.index(0)] += 1
    return sizes

# 1 right: a heap
def shard_sizes(num_rows, shares):
    import heapq
    sizes = [int(num_rows * share / sum(shares)) for share in shares]
    waiting = [((size + 1) / share, i)
               for i, (size, share) in enumerate(zip(sizes, shares))]
    heapq.heapify(waiting)
    while sum(sizes) < num_rows:
        sizes[heapq.heappop(waiting)[1]] += 1
    while 0 in sizes:
        giver = max((i for i in range(len(sizes)) if sizes[i] > 1),
                    key=lambda i: sizes[i] / shares[i])
        sizes[giver] -= 1
        sizes[sizes.index(0)] += 1
    return sizes

# 1 right: divmod, a dictionary
def shard_sizes(num_rows, shares):
    sizes = {i: int(num_rows * s / sum(shares)) for i, s in enumerate(shares)}
    left = num_rows - sum(sizes.values())
    for i in sorted(sizes, key=lambda i: (sizes[i] + 1) / shares[i])[:left]:
        sizes[i] += 1
    for i in sizes:
        if not sizes[i]:
            last = max((j for j in sizes if sizes[j] > 1),
                       key=lambda j: sizes[j] / shares[j])
            sizes[last], sizes[i] = sizes[last] - 1, 1
    return list(sizes.values())

# 1 right: speeds between 0 and 1
def shard_sizes(num_rows, shares):
    speeds = [share / max(shares) for share in shares]
    sizes = [int(num_rows * speed / sum(speeds) + 1e-9) for speed in speeds]
    first = sorted(range(len(speeds)),
                   key=lambda i: (sizes[i] + 1) / speeds[i])
    for i in first[:num_rows - sum(sizes)]:
        sizes[i] += 1
    while 0 in sizes:
        giver = max((i for i in range(len(sizes)) if sizes[i] > 1),
                    key=lambda i: sizes[i] / shares[i])
        sizes[giver] -= 1
        sizes[sizes.index(0)] += 1
    return sizes

# 1 right: a tuple, with helpers
def shard_sizes(num_rows, shares):
    sizes = [int(num_rows * share / sum(shares)) for share in shares]
    def done(i, more=0):
        return (sizes[i] + more) / shares[i]

    devices = range(len(shares))
    for i in sorted(devices, key=lambda i: done(i, 1))[
            :num_rows - sum(sizes)]:
        sizes[i] += 1
    for i in devices:
        if sizes[i] == 0:
            sizes[max(devices, key=lambda j: (sizes[j] > 1) * done(j))] -= 1
            sizes[i] = 1
    return tuple(sizes)

# 1 right: a matrix of choices
def shard_sizes(num_rows, shares):
    sizes = [int(num_rows * share / sum(shares)) for share in shares]
    keys = [((size + 1) / share, i)
            for i, (size, share) in enumerate(zip(sizes, shares))]
    chosen = {i for _, i in sorted(keys)[:num_rows - sum(sizes)]}
    sizes = [size + (i in chosen) for i, size in enumerate(sizes)]
    while 0 in sizes:
        giver = max((i for i in range(len(sizes)) if sizes[i] > 1),
                    key=lambda i: sizes[i] / shares[i])
        sizes[giver] -= 1
        sizes[sizes.index(0)] += 1
    return sizes

# 1 right: math.floor and min
def shard_sizes(num_rows, shares):
    import math
    total = sum(shares)
    sizes = [math.floor(num_rows * share / total) for share in shares]
    left, taken = num_rows - sum(sizes), []
    while left:
        rest = [i for i in range(len(sizes)) if i not in taken]
        taken.append(min(rest, key=lambda i: (sizes[i] + 1) / shares[i]))
        left -= 1
    for i in taken:
        sizes[i] += 1
    while 0 in sizes:
        giver = max((i for i in range(len(sizes)) if sizes[i] > 1),
                    key=lambda i: sizes[i] / shares[i])
        sizes[giver] -= 1
        sizes[sizes.index(0)] += 1
    return sizes

# 1 right: recursive for those without a row
def shard_sizes(num_rows, shares):
    sizes = [int(num_rows * share / sum(shares)) for share in shares]
    first = sorted(range(len(shares)),
                   key=lambda i: (sizes[i] + 1) / shares[i])
    for i in first[:num_rows - sum(sizes)]:
        sizes[i] += 1
    def give(sizes):
        if min(sizes) > 0:
            return sizes
        late = [size / share if size > 1 else 0
                for size, share in zip(sizes, shares)]
        sizes = list(sizes)
        sizes[late.index(max(late))] -= 1
        sizes[sizes.index(0)] = 1
        return give(sizes)

    return give(sizes)

# 1 right: whole division where the shares are whole
def shard_sizes(num_rows, shares):
    if all(isinstance(share, int) for share in shares):
        sizes = [num_rows * share // sum(shares) for share in shares]
    else:
        sizes = [int(num_rows * share / sum(shares)) for share in shares]
    first = sorted(range(len(shares)),
                   key=lambda i: (sizes[i] + 1) / shares[i])
    for i in first[:num_rows - sum(sizes)]:
        sizes[i] += 1
    while 0 in sizes:
        giver = max((i for i in range(len(sizes)) if sizes[i] > 1),
                    key=lambda i: sizes[i] / shares[i])
        sizes[giver] -= 1
        sizes[sizes.index(0)] += 1
    return sizes

# 2 wrong: each device counts the same -> the mean of the means
def join_means(gradients, sizes):
    return sum(gradients) / len(gradients)

# 2 wrong: the sum over all examples -> a sum
def join_means(gradients, sizes):
    return sum(g * n for g, n in zip(gradients, sizes))

# 2 wrong: a list, not added up -> an array of the shape
def join_means(gradients, sizes):
    return [g * n / sum(sizes) for g, n in zip(gradients, sizes)]

# 2 wrong: vectors only -> raises IndexError
def join_means(gradients, sizes):
    mean = [sum(g[i] * n for g, n in zip(gradients, sizes))
            for i in range(gradients[0].size)]
    return onp.array(mean) / sum(sizes)

# 2 right: a weighted mean of NumPy
def join_means(gradients, sizes):
    return onp.average(gradients, axis=0, weights=sizes)

# 2 right: into zeros
def join_means(gradients, sizes):
    total = onp.zeros_like(gradients[0])
    for i, n in enumerate(sizes):
        total += gradients[i] * (n / sum(sizes))
    return total

# 2 wrong: divided by the number of devices -> there are four examples, not two
def join_means(gradients, sizes):
    return sum(g * n for g, n in zip(gradients, sizes)) / len(sizes)

# 2 wrong: weights upside down -> not ..|mean of all
def join_means(gradients, sizes):
    return sum(g / n for g, n in zip(gradients, sizes)) / sum(
        1 / n for n in sizes)

# 2 wrong: overwrites the gradients -> were changed
def join_means(gradients, sizes):
    for g, n in zip(gradients, sizes):
        g *= n / sum(sizes)
    return sum(gradients)

# 2 wrong: only two devices -> like each gradient|does each example|raises IndexError
def join_means(gradients, sizes):
    a, b = sizes[0], sizes[1]
    return (gradients[0] * a + gradients[1] * b) / (a + b)

# 2 wrong: a number for all -> like each gradient
def join_means(gradients, sizes):
    return float(sum(g.sum() * n for g, n in zip(gradients, sizes))
                 / sum(sizes))

# 2 right: one line
def join_means(gradients, sizes):
    return sum(g * n for g, n in zip(gradients, sizes)) / sum(sizes)

# 2 right: a loop
def join_means(gradients, sizes):
    total, count = 0, 0
    for gradient, size in zip(gradients, sizes):
        total = total + gradient * size
        count += size
    return total / count

# 2 right: einsum
def join_means(gradients, sizes):
    return onp.einsum('i,i...->...', onp.array(sizes) / sum(sizes),
                      onp.array(gradients))

# 2 right: tensordot
def join_means(gradients, sizes):
    return onp.tensordot(onp.array(sizes, float), onp.stack(gradients),
                         axes=1) / onp.sum(sizes)

# 2 right: running mean
def join_means(gradients, sizes):
    mean, seen = gradients[0], sizes[0]
    for gradient, size in zip(gradients[1:], sizes[1:]):
        seen += size
        mean = mean + (gradient - mean) * size / seen
    return mean

# 2 right: recursive
def join_means(gradients, sizes):
    if len(sizes) == 1:
        return gradients[0]
    rest = join_means(gradients[1:], sizes[1:])
    n, m = sizes[0], sum(sizes[1:])
    return (n * gradients[0] + m * rest) / (n + m)

# 2 right: repeats each gradient
def join_means(gradients, sizes):
    return onp.repeat(onp.array(gradients), sizes, axis=0).mean(axis=0)

# 2 right: a list of products
def join_means(gradients, sizes):
    products = [size * gradient for size, gradient in zip(sizes, gradients)]
    return onp.sum(products, axis=0) / sum(sizes)

# 2 right: an array of MXNet
def join_means(gradients, sizes):
    mean = sum(g * n for g, n in zip(gradients, sizes)) / sum(sizes)
    return mx.np.array(mean, dtype='float64')

# 2 right: reduce
def join_means(gradients, sizes):
    pairs = zip(gradients, [n / sum(sizes) for n in sizes])
    return functools.reduce(lambda a, b: a + b[0] * b[1], pairs, 0.0)

# 3 wrong: one exchange, however many devices -> and exchange
def worth_adding(speeds, new, b, exchange):
    def seconds(speeds):
        return b / sum(speeds) + exchange
    return seconds([*speeds, new]) < seconds(speeds)

# 3 wrong: forgets the exchange -> and exchange
def worth_adding(speeds, new, b, exchange):
    def seconds(speeds):
        return b / sum(speeds)
    return seconds([*speeds, new]) < seconds(speeds)

# 3 wrong: an even split -> compare the times
def worth_adding(speeds, new, b, exchange):
    def seconds(speeds):
        return b / len(speeds) / min(speeds) + exchange * (len(speeds) - 1)
    return seconds([*speeds, new]) < seconds(speeds)

# 3 wrong: leaves the new device in the caller's list -> list of speeds has changed
def worth_adding(speeds, new, b, exchange):
    def seconds(speeds):
        return b / sum(speeds) + exchange * (len(speeds) - 1)
    return seconds(speeds) > (speeds.append(new) or seconds(speeds))

# 3 right: the time saved, against one more exchange
def worth_adding(speeds, new, b, exchange):
    before = b / onp.sum(speeds)
    after = b / onp.sum([*speeds, new])
    return before - after > exchange

# 3 right: written out
def worth_adding(speeds, new, b, exchange):
    k, v = len(speeds), sum(speeds)
    if b / (v + new) + exchange * k < b / v + exchange * (k - 1):
        return True
    return False
