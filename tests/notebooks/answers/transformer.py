# 1 wrong: train_batch as it is: by sentences -> divides by the three sentences
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    train_batch(X, y, device_params, devices, lr, net, token_loss)

# 1 wrong: the factor upside down -> upside down
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    train_batch(X, y, device_params, devices, lr * count_tokens(y) / len(X),
                net, token_loss)

# 1 wrong: the sum of all words -> nothing divides the sum
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    train_batch(X, y, device_params, devices, lr * len(X), net, token_loss)

# 1 wrong: only the number of words, and the sentences, too -> by the three sentences, too
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    train_batch(X, y, device_params, devices, lr / count_tokens(y), net,
                token_loss)

# 1 wrong: the mean of the devices' means -> the mean of the devices' means
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    X_shards, y_shards = split_batch(X, y, devices)
    backward(X_shards, y_shards, device_params, net, token_loss)
    for params, labels in zip(device_params, y_shards):
        for param in params:
            param.grad[:] = param.grad / count_tokens(labels)
    allreduce_gradients(device_params)
    for params in device_params:
        for param in params:
            param -= lr / len(devices) * param.grad

# 1 wrong: by sentences, as in chapter 13 -> weighs the devices by their sentences
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    def mean(y_hat, y):
        return len(y) * token_loss(y_hat, y) / max(1, count_tokens(y))
    train_batch(X, y, device_params, devices, lr, net, mean)

# 1 wrong: the sum of the devices' means -> each device divided by its own words
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    def mean(y_hat, y):
        return token_loss(y_hat, y) / count_tokens(y)
    backward(*split_batch(X, y, devices), device_params, net, mean)
    allreduce_gradients(device_params)
    for params in device_params:
        for param in params:
            param -= lr * param.grad

# 1 wrong: each divides the sum by its own words -> the replicas take different steps
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    X_shards, y_shards = split_batch(X, y, devices)
    backward(X_shards, y_shards, device_params, net, token_loss)
    allreduce_gradients(device_params)
    for params, labels in zip(device_params, y_shards):
        for param in params:
            param -= lr / count_tokens(labels) * param.grad

# 1 wrong: no allreduce -> the replicas take different steps
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    backward(*split_batch(X, y, devices), device_params, net, token_loss)
    for params in device_params:
        for param in params:
            param -= lr / count_tokens(y) * param.grad

# 1 wrong: by the words in X -> 7 words in X
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    train_batch(X, y, device_params, devices, lr * len(X) / count_tokens(X),
                net, token_loss)

# 1 wrong: padding counts -> divides by all places
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    train_batch(X, y, device_params, devices, lr * len(X) / y.size, net,
                token_loss)

# 1 wrong: the words, and the devices -> again by the devices
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    rate = lr * len(X) / count_tokens(y) / len(devices)
    train_batch(X, y, device_params, devices, rate, net, token_loss)

# 1 wrong: the gradients only -> no parameter has moved
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    backward(*split_batch(X, y, devices), device_params, net, token_loss)
    allreduce_gradients(device_params)

# 1 wrong: new arrays in place of the parameters -> no parameter has moved
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    backward(*split_batch(X, y, devices), device_params, net, token_loss)
    allreduce_gradients(device_params)
    for params in device_params:
        for param in params:
            param = param - lr / count_tokens(y) * param.grad

# 1 wrong: new arrays in the lists -> no parameter has moved: write into
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    backward(*split_batch(X, y, devices), device_params, net, token_loss)
    allreduce_gradients(device_params)
    for params in device_params:
        params[:] = [param - lr / count_tokens(y) * param.grad
                     for param in params]

# 1 wrong: forgets the rate -> use the rate
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    train_batch(X, y, device_params, devices, len(X) / count_tokens(y), net,
                token_loss)

# 1 wrong: right with its words alone, nan without any -> nan now
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    X_shards, y_shards = split_batch(X, y, devices)
    backward(X_shards, y_shards, device_params, net, token_loss)
    for params, labels in zip(device_params, y_shards):
        own = (labels != 0).sum().astype('float64')
        for param in params:
            param.grad[:] = param.grad / own * own / count_tokens(y)
    allreduce_gradients(device_params)
    for params in device_params:
        for param in params:
            param -= lr * param.grad

# 1 wrong: only shards with words count, equally -> the mean of the devices' means
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    def mean(y_hat, y):
        return token_loss(y_hat, y) / max(1, count_tokens(y))
    backward(*split_batch(X, y, devices), device_params, net, mean)
    allreduce_gradients(device_params)
    for params in device_params:
        for param in params:
            param -= lr / len(devices) * param.grad

# 1 wrong: uphill -> goes uphill
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    backward(*split_batch(X, y, devices), device_params, net, token_loss)
    allreduce_gradients(device_params)
    for params in device_params:
        for param in params:
            param += lr / count_tokens(y) * param.grad

# 1 wrong: on the first device -> raises|DeviceError|copy|device
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    with autograd.record():
        total = sum(token_loss(net(X, params), y).sum()
                    for params in device_params)
    total.backward()

# 1 right: another rate for train_batch
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    train_batch(X, y, device_params, devices, lr * len(X) / count_tokens(y),
                net, token_loss)

# 1 right: the parts of train_batch
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    backward(*split_batch(X, y, devices), device_params, net, token_loss)
    allreduce_gradients(device_params)
    for params in device_params:
        for param in params:
            param -= lr / count_tokens(y) * param.grad

# 1 right: the loss divided by all words
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    num_words = count_tokens(y)
    def loss(y_hat, y):
        return token_loss(y_hat, y) / num_words
    train_batch(X, y, device_params, devices, lr * len(X), net, loss)

# 1 right: the loss times sentences, by words
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    factor = len(y) / count_tokens(y)
    train_batch(X, y, device_params, devices, lr, net,
                lambda y_hat, y: factor * token_loss(y_hat, y))

# 1 right: words of the shards, added up
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    X_shards, y_shards = split_batch(X, y, devices)
    num_words = sum(count_tokens(labels) for labels in y_shards)
    backward(X_shards, y_shards, device_params, net, token_loss)
    allreduce_gradients(device_params)
    for params in device_params:
        for param in params:
            param[:] = param - lr * param.grad / num_words

# 1 right: means, weighted by the words of each device
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    X_shards, y_shards = split_batch(X, y, devices)
    words = [count_tokens(labels) for labels in y_shards]
    backward(X_shards, y_shards, device_params, net, token_loss)
    for params, count in zip(device_params, words):
        for param in params:
            mean = param.grad / max(count, 1)
            param.grad[:] = mean * count / sum(words)
    allreduce_gradients(device_params)
    for params in device_params:
        for param in params:
            param -= lr * param.grad

# 1 right: through NumPy
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    backward(*split_batch(X, y, devices), device_params, net, token_loss)
    for params in zip(*device_params):
        total = sum(param.grad.asnumpy() for param in params)
        for param in params:
            step = lr / (y.asnumpy() > 0).sum() * total
            param -= np.array(step, dtype=param.dtype, ctx=param.ctx)

# 1 right: autograd by hand
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    losses = []
    with autograd.record():
        for X_own, y_own, params in zip(*split_batch(X, y, devices),
                                        device_params):
            losses.append(token_loss(net(X_own, params), y_own).sum())
    for loss in losses:
        loss.backward()
    for params in zip(*device_params):
        allreduce([param.grad for param in params])
        for param in params:
            param -= lr / count_tokens(y) * param.grad

# 1 right: an allreduce that divides
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    def mean(data):
        allreduce(data)
        for array in data:
            array *= len(X) / count_tokens(y)
    train_batch(X, y, device_params, devices, lr, net, token_loss,
                allreduce=mean)

# 1 right: by keywords, and it returns the number of words
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    num_words = int((y != PADDING).sum())
    train_batch(X=X, y=y, device_params=device_params, devices=devices,
                lr=lr / num_words * len(X), net=net, loss=token_loss)
    return num_words

# 1 right: its own loss
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    def loss(y_hat, labels):
        losses = -npx.pick(npx.log_softmax(y_hat), labels)
        losses = losses * (labels > 0)
        return losses.reshape(len(labels), -1).sum(axis=1) * (
            len(X) / count_tokens(y))
    train_batch(X, y, device_params, devices, lr, net, loss)

# 1 right: a list of steps
def train_batch_tokens(X, y, device_params, devices, lr,
                       net=decoder_scores):
    X_shards, y_shards = split_batch(X, y, devices)
    backward(X_shards, y_shards, device_params, net, token_loss)
    allreduce_gradients(device_params)
    every = itertools.chain.from_iterable(device_params)
    rate = lr / count_tokens(y)
    steps = [(param, rate * param.grad) for param in every]
    for param, step in steps:
        param -= step

# 2 wrong: as many sentences for each -> shards of
def split_by_tokens(lengths, k):
    shards, words = [[] for _ in range(k)], [0] * k
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        least = i % k
        shards[least].append(i)
        words[least] += lengths[i]
    return shards

# 2 wrong: in the order of the text -> shards of
def split_by_tokens(lengths, k):
    shards, words = [[] for _ in range(k)], [0] * k
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        least = i * k // len(lengths)
        shards[least].append(i)
        words[least] += lengths[i]
    return shards

# 2 wrong: forth and back, the lengths not sorted -> the largest above
def split_by_tokens(lengths, k):
    shards = [[] for _ in range(k)]
    for i in range(len(lengths)):
        turn, j = divmod(i, k)
        shards[k - 1 - j if turn % 2 else j].append(i)
    return shards

# 2 wrong: loses a sentence of each shard -> each sentence once
def split_by_tokens(lengths, k):
    shards, words = [[] for _ in range(k)], [0] * k
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        least = words.index(min(words))
        shards[least].append(i)
        words[least] += lengths[i]
    return [shard[1:] for shard in shards]

# 2 right: numbers of NumPy, tuples
def split_by_tokens(lengths, k):
    shards = [[] for _ in range(k)]
    for i in onp.argsort(lengths)[::-1]:
        shard = min(shards, key=lambda s: sum(lengths[j] for j in s))
        shard.append(i)
    return tuple(map(tuple, shards))

# 2 right: every k-th of the sorted sentences
def split_by_tokens(lengths, k):
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    return [order[i::k] for i in range(k)]
