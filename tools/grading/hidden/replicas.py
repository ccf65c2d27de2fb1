"""Hidden checks of chapter 3."""

import random
from unittest import mock

import mxnet as mx
import numpy as onp
from compare import assert_same, is_close, outcome


def hidden_allreduce_mean(rng, answer, solution):
    for k in (1, 2, 3, 4):
        values = rng.randn(k, 3, 2).astype('float32')
        data = [mx.np.array(v, ctx=mx.cpu(i)) for i, v in enumerate(values)]
        _, (after,), copies, _ = outcome(answer, data)
        for array in after:
            assert is_close(array, values.mean(axis=0)), (
                f'hidden check: {k} arrays do not become their mean'
            )
        sent = sum(number for _, _, number in copies)
        assert sent >= 2 * (k - 1) * values[0].nbytes, (
            f'hidden check: {k} devices copy {sent} bytes only: an operator '
            'read an array of another device'
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
    for value in by_chance(answer):
        full = mx.np.ones(3) * float(value)
        same_chance()
        assert bool(answer(full, full)), (
            f'hidden check: an array of {value} and itself'
        )


def by_chance(answer):
    """Return the numbers that an answer writes into an array, which depend on
    chance alone."""
    values, assign = [], mx.np.ndarray.__setitem__

    def noted(array, key, value):
        values.append(value)
        return assign(array, key, value)

    same_chance()
    with mock.patch.object(mx.np.ndarray, '__setitem__', noted):
        answer(mx.np.ones(3), mx.np.zeros(3))
    return [one for one in values if isinstance(one, (int, float, onp.number))]


def same_chance():
    """Let random numbers be those of the last time."""
    random.seed(5)
    onp.random.seed(5)
    mx.random.seed(5)
