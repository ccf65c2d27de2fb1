"""Steps of a small network whose parameters are a list of four arrays, on
one device and on several, for the tests."""

import numpy as np


def gradients(params, X, y):
    """Return the gradients of the summed loss of a small network."""
    W1, b1, W2, b2 = params
    h = np.tanh(X @ W1 + b1)
    scores = h @ W2 + b2
    p = np.exp(scores - scores.max(axis=1, initial=-9, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    back = (p @ W2.T) * (1 - h * h)
    return [X.T @ back, back.sum(axis=0), h.T @ p, p.sum(axis=0)]


def descend(params, sums, n):
    rate = params[0].dtype.type(0.1 / n)
    return [param - rate * g for param, g in zip(params, sums)]


def reference(params, X, y):
    return descend(params, gradients(params, X, y), len(X))


def shards_of(X, y, k):
    rows = np.array_split(np.arange(len(X)), k)
    return [(X[part], y[part]) for part in rows]


def parallel(k, change=lambda sums, n: (sums, n)):
    """Return a step on k devices; `change` plants a bug in the sums."""

    def step(params, X, y):
        alone = [gradients(params, *shard) for shard in shards_of(X, y, k)]
        sums = [sum(arrays) for arrays in zip(*alone)]
        return [descend(params, *change(sums, len(X)))] * k

    return step


def random_case(seed, steps=1, size=None):
    """Return (params, batches) of this seed."""
    rng = np.random.RandomState(seed)
    params = [
        rng.normal(0, 0.3, shape) for shape in ((20, 30), 30, (30, 5), 5)
    ]
    sizes = [size or rng.randint(1, 70) for _ in range(steps)]
    return params, [
        (rng.normal(size=(n, 20)), rng.randint(0, 5, n)) for n in sizes
    ]


def summed(k, change=lambda sums: sums):
    """Return a function that sums the gradients of k shards."""

    def step(params, X, y):
        alone = [gradients(params, *shard) for shard in shards_of(X, y, k)]
        return change([sum(arrays) for arrays in zip(*alone)])

    return step


def scaled(factor):
    return lambda sums, n: ([s * s.dtype.type(factor) for s in sums], n)


def bfloat16(array):
    """Return float32 numbers that bfloat16 has."""
    bits = np.asarray(array, 'float32').view('uint32') + np.uint32(0x8000)
    return (bits & np.uint32(0xFFFF0000)).view('float32')
