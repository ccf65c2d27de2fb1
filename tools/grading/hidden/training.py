"""Hidden checks of chapter 5."""

import mxnet as mx
from compare import is_close

import d2lmulti


def replicas_of(rng, k):
    """Return k replicas of three arrays, with gradients."""
    values = [rng.randn(*shape) for shape in ((2, 3), (4,), (1,))]
    replicas = [
        d2lmulti.get_params(
            [mx.np.array(v, dtype='float64') for v in values], mx.cpu(i)
        )
        for i in range(k)
    ]
    for params in replicas:
        for param in params:
            param.grad[:] = mx.np.array(rng.randn(*param.shape))
    return replicas


def watched_sgd(rng, answer, solution):
    for _ in range(3):
        mine, ours = replicas_of(rng, 2)
        for a, b in zip(mine, ours):
            a.copyto(b)
            a.grad.copyto(b.grad)
        lr, n = float(rng.uniform(0.01, 1)), int(rng.randint(1, 300))
        answer(mine, lr, n)
        solution(ours, lr, n)
        assert is_close(list(mine), list(ours)), (
            f'hidden check: lr = {lr}, {n} examples'
        )


def minibatch(rng, n):
    X = mx.np.array(rng.randn(n, 1, 28, 28).astype('float32'))
    return X, mx.np.array(rng.randint(0, 10, n))


def watched_backward(rng, answer, solution):
    for k in (1, 2, 3):
        X, y = minibatch(rng, 7)
        devices = [mx.cpu(i) for i in range(k)]
        shards = d2lmulti.data.split_batch(X, y, devices)
        params = d2lmulti.init_params(int(rng.randint(1000)))
        results = []
        for function in (answer, solution):
            replicas = [d2lmulti.get_params(params, d) for d in devices]
            function(*shards, replicas)
            results.append([[p.grad for p in own] for own in replicas])
        assert is_close(*results), f'hidden check: 7 images, {k} devices'


def watched_train_batch(rng, answer, solution):
    for n, k in ((5, 1), (7, 2), (8, 3)):
        X, y = minibatch(rng, n)
        devices = [mx.cpu(i) for i in range(k)]
        params = d2lmulti.init_params(int(rng.randint(1000)))
        lr, results = float(rng.uniform(0.01, 0.2)), []
        for function in (answer, solution):
            replicas = [d2lmulti.get_params(params, d) for d in devices]
            function(X, y, replicas, devices, lr)
            results.append(replicas)
        assert is_close(*results), f'hidden check: {n} images, {k} devices'


def watched_train_epoch(rng, answer, solution):
    params = d2lmulti.init_params(int(rng.randint(1000)))
    batches = [minibatch(rng, n) for n in (4, 4, 3)]
    results = []
    for function in (answer, solution):
        replicas = [d2lmulti.get_params(params, mx.cpu(0))]
        seconds = function(batches, replicas, [mx.cpu(0)], 0.05)
        assert 0 < seconds < 600, f'hidden check: {seconds} s'
        results.append(replicas)
    assert is_close(*results), 'hidden check: an epoch of 3 minibatches'


def hidden_accumulated_step(rng, answer, solution):
    X = mx.np.array(rng.randn(13, 1, 28, 28).astype('float32'))
    y = mx.np.array(rng.randint(0, 10, 13))
    params = d2lmulti.init_params(int(rng.randint(1000)))
    lr = float(rng.uniform(0.1, 1))
    for num_micro_batches in (1, 2, 5, 13):
        results = [
            step(X, y, [p.copy() for p in params], lr, num_micro_batches)
            for step in (answer, solution)
        ]
        assert is_close(list(results[0]), list(results[1])), (
            f'hidden check: 13 images in {num_micro_batches} parts'
        )
