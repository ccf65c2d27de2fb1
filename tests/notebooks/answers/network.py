# 1 wrong: numbers, not bytes -> 4 bytes
def layer_sizes(params):
    return [W.size + b.size for W, b in zip(params[::2], params[1::2])]

# 1 wrong: forgets the bias -> 4 bytes
def layer_sizes(params):
    return [4 * W.size for W, b in zip(params[::2], params[1::2])]

# 1 wrong: a list for each parameter -> per layer
def layer_sizes(params):
    return [[4 * W.size, 4 * b.size] for W, b in zip(params[::2], params[1::2])]

# 1 wrong: from the last layer to the first -> not layers
def layer_sizes(params):
    return [4 * (W.size + b.size) for W, b in zip(params[::2], params[1::2])][::-1]

# 1 right: an array of NumPy
def layer_sizes(params):
    return onp.array([4 * (W.size + b.size) for W, b in zip(params[::2], params[1::2])])

# 1 right: asks NumPy for the bytes
def layer_sizes(params):
    return [sum(p.asnumpy().nbytes for p in params[i:i + 2]) for i in range(0, len(params), 2)]

# 2 wrong: exp of large scores is infinite -> not finite
def loss_by_hand(y_hat, y):
    return np.log(np.exp(y_hat).sum(axis=1)) - npx.pick(y_hat, y)

# 2 wrong: the logarithm of a probability that is 0 -> logarithm of 0
def loss_by_hand(y_hat, y):
    y_hat = y_hat - y_hat.max(axis=1, keepdims=True)
    return -np.log(npx.pick(np.exp(y_hat), y) / np.exp(y_hat).sum(axis=1))

# 2 wrong: the mean of the minibatch -> one loss per example
def loss_by_hand(y_hat, y):
    y_hat = y_hat - y_hat.max(axis=1, keepdims=True)
    return (np.log(np.exp(y_hat).sum(axis=1)) - npx.pick(y_hat, y)).mean()

# 2 wrong: overwrites the caller's scores -> y_hat was changed
def loss_by_hand(y_hat, y):
    y_hat -= y_hat.max(axis=1, keepdims=True)
    return np.log(np.exp(y_hat).sum(axis=1)) - npx.pick(y_hat, y)

# 2 wrong: no gradient through the label's score -> the gradient is wrong
def loss_by_hand(y_hat, y):
    y_hat = y_hat - y_hat.max(axis=1, keepdims=True)
    return np.log(np.exp(y_hat).sum(axis=1)) - npx.pick(y_hat.detach(), y)

# 2 right: one-hot labels
def loss_by_hand(y_hat, y):
    y_hat = y_hat - y_hat.max(axis=1, keepdims=True)
    return np.log(np.exp(y_hat).sum(axis=1)) - (y_hat * npx.one_hot(y, 10)).sum(axis=1)

# 2 right: indices
def loss_by_hand(y_hat, y):
    y_hat = y_hat - y_hat.max(axis=1, keepdims=True)
    return np.log(np.exp(y_hat).sum(axis=1)) - y_hat[
        np.arange(len(y), dtype=y.dtype), y]

# 3 wrong: one pixel too few for each convolution -> 28 pixels
def side_after(n, layers):
    for kind, size in layers:
        n = n - size if kind == 'convolution' else n // size
    return n

# 3 wrong: keeps half a pixel -> half a pixel is none
def side_after(n, layers):
    for kind, size in layers:
        n = n - size + 1 if kind == 'convolution' else n / size
    return n

# 3 wrong: the layers from the last to the first -> pixels through
def side_after(n, layers):
    for kind, size in layers[::-1]:
        n = n - size + 1 if kind == 'convolution' else n // size
    return n

# 3 right: rounds down with int
def side_after(n, layers):
    for kind, size in layers:
        n = n - size + 1 if kind == 'convolution' else int(n / size)
    return n

# 3 right: a number of NumPy
def side_after(n, layers):
    for kind, size in layers:
        n = n - size + 1 if kind == 'convolution' else n // size
    return onp.int64(n)
