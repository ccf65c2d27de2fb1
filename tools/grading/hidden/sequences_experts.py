"""Hidden checks of chapter 17."""

import mxnet as mx
import numpy as onp
from compare import assert_same


def hidden_add_block(rng, answer, solution):
    for _ in range(6):
        n, heads, queries, keys, width = (int(m) for m in rng.randint(1, 5, 5))
        scores = rng.normal(0, 300, (n, heads, queries, keys + 1))
        state = (
            scores[..., :1],
            rng.uniform(1, 9, scores[..., :1].shape),
            rng.normal(size=(n, heads, queries, width)),
        )
        values = rng.normal(size=(n, heads, keys, width))
        arguments = [
            mx.np.array(array, dtype='float64')
            for array in (*state, scores[..., 1:], values)
        ]
        assert_same(answer, solution, *arguments)


def hidden_ring_time(rng, answer, solution):
    for _ in range(6):
        k = int(rng.randint(1, 6))
        owners = onp.append(onp.arange(k), rng.randint(k, size=20))
        rng.shuffle(owners)
        places = [onp.flatnonzero(owners == i) for i in range(k)]
        assert_same(answer, solution, places)


def hidden_kept_words(rng, answer, solution):
    for _ in range(6):
        choices = [
            rng.choice([-1, 0, 1, 2, 9, 70], int(rng.randint(0, 9)))
            for _ in range(int(rng.randint(1, 5)))
        ]
        capacity = int(rng.randint(1, 6))
        right = solution([own.copy() for own in choices], capacity)
        found = [[bool(x) for x in own] for own in answer(choices, capacity)]
        assert found == right, (
            f'hidden check: {choices}, capacity {capacity}: {found}'
        )
