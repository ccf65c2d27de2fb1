# 1 wrong: forgets the chunks -> of the step is bubble
def enough_micro_batches(p, v, bubble):
    waits = p - 1
    m = max(1, math.ceil(round(waits * (1 - bubble) / bubble, 9)))
    return -(-m // p) * p if v > 1 else m

# 1 wrong: the bubble beside the work, not in it -> of the step is bubble
def enough_micro_batches(p, v, bubble):
    waits = (p - 1) / v
    m = max(1, math.ceil(round(waits / bubble, 9)))
    return -(-m // p) * p if v > 1 else m

# 1 wrong: any number, which interleaving does not take -> multiple of p
def enough_micro_batches(p, v, bubble):
    waits = (p - 1) / v
    return max(1, math.ceil(round(waits * (1 - bubble) / bubble, 9)))

# 1 wrong: a multiple of p, also without interleaving -> of the step is bubble
def enough_micro_batches(p, v, bubble):
    waits = (p - 1) / v
    m = max(1, math.ceil(round(waits * (1 - bubble) / bubble, 9)))
    return -(-m // p) * p

# 1 wrong: rounding: one round too many -> with 13 micro-batches
def enough_micro_batches(p, v, bubble):
    step = p if v > 1 else 1
    m = math.ceil((p - 1) * (1 - bubble) / bubble / v)
    return max(1, step * math.ceil(m / step))

# 1 right: one after the other
def enough_micro_batches(p, v, bubble):
    m = p if v > 1 else 1
    while (p - 1) / v > bubble * (m + (p - 1) / v):
        m += p if v > 1 else 1
    return m

# 1 right: the fraction taken apart
def enough_micro_batches(p, v, bubble):
    waits = (p - 1) / v
    m = max(1, math.ceil(round(waits / bubble - waits, 9)))
    return -(-m // p) * p if v > 1 else m

# 2 wrong: looks at the borders of nodes, not at groups -> is not right
def split_groups(k, group, node):
    return sum(1 for b in range(node, k, node) if b % group)

# 2 wrong: as if every node's border but the last of a period split one -> is not right
def split_groups(k, group, node):
    both = group * node // math.gcd(group, node)
    crossed = both // node - 1 if both > group else 0
    return crossed * k / both

# 2 wrong: a group that ends at the border -> is not right
def split_groups(k, group, node):
    return sum(first // node != (first + group) // node
               for first in range(0, k, group))

# 2 right: divides, then rounds
def split_groups(k, group, node):
    return sum(int(first / node) != (first + group - 1) // node
               for first in range(0, k, group))

# 2 right: a list of first devices
def split_groups(k, group, node):
    return sum(first // node != (first + group - 1) // node
               for first in [group * i for i in range(k // group)])

# 3 wrong: forgets that numbers have two bytes -> is not right
def score_bytes(sequences, length, heads, tp):
    return 2.5 * sequences * heads / tp * length ** 2

# 3 wrong: forgets the split -> is not right
def score_bytes(sequences, length, heads, tp):
    return 2.5 * 2 * sequences * heads * length ** 2

# 3 wrong: each word looks at one other -> is not right
def score_bytes(sequences, length, heads, tp):
    return 2.5 * 2 * sequences * heads / tp * length

# 3 right: multiplied out
def score_bytes(sequences, length, heads, tp):
    return 5 * sequences * heads / tp * length ** 2

# 3 right: one head after the other
def score_bytes(sequences, length, heads, tp):
    one = 5 * length * length
    return sum(one for _ in range(sequences * heads)) / tp
