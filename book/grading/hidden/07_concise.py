"""Hidden checks of chapter 7."""

from compare import assert_same


def hidden_shares(rng, answer, solution):
    for k in (1, 2, 4):
        rates = [float(rate) for rate in rng.uniform(10, 500, k)]
        assert_same(answer, solution, rates, int(rng.randint(20, 900)))


def hidden_step_argument(rng, answer, solution):
    for k in (1, 2, 5):
        n = int(rng.randint(2, 90))
        assert_same(answer, solution, [n] * k)
        assert_same(answer, solution, [n] * k + [n - 1])
