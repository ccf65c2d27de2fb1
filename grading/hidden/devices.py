"""Hidden checks of chapter 1. Exercise 1 measures."""

import mxnet as mx
from compare import assert_same, is_close


def hidden_copy_batched(rng, answer, solution):
    for num in (1, 2, 5):
        arrays = [
            mx.np.array(rng.randn(*rng.randint(1, 6, rng.randint(1, 4))))
            for _ in range(num)
        ]
        copies = answer(arrays, mx.cpu(1))
        assert all(array.ctx == mx.cpu(1) for array in copies), 'hidden check'
        assert is_close(list(copies), arrays), (
            f'hidden check: {num} arrays do not arrive as they were'
        )


def hidden_copy_speedup(rng, answer, solution):
    for num in (1, 2, 7):
        sizes = [*rng.uniform(1e3, 1e8, num)]
        latency, bandwidth = rng.uniform(1e-6, 1e-3), rng.uniform(1e8, 1e10)
        assert_same(answer, solution, sizes, latency, bandwidth)
