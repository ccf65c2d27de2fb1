# 1 wrong: waits for the fastest device -> which one ends the step
def gain(speeds):
    return sum(speeds) / len(speeds) / max(speeds)

# 1 wrong: the middle of slowest and fastest -> which one ends
def gain(speeds):
    return (min(speeds) + max(speeds)) / 2 / min(speeds)

# 1 wrong: the mean time instead of the longest -> which one ends
def gain(speeds):
    mean = sum(1 / v for v in speeds) / len(speeds)
    return mean * sum(speeds) / len(speeds)

# 1 right: float32
def gain(speeds):
    v = onp.array(speeds, "float32")
    return v.mean() / v.min()

# 1 right: the two times
def gain(speeds):
    even = max(1 / len(speeds) / speed for speed in speeds)
    proportional = 1 / sum(speeds)
    return even / proportional

# 2 wrong: each device counts the same -> does each example count the same
def join_means(gradients, sizes):
    return sum(gradients) / len(gradients)

# 2 wrong: the sum over all examples -> does each example count the same
def join_means(gradients, sizes):
    return sum(g * n for g, n in zip(gradients, sizes))

# 2 wrong: a list, not added up -> an array of shape
def join_means(gradients, sizes):
    return [g * n / sum(sizes) for g, n in zip(gradients, sizes)]

# 2 wrong: vectors only -> answer raises IndexError
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
