"""Answers to the exercises of 05_training, right and wrong, in order."""

STEP = 'def accumulated_step(X, y, params, lr, num_micro_batches):\n'
MEAN_OF_MEANS = (
    STEP
    + """    totals = [np.zeros_like(param) for param in params]
    for part in split_slices(len(X), num_micro_batches):
        replica = get_params(params, mx.cpu())
        with autograd.record():
            part_loss = loss(lenet(X[part], replica), y[part]).mean()
        part_loss.backward()
        for total, param in zip(totals, replica):
            total += param.grad
    return [p - lr / num_micro_batches * total
            for p, total in zip(params, totals)]
"""
)
ADDED_BY_AUTOGRAD = (
    STEP
    + """    replica = [param.copy() for param in params]
    for param in replica:
        param.attach_grad('add')
    for i in range(num_micro_batches):  # every num_micro_batches-th image
        part = slice(i, None, num_micro_batches)
        with autograd.record():
            losses = loss(lenet(X=X[part], params=replica), y[part])
        losses.backward()
    return tuple(p - lr * p.grad / len(X) for p in replica)
"""
)
ONE_LOSS = (
    STEP
    + """    replica = get_params(params, mx.cpu())
    with autograd.record():
        total = sum(
            loss(lenet(X[i::num_micro_batches], replica),
                 y[i::num_micro_batches]).sum()
            for i in range(num_micro_batches))
    total.backward()
    return [(p - lr * p.grad / len(X)).asnumpy() for p in replica]
"""
)
IN_THE_GRADIENTS = (
    STEP
    + """    replica = get_params(params, mx.cpu())
    totals = [param.grad for param in replica]
    for part in split_slices(len(X), num_micro_batches):
        with autograd.record():
            part_loss = loss(lenet(X[part], replica), y[part]).sum()
        part_loss.backward()
        for total, param in zip(totals, replica):
            total += param.grad
    return [p - lr / len(X) * total for p, total in zip(params, totals)]
"""
)

SGD_WRONG = [
    (
        """def sgd(params, lr, batch_size):
    for param in params:
        param = param - lr / batch_size * param.grad
""",
        'nothing moved',
    ),
    (
        """def sgd(params, lr, batch_size):
    for param in params:
        param -= lr * param.grad
""",
        '5 times as long',
    ),
    (
        """def sgd(params, lr, batch_size):
    for param in params:
        param -= lr / 256 * param.grad
""",
        'not .0, 3. and .2.5.',
    ),
    (
        """def sgd(params, lr, batch_size):
    for param in params:
        param += lr / batch_size * param.grad
""",
        'uphill',
    ),
    (
        """def sgd(params, lr, batch_size):
    params[:] = [p - lr / batch_size * p.grad for p in params]
""",
        'nothing moved',
    ),
    (
        """def sgd(params, lr, batch_size):
    return [p - lr / batch_size * p.grad for p in params]
""",
        'nothing moved',
    ),
    (
        """def sgd(params, lr, batch_size):
    params[0] -= lr / batch_size * params[0].grad
""",
        'only the first parameter',
    ),
    (
        """def sgd(params, lr, batch_size):
    for param in params:
        param -= lr / len(params) * param.grad
""",
        'not .0, 3. and .2.5.',
    ),
    (
        """def sgd(params, lr, batch_size):
    for param in params:
        param.grad[:] = param.grad / batch_size
        param -= lr * param.grad
""",
        'a gradient was changed',
    ),
    (
        """def sgd(params, lr, batch_size):
    for param in params:
        param -= lr / batch_size ** 2 * param.grad
""",
        'not .0, 3. and .2.5.',
    ),
    (
        """def sgd(params, lr, batch_size):
    for param in params:
        param -= lr / len(param) * param.grad
""",
        'not .0, 3. and .2.5.',
    ),
    (
        """def sgd(params, lr, batch_size):
    for param in params:
        param -= lr / batch_size * param.grad
        param.grad[:] = 0
""",
        'a gradient was changed',
    ),
    (
        """def sgd(params, lr, batch_size):
    for param in params:
        param -= lr / batch_size * param.grad.mean()
""",
        'not .0, 3. and .2.5.|nothing moved',
    ),
    (
        """def sgd(params, lr, batch_size):
    for param in params:
        param -= param.grad / batch_size
""",
        'not .0, 3. and .2.5.',
    ),
    (
        """def sgd(params, lr, batch_size):
    for param in params:
        param -= lr / min(batch_size, 96) * param.grad
""",
        'with 256 examples',
    ),
]
SGD_RIGHT = [
    """def sgd(params, lr, batch_size):
    for param in params:
        param -= lr * param.grad / batch_size
""",
    """def sgd(params, lr, batch_size):
    for i in range(len(params)):
        params[i] -= lr / batch_size * params[i].grad
""",
    """def sgd(params, lr, batch_size):
    for param in params:
        param[:] = param - lr * (param.grad / batch_size)
""",
    """def sgd(params, lr, batch_size):
    for param in params:
        step = param.grad.copy()
        step *= lr
        step /= batch_size
        param -= step
""",
    """def sgd(params, lr, batch_size):
    for param in params:
        param += -lr / batch_size * param.grad
""",
    """def sgd(params, lr, batch_size):
    rate = lr / batch_size
    [param.__isub__(rate * param.grad) for param in params]
""",
    """def sgd(params, lr, batch_size):
    for param, grad in zip(params, [p.grad for p in params]):
        np.subtract(param, lr / batch_size * grad, out=param)
""",
    """def sgd(params, lr, batch_size):
    for param in params:
        (param - param.grad * (lr / batch_size)).copyto(param)
""",
    """def sgd(params, lr, batch_size):
    if params:
        params[0][:] -= lr / batch_size * params[0].grad
        sgd(params[1:], lr, batch_size)
""",
    """def sgd(params, lr, batch_size):
    def move(param):
        param[...] = param - lr / batch_size * param.grad
    list(map(move, params))
""",
    """def sgd(params, lr, batch_size):
    for param in params:
        new = param.asnumpy() - lr / batch_size * param.grad.asnumpy()
        param[:] = np.array(new, dtype=param.dtype, ctx=param.ctx)
""",
    """def sgd(params, lr, batch_size):
    mean = [param.grad / batch_size for param in params]
    for param, gradient in zip(params, mean):
        param -= lr * gradient
    return params
""",
]
BACKWARD_WRONG = [
    (
        """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).mean() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()
""",
        'of the mean of each shard',
    ),
    (
        """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()
""",
        'the loss does not use the second',
    ),
    (
        """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for X, y, params in zip(X_shards, y_shards, device_params):
        total = loss(net(X, params), y).sum()
        total.backward()
""",
        'inside autograd.record',
    ),
    (
        """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    losses[0].backward()
""",
        'not .5.0, 9.0.|summed over|100',
    ),
    (
        """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        one = loss(net(X_shards[0], device_params[0]), y_shards[0]).sum()
    one.backward()
""",
        'not .5.0, 9.0.',
    ),
    (
        """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(lenet(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()
""",
        'arguments net and loss',
    ),
    (
        """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()
    for params in device_params:
        for param in params:
            param.grad[:] = 0
""",
        'not .5.0, 9.0.',
    ),
    (
        """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
""",
        'not .5.0, 9.0.',
    ),
    (
        """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
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
""",
        'summed over the devices already',
    ),
    (
        """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
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
""",
        'of the mean of each shard',
    ),
    (
        """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for params in device_params[:1]:
        for param in params:
            param.grad[:] = 0
    for one in losses:
        one.backward()
""",
        'the loss does not use the second',
    ),
    (
        """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [(net(X, params) - y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()
""",
        'must be called',
    ),
    (
        """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        total = 0
        for X, y, params in zip(X_shards, y_shards, device_params):
            total += loss(net(X, params), y).sum()
        total.backward()
        total.backward()
""",
        'MXNetError|not .5.0, 9.0.|Error',
    ),
    (
        """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()
    for params in device_params:
        for param in params:
            param.grad[:] = param.grad + 100
""",
        'not .5.0, 9.0.',
    ),
    (
        """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    pass
""",
        'must be called',
    ),
]
BACKWARD_RIGHT = [
    """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()
""",
    """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y) for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()
""",
    """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for X, y, params in zip(X_shards, y_shards, device_params):
        for param in params:
            param.grad[:] = 0
        with autograd.record():
            total = loss(net(X, params), y).sum()
        total.backward()
""",
    """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    autograd.backward(losses)
""",
    """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for i in range(len(X_shards)):
        for param in device_params[i]:
            param.attach_grad()
        with autograd.record():
            one = loss(net(X_shards[i], device_params[i]), y_shards[i])
        one.backward()
""",
    """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
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
""",
    """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    with autograd.record():
        scores = list(map(net, X_shards, device_params))
        losses = [one.sum() for one in map(loss, scores, y_shards)]
    for params, one in zip(device_params, losses):
        for param in params:
            param.grad[:] = 0
        one.backward()
""",
    """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    def one(X, y, params):
        for param in params:
            param.grad[:] = 0
        with autograd.record():
            total = np.sum(loss(net(X, params), y))
        total.backward()
    for arguments in zip(X_shards, y_shards, device_params):
        one(*arguments)
""",
    """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    while losses:
        losses.pop().backward()
""",
    """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in losses:
        one.backward()
    npx.waitall()
""",
    """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[...] = param.grad * 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    [one.backward() for one in losses]
    return losses
""",
    """def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    for params in device_params:
        for param in params:
            param.grad[:] = 0
    with autograd.record():
        losses = [loss(net(X, params), y).sum(axis=0) for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for one in reversed(losses):
        one.backward()
""",
]
TRAIN_BATCH_WRONG = [
    (
        """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    for params in device_params:
        sgd(params, lr, len(X))
""",
        'the replicas differ',
    ),
    (
        """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, 256)
""",
        'times as long',
    ),
    (
        """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr / len(devices), len(X))
""",
        '0.5 times as',
    ),
    (
        """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    sgd(device_params[0], lr, len(X))
""",
        'the replicas differ',
    ),
    (
        """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    X_shards, y_shards = split(X, y, devices)
    backward(X_shards, y_shards, device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params, shard in zip(device_params, X_shards):
        sgd(params, lr, len(shard))
""",
        'the replicas differ',
    ),
    (
        """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    for params in device_params:
        sgd(params, lr, len(X))
    allreduce_gradients(device_params, allreduce)
""",
        'the replicas differ',
    ),
    (
        """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params)
    for params in device_params:
        sgd(params, lr, len(X))
""",
        'split and allreduce are arguments',
    ),
    (
        """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split_batch(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, len(X))
""",
        'split and allreduce are arguments',
    ),
    (
        """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, 1)
""",
        '3 times as',
    ),
    (
        """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, len(X))
""",
        'the replicas differ|2 times as',
    ),
    (
        """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
""",
        'nothing moved',
    ),
    (
        """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, -lr, len(X))
""",
        '-1 times as',
    ),
    (
        """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, len(X))
        sgd(params, lr, len(X))
""",
        '2 times as',
    ),
    (
        """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    n = len(X) - len(X) % len(devices)
    backward(*split(X[:n], y[:n], devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, len(X))
""",
        'times as',
    ),
    (
        """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    with autograd.record():
        one = loss(net(X, device_params[0]), y).sum()
    one.backward()
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, len(X))
""",
        'but after 8 steps',
    ),
    (
        """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    size = len(X) // len(devices)
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, size * len(devices))
""",
        'times as',
    ),
]
TRAIN_BATCH_RIGHT = [
    """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, len(X))
""",
    """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    X_shards, y_shards = split(X, y, devices)
    backward(X_shards, y_shards, device_params, net, loss)
    allreduce_gradients(device_params, allreduce=allreduce)
    for replica in device_params:
        sgd(replica, lr=lr, batch_size=X.shape[0])
""",
    """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    for i in range(len(device_params[0])):
        allreduce([params[i].grad for params in device_params])
    for params in device_params:
        sgd(params, lr, len(X))
""",
    """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        for param in params:
            param -= lr / len(X) * param.grad
""",
    """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    shards = split(X, y, devices)
    backward(shards[0], shards[1], device_params, net=net, loss=loss)
    allreduce_gradients(device_params, allreduce)
    rate = lr / len(y)
    for params in device_params:
        sgd(params, rate, 1)
""",
    """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    X_shards, y_shards = split(X, y, devices)
    backward(X_shards, y_shards, device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    n = sum(len(shard) for shard in X_shards)
    for params in device_params:
        sgd(params, lr, n)
""",
    """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
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
""",
    """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    [sgd(params, lr, len(X)) for params in device_params]
""",
    """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for i in range(len(devices)):
        sgd(device_params[i], lr, len(X))
    npx.waitall()
""",
    """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    for params in device_params:
        for param in params:
            param.grad[:] = param.grad / len(X)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:
        sgd(params, lr, 1)
""",
    """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    def update(params):
        sgd(params, lr, len(X))
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    list(map(update, device_params))
""",
    """def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    sgd([param for params in device_params for param in params], lr, len(X))
""",
]
EPOCH_WRONG = [
    (
        """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
    return time.perf_counter() - start
""",
        'the clock stops before',
    ),
    (
        """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
    npx.waitall()
    return time.perf_counter() - start
""",
        'wait once after each step',
    ),
    (
        """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
""",
        'return the seconds',
    ),
    (
        """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    return start - time.perf_counter()
""",
        'return the seconds',
    ),
    (
        """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    return time.perf_counter()
""",
        'return the seconds',
    ),
    (
        """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    return 0.0
""",
        'return the seconds',
    ),
    (
        """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    X, y = train_iter[0]
    train_batch(X, y, device_params, devices, lr, net, loss, split,
                    allreduce)
    npx.waitall()
    return time.perf_counter() - start
""",
        'but 1 steps',
    ),
    (
        """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr)
        npx.waitall()
    return time.perf_counter() - start
""",
        'must get what train_epoch got',
    ),
    (
        """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, 0.2, net, loss, split,
                    allreduce)
        npx.waitall()
    return time.perf_counter() - start
""",
        'must get what train_epoch got',
    ),
    (
        """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        npx.waitall()
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
    return time.perf_counter() - start
""",
        'the clock stops before',
    ),
    (
        """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    return time.perf_counter() - start
""",
        'but 6 steps',
    ),
    (
        """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
        break
    return time.perf_counter() - start
""",
        'but 1 steps',
    ),
    (
        """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
        return time.perf_counter() - start
""",
        'but 1 steps',
    ),
    (
        """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in reversed(train_iter):
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    return time.perf_counter() - start
""",
        'in their order',
    ),
    (
        """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss)
        npx.waitall()
    return time.perf_counter() - start
""",
        'must get what train_epoch got',
    ),
]
EPOCH_RIGHT = [
    """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    return time.perf_counter() - start
""",
    """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net=net, loss=loss,
                    split=split, allreduce=allreduce)
        npx.waitall()
    return time.perf_counter() - start
""",
    """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    from time import perf_counter
    begin = perf_counter()
    for batch in train_iter:
        train_batch(*batch, device_params, devices, lr, net, loss, split,
                    allreduce)
        npx.waitall()
    end = perf_counter()
    return end - begin
""",
    """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    seconds = 0.0
    for X, y in train_iter:
        start = time.perf_counter()
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
        seconds += time.perf_counter() - start
    return seconds
""",
    """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    import time as clock
    start = clock.time()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    return clock.time() - start + 1e-9
""",
    """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        options = {'net': net, 'loss': loss, 'split': split,
                   'allreduce': allreduce}
        train_batch(X, y, device_params, devices, lr, **options)
        npx.waitall()
    return time.perf_counter() - start
""",
    """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
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
""",
    """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    def step(X, y):
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                    allreduce)
        npx.waitall()
    start = time.perf_counter()
    [step(*batch) for batch in train_iter]
    return time.perf_counter() - start
""",
    """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for i, (X, y) in enumerate(train_iter):
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    seconds = time.perf_counter() - start
    return seconds
""",
    """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter()
    for X, y in train_iter:
        train_batch(X=X, y=y, device_params=device_params, devices=devices,
                    lr=lr, net=net, loss=loss, split=split, allreduce=allreduce)
        npx.waitall()
    return time.perf_counter() - start
""",
    """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    times = [time.perf_counter()]
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
        times.append(time.perf_counter())
    return times[-1] - times[0]
""",
    """def train_epoch(train_iter, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    start = time.perf_counter_ns()
    for X, y in train_iter:
        train_batch(X, y, device_params, devices, lr, net, loss, split,
                        allreduce)
        npx.waitall()
    return (time.perf_counter_ns() - start) / 1e9
""",
]

WRONG = [
    SGD_WRONG,
    BACKWARD_WRONG,
    TRAIN_BATCH_WRONG,
    EPOCH_WRONG,
    [
        ('total += param.grad', 'total[:] = param.grad', 'overwrites'),
        ('lr / len(X) * total', 'lr * total', 'divide the gradient'),
        (
            'lr / len(X) * total',
            'lr / len(X) / num_micro_batches * total',
            'update once',
        ),
        (IN_THE_GRADIENTS, 'add up in new arrays'),
        (MEAN_OF_MEANS, 'unequal length'),
        (
            'split_slices(len(X), num_micro_batches)',
            '[slice(0, len(X))]',
            'lenet has seen',
        ),
        ('len(X), num_micro_batches)', 'len(X), len(X))', 'lenet has seen'),
        (
            'split_slices(len(X), num_micro_batches)',
            'split_slices(len(X) - 1, num_micro_batches)',
            'lenet has seen',
        ),
        (
            '[p - lr / len(X) * total for p, total in zip(params, totals)]',
            '[p.__isub__(lr / len(X) * t) for p, t in zip(params, totals)]',
            'params changed',
        ),
        ('return [p - lr', 'return [p + lr', 'from the reference'),
        (STEP + '    return reference_step(X, y, params, lr)', 'has seen'),
        (STEP + '    return [params[0]] * 7', 'all eight'),
        (ONE_LOSS, 'one part at a time'),
        (
            ADDED_BY_AUTOGRAD.replace(
                'for i in range(num_micro_batches):  # every num_micro_batches-th image\n'
                '        part = slice(i, None, num_micro_batches)',
                'size = -(-len(X) // num_micro_batches)\n'
                '    for start in range(0, len(X), size):\n'
                '        part = slice(start, start + size)',
            ),
            'lenet has seen',
        ),
        (
            ADDED_BY_AUTOGRAD.replace(
                '[param.copy() for param in params]', 'params'
            ),
            'attach them to copies',
        ),
        ('lr / len(X)', '0.2 / len(X)', 'further from the reference'),
    ],
]
RIGHT = [
    SGD_RIGHT,
    BACKWARD_RIGHT,
    TRAIN_BATCH_RIGHT,
    EPOCH_RIGHT,
    [
        ADDED_BY_AUTOGRAD,
        (  # the chapter's own
            """        with autograd.record():
            part_loss = loss(lenet(X[part], replica), y[part]).sum()
        part_loss.backward()
""",
            '        from d2lmulti.training import backward\n'
            '        backward([X[part]], [y[part]], [replica])\n',
        ),
        STEP
        + """    from d2lmulti.training import train_batch
    moved = [param.copy() for param in params]
    for part in split_slices(len(X), num_micro_batches):
        replicas = [get_params(params, mx.cpu())]
        weight = len(y[part]) / len(X)
        train_batch(X[part], y[part], replicas, [mx.cpu()], lr * weight)
        for p, q, total in zip(params, replicas[0], moved):
            total += q - p
    return moved
""",
        ('zip(params, totals)]', 'zip(params, totals)][:]'),
    ],
]
