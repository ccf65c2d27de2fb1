"""Hidden checks of chapter 10."""

from compare import assert_same, assert_unchanged


def hidden_compress(rng, answer, solution):
    for shape in ((1,), (7,), (30,), (3, 4), (5, 1), (2, 3, 4)):
        gradient, residual = rng.randn(2, *shape)
        threshold = float(rng.uniform(0.2, 0.9))
        for total in (threshold, -threshold, 0):  # one number
            gradient.flat[0], residual.flat[0] = total, 0
            assert_same(answer, solution, gradient, residual, threshold)
        assert_unchanged(answer, gradient, residual, threshold)
        small = gradient / 99, residual / 99  # nothing is sent
        assert_same(answer, solution, *small, threshold)


def hidden_largest_rank(rng, answer, solution):
    for _ in range(12):
        m, n = (int(number) for number in rng.randint(1, 3_000, 2))
        assert_same(answer, solution, m, n, int(rng.randint(1, 40)))
    for _ in range(6):  # exactly 1 / factor of the numbers
        i, rank, factor = (int(number) for number in rng.randint(2, 30, 3))
        m, n = (i + 1) * rank * factor, i * (i + 1) * rank * factor
        assert m * n == i * rank * factor * (m + n)
        assert_same(answer, solution, m, n, factor)
        assert_same(answer, solution, m, n, rank * i * factor + 1)  # none
    for i in (1, 2, 4):
        assert_same(answer, solution, 10 * i, 15 * i, 3)
        assert_same(answer, solution, 15 * i, 10 * i, 2)


def hidden_outer_step(rng, answer, solution):
    for workers, shape in (1, (5,)), (2, (1,)), (4, (2, 3)), (7, (4, 2, 3)):
        start, velocity, *arrived = rng.randn(2 + workers, *shape)
        outer_lr, momentum = (float(x) for x in rng.uniform(0.1, 0.9, 2))
        arguments = (start, arrived, velocity, outer_lr, momentum)
        assert_same(answer, solution, *arguments)
        assert_unchanged(answer, *arguments)
