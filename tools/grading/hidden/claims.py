"""Hidden checks of chapter 25."""

from compare import assert_same


def hidden_implied_price(rng, answer, solution):
    for _ in range(5):
        dollars, flops = rng.uniform(1e2, 1e7), rng.uniform(1e12, 1e14)
        assert_same(answer, solution, dollars, rng.uniform(1e18, 1e20), flops)


def hidden_speedups(rng, answer, solution):
    for rows in (1, 3, 6):
        devices = sorted(int(k) for k in rng.choice(64, rows, False) + 1)
        examples = [int(n) for n in rng.randint(1, 999, rows)]
        seconds = [*rng.uniform(0.1, 9, rows)]
        assert_same(answer, solution, devices, examples, seconds)


def hidden_hidden_fraction(rng, answer, solution):
    for _ in range(8):
        compute, fraction = rng.uniform(0.1, 5), rng.uniform(0.1, 1)
        exchange = fraction * compute
        efficiency = rng.uniform(0.8 / (1 + fraction), 1)
        assert_same(answer, solution, compute, exchange, efficiency)
