"""Hidden checks of chapter 15."""

import fractions

import mxnet as mx
from compare import assert_same, both, is_close


def hidden_micro_batches_needed(rng, answer, solution):
    for p in (1, 2, 5, int(rng.randint(6, 40))):
        assert_same(answer, solution, p, float(rng.uniform(0.02, 0.9)))
    assert_same(answer, solution, 12, float(rng.uniform(0.001, 0.009)))
    for percent in (11, *rng.randint(1, 60, 4).tolist()):
        # The limit is met exactly: (p - 1) / whole = percent / 100.
        share = fractions.Fraction(percent, 100)
        p = share.numerator * -(-10 // share.numerator) + 1
        if share <= fractions.Fraction(percent / 100):  # as a float, too
            assert_same(answer, solution, p, percent / 100)


def hidden_order_1f1b(rng, answer, solution):
    for _ in range(6):
        p, m = int(rng.randint(1, 7)), int(rng.randint(1, 12))
        for s in range(p):
            assert_same(answer, solution, s, p, m)


def hidden_scores_from(rng, answer, solution):
    for k in (1, 2, 2, 5):
        sizes, n = rng.randint(1, 6, k), int(rng.randint(1, 5))
        units = [mx.np.array(rng.randn(n, size)) for size in sizes]
        weights = [mx.np.array(rng.randn(size, 3)) for size in sizes]
        b = mx.np.array(rng.randn(3))
        found = both(answer, solution, units, weights, b)
        assert is_close(*found), f'hidden check: {k} parts'
