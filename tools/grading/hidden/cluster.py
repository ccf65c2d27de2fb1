"""Hidden checks of chapter 19."""

from compare import assert_same


def hidden_bytes_in_step(rng, answer, solution):
    for _ in range(6):
        m, d, n = (int(number) for number in rng.randint(1, 9, 3))
        assert_same(answer, solution, m + 1, d, n, int(rng.randint(1, 10**6)))


def hidden_sum_in_rank_order(rng, answer, solution):
    for k in (1, 3, 9, 40):
        numbers = rng.randn(k) * 10.0 ** rng.randint(-3, 8, k)
        arrivals = [(rank, float(x)) for rank, x in enumerate(numbers)]
        rng.shuffle(arrivals)
        arrivals = [(int(rank), float(x)) for rank, x in arrivals]
        found, wanted = answer(list(arrivals)), solution(list(arrivals))
        assert found == wanted, f'hidden check: {arrivals}: not {found!r}'


def hidden_step_seconds(rng, answer, solution):
    for _ in range(6):
        m, n = (int(number) for number in rng.randint(1, 30, 2))
        assert_same(
            answer,
            solution,
            m + 1,
            n,
            rng.uniform(1e6, 1e10),
            rng.uniform(1e-10, 1e-8),
        )
