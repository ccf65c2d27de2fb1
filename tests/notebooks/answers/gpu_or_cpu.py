# 1 wrong: as if the GPU computed in no time -> launches \+ copies
def least_operations(launches, launch, num_bytes, bandwidth, gpu_rate,
                     cpu_rate):
    if gpu_rate <= cpu_rate:
        return float('inf')
    before = launches * launch + num_bytes / bandwidth
    return before * cpu_rate

# 1 wrong: forgets the copies -> launches \+ copies
def least_operations(launches, launch, num_bytes, bandwidth, gpu_rate,
                     cpu_rate):
    if gpu_rate <= cpu_rate:
        return float('inf')
    before = launches * launch
    return before / (1 / cpu_rate - 1 / gpu_rate)

# 1 wrong: one launch -> launches \+ copies
def least_operations(launches, launch, num_bytes, bandwidth, gpu_rate,
                     cpu_rate):
    if gpu_rate <= cpu_rate:
        return float('inf')
    before = launch + num_bytes / bandwidth
    return before / (1 / cpu_rate - 1 / gpu_rate)

# 1 wrong: a GPU that never catches up -> catches up
def least_operations(launches, launch, num_bytes, bandwidth, gpu_rate,
                     cpu_rate):
    if gpu_rate == cpu_rate: return 0
    before = launches * launch + num_bytes / bandwidth
    return before / (1 / cpu_rate - 1 / gpu_rate)

# 1 right: with one division
def least_operations(launches, launch, num_bytes, bandwidth, gpu_rate,
                     cpu_rate):
    if gpu_rate <= cpu_rate:
        return float('inf')
    before = launches * launch + num_bytes / bandwidth
    return before * cpu_rate / (1 - cpu_rate / gpu_rate)

# 1 right: infinity of NumPy
def least_operations(launches, launch, num_bytes, bandwidth, gpu_rate,
                     cpu_rate):
    import numpy as onp
    gain = 1 / cpu_rate - 1 / gpu_rate
    if gain <= 0:
        return onp.inf
    return onp.float64(launches * launch + num_bytes / bandwidth) / gain

# 2 wrong: faster is not cheaper -> times as much
def least_minibatch(sizes, cpu, gpu, price_ratio):
    found = None
    for size, slow, fast in zip(sizes, cpu, gpu):
        if slow / fast <= 1:
            found = None
        elif found is None:
            found = size
    return found

# 2 wrong: upside down -> times as much
def least_minibatch(sizes, cpu, gpu, price_ratio):
    found = None
    for size, slow, fast in zip(sizes, cpu, gpu):
        if fast / slow <= price_ratio:
            found = None
        elif found is None:
            found = size
    return found

# 2 wrong: stays at a size after which it is dearer again -> times as much
def least_minibatch(sizes, cpu, gpu, price_ratio):
    found = None
    for size, slow, fast in zip(sizes, cpu, gpu):
        if slow / fast <= price_ratio:
            pass
        elif found is None:
            found = size
    return found

# 2 wrong: the last size -> times as much
def least_minibatch(sizes, cpu, gpu, price_ratio):
    found = None
    for size, slow, fast in zip(sizes, cpu, gpu):
        if slow / fast <= price_ratio:
            found = None
        else:
            found = size
    return found

# 2 right: from the end
def least_minibatch(sizes, cpu, gpu, price_ratio):
    found = None
    for size, slow, fast in [*zip(sizes, cpu, gpu)][::-1]:
        if slow / fast <= price_ratio:
            break
        found = size
    return found

# 2 right: all that follow
def least_minibatch(sizes, cpu, gpu, price_ratio):
    pays = [a > price_ratio * b for a, b in zip(cpu, gpu)]
    for i, size in enumerate(sizes):
        if all(pays[i:]):
            return size

# 3 wrong: more work than fits a day -> more than a day
def choose(images_per_day, limit, machines):
    day = 24 * 3_600
    good = []
    for name, (price, times) in machines.items():
        for size, seconds in times.items():
            fills = day * size / images_per_day if size > 1 else 0
            work = images_per_day / size * seconds
            if max(seconds, fills) <= limit:
                good.append((price, name))
    return min(good)[1] if good else None

# 3 wrong: forgets that a minibatch must fill -> to fill a minibatch
def choose(images_per_day, limit, machines):
    day = 24 * 3_600
    good = []
    for name, (price, times) in machines.items():
        for size, seconds in times.items():
            fills = day * size / images_per_day if size > 1 else 0
            work = images_per_day / size * seconds
            if seconds <= limit and work <= day:
                good.append((price, name))
    return min(good)[1] if good else None

# 3 wrong: the first image is there already -> to fill a minibatch of 2 takes 34.56 s
def choose(images_per_day, limit, machines):
    day = 24 * 3_600
    good = []
    for name, (price, times) in machines.items():
        for size, seconds in times.items():
            fills = day * (size - 1) / images_per_day
            work = images_per_day / size * seconds
            if max(seconds, fills) <= limit and work <= day:
                good.append((price, name))
    return min(good)[1] if good else None

# 3 wrong: one image at a time -> can
def choose(images_per_day, limit, machines):
    day = 24 * 3_600
    good = []
    for name, (price, times) in machines.items():
        for size, seconds in times.items():
            fills = day * size / images_per_day if size > 1 else 0
            work = images_per_day * seconds
            if max(seconds, fills) <= limit and work <= day:
                good.append((price, name))
    return min(good)[1] if good else None

# 3 wrong: a CPU, where no machine will do -> no machine
def choose(images_per_day, limit, machines):
    day = 24 * 3_600
    good = []
    for name, (price, times) in machines.items():
        for size, seconds in times.items():
            fills = day * size / images_per_day if size > 1 else 0
            work = images_per_day / size * seconds
            if max(seconds, fills) <= limit and work <= day:
                good.append((price, name))
    return min(good)[1] if good else 'CPU'

# 3 right: images per second
def choose(images_per_day, limit, machines):
    day = 24 * 3_600
    good = []
    for name, (price, times) in machines.items():
        for size, seconds in times.items():
            fills = size / (images_per_day / day) if size > 1 else 0
            work = images_per_day / size * seconds
            if max(seconds, fills) <= limit and work <= day:
                good.append((price, name))
    return min(good)[1] if good else None

# 3 right: asks for each machine
def choose(images_per_day, limit, machines):
    def good(times):
        gap = 86_400 / images_per_day
        return any(
            s <= min(limit, gap * n)
            and (n == 1 or n * gap <= limit)
            for n, s in times.items())
    names = [n for n in machines if good(machines[n][1])]
    return min(names, key=lambda n: machines[n][0], default=None)
