"""Hidden checks of chapter 13."""

from compare import assert_same


def hidden_gain(rng, answer, solution):
    for k in (1, 2, 3, 5):
        assert_same(answer, solution, [*rng.uniform(0.1, 9, k)])


def hidden_join_means(rng, answer, solution):
    for k in (1, 2, 4):
        gradients = [rng.randn(6).astype('float32') for _ in range(k)]
        assert_same(answer, solution, gradients, [*rng.randint(1, 90, k)])


def hidden_worth_adding(rng, answer, solution):
    for k in (1, 2, 3, 6):
        speeds = [*rng.uniform(10, 90, k)]
        for exchange in (0, rng.uniform(0, 2), 50):
            new, b = rng.uniform(1, 90), int(rng.randint(1, 900))
            assert_same(answer, solution, speeds, new, b, exchange)
