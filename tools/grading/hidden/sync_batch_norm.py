"""Hidden checks of chapter 12."""

from compare import assert_same, is_close


def hidden_join(rng, answer, solution):
    for k in (1, 2, 5):
        counts = [int(n) for n in rng.randint(1, 50, k)]
        means, variances = [*rng.randn(k)], [*rng.uniform(0, 3, k)]
        assert_same(answer, solution, counts, means, variances)
        shift = float(rng.uniform(2e7, 5e7))
        moved = [shift + mean for mean in means]
        _, variance = answer(counts, moved, variances)
        assert is_close(variance, solution(counts, moved, variances)[1]), (
            f'hidden check: join{(counts, moved, variances)}: not {variance!r}'
        )


def hidden_from_sums(rng, answer, solution):
    for n in (1, 2, 4, 30, 1000):
        values = rng.randn(n) * 10 ** float(rng.uniform(-3, 3))
        total, squares = float(values.sum()), float((values**2).sum())
        assert_same(answer, solution, n, total, squares)


def hidden_extra_messages(rng, answer, solution):
    for _ in range(4):
        assert_same(
            answer, solution, int(rng.randint(1, 60)), int(rng.randint(1, 17))
        )
