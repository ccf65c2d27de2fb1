# 1 wrong: puts new arrays into the list -> did you assign to the list
def allreduce_mean(data):
    if any(onp.dtype(x.dtype).kind != 'f' for x in data):
        raise TypeError('convert the arrays with astype')
    total = sum(x.copyto(data[0].ctx) for x in data)
    for i in range(len(data)):
        data[i] = (total / len(data)).copyto(data[i].ctx)

# 1 wrong: leaves the sum -> array 0 of 2 .* the sum: divide
def allreduce_mean(data):
    if any(onp.dtype(x.dtype).kind != 'f' for x in data):
        raise TypeError('convert the arrays with astype')
    allreduce(data)

# 1 wrong: divides into a new array -> the sum: divide every array
def allreduce_mean(data):
    if any(onp.dtype(x.dtype).kind != 'f' for x in data):
        raise TypeError('convert the arrays with astype')
    allreduce(data)
    for array in data:
        array = array / len(data)

# 1 wrong: reads arrays of other devices -> bytes were copied, at least
def allreduce_mean(data):
    if any(onp.dtype(x.dtype).kind != 'f' for x in data):
        raise TypeError('convert the arrays with astype')
    total = data[0]
    for x in data[1:]:
        total += x
    total /= len(data)
    for x in data[1:]:
        x[:] = total

# 1 wrong: waits for the result -> it waits
def allreduce_mean(data):
    if any(onp.dtype(x.dtype).kind != 'f' for x in data):
        raise TypeError('convert the arrays with astype')
    allreduce(data)
    for array in data:
        array /= len(data)
    mx.npx.waitall()

# 1 wrong: takes whole numbers -> raise a TypeError for int32
def allreduce_mean(data):
    allreduce(data)
    for array in data:
        array /= len(data)

# 1 wrong: sums in half precision -> not the mean
def allreduce_mean(data):
    if any(onp.dtype(x.dtype).kind != 'f' for x in data):
        raise TypeError('convert the arrays with astype')
    halves = [x.astype('float16') for x in data]
    allreduce(halves)
    for x, half in zip(data, halves):
        x[:] = half / len(data)

# 1 right: divides first
def allreduce_mean(data):
    if any(onp.dtype(x.dtype).kind != 'f' for x in data):
        raise TypeError('convert the arrays with astype')
    for x in data:
        x /= len(data)
    allreduce(data)

# 1 right: copies the mean to each
def allreduce_mean(data):
    if any(onp.dtype(x.dtype).kind != 'f' for x in data):
        raise TypeError('convert the arrays with astype')
    total = sum(x.copyto(data[0].ctx) for x in data)
    for x in data:
        (total / len(data)).copyto(x)

# 2 wrong: counts only one direction -> 100 bytes out and 100 bytes in
def all_to_all_bytes(k, n):
    return (k - 1) * n

# 2 wrong: a device sends to itself, too -> k = 1, .* not 200
def all_to_all_bytes(k, n):
    return 2 * k * n

# 2 wrong: the bytes of all devices -> k = 3
def all_to_all_bytes(k, n):
    return k * (k - 1) * n

# 2 right: a number of NumPy
def all_to_all_bytes(k, n):
    return onp.float32(2 * (k - 1) * n)

# 2 right: one at a time
def all_to_all_bytes(k, n):
    return sum(2 * n for other in range(1, k))

# 3 wrong: two views are two objects -> last row: expected True
def share_memory(a, b):
    return a is b

# 3 wrong: leaves its own numbers behind -> the values changed
def share_memory(a, b):
    kept = a.copy()
    a[()] = 0
    with_zeros = b.asnumpy().tobytes()
    a[()] = 1
    changed = b.asnumpy().tobytes() != with_zeros
    return changed

# 3 wrong: writes into the first row only -> last row: expected True
def share_memory(a, b):
    kept, before = a.copy(), b.asnumpy()
    a[0] = 5
    changed = bool((b.asnumpy() != before).any())
    a[()] = kept
    return changed

# 3 wrong: a number may change, and rounding with it -> the values changed
def share_memory(a, b):
    before = b.asnumpy()
    a += 1
    changed = bool((b.asnumpy() != before).any())
    a -= 1
    return changed

# 3 wrong: what it writes may have been there already -> two views of zeros: expected True
def share_memory(a, b):
    kept, before = a.copy(), b.asnumpy()
    a[()] = 0
    changed = b.asnumpy().tobytes() != before.tobytes()
    a[()] = kept
    return changed

# 3 wrong: NaN differs from itself -> another one with NaN and infinity: expected False
def share_memory(a, b):
    kept, before = a.copy(), b.asnumpy()
    a[()] = 5
    changed = bool((b.asnumpy() != before).any())
    a[()] = kept
    return changed

# 3 wrong: a random number hides whether b changed -> and itself: expected True
def share_memory(a, b):
    kept, before = a.copy(), b.asnumpy().tobytes()
    a[()] = onp.random.uniform(-1e6, 1e6)
    changed = b.asnumpy().tobytes() != before
    a[()] = kept
    return changed

# 3 right: new values from the old ones
def share_memory(a, b):
    kept, before = a.asnumpy(), b.asnumpy()
    a[()] = onp.nan_to_num(2 * kept + 1, nan=0)
    changed = not onp.array_equal(
        b.asnumpy(), before, equal_nan=True)
    a[()] = np.array(kept, dtype=kept.dtype)
    return changed

# 3 right: two values, and lists
def share_memory(a, b):
    kept, found = a.copy(), []
    for value in (2, 3):
        a[()] = value
        found.append(b.tolist())
    changed = str(found[0]) != str(found[1])
    a[()] = kept
    return changed
