"""Hidden checks of chapter 24."""

from compare import assert_same


def hidden_peak_bytes(rng, answer, solution):
    names = solution.__globals__
    for _ in range(8):
        p, v = int(rng.randint(1, 5)), int(rng.randint(1, 4))
        v = v if p > 1 else 1
        chunks = [
            names['Layer'](
                kept_bytes=tuple(rng.randint(1, 999, 3).tolist()),
                working_bytes=tuple(rng.randint(0, 999, 3).tolist()),
            )
            for _ in range(p * v)
        ]
        orders = names['make_orders'](p, v, p * int(rng.randint(1, 4)))
        order = orders[int(rng.randint(p))]
        assert_same(answer, solution, order, chunks)


def hidden_enough_micro_batches(rng, answer, solution):
    assert_same(answer, solution, 1, int(rng.randint(1, 9)), 0.1)
    assert_same(answer, solution, 80, 1, 0.0013)
    assert_same(answer, solution, 4, 1, 0.2)
    v = int(rng.randint(1, 9))
    assert_same(answer, solution, int(rng.randint(1, 9)) * v + 1, v, 0.25)
    for _ in range(8):
        p, v = int(rng.randint(2, 99)), int(rng.randint(1, 9))
        waits = (p - 1) / v
        m = int(rng.randint(1, 300)) - rng.uniform(0.2, 0.8)
        assert_same(answer, solution, p, v, waits / (waits + m))


def hidden_split_groups(rng, answer, solution):
    for _ in range(8):
        group, node = int(rng.randint(1, 20)), int(rng.randint(1, 20))
        k = group * int(rng.randint(1, 30))
        assert_same(answer, solution, k, group, node)
    node = int(rng.randint(2, 5))  # groups on three nodes and more
    assert_same(answer, solution, 9 * node, 3 * node, node)
    assert_same(answer, solution, 33 * node, 11, node)
