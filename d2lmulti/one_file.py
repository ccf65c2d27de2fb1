"""Training on one device and on two: all of it, from chapters 1 to 5.

`python one_file.py FOLDER`, where Fashion-MNIST's four .gz files are, needs
MXNet and NumPy alone; from Python 3.12 or NumPy 1.24 on, MXNet needs d2lmulti:
python -m d2lmulti.one_file.
"""
import gzip
import os
import pathlib
import sys
import time

# Else CPU devices would wait for each other: see chapter 6.
os.environ.update(OMP_NUM_THREADS='1', MXNET_EXEC_BULK_EXEC_TRAIN='0',
                  MXNET_CPU_TEMP_COPY='64')

import mxnet as mx
import numpy as onp
from mxnet import autograd, np, npx
npx.set_np()

# Chapter 1
def split_slices(n, k):
    """Return k slices that cover range(n), in order."""
    size, longer = divmod(n, k)
    # part i begins at starts[i]: 1 later for each longer part before it
    starts = [i * size + min(i, longer) for i in range(k + 1)]
    return [slice(start, end) for start, end in zip(starts, starts[1:])]

# Chapter 2
def init_params(seed=0, scale=None):
    """Return LeNet's parameters: W1, b1, W2, b2, W3, b3, W4, b4."""
    rng = onp.random.RandomState(seed)

    def layer(shape, num_inputs, num_outputs):
        std = (2 / num_inputs) ** 0.5 if scale is None else scale
        W = rng.normal(0, std, shape)
        return [np.array(W, dtype='float32', ctx=mx.cpu()),
                np.zeros(num_outputs, dtype='float32', ctx=mx.cpu())]

    return (layer((20, 1, 3, 3), 1 * 3 * 3, 20)
            + layer((50, 20, 5, 5), 20 * 5 * 5, 50)
            + layer((800, 128), 800, 128) + layer((128, 10), 128, 10))

def lenet(X, params):
    """Return the scores of ten classes for each image, shape (n, 10)."""
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    h1 = npx.convolution(X, W1, b1, kernel=(3, 3), num_filter=20)
    h1 = npx.pooling(npx.activation(h1, 'relu'), pool_type='avg',
                     kernel=(2, 2), stride=(2, 2))
    h2 = npx.convolution(h1, W2, b2, kernel=(5, 5), num_filter=50)
    h2 = npx.pooling(npx.activation(h2, 'relu'), pool_type='avg',
                     kernel=(2, 2), stride=(2, 2))
    h3 = np.dot(h2.reshape(len(X), -1), W3) + b3
    return np.dot(npx.activation(h3, 'relu'), W4) + b4

def loss(y_hat, y):
    """Return the cross-entropy of each example, shape (n,)."""
    return -npx.pick(npx.log_softmax(y_hat), y)

# Chapter 3
def get_params(params, device):
    """Return a copy of each array of `params` on `device`."""
    replica = [param.copyto(device) for param in params]
    for param in replica:
        param.attach_grad()
    return replica

def allreduce(data):
    """Replace each array in `data`, in place, by the sum of all of them."""
    total = data[0]
    for array in data[1:]:
        total += array.copyto(total.ctx)
    for array in data[1:]:
        total.copyto(array)

def allreduce_gradients(device_params, allreduce=allreduce):
    """Sum each parameter's gradients over all replicas, in place."""
    for params in zip(*device_params):  # one parameter, on all devices
        allreduce([param.grad for param in params])

# Chapter 4
def split_and_load(data, devices):
    """Return one shard of `data` for each device, each a separate array."""
    slices = split_slices(len(data), len(devices))
    return [data[rows].copyto(device)
            for rows, device in zip(slices, devices)]

def split_batch(X, y, devices):
    """Return (X_shards, y_shards), one of each for every device."""
    return split_and_load(X, devices), split_and_load(y, devices)

# Chapter 5
def sgd(params, lr, batch_size):
    """Move each parameter, in place, against the gradient of the mean loss."""
    for param in params:
        param -= lr / batch_size * param.grad

def backward(X_shards, y_shards, device_params, net=lenet, loss=loss):
    """Store in each replica the gradients of its shard's summed loss."""
    with autograd.record():  # the loss, separately on each device
        losses = [loss(net(X, params), y).sum() for X, y, params
                  in zip(X_shards, y_shards, device_params)]
    for shard_loss, params in zip(losses, device_params):
        for param in params:  # backward() below skips unused ones
            param.grad[:] = 0
        shard_loss.backward()

def train_batch(X, y, device_params, devices, lr, net=lenet, loss=loss,
                split=split_batch, allreduce=allreduce):
    """Take one step of gradient descent."""
    backward(*split(X, y, devices), device_params, net, loss)
    allreduce_gradients(device_params, allreduce)
    for params in device_params:  # the same update everywhere
        sgd(params, lr, len(X))

# What runs it
def read(path):
    data = onp.frombuffer(gzip.decompress(path.read_bytes()), 'uint8')
    if 'labels' in path.name:
        return data[8:].astype('int32')
    return data[16:].reshape(-1, 1, 28, 28).astype('float32') / 255

def train(devices, X, y, X_test, y_test, batch_size=256, lr=0.2, epochs=5):
    """Return the replicas and the median of the seconds of an epoch."""
    replicas, seconds = [get_params(init_params(), d) for d in devices], []
    for epoch in range(epochs):
        order = onp.random.RandomState([0, epoch]).permutation(len(X))
        start = time.perf_counter()
        for rows in onp.split(order, range(batch_size, len(X), batch_size)):
            train_batch(np.array(X[rows]), np.array(y[rows]), replicas,
                        devices, lr)
            npx.waitall()
        seconds.append(time.perf_counter() - start)
        scores = lenet(np.array(X_test[:2048]), replicas[0]).asnumpy()
        accuracy = (scores.argmax(axis=1) == y_test[:2048]).mean()
        print(f'{devices}: accuracy {accuracy:.2f} in {seconds[-1]:.1f} s')
    return replicas, onp.median(seconds)

def main(folder=pathlib.Path(__file__).parent / 'datasets' / 'fashion_mnist'):
    files = sorted(pathlib.Path(folder).glob('*.gz'))
    assert len(files) == 4, f'no Fashion-MNIST (four .gz files) in {folder}'
    X_test, y_test, X, y = map(read, files)
    device = mx.gpu if mx.context.num_gpus() > 1 else mx.cpu
    _, one = train([device(0)], X, y, X_test, y_test)
    _, two = train([device(0), device(1)], X, y, X_test, y_test)
    print(f'speedup: {one:.2f} s / {two:.2f} s = {one / two:.2f}')

if __name__ == '__main__':
    main(*sys.argv[1:])
