"""Hidden checks of chapter 15."""

import mxnet as mx
from compare import assert_same, is_close


def hidden_one_f_one_b_schedule(rng, answer, solution):
    for _ in range(6):
        p, m = int(rng.randint(1, 7)), int(rng.randint(1, 12))
        assert_same(answer, solution, p, m)


def watched_score_gradients(rng, answer, solution):
    for k in (1, 2, 3):
        sizes, V = rng.randint(1, 6, k), 0
        scores = []
        for i, size in enumerate(sizes):
            V += int(size)
            numbers = 300 * rng.randn(2, 3, int(size))
            scores.append(mx.np.array(numbers, ctx=mx.cpu(i)))
        y = rng.randint(0, V, (2, 3))
        ys = [mx.np.array(y, dtype='int32', ctx=mx.cpu(i)) for i in range(k)]
        found = [step(list(scores), ys) for step in (answer, solution)]
        assert is_close(*found), f'hidden check: {k} devices'
