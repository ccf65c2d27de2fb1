# 1 wrong: forgets that the workers' mean divides by their number -> one word of each worker
def loss_factors(num_tokens):
    total = sum(num_tokens)
    return [count / total for count in num_tokens]

# 1 wrong: does not divide by all words -> one word of each worker
def loss_factors(num_tokens):
    total = sum(num_tokens)
    return [len(num_tokens) * count for count in num_tokens]

# 1 wrong: each worker counts the same -> one word of each worker
def loss_factors(num_tokens):
    total = sum(num_tokens)
    return [1] * len(num_tokens)

# 1 right: float32, by the mean
def loss_factors(num_tokens):
    t = onp.array(num_tokens, "float32")
    return t / t.mean()

# 1 right: a tuple
def loss_factors(num_tokens):
    return tuple(t / (sum(num_tokens) / len(num_tokens))
                 for t in num_tokens)

# 2 wrong: one product instead of two -> seconds of the attention
def compare(n, T, d, rate):
    multiplications = n * T * T * d
    return multiplications / rate, 6 * d

# 2 wrong: each word looks at one other -> seconds of the attention
def compare(n, T, d, rate):
    multiplications = 2 * n * T * d
    return multiplications / rate, 6 * d

# 2 wrong: compares with both products' halves -> length at which it dominates
def compare(n, T, d, rate):
    multiplications = 2 * n * T * T * d
    return multiplications / rate, 12 * d

# 2 right: an array of NumPy
def compare(n, T, d, rate):
    multiplications = 2 * n * T * T * d
    return onp.array([multiplications / rate, 6 * d])

# 2 right: an array of MXNet and a number of NumPy
def compare(n, T, d, rate):
    return np.array(n * 2 * T ** 2 * d / rate), onp.float32(6 * d)

# 3 wrong: as many sentences for each -> shards of
def split_by_tokens(lengths, k):
    shards, words = [[] for _ in range(k)], [0] * k
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        least = i % k
        shards[least].append(i)
        words[least] += lengths[i]
    return shards

# 3 wrong: in the order of the text -> shards of
def split_by_tokens(lengths, k):
    shards, words = [[] for _ in range(k)], [0] * k
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        least = i * k // len(lengths)
        shards[least].append(i)
        words[least] += lengths[i]
    return shards

# 3 wrong: forth and back, the lengths not sorted -> the largest above
def split_by_tokens(lengths, k):
    shards = [[] for _ in range(k)]
    for i in range(len(lengths)):
        turn, j = divmod(i, k)
        shards[k - 1 - j if turn % 2 else j].append(i)
    return shards

# 3 wrong: loses a sentence of each shard -> each sentence once
def split_by_tokens(lengths, k):
    shards, words = [[] for _ in range(k)], [0] * k
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        least = words.index(min(words))
        shards[least].append(i)
        words[least] += lengths[i]
    return [shard[1:] for shard in shards]

# 3 right: numbers of NumPy, tuples
def split_by_tokens(lengths, k):
    shards = [[] for _ in range(k)]
    for i in onp.argsort(lengths)[::-1]:
        shard = min(shards, key=lambda s: sum(lengths[j] for j in s))
        shard.append(i)
    return tuple(map(tuple, shards))

# 3 right: every k-th of the sorted sentences
def split_by_tokens(lengths, k):
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    return [order[i::k] for i in range(k)]
