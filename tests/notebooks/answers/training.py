# 1 wrong: overwrites the sum with the last part -> overwrites
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

# 1 wrong: the sum of all gradients, not their mean -> divide the gradient
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

# 1 wrong: the mean of means: unequal parts weigh the same -> unequal length
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

# 1 wrong: the whole minibatch at once -> lenet has seen
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

# 1 wrong: attaches gradients to the caller's parameters -> attach them to copies
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

# 1 right: grad_req 'add'
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

# 1 right: steps of a train_batch, added up
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

# 2 wrong: as if all shards were equal -> expected
def step_factors(num_examples, num_devices):
    return [num_devices] * num_devices

# 2 wrong: as if all were as long as the longest -> expected
def step_factors(num_examples, num_devices):
    longest = -(-num_examples // num_devices)
    return [num_examples / longest] * num_devices

# 2 wrong: upside down -> expected
def step_factors(num_examples, num_devices):
    slices = split_slices(num_examples, num_devices)
    return [(rows.stop - rows.start) / num_examples for rows in slices]

# 2 right: from divmod
def step_factors(num_examples, num_devices):
    short, longer = divmod(num_examples, num_devices)
    return tuple(num_examples / (short + (i < longer))
                 for i in range(num_devices))

# 2 right: with array_split
def step_factors(num_examples, num_devices):
    lengths = [len(part) for part in onp.array_split(
        onp.arange(num_examples), num_devices)]
    return num_examples / onp.array(lengths)

# 3 wrong: the first two replicas only -> every replica
def disagreement(device_params):
    first = [param.asnumpy() for param in device_params[0]]
    return onp.max([abs(param.asnumpy() - right).max()
                    for params in device_params[:2]
                    for param, right in zip(params, first)])

# 3 wrong: a negative difference is none -> both directions
def disagreement(device_params):
    first = [param.asnumpy() for param in device_params[0]]
    return onp.max([(param.asnumpy() - right).max()
                    for params in device_params
                    for param, right in zip(params, first)])

# 3 wrong: the mean difference -> every number
def disagreement(device_params):
    first = [param.asnumpy() for param in device_params[0]]
    return onp.max([abs(param.asnumpy() - right).mean()
                    for params in device_params
                    for param, right in zip(params, first)])

# 3 wrong: Python's max drops a NaN -> NaN in replica
def disagreement(device_params):
    first = [param.asnumpy() for param in device_params[0]]
    return max([abs(param.asnumpy() - right).max()
                    for params in device_params
                    for param, right in zip(params, first)])

# 3 wrong: neighbors instead of the first -> with the first
def disagreement(device_params):
    return max([max_difference(p, q) for p, q
                in zip(device_params, device_params[1:])] + [0])

# 3 right: with max_difference
def disagreement(device_params):
    return onp.max([max_difference(device_params[0], params)
                    for params in device_params])

# 3 right: in MXNet
def disagreement(device_params):
    largest = np.zeros(())
    for params in device_params:
        for p, q in zip(params, device_params[0]):
            apart = abs(p.copyto(mx.cpu()) - q).max()
            largest = np.maximum(largest, apart)
    return largest
