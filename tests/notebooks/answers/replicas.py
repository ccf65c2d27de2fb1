# 1 wrong: as_in_ctx, which does not copy on the same device -> the original has a gradient now
def get_params(params, device):
    replica = [param.as_in_ctx(device) for param in params]
    for param in replica:
        param.attach_grad()
    return replica

# 1 wrong: no gradients -> a copy has no gradient
def get_params(params, device):
    return [param.copyto(device) for param in params]

# 1 wrong: gradients for the originals -> the original has a gradient now
def get_params(params, device):
    for param in params:
        param.attach_grad()
    return [param.copyto(device) for param in params]

# 1 wrong: the originals themselves -> asked for|the original has a gradient
def get_params(params, device):
    for param in params:
        param.attach_grad()
    return params

# 1 wrong: copies that stay on their device -> asked for cpu.1.
def get_params(params, device):
    replica = []
    for param in params:
        param = param.copy()
        param.attach_grad()
        replica.append(param)
    return replica

# 1 wrong: a tuple -> return a list with 2 copies
def get_params(params, device):
    replica = [param.copyto(device) for param in params]
    for param in replica:
        param.attach_grad()
    return tuple(replica)

# 1 wrong: returns nothing -> return a list with 2 copies for 2 arrays, not None
def get_params(params, device):
    replica = [param.copyto(device) for param in params]
    for param in replica:
        param.attach_grad()

# 1 wrong: zeros in place of copies -> the copy of .*, float32, is
def get_params(params, device):
    replica = [np.zeros(param.shape, dtype=param.dtype, ctx=device)
               for param in params]
    for param in replica:
        param.attach_grad()
    return replica

# 1 wrong: always float32 -> float64, is
def get_params(params, device):
    replica = [np.array(param.asnumpy(), dtype='float32', ctx=device)
               for param in params]
    for param in replica:
        param.attach_grad()
    return replica

# 1 wrong: arrays of NumPy -> an array of MXNet
def get_params(params, device):
    return [param.asnumpy() for param in params]

# 1 wrong: the same arrays in every call -> two replicas on one device share memory|begins as|the copy of
def get_params(params, device):
    global kept_replicas
    kept_replicas = globals().get('kept_replicas', {})
    key = str(device) + str(params[0].dtype)
    if key not in kept_replicas:
        kept_replicas[key] = [p.copyto(device) for p in params]
        for p in kept_replicas[key]:
            p.attach_grad()
    return kept_replicas[key]

# 1 right: a loop that appends
def get_params(params, device):
    replica = []
    for param in params:
        copy = param.copyto(device)
        copy.attach_grad()
        replica.append(copy)
    return replica

# 1 right: through NumPy
def get_params(params, device):
    replica = [np.array(p.asnumpy(), dtype=p.dtype, ctx=device) for p in params]
    for p in replica:
        p.attach_grad()
    return replica

# 1 right: by map
def get_params(params, device):
    copies = list(map(lambda p: p.copyto(device), params))
    for copy in copies:
        copy.attach_grad(grad_req='write')
    return copies

# 1 right: copy, then as_in_ctx
def get_params(params, device):
    copies = [p.copy().as_in_ctx(device) for p in params]
    _ = [c.attach_grad() for c in copies]
    return copies

# 1 right: into arrays that are there already
def get_params(params, device):
    def one(param):
        new = np.empty(param.shape, dtype=param.dtype, ctx=device)
        param.copyto(new)
        new.attach_grad()
        return new
    return [one(param) for param in params]

# 1 right: by index
def get_params(params, device):
    copies = [None] * len(params)
    for i in range(len(params)):
        copies[i] = params[i].copyto(device)
        copies[i].attach_grad()
    return copies

# 1 right: into zeros, by values
def get_params(params, device):
    copies = [np.zeros_like(p).as_in_ctx(device) for p in params]
    for new, old in zip(copies, params):
        new[:] = old.asnumpy()
        new.attach_grad()
    return copies

# 1 right: mark_variables
def get_params(params, device):
    copies = [p.copyto(device) for p in params]
    autograd.mark_variables(
        copies, [np.zeros_like(c) for c in copies])
    return copies

# 1 right: a while loop
def get_params(params, device):
    result = []
    i = 0
    while i < len(params):
        result.append(params[i].copyto(device))
        result[-1].attach_grad()
        i += 1
    return result

# 1 right: the first, then the others by recursion
def get_params(params, device):
    if not params:
        return []
    first = params[0].copyto(device)
    first.attach_grad()
    return [first] + get_params(params[1:], device)

# 1 right: as_in_ctx, then copy
def get_params(params, device):
    replica = [p.as_in_ctx(device).copy() for p in params]
    for p in replica:
        p.attach_grad()
        p.grad[:] = 0
    return replica

# 1 right: a product with 1
def get_params(params, device):
    replica = [(p * 1).as_in_ctx(device) for p in params]
    [p.attach_grad() for p in replica]
    return replica

# 2 wrong: rebinds the entries of the list -> the list looks right, but the arrays hold
def allreduce(data):
    total = data[0]
    for array in data[1:]:
        total += array.copyto(total.ctx)
    for i in range(1, len(data)):
        data[i] = total.copyto(data[i].ctx)

# 2 wrong: returns the sums -> nobody reads what you return
def allreduce(data):
    total = sum(x.copyto(data[0].ctx) for x in data)
    return [total.copyto(x.ctx) for x in data]

# 2 wrong: the mean -> the mean
def allreduce(data):
    total = data[0].copy()
    for array in data[1:]:
        total += array.copyto(total.ctx)
    total /= len(data)
    for array in data:
        total.copyto(array)

# 2 wrong: the sum on the first device alone -> device 1 never gets the sum
def allreduce(data):
    total = data[0]
    for array in data[1:]:
        total += array.copyto(total.ctx)

# 2 wrong: rebinds the name in the loop -> each device would train alone
def allreduce(data):
    total = data[0].copy()
    for array in data[1:]:
        total += array.copyto(total.ctx)
    for array in data:
        array = total.copyto(array.ctx)

# 2 wrong: adds to arrays that it has changed already -> 5 = 3 . 2
def allreduce(data):
    for array in data:
        for other in data:
            if other is not array:
                array += other.copyto(array.ctx)

# 2 wrong: leaves out the first array -> must become
def allreduce(data):
    total = np.zeros_like(data[0])
    for array in data[1:]:
        total += array.copyto(total.ctx)
    for array in data:
        total.copyto(array)

# 2 wrong: writes to two devices only -> 3 arrays of float32
def allreduce(data):
    total = data[0].copyto(mx.cpu(0))
    for array in data[1:]:
        total += array.copyto(mx.cpu(0))
    for array in data[:2]:
        total.copyto(array)

# 2 wrong: in half precision -> must become
def allreduce(data):
    total = data[0].astype('float16')
    for array in data[1:]:
        total += array.astype('float16').copyto(total.ctx)
    for array in data:
        array[:] = total.astype(array.dtype) + 0.001

# 2 wrong: empties the list -> the list has others now
def allreduce(data):
    total = sum(x.copyto(data[0].ctx) for x in data)
    for array in data:
        total.copyto(array)
    data.clear()

# 2 wrong: forgets the copy to the first device -> copy: array.copyto
def allreduce(data):
    total = data[0]
    for array in data[1:]:
        total += array
    for array in data[1:]:
        total.copyto(array)

# 2 right: a star, into the first array
def allreduce(data):
    total = data[0]
    for array in data[1:]:
        total += array.copyto(total.ctx)
    for array in data[1:]:
        array[:] = total.copyto(array.ctx)

# 2 right: the built-in sum
def allreduce(data):
    total = sum(x.copyto(data[0].ctx) for x in data)
    for array in data:
        total.copyto(array)

# 2 right: adds in place, array by array
def allreduce(data):
    for i in range(1, len(data)):
        data[0][:] = data[0] + data[i].copyto(data[0].ctx)
    for i in range(1, len(data)):
        data[0].copyto(data[i])

# 2 right: through NumPy
def allreduce(data):
    total = onp.sum([x.asnumpy() for x in data], axis=0)
    for array in data:
        array[:] = np.array(total, dtype=array.dtype, ctx=array.ctx)

# 2 right: everyone sums all, from copies
def allreduce(data):
    old = [x.copy() for x in data]
    for i, array in enumerate(data):
        for j, other in enumerate(old):
            if i != j:
                array += other.copyto(array.ctx)

# 2 right: functools.reduce
def allreduce(data):
    from functools import reduce
    home = data[0].ctx
    total = reduce(lambda a, b: a + b.copyto(home), data[1:], data[0])
    for array in data:
        array[:] = total.copyto(array.ctx)

# 2 right: a star around the last array
def allreduce(data):
    *others, last = data
    for array in others:
        last += array.copyto(last.ctx)
    for array in others:
        last.copyto(array)

# 2 right: into zeros, by as_in_ctx
def allreduce(data):
    total = np.zeros_like(data[0])
    for array in data:
        total += array.as_in_ctx(total.ctx)
    for array in data:
        array -= array
        array += total.as_in_ctx(array.ctx)

# 2 right: a stack and its sum
def allreduce(data):
    stacked = np.stack([x.copyto(data[0].ctx) for x in data])
    total = stacked.sum(axis=0).astype(data[0].dtype)
    for array in data:
        total.copyto(array)

# 2 right: by recursion
def allreduce(data):
    if len(data) == 1:
        return
    allreduce(data[1:])
    data[0] += data[1].copyto(data[0].ctx)
    for array in data[1:]:
        data[0].copyto(array)

# 2 right: a ring of whole arrays
def allreduce(data):
    k = len(data)
    passing = [x.copy() for x in data]
    for _ in range(k - 1):
        passing = [passing[i - 1].copyto(data[i].ctx) for i in range(k)]
        for array, got in zip(data, passing):
            array += got

# 2 right: out=, and it returns the list
def allreduce(data):
    total = data[0].copyto(mx.cpu(0))
    for x in data[1:]:
        np.add(total, x.copyto(mx.cpu(0)), out=total)
    [total.copyto(x) for x in data]
    return data

# 3 wrong: the mean over the devices, as DDP -> the means of the devices
def allreduce_gradients(device_params, allreduce=allreduce):
    for params in zip(*device_params):
        grads = [param.grad for param in params]
        allreduce(grads)
        for grad in grads:
            grad /= len(device_params)

# 3 wrong: over the parameters of one device -> one call got 3 arrays
def allreduce_gradients(device_params, allreduce=allreduce):
    for params in device_params:
        allreduce([param.grad for param in params])

# 3 wrong: the parameters, as a list -> the parameters were summed
def allreduce_gradients(device_params, allreduce=allreduce):
    for params in zip(*device_params):
        allreduce(list(params))

# 3 wrong: the first parameter alone -> parameters \[1, 2\] of 3
def allreduce_gradients(device_params, allreduce=allreduce):
    allreduce([params[0].grad for params in device_params])

# 3 wrong: copies of the gradients -> parameters \[0, 1, 2\] of 3
def allreduce_gradients(device_params, allreduce=allreduce):
    for params in zip(*device_params):
        allreduce([param.grad.copy() for param in params])

# 3 wrong: each twice -> 6 calls for 3
def allreduce_gradients(device_params, allreduce=allreduce):
    for params in zip(*device_params):
        allreduce([param.grad for param in params])
        allreduce([param.grad for param in params])

# 3 wrong: the first two devices alone -> one call got 2 arrays.* 3 devices
def allreduce_gradients(device_params, allreduce=allreduce):
    for params in zip(*device_params):
        allreduce([param.grad for param in params[:2]])

# 3 wrong: sums them itself -> was never called
def allreduce_gradients(device_params, allreduce=allreduce):
    for params in zip(*device_params):
        total = sum(p.grad.copyto(params[0].ctx) for p in params)
        for param in params:
            total.copyto(param.grad)

# 3 wrong: all in one call -> one call got 3 arrays
def allreduce_gradients(device_params, allreduce=allreduce):
    allreduce([param.grad for params in device_params for param in params])

# 3 wrong: one gradient per call -> one call got 1|calls for 3|on 2 devices
def allreduce_gradients(device_params, allreduce=allreduce):
    for params in device_params:
        for param in params:
            allreduce([param.grad])

# 3 right: zip of the replicas
def allreduce_gradients(device_params, allreduce=allreduce):
    for params in zip(*device_params):
        allreduce([param.grad for param in params])

# 3 right: by index
def allreduce_gradients(device_params, allreduce=allreduce):
    for i in range(len(device_params[0])):
        allreduce([params[i].grad for params in device_params])

# 3 right: a loop that appends
def allreduce_gradients(device_params, allreduce=allreduce):
    for i, _ in enumerate(device_params[0]):
        grads = []
        for replica in device_params:
            grads.append(replica[i].grad)
        allreduce(grads)

# 3 right: by map
def allreduce_gradients(device_params, allreduce=allreduce):
    list(map(lambda params: allreduce([p.grad for p in params]),
             zip(*device_params)))

# 3 right: the last parameter first
def allreduce_gradients(device_params, allreduce=allreduce):
    for params in reversed(list(zip(*device_params))):
        allreduce([param.grad for param in params])

# 3 right: collects all gradients first
def allreduce_gradients(device_params, allreduce=allreduce):
    grads = [[p.grad for p in replica] for replica in device_params]
    for column in zip(*grads):
        allreduce(list(column))

# 3 right: the first replica beside the others
def allreduce_gradients(device_params, allreduce=allreduce):
    first, *others = device_params
    for i, param in enumerate(first):
        allreduce([param.grad, *(other[i].grad for other in others)])

# 3 right: a while loop, and it returns the replicas
def allreduce_gradients(device_params, allreduce=allreduce):
    i = 0
    while i < len(device_params[0]):
        allreduce([r[i].grad for r in device_params])
        i += 1
    return device_params

# 3 right: with an inner function
def allreduce_gradients(device_params, allreduce=allreduce):
    def one(*params):
        allreduce([param.grad for param in params])
    for params in zip(*device_params):
        one(*params)

# 3 right: a list comprehension
def allreduce_gradients(device_params, allreduce=allreduce):
    [allreduce([x.grad for x in xs]) for xs in zip(*device_params)]

# 3 right: zip_longest
def allreduce_gradients(device_params, allreduce=allreduce):
    from itertools import zip_longest
    for params in zip_longest(*device_params):
        data = [param.grad for param in params]
        allreduce(data)

# 3 right: tuples of gradients
def allreduce_gradients(device_params, allreduce=allreduce):
    for params in zip(*device_params):
        data = tuple(param.grad for param in params)
        allreduce(data)
