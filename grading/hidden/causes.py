"""Hidden checks of chapter 6."""

from compare import assert_same


def hidden_speedup_with_load(rng, answer, solution):
    for k in (1, 2, 8):
        assert_same(answer, solution, *rng.uniform(0.01, 5, 2), k)


def hidden_smallest_batch(rng, answer, solution):
    for k, wanted in ((2, 1.3), (2, 1.7), (4, 3.1), (8, 5.3)):
        fixed, per_image = rng.uniform(1, 9), rng.uniform(0.1, 1)
        assert_same(answer, solution, fixed, per_image, k, wanted)


def hidden_first_cause(rng, answer, solution):
    for _ in range(12):
        load, waited, exchange, fixed = rng.choice([0.05, 0.2, 0.6], 4)
        slowdown = rng.choice([1.1, 1.35, 1.6])
        assert_same(
            answer, solution, load, 1.0, slowdown, waited, exchange, fixed
        )
