# 1 wrong: the first kernel twice -> has a kernel of 5 x 5 and num_filter=50
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = X
    for W, b in ((W1, b1), (W2, b2)):
        h = npx.convolution(h, W, b, kernel=(3, 3), num_filter=20)
        h = npx.activation(h, 'relu')
        h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.activation(np.dot(h.reshape(len(X), -1), W3) + b3, 'relu')
    return np.dot(h, W4) + b4

# 1 wrong: flattens as PyTorch does -> makes rows
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    return np.dot(npx.activation(np.dot(h.flatten(1), W3) + b3, 'relu'), W4) + b4

# 1 wrong: no relu after the first convolution -> without relu after the first convolution
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = h.reshape(len(X), -1)
    h = np.dot(h, W3) + b3
    h = npx.activation(h, 'relu')
    return np.dot(h, W4) + b4

# 1 wrong: no relu at all -> without any relu
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = h.reshape(len(X), -1)
    h = np.dot(h, W3) + b3
    return np.dot(h, W4) + b4

# 1 wrong: maximum pooling -> with the maximum of each square
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='max', kernel=(2, 2), stride=(2, 2))
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='max', kernel=(2, 2), stride=(2, 2))
    h = h.reshape(len(X), -1)
    h = np.dot(h, W3) + b3
    h = npx.activation(h, 'relu')
    return np.dot(h, W4) + b4

# 1 wrong: relu after pooling -> with pooling before relu
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.activation(h, 'relu')
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.activation(h, 'relu')
    h = h.reshape(len(X), -1)
    h = np.dot(h, W3) + b3
    h = npx.activation(h, 'relu')
    return np.dot(h, W4) + b4

# 1 wrong: no biases -> without the biases
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, no_bias=True, kernel=(3, 3), num_filter=20)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.convolution(h, W2, no_bias=True, kernel=(5, 5), num_filter=50)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = h.reshape(len(X), -1)
    h = np.dot(h, W3)
    h = npx.activation(h, 'relu')
    return np.dot(h, W4)

# 1 wrong: relu after the last layer -> with relu after the last layer
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = h.reshape(len(X), -1)
    h = np.dot(h, W3) + b3
    h = npx.activation(h, 'relu')
    return npx.activation(np.dot(h, W4) + b4, 'relu')

# 1 wrong: softmax at the end -> after a softmax
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = h.reshape(len(X), -1)
    h = np.dot(h, W3) + b3
    h = npx.activation(h, 'relu')
    return npx.softmax(np.dot(h, W4) + b4)

# 1 wrong: through NumPy, where autograd does not follow -> would never learn|Cannot|no gradient
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = h.reshape(len(X), -1)
    h = np.dot(h, W3) + b3
    h = npx.activation(h, 'relu')
    return np.array((np.dot(h, W4) + b4).asnumpy(), ctx=X.ctx)

# 1 wrong: classes, not scores -> must have scores of the shape|the shape .3, 10.
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = h.reshape(len(X), -1)
    h = np.dot(h, W3) + b3
    h = npx.activation(h, 'relu')
    return (np.dot(h, W4) + b4).argmax(axis=1)

# 1 wrong: scores moved to the first device -> the scores are on cpu.0.
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = h.reshape(len(X), -1)
    h = np.dot(h, W3) + b3
    h = npx.activation(h, 'relu')
    return (np.dot(h, W4) + b4).as_in_ctx(mx.cpu(0))

# 1 wrong: sigmoid in place of relu -> the scores of the first image are
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = npx.activation(h, 'sigmoid')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = npx.activation(h, 'sigmoid')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = h.reshape(len(X), -1)
    h = np.dot(h, W3) + b3
    h = npx.activation(h, 'sigmoid')
    return np.dot(h, W4) + b4

# 1 right: layer by layer
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = h.reshape(len(X), -1)
    h = np.dot(h, W3) + b3
    h = npx.activation(h, 'relu')
    return np.dot(h, W4) + b4

# 1 right: npx.relu
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = npx.relu(h)
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = npx.relu(h)
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = h.reshape(len(X), -1)
    h = np.dot(h, W3) + b3
    h = npx.relu(h)
    return np.dot(h, W4) + b4

# 1 right: relu as a maximum with 0
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = np.maximum(h, 0)
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = np.maximum(h, 0)
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = h.reshape(len(X), -1)
    h = np.dot(h, W3) + b3
    h = np.maximum(h, 0)
    return np.dot(h, W4) + b4

# 1 right: a function for both convolutions
def lenet(X, params):
    def conv(h, W, b):
        h = npx.convolution(h, W, b, kernel=W.shape[2:],
                            num_filter=W.shape[0])
        h = npx.activation(h, 'relu')
        return npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = conv(conv(X, *params[:2]), *params[2:4]).reshape(len(X), -1)
    h = npx.activation(np.dot(h, params[4]) + params[5], 'relu')
    return np.dot(h, params[6]) + params[7]

# 1 right: fully_connected with transposed weights
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.fully_connected(h, W3.T, b3, num_hidden=128)
    h = npx.activation(h, 'relu')
    return npx.fully_connected(h, W4.T, b4, num_hidden=10)

# 1 right: the sum of each square, divided by 4
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='sum', kernel=(2, 2), stride=(2, 2)) / 4
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='sum', kernel=(2, 2), stride=(2, 2)) / 4
    h = h.reshape(len(X), -1)
    h = np.dot(h, W3) + b3
    h = npx.activation(h, 'relu')
    return np.dot(h, W4) + b4

# 1 right: the bias added after the convolution
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, no_bias=True, kernel=(3, 3), num_filter=20)
    h = h + b1.reshape(1, -1, 1, 1)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = h.reshape(len(X), -1)
    h = np.dot(h, W3) + b3
    h = npx.activation(h, 'relu')
    return np.dot(h, W4) + b4

# 1 right: the shape by numbers, and @
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = h.reshape(X.shape[0], 800)
    h = h @ W3 + b3
    h = npx.activation(h, 'relu')
    return h @ W4 + b4

# 1 right: a loop over the convolutions
def lenet(X, params):
    h = X
    for i, filters in ((0, 20), (2, 50)):
        W, b = params[i], params[i + 1]
        size = W.shape[-1]
        h = npx.convolution(h, W, b, kernel=(size, size), num_filter=filters)
        h = npx.activation(h, 'relu')
        h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = h.reshape(len(h), -1)
    h = npx.activation(np.dot(h, params[4]) + params[5], 'relu')
    return np.dot(h, params[6]) + params[7]

# 1 right: relu as a product with 0 or 1
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = h * (h > 0)
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = h * (h > 0)
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = h.reshape(len(X), -1)
    h = np.dot(h, W3) + b3
    h = h * (h > 0)
    return np.dot(h, W4) + b4

# 1 right: pooling as a mean over axes
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = npx.activation(h, 'relu')
    h = h[:, :, :26, :26].reshape(-1, 20, 13, 2, 13, 2).mean(axis=(3, 5))
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = npx.activation(h, 'relu')
    h = h[:, :, :8, :8].reshape(-1, 50, 4, 2, 4, 2).mean(axis=(3, 5))
    h = h.reshape(len(X), -1)
    h = np.dot(h, W3) + b3
    h = npx.activation(h, 'relu')
    return np.dot(h, W4) + b4

# 1 right: batch_flatten
def lenet(X, params):
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.convolution(h, W2, b2, kernel=(5, 5), num_filter=50)
    h = npx.activation(h, 'relu')
    h = npx.pooling(h, pool_type='avg', kernel=(2, 2), stride=(2, 2))
    h = npx.batch_flatten(h)
    h = np.dot(h, W3) + b3
    h = npx.activation(h, 'relu')
    return np.dot(h, W4) + b4

# 2 wrong: the mean over the examples -> return one loss per example
def loss(y_hat, y):
    return -npx.pick(npx.log_softmax(y_hat), y).mean()

# 2 wrong: without the minus -> the sign
def loss(y_hat, y):
    return npx.pick(npx.log_softmax(y_hat), y)

# 2 wrong: the probability, not its logarithm -> the probability of the true class
def loss(y_hat, y):
    return npx.pick(npx.softmax(y_hat), y)

# 2 wrong: no softmax -> not .2.303
def loss(y_hat, y):
    return -npx.pick(y_hat, y)

# 2 wrong: divided by the number of examples -> divided by the number of examples
def loss(y_hat, y):
    return -npx.pick(npx.log_softmax(y_hat), y) / len(y)

# 2 wrong: a column, not a vector -> one number per example
def loss(y_hat, y):
    return -npx.pick(npx.log_softmax(y_hat), y, keepdims=True)

# 2 wrong: the logarithm of a softmax that can be 0 -> an exponential overflows|not finite|overflows
def loss(y_hat, y):
    return -np.log(npx.pick(npx.softmax(y_hat), y))

# 2 wrong: an array of NumPy -> an array of MXNet
def loss(y_hat, y):
    return (-npx.pick(npx.log_softmax(y_hat), y)).asnumpy()

# 2 wrong: softmax over the examples -> not .2.303
def loss(y_hat, y):
    return -npx.pick(npx.log_softmax(y_hat, axis=0), y)

# 2 wrong: of every class -> one number per example
def loss(y_hat, y):
    return -npx.log_softmax(y_hat)

# 2 wrong: detached from the scores -> the gradient is not
def loss(y_hat, y):
    return -npx.pick(npx.log_softmax(y_hat).detach(), y) + 0 * y_hat.sum(axis=1)

# 2 right: pick from log_softmax
def loss(y_hat, y):
    return -npx.pick(npx.log_softmax(y_hat), y)

# 2 right: one-hot labels
def loss(y_hat, y):
    scores = npx.log_softmax(y_hat, axis=-1)
    return -(scores * npx.one_hot(y, 10)).sum(axis=1)

# 2 right: by hand, shifted by the largest score
def loss(y_hat, y):
    shifted = y_hat - y_hat.max(axis=1, keepdims=True)
    return np.log(np.exp(shifted).sum(axis=1)) - npx.pick(shifted, y)

# 2 right: by Gluon
def loss(y_hat, y):
    from mxnet import gluon
    return gluon.loss.SoftmaxCrossEntropyLoss()(y_hat, y)

# 2 right: zero minus
def loss(y_hat, y):
    logs = npx.log_softmax(y_hat)
    return 0 - npx.pick(logs, y, axis=1)

# 2 right: the minus before pick
def loss(y_hat, y):
    return npx.pick(-npx.log_softmax(y_hat), y)

# 2 right: times minus one
def loss(y_hat, y):
    return npx.pick(npx.log_softmax(y_hat), y) * -1

# 2 right: the logarithm of the sum, by hand
def loss(y_hat, y):
    largest = y_hat.max(axis=1, keepdims=True)
    log_sum = np.log(np.exp(y_hat - largest).sum(axis=1)) + largest[:, 0]
    return log_sum - npx.pick(y_hat, y)

# 2 right: a mask and where
def loss(y_hat, y):
    logs = npx.log_softmax(y_hat)
    mask = np.arange(10, ctx=y_hat.ctx) == y.astype('float32').reshape(-1, 1)
    return -np.where(mask, logs, np.zeros_like(logs)).sum(axis=1)

# 2 right: with an inner function
def loss(y_hat, y):
    def one(scores, label):
        return -npx.pick(npx.log_softmax(scores), label)
    return one(y_hat, y.astype('float32'))

# 2 right: one operator per line
def loss(y_hat, y):
    result = npx.log_softmax(y_hat)
    result = npx.pick(result, y)
    result = -result
    return result

# 2 right: np.negative, reshaped
def loss(y_hat, y):
    return np.negative(npx.pick(npx.log_softmax(y_hat), y)).reshape(len(y))
