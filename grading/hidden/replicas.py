"""Hidden checks of chapter 3."""

import mxnet as mx
from compare import assert_same, is_close, outcome


def hidden_allreduce_mean(rng, answer, solution):
    for k in (1, 2, 3, 4):
        values = rng.randn(k, 3, 2).astype('float32')
        data = [mx.np.array(v, ctx=mx.cpu(i)) for i, v in enumerate(values)]
        _, (data,), _ = outcome(answer, data)
        for array in data:
            assert is_close(array, values.mean(axis=0)), (
                f'hidden check: {k} arrays do not become their mean'
            )


def hidden_all_to_all_bytes(rng, answer, solution):
    for _ in range(4):
        k, n = int(rng.randint(1, 40)), int(rng.randint(1, 10**6))
        assert_same(answer, solution, k, n)


def watched_share_memory(rng, answer, solution):
    a = mx.np.array(rng.randn(4, 3))
    a[int(rng.randint(4))] = 1e10 * rng.randn()
    kept = a.asnumpy()
    for b, shared in (
        (a, True),
        (a[1:3], True),
        (a[2, 1], True),
        (a.copy(), False),
        (mx.np.array(kept), False),
        (mx.np.ones((2, 2)), False),
    ):
        assert bool(answer(a, b)) == shared, 'hidden check: another pair'
        assert is_close(a, kept), 'hidden check: array a has changed'
