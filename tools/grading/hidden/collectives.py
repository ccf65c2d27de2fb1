"""Hidden checks of chapter 8."""

import mxnet as mx
import numpy as onp
from compare import is_close, outcome

import d2lmulti


def hidden_ring_reduce_scatter(rng, answer, solution):
    for k in (1, 2, 3, 4, 6):
        values = rng.randn(k, int(rng.randint(k, 25))).astype('float32')
        devices = [mx.cpu(int(i)) for i in rng.permutation(9)[:k]]
        data = [mx.np.array(v, ctx=d) for v, d in zip(values, devices)]
        parts, _, copies, _ = outcome(answer, data)
        assert len(parts) == k and is_close(
            onp.concatenate([part.asnumpy().ravel() for part in parts]),
            values.sum(axis=0),
        ), f'hidden check: the sum of {k} arrays is not in the slices'
        pairs = zip(devices, devices[1:] + devices[:1])
        links = [pair for pair in pairs for _ in range(k - 1)]
        found = [(sender, receiver) for sender, receiver, _ in copies]
        assert [part.ctx for part in parts] == devices and (
            sorted(map(str, found)) == sorted(map(str, links))
        ), f'hidden check: {k} devices, {devices}: slices or copies elsewhere'


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
    devices = [mx.cpu(int(i)) for i in rng.permutation(5)[:3]]
    results, sent = [], []
    params = [10 * param for param in d2lmulti.init_params(1)]
    replicas = [d2lmulti.get_params(params, d) for d in devices]
    for step in (answer, solution):
        _, after, copies, _ = outcome(step, X, y, replicas, devices, lr)
        results.append(after[2])
        sent.append(sum(num_bytes for _, _, num_bytes in copies))
    assert is_close(*results), f'hidden check: {n} images on 3 devices'
    assert sent[0] <= sent[1], (
        f'hidden check: {n} images on 3 devices: {sent[0]:,} bytes are sent, '
        f'where {sent[1]:,} are enough'
    )
