"""Hidden checks of chapter 6."""

from compare import assert_same


def hidden_speedup_with_load(rng, answer, solution):
    for k in (1, 2, 8):
        assert_same(answer, solution, *rng.uniform(0.01, 5, 2), k)
        assert_same(answer, solution, 5 + rng.rand(), 1 + rng.rand(), k)


def hidden_smallest_batch(rng, answer, solution):
    for k, wanted in ((2, 1.3), (2, 1.7), (4, 3.1), (8, 5.3)):
        fixed, per_image = rng.uniform(1, 9), rng.uniform(0.1, 1)
        assert_same(answer, solution, fixed, per_image, k, wanted)
    assert_same(answer, solution, 1, 9, 4, 2)
    assert_same(answer, solution, 5, 1, 4, 0.5)
    assert_same(answer, solution, 40_000, 1, 2, 1.5)
    assert_same(answer, solution, 0, 1, 2, float(rng.uniform(1.1, 1.9)))
    assert_same(answer, solution, int(rng.randint(1, 50)), 1, 2, 1.5)


def hidden_first_cause(rng, answer, solution):
    for step in (1.0, 0.1, 8.0):
        for _ in range(60):  # each part below or above a fifth
            load, waited, exchange, fixed = (
                step * float(rng.choice([0.01, 0.18, 0.23])) for _ in range(4)
            )
            slowdown = float(rng.choice([1.1, 1.3, 1.35, 1.4]))
            assert_same(
                answer, solution, load, step, slowdown, waited, exchange, fixed
            )
    for i in range(4):  # exactly a fifth, and exactly 1.35: not too much
        load, waited, exchange, fixed = (float(i == j) for j in range(4))
        assert_same(answer, solution, load, 5.0, 1.35, waited, exchange, fixed)
