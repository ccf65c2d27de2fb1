# 1 wrong: the load is divided, too -> is divided by k
def speedup_with_load(load, compute, k):
    return (load + compute) / (load + compute) / k

# 1 wrong: as if load and computation overlapped -> divided by k
def speedup_with_load(load, compute, k):
    return (load + compute) / max(load, compute / k)

# 1 wrong: upside down -> divided by k
def speedup_with_load(load, compute, k):
    return (load + compute / k) / (load + compute)

# 1 right: a number of NumPy
def speedup_with_load(load, compute, k):
    return onp.float32(load + compute) / (load + compute / k)

# 1 right: multiplied by k
def speedup_with_load(load, compute, k):
    return k * (load + compute) / (k * load + compute)

# 2 wrong: more than the wanted speedup -> put your number into
def smallest_batch(fixed, per_image, k, wanted):
    n = 1
    while (fixed + n * per_image) / (fixed + n * per_image / k) <= wanted:
        n += 1
    return n

# 2 wrong: rounding makes one image too many -> 3 images, not 4
def smallest_batch(fixed, per_image, k, wanted):
    import math
    return max(1, math.ceil(fixed * (wanted - 1)
        / per_image / (1 - wanted / k)))

# 2 wrong: rounds down -> 4 images, not 3
def smallest_batch(fixed, per_image, k, wanted):
    return max(1, int(fixed * (wanted - 1)
        / per_image / (1 - wanted / k)))

# 2 wrong: gives up at 10,000 images -> 30000 images, not None
def smallest_batch(fixed, per_image, k, wanted):
    for n in range(1, 10_001):
        if (fixed + n * per_image) / (fixed + n * per_image / k) >= wanted:
            return n

# 2 right: tries them all at once
def smallest_batch(fixed, per_image, k, wanted):
    n = onp.arange(1, 10**5)
    speedups = (fixed + n * per_image) / (fixed + n * per_image / k)
    return n[speedups >= wanted][0]

# 2 right: exact fractions
def smallest_batch(fixed, per_image, k, wanted):
    import math
    from fractions import Fraction
    fixed, each, wanted = map(Fraction, (fixed, per_image, wanted))
    exact = fixed * (wanted - 1) / each / (1 - wanted / k)
    return max(1, math.ceil(exact))

# 3 wrong: seconds instead of a fraction of the step -> a fifth
def first_cause(load, step, slowdown, waited, exchange, fixed):
    holds = [load > 0.2, slowdown > 1.35, waited > 0.2 * step,
             exchange > 0.2 * step, fixed > 0.2 * step]
    return holds.index(True) + 1 if any(holds) else 0

# 3 wrong: counts the causes -> in order
def first_cause(load, step, slowdown, waited, exchange, fixed):
    holds = [load > 0.2 * step, slowdown > 1.35, waited > 0.2 * step,
             exchange > 0.2 * step, fixed > 0.2 * step]
    return sum(holds) if any(holds) else 0

# 3 wrong: a fifth of load and step together -> a fifth
def first_cause(load, step, slowdown, waited, exchange, fixed):
    holds = [load > 0.2 * (load + step), slowdown > 1.35, waited > 0.2 * step,
             exchange > 0.2 * step, fixed > 0.2 * step]
    return holds.index(True) + 1 if any(holds) else 0

# 3 wrong: exactly 1.35 is not a cause -> with 1.35
def first_cause(load, step, slowdown, waited, exchange, fixed):
    holds = [load > 0.2 * step, slowdown >= 1.35, waited > 0.2 * step,
             exchange > 0.2 * step, fixed > 0.2 * step]
    return holds.index(True) + 1 if any(holds) else 0

# 3 wrong: the second cause first -> in order
def first_cause(load, step, slowdown, waited, exchange, fixed):
    holds = {2: slowdown > 1.35, 1: load > step / 5,
             3: waited > step / 5, 4: exchange > step / 5,
             5: fixed > step / 5}
    return next((i for i in holds if holds[i]), 0)

# 3 right: questions one after the other
def first_cause(load, step, slowdown, waited, exchange, fixed):
    if load > step / 5:
        return 1
    if slowdown > 1.35:
        return 2
    for i, part in enumerate((waited, exchange, fixed), 3):
        if part > step / 5:
            return i
    return 0

# 3 right: a number of NumPy
def first_cause(load, step, slowdown, waited, exchange, fixed):
    holds = [load > 0.2 * step, slowdown > 1.35, waited > 0.2 * step,
             exchange > 0.2 * step, fixed > 0.2 * step]
    return onp.int64(holds.index(True) + 1 if any(holds) else 0)
