"""Hidden checks of chapter 13."""

from compare import assert_same, assert_unchanged


def hidden_shard_sizes(rng, answer, solution):
    for k in (1, 2, 3, 5):
        for most in (3, 9, 200):
            shares = [int(share) for share in rng.randint(1, most, k)]
            assert_same(answer, solution, int(rng.randint(k, 90)), shares)
    assert_unchanged(answer, 20, [3, 5, 1])


def hidden_join_means(rng, answer, solution):
    for k, shape in (1, (6,)), (2, (3, 2)), (4, (2, 1, 5)), (3, (3, 3)):
        gradients = [rng.randn(*shape).astype('float32') for _ in range(k)]
        assert_same(answer, solution, gradients, [*rng.randint(1, 90, k)])


def hidden_worth_adding(rng, answer, solution):
    for k in (1, 2, 3, 6):
        speeds = [*rng.uniform(10, 90, k)]
        for exchange in (0, rng.uniform(0, 2), 50):
            new, b = rng.uniform(1, 90), int(rng.randint(1, 900))
            assert_same(answer, solution, speeds, new, b, exchange)
            assert_unchanged(answer, speeds, new, b, exchange)
    for k in (1, 2, 4):
        # Beside one device, another as fast saves exactly b / 64 seconds.
        speeds, b = [32] * k, 64 * int(rng.randint(1, 9))
        assert_same(answer, solution, speeds, 32, b, b / 64)
        for speed in (8, 16, 64, 128):
            speeds = [32] * k + [speed]
            for new in (8, 32, 128):
                saved = b / sum(speeds) - b / (sum(speeds) + new)
                for exchange in (0.9 * saved, 1.1 * saved):
                    assert_same(answer, solution, speeds, new, b, exchange)
                    assert_same(
                        answer, solution, speeds[::-1], new, b, exchange
                    )
