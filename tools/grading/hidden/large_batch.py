"""Hidden checks of chapter 11."""

from compare import assert_same


def hidden_seconds_to(rng, answer, solution):
    for k in (1, 3, 8):
        steps, b = int(rng.randint(1, 500)), int(rng.randint(1, 999))
        fixed, speed = rng.uniform(0, 1), int(rng.randint(1, 10**4))
        assert_same(answer, solution, steps, b, k, fixed, speed)
        assert_same(answer, solution, 1, 1, k, fixed / 1e6, 10**6 * speed)


def hidden_factor_too_large(rng, answer, solution):
    for k in rng.randint(1, 100, 4):
        assert_same(answer, solution, int(k))


def hidden_cosine_decay(rng, answer, solution):
    for _ in range(6):
        num_steps = int(rng.randint(1, 99))
        step, lr = int(rng.randint(0, 2 * num_steps)), rng.uniform(0.01, 2)
        assert_same(answer, solution, step, lr, num_steps)
        assert_same(answer, solution, step, lr / 1e4, num_steps)
        assert_same(answer, solution, num_steps + 1, lr, num_steps)
