"""Hidden checks of chapter 12."""

from compare import assert_same


def hidden_join(rng, answer, solution):
    for k in (1, 2, 5):
        counts = [int(n) for n in rng.randint(1, 50, k)]
        means, variances = [*rng.randn(k)], [*rng.uniform(0, 3, k)]
        assert_same(answer, solution, counts, means, variances)


def hidden_from_sums(rng, answer, solution):
    for n in (1, 4, 30):
        values = rng.randn(n)
        total, squares = float(values.sum()), float((values**2).sum())
        assert_same(answer, solution, n, total, squares)


def hidden_extra_messages(rng, answer, solution):
    for _ in range(4):
        assert_same(
            answer, solution, int(rng.randint(1, 60)), int(rng.randint(1, 17))
        )
