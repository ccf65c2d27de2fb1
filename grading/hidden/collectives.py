"""Hidden checks of chapter 8."""

import mxnet as mx
import numpy as onp
from compare import is_close

import d2lmulti


def hidden_ring_reduce_scatter(rng, answer, solution):
    for k in (1, 2, 3, 4):
        values = rng.randn(k, 10).astype('float32')
        data = [mx.np.array(v, ctx=mx.cpu(i)) for i, v in enumerate(values)]
        parts = [part.asnumpy().ravel() for part in answer(data)]
        assert len(parts) == k and is_close(
            onp.concatenate(parts), values.sum(axis=0)
        ), f'hidden check: the sum of {k} arrays is not in the slices'


def hidden_halving_steps(rng, answer, solution):
    for k in (1, 2, 4, 32, 64):
        i = int(rng.randint(k))
        found = [
            (int(partner), [int(kept) for kept in slices])
            for partner, slices in answer(i, k)
        ]
        assert is_close(found, solution(i, k)), (
            f'hidden check: device {i} of {k}'
        )


def hidden_train_batch_bucketed(rng, answer, solution):
    n, lr = int(rng.randint(5, 40)), float(rng.uniform(0.05, 0.5))
    X = mx.np.array(rng.randn(n, 1, 28, 28).astype('float32'))
    y = mx.np.array(rng.randint(0, 10, n))
    devices = [mx.cpu(i) for i in range(3)]
    results = []
    for step in (answer, solution):
        params = [10 * param for param in d2lmulti.init_params(1)]
        replicas = [d2lmulti.get_params(params, d) for d in devices]
        step(X, y, replicas, devices, lr)
        results.append(replicas)
    assert is_close(*results), f'hidden check: {n} images on 3 devices'
