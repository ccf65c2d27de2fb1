# 1 wrong: sends device 0's numbers only -> sum inside first
def allreduce_processes(data, comm):
    total = data[0].asnumpy()
    exchange(total, comm)
    for array in data:
        np.array(total, dtype=total.dtype).copyto(array)

# 1 wrong: puts new arrays into the list -> caller
def allreduce_processes(data, comm):
    allreduce(data)
    total = data[0].asnumpy()
    exchange(total, comm)
    data[:] = [np.array(total)] * len(data)

# 1 wrong: an exchange for each device -> 2 exchanges: what can be summed before
def allreduce_processes(data, comm):
    for array in data:
        total = array.asnumpy()
        exchange(total, comm)
        np.array(total, dtype=total.dtype).copyto(array)
    allreduce(data)

# 1 wrong: does not wait for the exchange -> device 0 has
def allreduce_processes(data, comm):
    allreduce(data)
    total = data[0].asnumpy()
    comm.Iallreduce(total.copy(), total)
    for array in data:
        np.array(total, dtype=total.dtype).copyto(array)

# 1 wrong: only rank 0 exchanges -> rank 1 exchanged nothing
def allreduce_processes(data, comm):
    allreduce(data)
    total = data[0].asnumpy()
    if comm.rank == 0:
        exchange(total, comm)
    for array in data:
        np.array(total, dtype=total.dtype).copyto(array)

# 1 wrong: float64 comes back as float32 -> in their dtype
def allreduce_processes(data, comm):
    allreduce(data)
    total = data[0].asnumpy()
    exchange(total, comm)
    for array in data:
        np.array(total, dtype='float32').copyto(array)

# 1 right: from the first device to the others
def allreduce_processes(data, comm):
    allreduce(data)
    total = data[0].asnumpy()
    exchange(total, comm)
    np.array(total, dtype=total.dtype).copyto(data[0])
    for array in data[1:]:
        data[0].copyto(array)

# 1 right: sums in NumPy
def allreduce_processes(data, comm):
    total = sum(array.asnumpy() for array in data)
    exchange(total, comm)
    for array in data:
        np.array(total, dtype=total.dtype).copyto(array)

# 2 wrong: the order in which they came -> in which order
def sum_in_rank_order(arrivals):
    total = onp.float32(0)
    for _rank, number in arrivals:
        total = total + onp.float32(number)
    return total

# 2 wrong: rank 10 before rank 2 -> 40 numbers, should give 0.0, not 18.0
def sum_in_rank_order(arrivals):
    total = onp.float32(0)
    for _rank, number in sorted(arrivals, key=lambda pair: str(pair[0])):
        total = total + onp.float32(number)
    return total

# 2 wrong: NumPy sums in pairs -> in which order
def sum_in_rank_order(arrivals):
    return onp.array([x for _, x in sorted(arrivals)], 'float32').sum()

# 2 wrong: in float64 -> which precision
def sum_in_rank_order(arrivals):
    total = onp.float64(0)
    for _rank, number in sorted(arrivals):
        total = total + onp.float32(number)
    return total

# 2 right: a number of Python
def sum_in_rank_order(arrivals):
    total = onp.float32(0)
    for _rank, number in sorted(arrivals):
        total = total + onp.float32(number)
    return float(total)

# 2 right: with cumsum
def sum_in_rank_order(arrivals):
    numbers = [number for _, number in sorted(arrivals)]
    return onp.cumsum(numbers, dtype='float32')[-1]

# 3 wrong: the servers' link only -> which link
def step_seconds(m, n, B, beta):
    return 2 * m * B / n * beta, 2 * (m - 1) / m * B * beta

# 3 wrong: one link after the other -> which link
def step_seconds(m, n, B, beta):
    return 2 * (B + m * B / n) * beta, 2 * (m - 1) / m * B * beta

# 3 wrong: pushes, and does not pull -> how often
def step_seconds(m, n, B, beta):
    return max(B, m * B / n) * beta, 2 * (m - 1) / m * B * beta

# 3 wrong: a ring sends slices, not all -> how large
def step_seconds(m, n, B, beta):
    return 2 * max(B, m * B / n) * beta, 2 * (m - 1) * B * beta

# 3 right: a ring, step by step
def step_seconds(m, n, B, beta):
    return 2 * max(B, m * B / n) * beta, sum(B / m * beta for _ in range(2 * (m - 1)))

# 3 right: an array of MXNet
def step_seconds(m, n, B, beta):
    from mxnet import np
    return np.array([2 * max(B, m * B / n) * beta, 2 * (m - 1) / m * B * beta])
