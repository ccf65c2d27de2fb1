# 1 wrong: rounds down -> the smallest
def smallest_shard(fixed, per_example, efficiency):
    exact = efficiency / (1 - efficiency) * fixed / per_example
    return int(exact)

# 1 wrong: rounding: 9.000000000000002 becomes 10 -> a shard of 4 has
def smallest_shard(fixed, per_example, efficiency):
    exact = efficiency / (1 - efficiency) * fixed / per_example
    return math.ceil(exact)

# 1 wrong: one more where it is whole already -> the smallest
def smallest_shard(fixed, per_example, efficiency):
    exact = efficiency / (1 - efficiency) * fixed / per_example
    return math.floor(exact) + 1

# 1 wrong: forgets what remains for the fixed time -> the smallest
def smallest_shard(fixed, per_example, efficiency):
    exact = efficiency * fixed / per_example
    return math.ceil(round(exact, 9))

# 1 right: tries one shard after the other
def smallest_shard(fixed, per_example, efficiency):
    n = 1
    while n * per_example < efficiency * (1 - 1e-9) * (
        fixed + n * per_example
    ):
        n += 1
    return n

# 1 right: an array of NumPy
def smallest_shard(fixed, per_example, efficiency):
    exact = efficiency / (1 - efficiency) * fixed / per_example
    return onp.array(math.ceil(round(exact, 9)))

# 2 wrong: always the ring -> not the fastest
def fastest(k, num_bytes, alpha, beta):
    return "ring"

# 2 wrong: by the bytes, whatever the network -> not the fastest
def fastest(k, num_bytes, alpha, beta):
    return "ring" if num_bytes > 1e6 else "tree"

# 2 wrong: no latency -> fastest
def fastest(k, num_bytes, alpha, beta):
    return min(('star', 'ring', 'tree'), key=lambda name: allreduce_seconds(
        name, k, num_bytes, 0, beta))

# 2 wrong: no bandwidth -> not the fastest
def fastest(k, num_bytes, alpha, beta):
    return min(('star', 'ring', 'tree'), key=lambda name: allreduce_seconds(
        name, k, num_bytes, alpha, 0))

# 2 right: from the formulas
def fastest(k, num_bytes, alpha, beta):
    rounds = math.ceil(math.log2(k))
    times = {
        "tree": rounds * (alpha + beta * num_bytes),
        "ring": (k - 1) * (alpha + beta * num_bytes / k),
    }
    return min(times, key=times.get)

# 2 right: a string of NumPy
def fastest(k, num_bytes, alpha, beta):
    names = onp.array(["star", "ring", "tree"])
    times = [allreduce_seconds(str(n), k, num_bytes, alpha,
                               beta) for n in names]
    return names[onp.argmin(times)]

# 3 wrong: one device alone -> of all k devices
def interval_for(k, years, checkpoint_seconds):
    mtbf = years * 365.25 * 86_400
    return checkpoint_interval(mtbf, checkpoint_seconds)

# 3 wrong: days, not seconds -> in seconds
def interval_for(k, years, checkpoint_seconds):
    mtbf = years * 365.25 / k
    return checkpoint_interval(mtbf, checkpoint_seconds)

# 3 wrong: forgets the factor 2 -> is not right
def interval_for(k, years, checkpoint_seconds):
    mtbf = years * 365.25 * 86_400 / k
    return math.sqrt(checkpoint_seconds * mtbf)

# 3 right: Young's formula
def interval_for(k, years, checkpoint_seconds):
    mtbf = years * 365.25 * 86_400 / k
    return (2 * checkpoint_seconds * mtbf) ** 0.5

# 3 right: for one device, then divided
def interval_for(k, years, checkpoint_seconds):
    one = checkpoint_interval(
        years * 365.25 * 24 * 3600, checkpoint_seconds)
    return one / math.sqrt(k)
