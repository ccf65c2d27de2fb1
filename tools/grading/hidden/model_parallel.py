"""Hidden checks of chapter 15."""

import mxnet as mx
from compare import assert_same, is_close


def hidden_one_f_one_b_schedule(rng, answer, solution):
    for _ in range(6):
        p, m = int(rng.randint(1, 7)), int(rng.randint(1, 12))
        assert_same(answer, solution, p, m)


def watched_parallel_scores(rng, answer, solution):
    for k in (1, 2, 2, 5):
        sizes, n = rng.randint(1, 6, k), int(rng.randint(1, 5))
        X, b_out = rng.randn(n, 4), rng.randn(3)
        parts = [
            [rng.randn(4, size), rng.randn(size), rng.randn(size, 3)]
            for size in sizes
        ]
        wholes = [mx.np.array(X, ctx=mx.cpu(i)) for i in range(k)]
        device_parts = [
            [mx.np.array(array, ctx=mx.cpu(i)) for array in own] + [None]
            for i, own in enumerate(parts)
        ]
        device_parts[0][3] = mx.np.array(b_out)
        found, wanted = [
            sum(part.as_in_ctx(mx.cpu(0)) for part in scores)
            for scores in (
                step(wholes, device_parts, tanh_layer)
                for step in (answer, solution)
            )
        ]
        assert is_close(found, wanted), f'hidden check: {k} devices'


def tanh_layer(h, W, b):
    return mx.np.tanh(mx.np.dot(h, W) + b)
