# 1 wrong: sgd 1 -> nothing moved
def sgd(params, lr, batch_size):
    for param in params:
        param = param - lr / batch_size * param.grad

# 1 wrong: sgd 2 -> 5 times as long
def sgd(params, lr, batch_size):
    for param in params:
        param -= lr * param.grad

# 1 wrong: sgd 3 -> not .0, 3. and .2.5.
def sgd(params, lr, batch_size):
    for param in params:
        param -= lr / 256 * param.grad

# 1 wrong: sgd 4 -> uphill
def sgd(params, lr, batch_size):
    for param in params:
        param += lr / batch_size * param.grad

# 1 wrong: sgd 5 -> nothing moved
def sgd(params, lr, batch_size):
    params[:] = [p - lr / batch_size * p.grad for p in params]

# 1 wrong: sgd 6 -> nothing moved
def sgd(params, lr, batch_size):
    return [p - lr / batch_size * p.grad for p in params]

# 1 wrong: sgd 7 -> only the first parameter
def sgd(params, lr, batch_size):
    params[0] -= lr / batch_size * params[0].grad

# 1 wrong: sgd 8 -> not .0, 3. and .2.5.
def sgd(params, lr, batch_size):
    for param in params:
        param -= lr / len(params) * param.grad

# 1 wrong: sgd 9 -> a gradient was changed
def sgd(params, lr, batch_size):
    for param in params:
        param.grad[:] = param.grad / batch_size
        param -= lr * param.grad

# 1 wrong: sgd 10 -> not .0, 3. and .2.5.
def sgd(params, lr, batch_size):
    for param in params:
        param -= lr / batch_size ** 2 * param.grad

# 1 wrong: sgd 11 -> not .0, 3. and .2.5.
def sgd(params, lr, batch_size):
    for param in params:
        param -= lr / len(param) * param.grad

# 1 wrong: sgd 12 -> a gradient was changed
def sgd(params, lr, batch_size):
    for param in params:
        param -= lr / batch_size * param.grad
        param.grad[:] = 0

# 1 wrong: sgd 13 -> not .0, 3. and .2.5.|nothing moved
def sgd(params, lr, batch_size):
    for param in params:
        param -= lr / batch_size * param.grad.mean()

# 1 wrong: sgd 14 -> not .0, 3. and .2.5.
def sgd(params, lr, batch_size):
    for param in params:
        param -= param.grad / batch_size

# 1 wrong: sgd 15 -> with 256 examples
def sgd(params, lr, batch_size):
    for param in params:
        param -= lr / min(batch_size, 96) * param.grad

# 1 right: sgd 1
def sgd(params, lr, batch_size):
    for param in params:
        param -= lr * param.grad / batch_size

# 1 right: sgd 2
def sgd(params, lr, batch_size):
    for i in range(len(params)):
        params[i] -= lr / batch_size * params[i].grad

# 1 right: sgd 3
def sgd(params, lr, batch_size):
    for param in params:
        param[:] = param - lr * (param.grad / batch_size)

# 1 right: sgd 4
def sgd(params, lr, batch_size):
    for param in params:
        step = param.grad.copy()
        step *= lr
        step /= batch_size
        param -= step

# 1 right: sgd 5
def sgd(params, lr, batch_size):
    for param in params:
        param += -lr / batch_size * param.grad

# 1 right: sgd 6
def sgd(params, lr, batch_size):
    rate = lr / batch_size
    [param.__isub__(rate * param.grad) for param in params]

# 1 right: sgd 7
def sgd(params, lr, batch_size):
    for param, grad in zip(params, [p.grad for p in params]):
        np.subtract(param, lr / batch_size * grad, out=param)

# 1 right: sgd 8
def sgd(params, lr, batch_size):
    for param in params:
        (param - param.grad * (lr / batch_size)).copyto(param)

# 1 right: sgd 9
def sgd(params, lr, batch_size):
    if params:
        params[0][:] -= lr / batch_size * params[0].grad
        sgd(params[1:], lr, batch_size)

# 1 right: sgd 10
def sgd(params, lr, batch_size):
    def move(param):
        param[...] = param - lr / batch_size * param.grad
    list(map(move, params))

# 1 right: sgd 11
def sgd(params, lr, batch_size):
    for param in params:
        new = param.asnumpy() - lr / batch_size * param.grad.asnumpy()
        param[:] = np.array(new, dtype=param.dtype, ctx=param.ctx)

# 1 right: sgd 12
def sgd(params, lr, batch_size):
    mean = [param.grad / batch_size for param in params]
    for param, gradient in zip(params, mean):
        param -= lr * gradient
    return params

# 2 wrong: backward 1 -> of the mean of each shard
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).mean() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()

# 2 wrong: backward 2 -> the loss does not use the second
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()

# 2 wrong: backward 3 -> inside autograd.record
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for X, y, params in zip(X_shards, y_shards, device_params):
        total = loss(net(X, params), y).sum()
        total.backward()

# 2 wrong: backward 4 -> not .5.0, 9.0.|summed over|100
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    losses[0].backward()

# 2 wrong: backward 5 -> not .5.0, 9.0.
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        one = loss(net(X_shards[0], device_params[0]), y_shards[0]).sum()
    one.backward()

# 2 wrong: backward 6 -> arguments net and loss
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(lenet(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()

# 2 wrong: backward 7 -> not .5.0, 9.0.
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()
    for params in device_params:
        for param in params:
            param.grad[:] = 0

# 2 wrong: backward 8 -> not .5.0, 9.0.
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]

# 2 wrong: backward 9 -> summed over the devices already
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

# 2 wrong: backward 10 -> of the mean of each shard
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()
    for X, params in zip(X_shards, device_params):
        params[0].grad[:] /= len(X)

# 2 wrong: backward 11 -> the loss does not use the second
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for params in device_params[:1]:
        for param in params:
            param.grad[:] = 0
    for one in losses:
        one.backward()

# 2 wrong: backward 12 -> must be called
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [(net(X, params) - y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()

# 2 wrong: backward 13 -> MXNetError|not .5.0, 9.0.|Error
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

# 2 wrong: backward 14 -> not .5.0, 9.0.
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()
    for params in device_params:
        for param in params:
            param.grad[:] = param.grad + 100

# 2 wrong: backward 15 -> must be called
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    pass

# 2 right: backward 1
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()

# 2 right: backward 2
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y) for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()

# 2 right: backward 3
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for X, y, params in zip(X_shards, y_shards, device_params):
        for param in params:
            param.grad[:] = 0
        with autograd.record():
            total = loss(net(X, params), y).sum()
        total.backward()

# 2 right: backward 4
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    autograd.backward(losses)

# 2 right: backward 5
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for i in range(len(X_shards)):
        for param in device_params[i]:
            param.attach_grad()
        with autograd.record():
            one = loss(net(X_shards[i], device_params[i]), y_shards[i])
        one.backward()

# 2 right: backward 6
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

# 2 right: backward 7
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    with autograd.record():
        scores = list(map(net, X_shards, device_params))
        losses = [one.sum() for one in map(loss, scores, y_shards)]
    for params, one in zip(device_params, losses):
        for param in params:
            param.grad[:] = 0
        one.backward()

# 2 right: backward 8
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    def one(X, y, params):
        for param in params:
            param.grad[:] = 0
        with autograd.record():
            total = np.sum(loss(net(X, params), y))
        total.backward()
    for arguments in zip(X_shards, y_shards, device_params):
        one(*arguments)

# 2 right: backward 9
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    while losses:
        losses.pop().backward()

# 2 right: backward 10
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

# 2 right: backward 11
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[...] = param.grad * 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    [one.backward() for one in losses]
    return losses

# 2 right: backward 12
def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum(axis=0) for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in reversed(losses):
        one.backward()

# 3 wrong: train_batch 1 -> the replicas differ
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    for params in device_params:
        sgd(params, lr, len(X))

# 3 wrong: train_batch 2 -> times as long
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, 256)

# 3 wrong: train_batch 3 -> 0.5 times as
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr / len(devices), len(X))

# 3 wrong: train_batch 4 -> the replicas differ
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    sgd(device_params[0], lr, len(X))

# 3 wrong: train_batch 5 -> the replicas differ
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    X_shards, y_shards = split(X, y, devices)
    backward(X_shards, y_shards, device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params, shard in zip(device_params, X_shards):
        sgd(params, lr, len(shard))

# 3 wrong: train_batch 6 -> the replicas differ
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    for params in device_params:
        sgd(params, lr, len(X))
    allreduce_gradients(device_params, allreduce)

# 3 wrong: train_batch 7 -> split and allreduce are arguments
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params)
    for params in device_params:
        sgd(params, lr, len(X))

# 3 wrong: train_batch 8 -> split and allreduce are arguments
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split_batch(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, len(X))

# 3 wrong: train_batch 9 -> 3 times as
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, 1)

# 3 wrong: train_batch 10 -> the replicas differ|2 times as
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, len(X))

# 3 wrong: train_batch 11 -> nothing moved
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)

# 3 wrong: train_batch 12 -> -1 times as
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, -lr, len(X))

# 3 wrong: train_batch 13 -> 2 times as
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, len(X))
        sgd(params, lr, len(X))

# 3 wrong: train_batch 14 -> times as
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    n = len(X) - len(X) % len(devices)
    backward(*split(X[:n], y[:n], devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, len(X))

# 3 wrong: train_batch 15 -> but after 8 steps
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    with autograd.record():
        one = loss(net(X, device_params[0]), y).sum()
    one.backward()
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, len(X))

# 3 wrong: train_batch 16 -> times as
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    size = len(X) // len(devices)
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, size * len(devices))

# 3 right: train_batch 1
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, len(X))

# 3 right: train_batch 2
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    X_shards, y_shards = split(X, y, devices)
    backward(X_shards, y_shards, device_params, net, loss)
    allreduce_gradients(device_params, allreduce=allreduce)
    for replica in device_params:
        sgd(replica, lr=lr, batch_size=X.shape[0])

# 3 right: train_batch 3
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    for i in range(len(device_params[0])):
        allreduce([params[i].grad for params in device_params])
    for params in device_params:
        sgd(params, lr, len(X))

# 3 right: train_batch 4
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        for param in params:
            param -= lr / len(X) * param.grad

# 3 right: train_batch 5
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    shards = split(X, y, devices)
    backward(shards[0], shards[1], device_params, net=net, loss=loss)
    allreduce_gradients(device_params, allreduce)
    rate = lr / len(y)
    for params in device_params:
        sgd(params, rate, 1)

# 3 right: train_batch 6
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    X_shards, y_shards = split(X, y, devices)
    backward(X_shards, y_shards, device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    n = sum(len(shard) for shard in X_shards)
    for params in device_params:
        sgd(params, lr, n)

# 3 right: train_batch 7
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

# 3 right: train_batch 8
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    [sgd(params, lr, len(X)) for params in device_params]

# 3 right: train_batch 9
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for i in range(len(devices)):
        sgd(device_params[i], lr, len(X))
    npx.waitall()

# 3 right: train_batch 10
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    for params in device_params:
        for param in params:
            param.grad[:] = param.grad / len(X)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, 1)

# 3 right: train_batch 11
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    def update(params):
        sgd(params, lr, len(X))
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    list(map(update, device_params))

# 3 right: train_batch 12
def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    sgd([param for params in device_params for param in params], lr, len(X))

# 4 wrong: train_epoch 1 -> the clock stops before
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
    return time.perf_counter() - start

# 4 wrong: train_epoch 2 -> wait once after each step
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
    npx.waitall()
    return time.perf_counter() - start

# 4 wrong: train_epoch 3 -> return the seconds
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()

# 4 wrong: train_epoch 4 -> return the seconds
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    return start - time.perf_counter()

# 4 wrong: train_epoch 5 -> return the seconds
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    return time.perf_counter()

# 4 wrong: train_epoch 6 -> return the seconds
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    return 0.0

# 4 wrong: train_epoch 7 -> but 1 steps
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    X, y = train_iter[0]
    train_batch(X, y, device_params, devices, lr, net, loss, split,
                    allreduce)
    npx.waitall()
    return time.perf_counter() - start

# 4 wrong: train_epoch 8 -> must get what train_epoch got
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr)
        npx.waitall()
    return time.perf_counter() - start

# 4 wrong: train_epoch 9 -> must get what train_epoch got
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, 0.2, net, loss, split,
                    allreduce)
        npx.waitall()
    return time.perf_counter() - start

# 4 wrong: train_epoch 10 -> the clock stops before
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        npx.waitall()
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
    return time.perf_counter() - start

# 4 wrong: train_epoch 11 -> but 6 steps
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    return time.perf_counter() - start

# 4 wrong: train_epoch 12 -> but 1 steps
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
        break
    return time.perf_counter() - start

# 4 wrong: train_epoch 13 -> but 1 steps
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
        return time.perf_counter() - start

# 4 wrong: train_epoch 14 -> in their order
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in reversed(train_iter):
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    return time.perf_counter() - start

# 4 wrong: train_epoch 15 -> must get what train_epoch got
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss)
        npx.waitall()
    return time.perf_counter() - start

# 4 right: train_epoch 1
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    return time.perf_counter() - start

# 4 right: train_epoch 2
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net=net, loss=loss,
                    split=split, allreduce=allreduce)
        npx.waitall()
    return time.perf_counter() - start

# 4 right: train_epoch 3
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

# 4 right: train_epoch 4
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

# 4 right: train_epoch 5
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    import time as clock
    start = clock.time()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    return clock.time() - start + 1e-9

# 4 right: train_epoch 6
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        options = {'net': net, 'loss': loss, 'split': split,
                   'allreduce': allreduce}
        train_batch(X, y, device_params, devices, lr, **options)
        npx.waitall()
    return time.perf_counter() - start

# 4 right: train_epoch 7
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

# 4 right: train_epoch 8
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    def step(X, y):
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                    allreduce)
        npx.waitall()
    start = time.perf_counter()
    [step(*batch) for batch in train_iter]
    return time.perf_counter() - start

# 4 right: train_epoch 9
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for i, (X, y) in enumerate(train_iter):
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    seconds = time.perf_counter() - start
    return seconds

# 4 right: train_epoch 10
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X=X, y=y, device_params=device_params, devices=devices,
                    lr=lr, net=net, loss=loss, split=split, allreduce=allreduce)
        npx.waitall()
    return time.perf_counter() - start

# 4 right: train_epoch 11
def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    times = [time.perf_counter()]
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
        times.append(time.perf_counter())
    return times[-1] - times[0]

# 4 right: train_epoch 12
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
