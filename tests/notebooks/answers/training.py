# 1 wrong: rebinds the name -> nothing moved
def sgd(params, lr, batch_size):
    for param in params:
        param = param - lr / batch_size * param.grad

# 1 wrong: the gradient of the sum, not of the mean -> 5 times as long
def sgd(params, lr, batch_size):
    for param in params:
        param -= lr * param.grad

# 1 wrong: a fixed batch size -> not .0, 3. and .2.5.
def sgd(params, lr, batch_size):
    for param in params:
        param -= lr / 256 * param.grad

# 1 wrong: uphill -> uphill
def sgd(params, lr, batch_size):
    for param in params:
        param += lr / batch_size * param.grad

# 1 wrong: returns new arrays -> nothing moved
def sgd(params, lr, batch_size):
    return [p - lr / batch_size * p.grad for p in params]

# 1 wrong: the first parameter alone -> only the first parameter
def sgd(params, lr, batch_size):
    params[0] -= lr / batch_size * params[0].grad

# 1 wrong: divides the gradient in place -> a gradient was changed
def sgd(params, lr, batch_size):
    for param in params:
        param.grad[:] = param.grad / batch_size
        param -= lr * param.grad

# 1 wrong: clears the gradient -> a gradient was changed
def sgd(params, lr, batch_size):
    for param in params:
        param -= lr / batch_size * param.grad
        param.grad[:] = 0

# 1 wrong: without the learning rate -> not .0, 3. and .2.5.
def sgd(params, lr, batch_size):
    for param in params:
        param -= param.grad / batch_size

# 1 wrong: a batch size of 96 at most -> with 256 examples
def sgd(params, lr, batch_size):
    for param in params:
        param -= lr / min(batch_size, 96) * param.grad

# 1 right: the product first
def sgd(params, lr, batch_size):
    for param in params:
        param -= lr * param.grad / batch_size

# 1 right: by index
def sgd(params, lr, batch_size):
    for i in range(len(params)):
        params[i] -= lr / batch_size * params[i].grad

# 1 right: writes with [:]
def sgd(params, lr, batch_size):
    for param in params:
        param[:] = param - lr * (param.grad / batch_size)

# 1 right: the step in a copy
def sgd(params, lr, batch_size):
    for param in params:
        step = param.grad.copy()
        step *= lr
        step /= batch_size
        param -= step

# 1 right: plus a negative step
def sgd(params, lr, batch_size):
    for param in params:
        param += -lr / batch_size * param.grad

# 1 right: __isub__ in a list comprehension
def sgd(params, lr, batch_size):
    rate = lr / batch_size
    [param.__isub__(rate * param.grad) for param in params]

# 1 right: np.subtract with out=
def sgd(params, lr, batch_size):
    for param, grad in zip(params, [p.grad for p in params]):
        np.subtract(param, lr / batch_size * grad, out=param)

# 1 right: copyto
def sgd(params, lr, batch_size):
    for param in params:
        (param - param.grad * (lr / batch_size)).copyto(param)

# 1 right: by recursion
def sgd(params, lr, batch_size):
    if params:
        params[0][:] -= lr / batch_size * params[0].grad
        sgd(params[1:], lr, batch_size)

# 1 right: with an inner function
def sgd(params, lr, batch_size):
    def move(param):
        param[...] = param - lr / batch_size * param.grad
    list(map(move, params))

# 1 right: through NumPy
def sgd(params, lr, batch_size):
    for param in params:
        new = param.asnumpy() - lr / batch_size * param.grad.asnumpy()
        param[:] = np.array(new, dtype=param.dtype, ctx=param.ctx)

# 1 right: the mean gradients first
def sgd(params, lr, batch_size):
    mean = [param.grad / batch_size for param in params]
    for param, gradient in zip(params, mean):
        param -= lr * gradient
    return params

# 2 wrong: the mean of each shard -> of the mean of each shard
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).mean() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()

# 2 wrong: keeps the gradients of an earlier step -> the loss does not use the second
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()

# 2 wrong: records nothing -> inside autograd.record
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for X, y, params in zip(X_shards, y_shards, device_params):
        total = loss(net(X, params), y).sum()
        total.backward()

# 2 wrong: the backward pass of the first device alone -> not .5.0, 9.0.|summed over|100
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    losses[0].backward()

# 2 wrong: always lenet -> arguments net and loss
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(lenet(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()

# 2 wrong: no backward pass -> was backward
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]

# 2 wrong: sums over the devices already -> summed over the devices already
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()
    totals = sum(float(p[0].grad[0]) for p in device_params)
    for params in device_params:
        params[0].grad[:] = totals

# 2 wrong: not the loss that it was given -> must be called
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [(net(X, params) - y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()

# 2 wrong: one sum over devices, without a copy -> copy: .*one loss per device
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        total = 0
        for X, y, params in zip(X_shards, y_shards, device_params):
            total += loss(net(X, params), y).sum()
        total.backward()
        total.backward()

# 2 right: clear, record, backward
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()

# 2 right: losses that are not summed
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y) for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()

# 2 right: device by device, which do not overlap
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for X, y, params in zip(X_shards, y_shards, device_params):
        for param in params:
            param.grad[:] = 0
        with autograd.record():
            total = loss(net(X, params), y).sum()
        total.backward()

# 2 right: one call of autograd.backward
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    autograd.backward(losses)

# 2 right: attaches gradients anew
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for i in range(len(X_shards)):
        for param in device_params[i]:
            param.attach_grad()
        with autograd.record():
            one = loss(net(X_shards[i], device_params[i]), y_shards[i])
        one.backward()

# 2 right: records each device alone
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    losses = []
    for i in range(len(X_shards)):
        with autograd.record():
            losses.append(loss(net(X_shards[i], device_params[i]),
                               y_shards[i]).sum())
    for one in losses:
        one.backward()

# 2 right: by map
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    with autograd.record():
        scores = list(map(net, X_shards, device_params))
        losses = [one.sum() for one in map(loss, scores, y_shards)]
    for params, one in zip(device_params, losses):
        for param in params:
            param.grad[:] = 0
        one.backward()

# 2 right: with an inner function
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    def one(X, y, params):
        for param in params:
            param.grad[:] = 0
        with autograd.record():
            total = np.sum(loss(net(X, params), y))
        total.backward()
    for arguments in zip(X_shards, y_shards, device_params):
        one(*arguments)

# 2 right: the last device first
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    while losses:
        losses.pop().backward()

# 2 right: waits at the end
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()
    npx.waitall()

# 2 right: clears by a product, and returns the losses
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[...] = param.grad * 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    [one.backward() for one in losses]
    return losses

# 2 right: sum over an axis, in reverse
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum(axis=0) for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in reversed(losses):
        one.backward()

# 3 wrong: passes neither net nor loss on -> net and loss must be passed on to backward
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss, split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, len(X))

# 3 wrong: no allreduce -> the replicas differ
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    for params in device_params:
        sgd(params, lr, len(X))

# 3 wrong: a fixed batch size -> times as long
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, 256)

# 3 wrong: divides by the number of devices, too -> 0.5 times as
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr / len(devices), len(X))

# 3 wrong: allreduce after the update -> the replicas differ
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    for params in device_params:
        sgd(params, lr, len(X))
    allreduce_gradients(device_params, allreduce)

# 3 wrong: always our allreduce -> split and allreduce are arguments
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params)
    for params in device_params:
        sgd(params, lr, len(X))

# 3 wrong: always our split -> split and allreduce are arguments
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split_batch(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, len(X))

# 3 wrong: does not divide -> 3 times as
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, 1)

# 3 wrong: allreduce twice -> the replicas differ|2 times as
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, len(X))

# 3 wrong: no update -> nothing moved
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)

# 3 wrong: uphill -> -1 times as
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, -lr, len(X))

# 3 wrong: drops the remainder -> times as
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    n = len(X) - len(X) % len(devices)
    backward(*split(X[:n], y[:n], devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, len(X))

# 3 wrong: everything on the first device -> but after 8 steps
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    with autograd.record():
        one = loss(net(X, device_params[0]), y).sum()
    one.backward()
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, len(X))

# 3 right: four functions, one after the other
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, len(X))

# 3 right: shards by name, arguments by keyword
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    X_shards, y_shards = split(X, y, devices)
    backward(X_shards, y_shards, device_params, net, loss)
    allreduce_gradients(device_params, allreduce=allreduce)
    for replica in device_params:
        sgd(replica, lr=lr, batch_size=X.shape[0])

# 3 right: allreduce by hand
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    for i in range(len(device_params[0])):
        allreduce([params[i].grad for params in device_params])
    for params in device_params:
        sgd(params, lr, len(X))

# 3 right: the update by hand
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        for param in params:
            param -= lr / len(X) * param.grad

# 3 right: divides the learning rate
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    shards = split(X, y, devices)
    backward(shards[0], shards[1], device_params, net=net, loss=loss)
    allreduce_gradients(device_params, allreduce)
    rate = lr / len(y)
    for params in device_params:
        sgd(params, rate, 1)

# 3 right: adds up the lengths of the shards
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    X_shards, y_shards = split(X, y, devices)
    backward(X_shards, y_shards, device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    n = sum(len(shard) for shard in X_shards)
    for params in device_params:
        sgd(params, lr, n)

# 3 right: the backward passes by hand
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    for X_shard, y_shard, params in zip(*split(X, y, devices), device_params):
        for param in params:
            param.grad[:] = 0
        with autograd.record():
            total = loss(net(X_shard, params), y_shard).sum()
        total.backward()
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, len(X))

# 3 right: a list comprehension
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    [sgd(params, lr, len(X)) for params in device_params]

# 3 right: by index, and it waits at the end
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for i in range(len(devices)):
        sgd(device_params[i], lr, len(X))
    npx.waitall()

# 3 right: divides the gradients before it sums them
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    for params in device_params:
        for param in params:
            param.grad[:] = param.grad / len(X)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, 1)

# 3 right: by map
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    def update(params):
        sgd(params, lr, len(X))
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    list(map(update, device_params))

# 3 right: one update of all parameters
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    sgd([param for params in device_params for param in params], lr, len(X))

# 4 wrong: passes on net and split alone -> pass on loss, allreduce
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss, split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net=net, split=split)
        npx.waitall()
    return time.perf_counter() - start

# 4 wrong: never waits -> the clock stops before
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
    return time.perf_counter() - start

# 4 wrong: waits at the end alone -> wait once after each step
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
    npx.waitall()
    return time.perf_counter() - start

# 4 wrong: returns nothing -> return the seconds
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()

# 4 wrong: the time of day -> return the seconds
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    return time.perf_counter()

# 4 wrong: our network and our loss -> must get what train_epoch got
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr)
        npx.waitall()
    return time.perf_counter() - start

# 4 wrong: waits before the step -> the clock stops before
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        npx.waitall()
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
    return time.perf_counter() - start

# 4 wrong: returns after one step -> but 1 steps
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
        return time.perf_counter() - start

# 4 wrong: our split and our allreduce -> must get what train_epoch got
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss)
        npx.waitall()
    return time.perf_counter() - start

# 4 right: a loop between two readings of the clock
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    return time.perf_counter() - start

# 4 right: arguments by keyword
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net=net, loss=loss,
                    split=split, allreduce=allreduce)
        npx.waitall()
    return time.perf_counter() - start

# 4 right: perf_counter by name
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    from time import perf_counter
    begin = perf_counter()
    for batch in train_iter:
        train_batch(*batch, device_params, devices, lr, net, loss, split,
                    allreduce)
        npx.waitall()
    end = perf_counter()
    return end - begin

# 4 right: adds up the steps
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    seconds = 0.0
    for X, y in train_iter:
        start = time.perf_counter()
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
        seconds += time.perf_counter() - start
    return seconds

# 4 right: time.time
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    import time as clock
    start = clock.time()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    return clock.time() - start + 1e-9

# 4 right: a dictionary of arguments
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        options = {'net': net, 'loss': loss, 'split': split,
                   'allreduce': allreduce}
        train_batch(X, y, device_params, devices, lr, **options)
        npx.waitall()
    return time.perf_counter() - start

# 4 right: an iterator by hand
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    minibatches = iter(train_iter)
    while True:
        try:
            X, y = next(minibatches)
        except StopIteration:
            return time.perf_counter() - start
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                    allreduce)
        npx.waitall()

# 4 right: with an inner function
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    def step(X, y):
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                    allreduce)
        npx.waitall()
    start = time.perf_counter()
    [step(*batch) for batch in train_iter]
    return time.perf_counter() - start

# 4 right: numbers the steps
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for i, (X, y) in enumerate(train_iter):
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    seconds = time.perf_counter() - start
    return seconds

# 4 right: all arguments by keyword
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X=X, y=y, device_params=device_params, devices=devices,
                    lr=lr, net=net, loss=loss, split=split, allreduce=allreduce)
        npx.waitall()
    return time.perf_counter() - start

# 4 right: notes each time
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    times = [time.perf_counter()]
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
        times.append(time.perf_counter())
    return times[-1] - times[0]

# 4 right: in nanoseconds
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter_ns()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    return (time.perf_counter_ns() - start) / 1e9

# 5 wrong: overwrites the sum with the last part -> overwrites
def accumulated_step(X, y, params, lr, num_micro_batches):
    totals = [np.zeros_like(param) for param in params]
    for part in split_slices(len(X), num_micro_batches):
        replica = get_params(params, mx.cpu())
        with autograd.record():
            part_loss = loss(lenet(X[part], replica), y[part]).sum()
        part_loss.backward()
        for total, param in zip(totals, replica):
            total[:] = param.grad
    return [p - lr / len(X) * total for p, total in zip(params, totals)]

# 5 wrong: the sum of all gradients, not their mean -> divide the gradient
def accumulated_step(X, y, params, lr, num_micro_batches):
    totals = [np.zeros_like(param) for param in params]
    for part in split_slices(len(X), num_micro_batches):
        replica = get_params(params, mx.cpu())
        with autograd.record():
            part_loss = loss(lenet(X[part], replica), y[part]).sum()
        part_loss.backward()
        for total, param in zip(totals, replica):
            total += param.grad
    return [p - lr * total for p, total in zip(params, totals)]

# 5 wrong: the mean of means: unequal parts weigh the same -> unequal length
def accumulated_step(X, y, params, lr, num_micro_batches):
    totals = [np.zeros_like(param) for param in params]
    for part in split_slices(len(X), num_micro_batches):
        replica = get_params(params, mx.cpu())
        with autograd.record():
            part_loss = loss(lenet(X[part], replica), y[part]).mean()
        part_loss.backward()
        for total, param in zip(totals, replica):
            total += param.grad
    return [p - lr / num_micro_batches * total
            for p, total in zip(params, totals)]

# 5 wrong: the whole minibatch at once -> lenet has seen
def accumulated_step(X, y, params, lr, num_micro_batches):
    totals = [np.zeros_like(param) for param in params]
    for part in [slice(0, len(X))]:
        replica = get_params(params, mx.cpu())
        with autograd.record():
            part_loss = loss(lenet(X[part], replica), y[part]).sum()
        part_loss.backward()
        for total, param in zip(totals, replica):
            total += param.grad
    return [p - lr / len(X) * total for p, total in zip(params, totals)]

# 5 wrong: attaches gradients to the caller's parameters -> attach them to copies
def accumulated_step(X, y, params, lr, num_micro_batches):
    replica = params
    for param in replica:
        param.attach_grad('add')
    for i in range(num_micro_batches):
        part = slice(i, None, num_micro_batches)
        with autograd.record():
            losses = loss(lenet(X=X[part], params=replica), y[part])
        losses.backward()
    return tuple(p - lr * p.grad / len(X) for p in replica)

# 5 right: grad_req 'add'
def accumulated_step(X, y, params, lr, num_micro_batches):
    replica = [param.copy() for param in params]
    for param in replica:
        param.attach_grad('add')
    for i in range(num_micro_batches):
        part = slice(i, None, num_micro_batches)
        with autograd.record():
            losses = loss(lenet(X=X[part], params=replica), y[part])
        losses.backward()
    return tuple(p - lr * p.grad / len(X) for p in replica)

# 5 right: steps of a train_batch, added up
def accumulated_step(X, y, params, lr, num_micro_batches):
    from d2lmulti.training import train_batch
    moved = [param.copy() for param in params]
    for part in split_slices(len(X), num_micro_batches):
        replicas = [get_params(params, mx.cpu())]
        weight = len(y[part]) / len(X)
        train_batch(X[part], y[part], replicas, [mx.cpu()], lr * weight)
        for p, q, total in zip(params, replicas[0], moved):
            total += q - p
    return moved
