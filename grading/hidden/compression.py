"""Hidden checks of chapter 10."""

from compare import assert_same


def hidden_compress(rng, answer, solution):
    for size in (1, 7, 30):
        gradient, residual = rng.randn(2, size)
        threshold = float(rng.uniform(0.2, 0.9))
        assert_same(answer, solution, gradient, residual, threshold)


def hidden_largest_rank(rng, answer, solution):
    for _ in range(12):
        m, n = (int(number) for number in rng.randint(1, 3_000, 2))
        assert_same(answer, solution, m, n, int(rng.randint(1, 40)))


def hidden_outer_step(rng, answer, solution):
    for workers in (1, 2, 4, 7):
        start, velocity, *arrived = rng.randn(2 + workers, 5)
        outer_lr, momentum = (float(x) for x in rng.uniform(0.1, 0.9, 2))
        arguments = (start, arrived, velocity, outer_lr, momentum)
        assert_same(answer, solution, *arguments)
        given = [*arrived]
        answer(*arguments)
        assert [*map(id, arrived)] == [*map(id, given)], (
            f'hidden check: outer_step changes its list of {workers} arrays'
        )
