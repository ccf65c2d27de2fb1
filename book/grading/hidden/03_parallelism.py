"""Hidden checks of chapter 3."""

import mxnet as mx
from compare import assert_same, is_close


def hidden_1(rng, answer, solution):
    for p in (1, 2, 5, int(rng.randint(6, 40))):
        assert_same(answer, solution, p, float(rng.uniform(0.02, 0.9)))


def hidden_2(rng, answer, solution):
    for m in (1, 5, 12):
        order, started, live = [], 0, []
        while started < m or live:
            if started < m and (not live or rng.rand() < 0.6):
                order.append(('forward', started))
                live.append(started)
                started += 1
            else:
                done = live.pop(int(rng.randint(len(live))))
                order.append(('backward', done))
        assert_same(answer, solution, order)


def hidden_3(rng, answer, solution):
    for _ in range(6):
        p, m = int(rng.randint(1, 7)), int(rng.randint(1, 12))
        for s in range(p):
            assert_same(answer, solution, s, p, m)


def hidden_4(rng, answer, solution):
    for k in (1, 2, 5):
        sizes = rng.randint(1, 6, k)
        units = [mx.np.array(rng.randn(2, size)) for size in sizes]
        weights = [mx.np.array(rng.randn(size, 3)) for size in sizes]
        b = mx.np.array(rng.randn(3))
        found = answer(units, weights, b)
        assert is_close(found, solution(units, weights, b)), (
            f'hidden check: {k} parts'
        )
