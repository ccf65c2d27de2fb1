"""Answers to the exercises of 03_replicas, right and wrong, in order."""

GET_PARAMS_WRONG = [
    (
        """def get_params(params, device):
    return [param.as_in_ctx(device) for param in params]
""",
        'no gradient|the original has a gradient',
    ),
    (
        """def get_params(params, device):
    replica = [param.as_in_ctx(device) for param in params]
    for param in replica:
        param.attach_grad()
    return replica
""",
        'the original has a gradient now',
    ),
    (
        """def get_params(params, device):
    return [param.copyto(device) for param in params]
""",
        'a copy has no gradient',
    ),
    (
        """def get_params(params, device):
    for param in params:
        param.attach_grad()
    return [param.copyto(device) for param in params]
""",
        'the original has a gradient now',
    ),
    (
        """def get_params(params, device):
    for param in params:
        param.attach_grad()
    return params
""",
        'asked for|the original has a gradient',
    ),
    (
        """def get_params(params, device):
    replica = []
    for param in params:
        param = param.copy()
        param.attach_grad()
        replica.append(param)
    return replica
""",
        'asked for cpu.1.',
    ),
    (
        """def get_params(params, device):
    replica = [param.copyto(device) for param in params]
    for param in replica:
        param.attach_grad()
    return tuple(replica)
""",
        'return a list with 2 copies',
    ),
    (
        """def get_params(params, device):
    replica = [param.copyto(device) for param in params]
    return [param.attach_grad() for param in replica]
""",
        'not None',
    ),
    (
        """def get_params(params, device):
    replica = [param.copyto(device) for param in params]
    for param in replica:
        param.attach_grad()
""",
        'return a list with 2 copies for 2 arrays, not None',
    ),
    (
        """def get_params(params, device):
    replica = [np.zeros(param.shape, dtype=param.dtype, ctx=device)
               for param in params]
    for param in replica:
        param.attach_grad()
    return replica
""",
        'the copy of .*, float32, is',
    ),
    (
        """def get_params(params, device):
    replica = [param.copyto(device) for param in params]
    for param in replica:
        param.attach_grad()
        param.grad[:] = 1
    return replica
""",
        'begins as',
    ),
    (
        """def get_params(params, device):
    replica = [np.array(param.asnumpy(), dtype='float32', ctx=device)
               for param in params]
    for param in replica:
        param.attach_grad()
    return replica
""",
        'float64, is',
    ),
    (
        """def get_params(params, device):
    replica = [param.copyto(device) for param in params]
    replica[0].attach_grad()
    return replica
""",
        'a copy has no gradient',
    ),
    (
        """def get_params(params, device):
    for param in params:
        replica = [param.copyto(device)]
        replica[0].attach_grad()
    return replica
""",
        'return a list with 2 copies',
    ),
    (
        """def get_params(params, device):
    return [param.asnumpy() for param in params]
""",
        'an array of MXNet',
    ),
    (
        """def get_params(params, device):
    global kept_replicas
    kept_replicas = globals().get('kept_replicas', {})
    key = str(device) + str(params[0].dtype)
    if key not in kept_replicas:
        kept_replicas[key] = [p.copyto(device) for p in params]
        for p in kept_replicas[key]:
            p.attach_grad()
    return kept_replicas[key]
""",
        'two replicas on one device share memory|begins as|the copy of',
    ),
]
GET_PARAMS_RIGHT = [
    """def get_params(params, device):
    replica = []
    for param in params:
        copy = param.copyto(device)
        copy.attach_grad()
        replica.append(copy)
    return replica
""",
    """def get_params(params, device):
    replica = [np.array(p.asnumpy(), dtype=p.dtype, ctx=device) for p in params]
    for p in replica:
        p.attach_grad()
    return replica
""",
    """def get_params(params, device):
    copies = list(map(lambda p: p.copyto(device), params))
    for copy in copies:
        copy.attach_grad(grad_req='write')
    return copies
""",
    """def get_params(params, device):
    copies = [p.copy().as_in_ctx(device) for p in params]
    _ = [c.attach_grad() for c in copies]
    return copies
""",
    """def get_params(params, device):
    def one(param):
        new = np.empty(param.shape, dtype=param.dtype, ctx=device)
        param.copyto(new)
        new.attach_grad()
        return new
    return [one(param) for param in params]
""",
    """def get_params(params, device):
    copies = [None] * len(params)
    for i in range(len(params)):
        copies[i] = params[i].copyto(device)
        copies[i].attach_grad()
    return copies
""",
    """def get_params(params, device):
    copies = [np.zeros_like(p).as_in_ctx(device) for p in params]
    for new, old in zip(copies, params):
        new[:] = old.asnumpy()
        new.attach_grad()
    return copies
""",
    """def get_params(params, device):
    copies = [p.copyto(device) for p in params]
    autograd.mark_variables(
        copies, [np.zeros_like(c) for c in copies])
    return copies
""",
    """def get_params(params, device):
    result = []
    i = 0
    while i < len(params):
        result.append(params[i].copyto(device))
        result[-1].attach_grad()
        i += 1
    return result
""",
    """def get_params(params, device):
    if not params:
        return []
    first = params[0].copyto(device)
    first.attach_grad()
    return [first] + get_params(params[1:], device)
""",
    """def get_params(params, device):
    replica = [p.as_in_ctx(device).copy() for p in params]
    for p in replica:
        p.attach_grad()
        p.grad[:] = 0
    return replica
""",
    """def get_params(params, device):
    replica = [(p * 1).as_in_ctx(device) for p in params]
    [p.attach_grad() for p in replica]
    return replica
""",
]
ALLREDUCE_WRONG = [
    (
        """def allreduce(data):
    total = data[0]
    for array in data[1:]:
        total += array.copyto(total.ctx)
    for i in range(1, len(data)):
        data[i] = total.copyto(data[i].ctx)
""",
        'the list has the sum twice',
    ),
    (
        """def allreduce(data):
    total = sum(x.copyto(data[0].ctx) for x in data)
    data[:] = [total.copyto(x.ctx) for x in data]
""",
        'the list has the sum twice',
    ),
    (
        """def allreduce(data):
    total = sum(x.copyto(data[0].ctx) for x in data)
    return [total.copyto(x.ctx) for x in data]
""",
        'instead of returning the sum',
    ),
    (
        """def allreduce(data):
    total = data[0].copy()
    for array in data[1:]:
        total += array.copyto(total.ctx)
    total /= len(data)
    for array in data:
        total.copyto(array)
""",
        'the mean',
    ),
    (
        """def allreduce(data):
    total = data[0]
    for array in data[1:]:
        total += array.copyto(total.ctx)
""",
        'device 1 never gets the sum',
    ),
    (
        """def allreduce(data):
    total = data[0].copy()
    for array in data[1:]:
        total += array.copyto(total.ctx)
    for array in data:
        array = total.copyto(array.ctx)
""",
        'each device would train alone',
    ),
    (
        """def allreduce(data):
    for array in data:
        for other in data:
            if other is not array:
                array += other.copyto(array.ctx)
""",
        '5 = 3 . 2',
    ),
    (
        """def allreduce(data):
    for a, b in zip(data, data[1:]):
        total = a + b.copyto(a.ctx)
        total.copyto(a)
        total.copyto(b)
""",
        '3 arrays of float32',
    ),
    (
        """def allreduce(data):
    total = data[0] + data[-1].copyto(data[0].ctx)
    for array in data:
        total.copyto(array)
""",
        'must become|1 arrays of float32',
    ),
    (
        """def allreduce(data):
    total = sum(float(x.sum()) for x in data)
    for array in data:
        array[:] = total
""",
        'must become',
    ),
    (
        """def allreduce(data):
    total = np.zeros_like(data[0])
    for array in data[1:]:
        total += array.copyto(total.ctx)
    for array in data:
        total.copyto(array)
""",
        'must become',
    ),
    (
        """def allreduce(data):
    total = data[0].copyto(mx.cpu(0))
    for array in data[1:]:
        total += array.copyto(mx.cpu(0))
    for array in data[:2]:
        total.copyto(array)
""",
        '3 arrays of float32',
    ),
    (
        """def allreduce(data):
    total = data[0].astype('float16')
    for array in data[1:]:
        total += array.astype('float16').copyto(total.ctx)
    for array in data:
        array[:] = total.astype(array.dtype) + 0.001
""",
        'must become',
    ),
    (
        """def allreduce(data):
    total = data[0]
    for array in data[1:]:
        total += array.copyto(total.ctx)
    for array in data[1:]:
        array += total.copyto(array.ctx)
""",
        '5 = 3 . 2',
    ),
    (
        """def allreduce(data):
    total = data[0]
    for array in data[1:]:
        total = total + array.copyto(total.ctx)
""",
        'each device would train alone',
    ),
    (
        """def allreduce(data):
    total = sum(x.copyto(data[0].ctx) for x in data)
    for array in data:
        total.copyto(array)
    data.clear()
""",
        'the list has others now',
    ),
]
ALLREDUCE_RIGHT = [
    """def allreduce(data):
    total = data[0]
    for array in data[1:]:
        total += array.copyto(total.ctx)
    for array in data[1:]:
        array[:] = total.copyto(array.ctx)
""",
    """def allreduce(data):
    total = sum(x.copyto(data[0].ctx) for x in data)
    for array in data:
        total.copyto(array)
""",
    """def allreduce(data):
    for i in range(1, len(data)):
        data[0][:] = data[0] + data[i].copyto(data[0].ctx)
    for i in range(1, len(data)):
        data[0].copyto(data[i])
""",
    """def allreduce(data):
    total = onp.sum([x.asnumpy() for x in data], axis=0)
    for array in data:
        array[:] = np.array(total, dtype=array.dtype, ctx=array.ctx)
""",
    """def allreduce(data):
    old = [x.copy() for x in data]
    for i, array in enumerate(data):
        for j, other in enumerate(old):
            if i != j:
                array += other.copyto(array.ctx)
""",
    """def allreduce(data):
    from functools import reduce
    home = data[0].ctx
    total = reduce(lambda a, b: a + b.copyto(home), data[1:], data[0])
    for array in data:
        array[:] = total.copyto(array.ctx)
""",
    """def allreduce(data):
    *others, last = data
    for array in others:
        last += array.copyto(last.ctx)
    for array in others:
        last.copyto(array)
""",
    """def allreduce(data):
    total = np.zeros_like(data[0])
    for array in data:
        total += array.as_in_ctx(total.ctx)
    for array in data:
        array -= array
        array += total.as_in_ctx(array.ctx)
""",
    """def allreduce(data):
    stacked = np.stack([x.copyto(data[0].ctx) for x in data])
    total = stacked.sum(axis=0).astype(data[0].dtype)
    for array in data:
        total.copyto(array)
""",
    """def allreduce(data):
    if len(data) == 1:
        return
    allreduce(data[1:])
    data[0] += data[1].copyto(data[0].ctx)
    for array in data[1:]:
        data[0].copyto(array)
""",
    """def allreduce(data):
    k = len(data)
    passing = [x.copy() for x in data]
    for _ in range(k - 1):
        passing = [passing[i - 1].copyto(data[i].ctx) for i in range(k)]
        for array, got in zip(data, passing):
            array += got
""",
    """def allreduce(data):
    total = data[0].copyto(mx.cpu(0))
    for x in data[1:]:
        np.add(total, x.copyto(mx.cpu(0)), out=total)
    [total.copyto(x) for x in data]
    return data
""",
]
GRADIENTS_WRONG = [
    (
        """def allreduce_gradients(device_params, allreduce=allreduce):
    for params in device_params:
        allreduce([param.grad for param in params])
""",
        'one call got 3 arrays',
    ),
    (
        """def allreduce_gradients(device_params, allreduce=allreduce):
    for params in zip(*device_params):
        allreduce(params)
""",
        'one call got|the parameters were summed',
    ),
    (
        """def allreduce_gradients(device_params, allreduce=allreduce):
    for params in zip(*device_params):
        allreduce(list(params))
""",
        'the parameters were summed',
    ),
    (
        """def allreduce_gradients(device_params, allreduce=allreduce):
    allreduce([params[0].grad for params in device_params])
""",
        r'parameters \[1, 2\] of 3',
    ),
    (
        """def allreduce_gradients(device_params, allreduce=allreduce):
    for params in zip(*device_params):
        allreduce([param.grad.copy() for param in params])
""",
        r'parameters \[0, 1, 2\] of 3',
    ),
    (
        """def allreduce_gradients(device_params, allreduce=allreduce):
    for params in list(zip(*device_params))[1:]:
        allreduce([param.grad for param in params])
""",
        r'parameters \[0\] of 3',
    ),
    (
        """def allreduce_gradients(device_params, allreduce=allreduce):
    for params in zip(*device_params):
        allreduce([param.grad for param in params])
        allreduce([param.grad for param in params])
""",
        '6 calls for 3',
    ),
    (
        """def allreduce_gradients(device_params, allreduce=allreduce):
    pass
""",
        'was never called',
    ),
    (
        """def allreduce_gradients(device_params, allreduce=allreduce):
    for params in zip(*device_params):
        allreduce([param.grad for param in params[:2]])
""",
        'one call got 2 arrays.* 3 devices',
    ),
    (
        """def allreduce_gradients(device_params, allreduce=allreduce):
    for params in zip(*device_params):
        total = sum(p.grad.copyto(params[0].ctx) for p in params)
        for param in params:
            total.copyto(param.grad)
""",
        'was never called',
    ),
    (
        """def allreduce_gradients(device_params, allreduce=allreduce):
    allreduce([param.grad for params in device_params for param in params])
""",
        'one call got 3 arrays',
    ),
    (
        """def allreduce_gradients(device_params, allreduce=allreduce):
    for params in device_params:
        for param in params:
            allreduce([param.grad])
""",
        'one call got 1|calls for 3|on 2 devices',
    ),
    (
        """def allreduce_gradients(device_params, allreduce=allreduce):
    for params in zip(*device_params):
        allreduce([param.gradient for param in params])
""",
        'AttributeError',
    ),
    (
        """def allreduce_gradients(device_params, allreduce=allreduce):
    for i in range(len(device_params)):
        allreduce([params[i].grad for params in device_params])
""",
        r'parameters \[1, 2\] of 3',
    ),
]
GRADIENTS_RIGHT = [
    """def allreduce_gradients(device_params, allreduce=allreduce):
    for params in zip(*device_params):
        allreduce([param.grad for param in params])
""",
    """def allreduce_gradients(device_params, allreduce=allreduce):
    for i in range(len(device_params[0])):
        allreduce([params[i].grad for params in device_params])
""",
    """def allreduce_gradients(device_params, allreduce=allreduce):
    for i, _ in enumerate(device_params[0]):
        grads = []
        for replica in device_params:
            grads.append(replica[i].grad)
        allreduce(grads)
""",
    """def allreduce_gradients(device_params, allreduce=allreduce):
    list(map(lambda params: allreduce([p.grad for p in params]),
             zip(*device_params)))
""",
    """def allreduce_gradients(device_params, allreduce=allreduce):
    for params in reversed(list(zip(*device_params))):
        allreduce([param.grad for param in params])
""",
    """def allreduce_gradients(device_params, allreduce=allreduce):
    grads = [[p.grad for p in replica] for replica in device_params]
    for column in zip(*grads):
        allreduce(list(column))
""",
    """def allreduce_gradients(device_params, allreduce=allreduce):
    first, *others = device_params
    for i, param in enumerate(first):
        allreduce([param.grad, *(other[i].grad for other in others)])
""",
    """def allreduce_gradients(device_params, allreduce=allreduce):
    i = 0
    while i < len(device_params[0]):
        allreduce([r[i].grad for r in device_params])
        i += 1
    return device_params
""",
    """def allreduce_gradients(device_params, allreduce=allreduce):
    def one(*params):
        allreduce([param.grad for param in params])
    for params in zip(*device_params):
        one(*params)
""",
    """def allreduce_gradients(device_params, allreduce=allreduce):
    [allreduce([x.grad for x in xs]) for xs in zip(*device_params)]
""",
    """def allreduce_gradients(device_params, allreduce=allreduce):
    from itertools import zip_longest
    for params in zip_longest(*device_params):
        data = [param.grad for param in params]
        allreduce(data)
""",
    """def allreduce_gradients(device_params, allreduce=allreduce):
    for params in zip(*device_params):
        data = tuple(param.grad for param in params)
        allreduce(data)
""",
]
WRONG = [GET_PARAMS_WRONG, ALLREDUCE_WRONG, GRADIENTS_WRONG]
RIGHT = [GET_PARAMS_RIGHT, ALLREDUCE_RIGHT, GRADIENTS_RIGHT]
