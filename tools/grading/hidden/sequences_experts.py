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
