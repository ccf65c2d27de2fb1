"""Hidden checks of chapter 17."""

import numpy as onp
from compare import assert_same


def hidden_join_softmaxes(rng, answer, solution):
    for _ in range(6):
        parts = [
            (rng.normal(0, 300), rng.uniform(1, 9), rng.normal(size=3))
            for _ in range(int(rng.randint(1, 6)))
        ]
        empty = (rng.uniform(1e3, 1e4), 0.0, rng.normal(size=3))
        parts.insert(int(rng.randint(len(parts) + 1)), empty)
        assert_same(answer, solution, parts)


def hidden_ring_time(rng, answer, solution):
    for _ in range(6):
        k = int(rng.randint(1, 6))
        owners = onp.append(onp.arange(k), rng.randint(k, size=20))
        rng.shuffle(owners)
        places = [onp.flatnonzero(owners == i) for i in range(k)]
        assert_same(answer, solution, places)


def hidden_cheaper(rng, answer, solution):
    for _ in range(8):
        k, heads = int(rng.randint(2, 12)), int(rng.randint(1, 5))
        for num_heads in (k * heads, k * heads + 1):
            assert_same(answer, solution, k, num_heads)
