# 1 wrong: no feedback at all -> were not added before compress
def exchange_compressed(arrays, state, compress, feedback=True):
    totals = [array.copy() for array in arrays]
    sent = compress(arrays, state)
    state['residuals'] = [t - s for t, s in zip(totals, sent)]

# 1 wrong: forgets to copy before compress -> that is the sum of all devices
def exchange_compressed(arrays, state, compress, feedback=True):
    if 'residuals' not in state:
        state['residuals'] = [np.zeros_like(array) for array in arrays]
    if feedback:
        for array, residual in zip(arrays, state['residuals']):
            array += residual
    sent = compress(arrays, state)
    state['residuals'] = [array - part for array, part in zip(arrays, sent)]

# 1 wrong: the rest of the gradient alone -> what waited before this exchange is missing
def exchange_compressed(arrays, state, compress, feedback=True):
    totals = [array.copy() for array in arrays]
    if 'residuals' not in state:
        state['residuals'] = [np.zeros_like(array) for array in arrays]
    if feedback:
        for array, residual in zip(arrays, state['residuals']):
            array += residual
    sent = compress(arrays, state)
    state['residuals'] = [t - s for t, s in zip(totals, sent)]

# 1 wrong: the sign -> the sign is wrong
def exchange_compressed(arrays, state, compress, feedback=True):
    if 'residuals' not in state:
        state['residuals'] = [np.zeros_like(array) for array in arrays]
    if feedback:
        for array, residual in zip(arrays, state['residuals']):
            array += residual
    totals = [array.copy() for array in arrays]
    sent = compress(arrays, state)
    state['residuals'] = [s - t for t, s in zip(totals, sent)]

# 1 wrong: adds up what is left -> what waits is all that there was
def exchange_compressed(arrays, state, compress, feedback=True):
    if 'residuals' not in state:
        state['residuals'] = [np.zeros_like(array) for array in arrays]
    if feedback:
        for array, residual in zip(arrays, state['residuals']):
            array += residual
    totals = [array.copy() for array in arrays]
    sent = compress(arrays, state)
    for residual, total, part in zip(state['residuals'], totals, sent):
        residual += total - part

# 1 wrong: new arrays in the list -> as before
def exchange_compressed(arrays, state, compress, feedback=True):
    if 'residuals' not in state:
        state['residuals'] = [np.zeros_like(array) for array in arrays]
    if feedback:
        for array, residual in zip(arrays, state['residuals']):
            pass
    arrays = [a + r for a, r in zip(arrays, state['residuals'])]
    totals = [array.copy() for array in arrays]
    sent = compress(arrays, state)
    state['residuals'] = [t - s for t, s in zip(totals, sent)]

# 1 wrong: compresses copies, and returns the sum -> and return nothing
def exchange_compressed(arrays, state, compress, feedback=True):
    if 'residuals' not in state:
        state['residuals'] = [np.zeros_like(array) for array in arrays]
    if feedback:
        for array, residual in zip(arrays, state['residuals']):
            array[:] = array + 0
    copies = [array.copy() for array in arrays]
    sent = compress(copies, state)
    state['residuals'] = [a - s for a, s in zip(arrays, sent)]
    return copies

# 1 wrong: feedback in any case -> without feedback, the arrays hold
def exchange_compressed(arrays, state, compress, feedback=True):
    if 'residuals' not in state:
        state['residuals'] = [np.zeros_like(array) for array in arrays]
    if True:
        for array, residual in zip(arrays, state['residuals']):
            array += residual
    totals = [array.copy() for array in arrays]
    sent = compress(arrays, state)
    state['residuals'] = [t - s for t, s in zip(totals, sent)]

# 1 wrong: keeps nothing -> is None, not a list
def exchange_compressed(arrays, state, compress, feedback=True):
    residuals = [np.zeros_like(array) for array in arrays]
    if feedback:
        for array, residual in zip(arrays, residuals):
            array += residual
    totals = [array.copy() for array in arrays]
    sent = compress(arrays, state)
    residuals = [t - s for t, s in zip(totals, sent)]

# 1 wrong: expects residuals in the first exchange -> raises KeyError
def exchange_compressed(arrays, state, compress, feedback=True):
    for array, residual in zip(arrays, state['residuals']):
        array += residual

# 1 wrong: one residual for all devices -> is array|not an|not a list with
def exchange_compressed(arrays, state, compress, feedback=True):
    if 'residuals' not in state:
        state['residuals'] = [np.zeros_like(array) for array in arrays]
    if feedback:
        for array, residual in zip(arrays, state['residuals']):
            array += residual
    totals = [array.copy() for array in arrays]
    sent = compress(arrays, state)
    rest = sum((t - s).copyto(arrays[0].ctx) for t, s in zip(totals, sent))
    state['residuals'] = [rest for array in arrays]

# 1 wrong: all residuals on the first device -> not an array there
def exchange_compressed(arrays, state, compress, feedback=True):
    if 'residuals' not in state:
        state['residuals'] = [np.zeros_like(array) for array in arrays]
    if feedback:
        for array, residual in zip(arrays, state['residuals']):
            array += residual
    totals = [array.copy() for array in arrays]
    sent = compress(arrays, state)
    state['residuals'] = [(t - s).copyto(mx.cpu(0))
                          for t, s in zip(totals, sent)]

# 1 right: a new list each time
def exchange_compressed(arrays, state, compress, feedback=True):
    if 'residuals' not in state:
        state['residuals'] = [np.zeros_like(array) for array in arrays]
    if feedback:
        for array, residual in zip(arrays, state['residuals']):
            array += residual
    totals = [array.copy() for array in arrays]
    sent = compress(arrays, state)
    state['residuals'] = [t - s for t, s in zip(totals, sent)]

# 1 right: into the residuals
def exchange_compressed(arrays, state, compress, feedback=True):
    if 'residuals' not in state:
        state['residuals'] = [np.zeros_like(array) for array in arrays]
    if feedback:
        for array, residual in zip(arrays, state['residuals']):
            array += residual
    totals = [array.copy() for array in arrays]
    sent = compress(arrays, state)
    for residual, total, part in zip(state['residuals'], totals, sent):
        residual[:] = total - part

# 1 right: setdefault
def exchange_compressed(arrays, state, compress, feedback=True):
    residuals = state.setdefault(
        'residuals', [0 * array for array in arrays])
    for array, residual in zip(arrays, residuals):
        array[:] = array + feedback * residual
    totals = [array + 0 for array in arrays]
    for residual, total, part in zip(
            residuals, totals, compress(arrays, state)):
        total.copyto(residual)
        residual -= part

# 1 right: get, without zeros
def exchange_compressed(arrays, state, compress, feedback=True):
    old = state.get('residuals')
    if old and feedback:
        for i in range(len(arrays)):
            arrays[i] += old[i]
    before = [array.copy() for array in arrays]
    sent = compress(arrays, state)
    state['residuals'] = [before[i] - sent[i] for i in range(len(arrays))]

# 1 right: the residual takes the gradient in
def exchange_compressed(arrays, state, compress, feedback=True):
    if not state:
        state['residuals'] = [np.zeros_like(array) for array in arrays]
    for array, residual in zip(arrays, state['residuals']):
        residual *= feedback
        residual += array
        residual.copyto(array)
    for residual, part in zip(state['residuals'], compress(arrays, state)):
        residual -= part

# 1 right: by map
def exchange_compressed(arrays, state, compress, feedback=True):
    first = 'residuals' not in state or not feedback
    old = [0] * len(arrays) if first else state['residuals']
    def add(array, residual):
        array += residual
        return array.copy()
    totals = list(map(add, arrays, old))
    sent = compress(arrays, state)
    state['residuals'] = list(map(lambda t, s: t - s, totals, sent))

# 1 right: through NumPy
def exchange_compressed(arrays, state, compress, feedback=True):
    old = state.get('residuals') or [np.zeros_like(a) for a in arrays]
    totals = []
    for array, residual in zip(arrays, old):
        if feedback:
            array += residual
        totals.append(array.asnumpy())
    sent = compress(arrays, state)
    state['residuals'] = [
        np.array(total - part.asnumpy(), dtype=total.dtype, ctx=part.ctx)
        for total, part in zip(totals, sent)]

# 1 right: try and except
def exchange_compressed(arrays, state, compress, feedback=True):
    try:
        residuals = state['residuals']
    except KeyError:
        residuals = [np.zeros_like(array) for array in arrays]
    if feedback:
        for i, residual in enumerate(residuals):
            arrays[i][...] += residual
    totals = [x.copy() for x in arrays]
    parts = compress(arrays, state)
    state.update(residuals=[a - b for a, b in zip(totals, parts)])

# 1 right: a tuple of residuals, and it returns the arrays
def exchange_compressed(arrays, state, compress, feedback=True):
    if feedback and 'residuals' in state:
        for array, residual in zip(arrays, state['residuals']):
            array += residual
    totals = tuple(array.copy() for array in arrays)
    sent = compress(arrays, state)
    state['residuals'] = tuple(t - s for t, s in zip(totals, sent))
    return arrays

# 1 right: with a helper
def exchange_compressed(arrays, state, compress, feedback=True):
    def kept():
        if 'residuals' not in state:
            state['residuals'] = [array * 0 for array in arrays]
        return state['residuals']

    if feedback:
        [np.add(a, r, out=a) for a, r in zip(arrays, kept())]
    totals = [array.copy() for array in arrays]
    sent = compress(arrays, state)
    for residual, total, part in zip(kept(), totals, sent):
        np.subtract(total, part, out=residual)

# 1 right: without feedback it only compresses
def exchange_compressed(arrays, state, compress, feedback=True):
    if not feedback:
        compress(arrays, state)
        return
    residuals = state.get('residuals', [None] * len(arrays))
    totals = []
    for array, residual in zip(arrays, residuals):
        if residual is not None:
            array += residual
        totals.append(array.copy())
    state['residuals'] = [
        total - part for total, part in zip(totals, compress(arrays, state))]

# 1 right: a while loop
def exchange_compressed(arrays, state, compress, feedback=True):
    if 'residuals' not in state:
        state['residuals'] = [np.zeros(a.shape, dtype=a.dtype, ctx=a.ctx)
                              for a in arrays]
    totals, i = [], 0
    while i < len(arrays):
        if feedback:
            arrays[i] += state['residuals'][i]
        totals.append(arrays[i].copy())
        i += 1
    sent = compress(arrays, state)
    while i:
        i -= 1
        state['residuals'][i] = totals[i] - sent[i]

# 2 wrong: P is not summed -> those of P
def sum_low_rank(matrices, Qs, allreduce):
    Ps = [np.dot(M, Q) for M, Q in zip(matrices, Qs)]
    Ps = [orthonormal(P) for P in Ps]
    Qs = [np.dot(M.T, P) for M, P in zip(matrices, Ps)]
    sent = [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)]
    allreduce(Qs)
    return [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)], sent, Qs

# 2 wrong: orthonormal before the sum -> not the same|not orthonormal|the sum is
def sum_low_rank(matrices, Qs, allreduce):
    Ps = [np.dot(M, Q) for M, Q in zip(matrices, Qs)]
    Ps = [orthonormal(P) for P in Ps]
    allreduce(Ps)
    Qs = [np.dot(M.T, P) for M, P in zip(matrices, Ps)]
    sent = [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)]
    allreduce(Qs)
    return [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)], sent, Qs

# 2 wrong: no orthonormal columns -> the columns of P are not orthonormal
def sum_low_rank(matrices, Qs, allreduce):
    Ps = [np.dot(M, Q) for M, Q in zip(matrices, Qs)]
    allreduce(Ps)
    Qs = [np.dot(M.T, P) for M, P in zip(matrices, Ps)]
    sent = [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)]
    allreduce(Qs)
    return [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)], sent, Qs

# 2 wrong: Q is not summed -> those of P
def sum_low_rank(matrices, Qs, allreduce):
    Ps = [np.dot(M, Q) for M, Q in zip(matrices, Qs)]
    allreduce(Ps)
    Ps = [orthonormal(P) for P in Ps]
    Qs = [np.dot(M.T, P) for M, P in zip(matrices, Ps)]
    sent = [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)]
    return [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)], sent, Qs

# 2 wrong: sent after the sum of Q -> has sent is P times its own
def sum_low_rank(matrices, Qs, allreduce):
    Ps = [np.dot(M, Q) for M, Q in zip(matrices, Qs)]
    allreduce(Ps)
    Ps = [orthonormal(P) for P in Ps]
    Qs = [np.dot(M.T, P) for M, P in zip(matrices, Ps)]
    allreduce(Qs)
    sent = [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)]
    return [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)], sent, Qs

# 2 wrong: the old Q -> the Q that is returned is not the summed one
def sum_low_rank(matrices, Qs, allreduce):
    Ps = [np.dot(M, Q) for M, Q in zip(matrices, Qs)]
    allreduce(Ps)
    Ps = [orthonormal(P) for P in Ps]
    new = [np.dot(M.T, P) for M, P in zip(matrices, Ps)]
    sent = [np.dot(P, Q.T) for P, Q in zip(Ps, new)]
    allreduce(new)
    return [np.dot(P, Q.T) for P, Q in zip(Ps, new)], sent, Qs

# 2 wrong: sums whole matrices -> a whole matrix, .2, 3., was summed
def sum_low_rank(matrices, Qs, allreduce):
    totals = [M.copy() for M in matrices]
    allreduce(totals)
    return totals, matrices, Qs

# 2 wrong: means -> the sums are means
def sum_low_rank(matrices, Qs, allreduce):
    Ps = [np.dot(M, Q) for M, Q in zip(matrices, Qs)]
    allreduce(Ps)
    Ps = [orthonormal(P) for P in Ps]
    Qs = [np.dot(M.T, P) for M, P in zip(matrices, Ps)]
    sent = [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)]
    allreduce(Qs)
    Qs = [Q / len(Qs) for Q in Qs]
    return [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)], sent, Qs

# 2 wrong: another allreduce than the argument -> never called
def sum_low_rank(matrices, Qs, allreduce):
    Ps = [np.dot(M, Q) for M, Q in zip(matrices, Qs)]
    direct_allreduce(Ps)
    Ps = [orthonormal(P) for P in Ps]
    Qs = [np.dot(M.T, P) for M, P in zip(matrices, Ps)]
    sent = [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)]
    direct_allreduce(Qs)
    return [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)], sent, Qs

# 2 wrong: two results -> return three lists
def sum_low_rank(matrices, Qs, allreduce):
    Ps = [np.dot(M, Q) for M, Q in zip(matrices, Qs)]
    allreduce(Ps)
    Ps = [orthonormal(P) for P in Ps]
    Qs = [np.dot(M.T, P) for M, P in zip(matrices, Ps)]
    sent = [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)]
    allreduce(Qs)
    return [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)], sent

# 2 wrong: of the first device alone -> one array per device
def sum_low_rank(matrices, Qs, allreduce):
    Ps = [np.dot(M, Q) for M, Q in zip(matrices, Qs)]
    allreduce(Ps)
    Ps = [orthonormal(P) for P in Ps]
    Qs = [np.dot(M.T, P) for M, P in zip(matrices, Ps)]
    sent = [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)]
    allreduce(Qs)
    return np.dot(Ps[0], Qs[0].T), sent[0], Qs[0]

# 2 wrong: allreduce returns nothing -> raises TypeError
def sum_low_rank(matrices, Qs, allreduce):
    Ps = allreduce([np.dot(M, Q) for M, Q in zip(matrices, Qs)])
    Ps = [orthonormal(P) for P in Ps]
    Qs = [np.dot(M.T, P) for M, P in zip(matrices, Ps)]
    sent = [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)]
    allreduce(Qs)
    return [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)], sent, Qs

# 2 right: line by line
def sum_low_rank(matrices, Qs, allreduce):
    Ps = [np.dot(M, Q) for M, Q in zip(matrices, Qs)]
    allreduce(Ps)
    Ps = [orthonormal(P) for P in Ps]
    Qs = [np.dot(M.T, P) for M, P in zip(matrices, Ps)]
    sent = [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)]
    allreduce(Qs)
    return [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)], sent, Qs

# 2 right: a loop that appends
def sum_low_rank(matrices, Qs, allreduce):
    Ps, new, sent, sums = [], [], [], []
    for M, Q in zip(matrices, Qs):
        Ps.append(M.dot(Q))
    allreduce(Ps)
    for i, M in enumerate(matrices):
        Ps[i] = orthonormal(Ps[i])
        new.append(np.dot(M.T, Ps[i]))
        sent.append(np.dot(Ps[i], new[i].T))
    allreduce(new)
    for P, Q in zip(Ps, new):
        sums.append(np.dot(P, Q.T))
    return sums, sent, new

# 2 right: matmul of einsum
def sum_low_rank(matrices, Qs, allreduce):
    Ps = [np.einsum('ij,jk->ik', M, Q) for M, Q in zip(matrices, Qs)]
    allreduce(Ps)
    Ps = [orthonormal(P) for P in Ps]
    Qs = [np.einsum('ij,ik->jk', M, P) for M, P in zip(matrices, Ps)]
    sent = [np.einsum('ij,kj->ik', P, Q) for P, Q in zip(Ps, Qs)]
    allreduce(Qs)
    return [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)], sent, Qs

# 2 right: by map
def sum_low_rank(matrices, Qs, allreduce):
    Ps = list(map(np.dot, matrices, Qs))
    allreduce(Ps)
    Ps = list(map(orthonormal, Ps))
    Qs = list(map(lambda M, P: np.dot(M.T, P), matrices, Ps))
    product = lambda P, Q: np.dot(P, Q.T)
    sent = list(map(product, Ps, Qs))
    allreduce(Qs)
    return list(map(product, Ps, Qs)), sent, Qs

# 2 right: by index, a tuple of lists
def sum_low_rank(matrices, Qs, allreduce):
    devices = range(len(matrices))
    Ps = [np.dot(matrices[i], Qs[i]) for i in devices]
    allreduce(Ps)
    Ps = [orthonormal(Ps[i]) for i in devices]
    Qs = [np.dot(matrices[i].T, Ps[i]) for i in devices]
    sent = tuple(np.dot(Ps[i], Qs[i].T) for i in devices)
    allreduce(Qs)
    sums = tuple(np.dot(Ps[i], Qs[i].T) for i in devices)
    return sums, sent, tuple(Qs)

# 2 right: orthonormal on one device, then copies
def sum_low_rank(matrices, Qs, allreduce):
    Ps = [np.dot(M, Q) for M, Q in zip(matrices, Qs)]
    allreduce(Ps)
    first = orthonormal(Ps[0])
    Ps = [first.copyto(M.ctx) for M in matrices]
    Qs = [np.dot(M.T, P) for M, P in zip(matrices, Ps)]
    sent = [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)]
    allreduce(Qs)
    return [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)], sent, Qs

# 2 right: with qr of NumPy
def sum_low_rank(matrices, Qs, allreduce):
    Ps = [np.dot(M, Q) for M, Q in zip(matrices, Qs)]
    allreduce(Ps)
    Ps = [np.array(onp.linalg.qr(P.asnumpy())[0], dtype='float64', ctx=P.ctx)
          for P in Ps]
    Qs = [np.dot(M.T, P) for M, P in zip(matrices, Ps)]
    sent = [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)]
    allreduce(Qs)
    return [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)], sent, Qs

# 2 right: a helper for both products
def sum_low_rank(matrices, Qs, allreduce):
    def products(lefts, rights):
        return [np.dot(a, b) for a, b in zip(lefts, rights)]

    Ps = products(matrices, Qs)
    allreduce(Ps)
    Ps = [orthonormal(P) for P in Ps]
    own = products([M.T for M in matrices], Ps)
    total = [Q.copy() for Q in own]
    allreduce(total)
    return (products(Ps, [Q.T for Q in total]),
            products(Ps, [Q.T for Q in own]), total)

# 2 right: the transposed product
def sum_low_rank(matrices, Qs, allreduce):
    Ps = [np.dot(M, Q) for M, Q in zip(matrices, Qs)]
    allreduce(Ps)
    Ps = [orthonormal(P) for P in Ps]
    Qs = [np.dot(P.T, M).T for M, P in zip(matrices, Ps)]
    sent = [np.dot(Q, P.T).T for P, Q in zip(Ps, Qs)]
    allreduce(Qs)
    return [np.dot(Q, P.T).T for P, Q in zip(Ps, Qs)], sent, Qs

# 2 right: sent by the projection
def sum_low_rank(matrices, Qs, allreduce):
    Ps = [np.dot(M, Q) for M, Q in zip(matrices, Qs)]
    allreduce(Ps)
    Ps = [orthonormal(P) for P in Ps]
    sent = [np.dot(P, np.dot(P.T, M)) for M, P in zip(matrices, Ps)]
    Qs = [np.dot(M.T, P) for M, P in zip(matrices, Ps)]
    allreduce(Qs)
    return [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)], sent, Qs

# 2 right: the sum of P in a tuple
def sum_low_rank(matrices, Qs, allreduce):
    Ps = tuple(M @ Q for M, Q in zip(matrices, Qs))
    allreduce(Ps)
    Ps = tuple(orthonormal(P) for P in Ps)
    Qs = tuple(M.T @ P for M, P in zip(matrices, Ps))
    sent = [P @ Q.T for P, Q in zip(Ps, Qs)]
    allreduce(Qs)
    return [P @ Q.T for P, Q in zip(Ps, Qs)], sent, list(Qs)

# 2 right: Gram and Schmidt by hand
def sum_low_rank(matrices, Qs, allreduce):
    Ps = [np.dot(M, Q) for M, Q in zip(matrices, Qs)]
    allreduce(Ps)
    for P in Ps:
        for j in range(P.shape[1]):
            column = P[:, j].copy()
            for i in range(j):
                column = column - P[:, i] * (P[:, i] * column).sum()
            P[:, j] = column / np.sqrt((column ** 2).sum())
    Qs = [np.dot(M.T, P) for M, P in zip(matrices, Ps)]
    sent = [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)]
    allreduce(Qs)
    return [np.dot(P, Q.T) for P, Q in zip(Ps, Qs)], sent, Qs

# 3 wrong: the wrong direction -> velocity is wrong
def outer_step(start, arrived, velocity, outer_lr, momentum):
    moved = onp.mean(arrived, axis=0) - start
    velocity = momentum * velocity + moved
    return start - outer_lr * (moved + momentum * velocity), velocity

# 3 wrong: the sum of the workers, not their mean -> velocity is wrong
def outer_step(start, arrived, velocity, outer_lr, momentum):
    moved = start - onp.sum(arrived, axis=0)
    velocity = momentum * velocity + moved
    return start - outer_lr * (moved + momentum * velocity), velocity

# 3 wrong: heavy ball instead of Nesterov's momentum -> along the gradient
def outer_step(start, arrived, velocity, outer_lr, momentum):
    moved = start - onp.mean(arrived, axis=0)
    velocity = momentum * velocity + moved
    return start - outer_lr * velocity, velocity

# 3 wrong: overwrites the velocity -> arguments were changed
def outer_step(start, arrived, velocity, outer_lr, momentum):
    moved = start - onp.mean(arrived, axis=0)
    velocity *= momentum
    velocity += moved
    return start - outer_lr * (moved + momentum * velocity), velocity

# 3 right: column by column
def outer_step(start, arrived, velocity, outer_lr, momentum):
    moved = start - onp.array([sum(column) / len(arrived)
                               for column in zip(*arrived)])
    velocity = momentum * velocity + moved
    return start - outer_lr * (moved + momentum * velocity), velocity

# 3 right: a list, and the mean of the moves
def outer_step(start, arrived, velocity, outer_lr, momentum):
    moved = sum(start - params for params in arrived) / len(arrived)
    new = moved + momentum * velocity
    return [start - outer_lr * moved - outer_lr * momentum * new, new]
