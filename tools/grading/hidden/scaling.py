"""Hidden checks of chapter 23."""

from compare import assert_same


def hidden_smallest_shard(rng, answer, solution):
    assert_same(answer, solution, 0.07, 3e-5, 0.95)
    for _ in range(6):
        fixed, per_example = rng.uniform(1e-3, 1e-1), rng.uniform(1e-4, 1e-2)
        assert_same(
            answer, solution, fixed, per_example, rng.uniform(0.1, 0.9)
        )


def hidden_fastest(rng, answer, solution):
    for _ in range(12):
        k, num_bytes = int(2 ** rng.uniform(1, 11)), 10.0 ** rng.uniform(3, 9)
        alpha, beta = 10.0 ** rng.uniform(-6, -3), 10.0 ** rng.uniform(-11, -8)
        assert_same(answer, solution, k, num_bytes, alpha, beta)


def hidden_interval_for(rng, answer, solution):
    for _ in range(6):
        k, years = int(rng.randint(1, 9999)), rng.uniform(0.5, 9)
        assert_same(answer, solution, k, years, rng.uniform(1, 900))
