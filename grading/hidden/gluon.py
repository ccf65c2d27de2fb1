"""Hidden checks of chapter 7."""

from compare import assert_same


def hidden_shares(rng, answer, solution):
    for k in (1, 2, 4, 30):
        rates = [float(rate) for rate in rng.uniform(10, 500, k)]
        n = int(rng.randint(2, 900))
        counts = [float(count) for count in answer(list(rates), n)]
        exact = [n * rate / sum(rates) for rate in rates]
        assert sum(counts) == n and len(counts) == k, (
            f'hidden check: shares({rates}, {n}) has the sum {sum(counts):g}'
        )
        assert all(
            count == int(count) and abs(count - share) < 1
            for count, share in zip(counts, exact)
        ), f'hidden check: shares({rates}, {n}) is not {counts}'


def hidden_step_argument(rng, answer, solution):
    for k in (1, 2, 5):
        n = int(rng.randint(2, 90))
        assert_same(answer, solution, [n] * k)
        assert_same(answer, solution, [n] * k + [n - 1])
