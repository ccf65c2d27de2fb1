"""Hidden checks of chapter 11."""

from compare import assert_same


def hidden_seconds_to(rng, answer, solution):
    for k in (1, 3, 8):
        steps, b = int(rng.randint(1, 500)), int(rng.randint(1, 999))
        fixed, speed = rng.uniform(0, 1), int(rng.randint(1, 10**4))
        assert_same(answer, solution, steps, b, k, fixed, speed)
        assert_same(answer, solution, 1, 1, k, fixed / 1e6, 10**6 * speed)


def hidden_warmup(rng, answer, solution):
    for _ in range(6):
        num_warmup = int(rng.randint(1, 60))
        lr, start = (float(x) for x in rng.uniform(0.01, 2, 2))
        for step in (0, int(rng.randint(0, 99)), num_warmup - 1, num_warmup):
            assert_same(answer, solution, step, lr, num_warmup)
            assert_same(answer, solution, step, lr, num_warmup, start)


def hidden_layer_rates(rng, answer, solution):
    for n in (1, 2, 5):
        norms = rng.uniform(0.1, 9, (2, n)).tolist()
        lr, trust = (float(x) for x in rng.uniform(0.01, 2, 2))
        assert_same(answer, solution, *norms, lr, trust)
        norms[int(rng.randint(2))][0] = 0.0
        assert_same(answer, solution, *norms, lr, trust)
