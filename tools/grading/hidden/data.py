"""Hidden checks of chapter 4."""

from compare import assert_same


def hidden_step_time(rng, answer, solution):
    assert_same(answer, solution, [9, 8, 1], [9, 4, 1])
    for k in (1, 2, 5):
        sizes = [int(n) for n in rng.randint(0, 500, k)]
        assert_same(answer, solution, sizes, [*rng.uniform(1, 300, k)])


def hidden_shard_ends(rng, answer, solution):
    for _ in range(6):
        n, k = int(rng.randint(0, 300)), int(rng.randint(1, 12))
        ends = list(answer(n, k))
        sizes = [b - a for a, b in zip(ends, ends[1:])]
        assert len(ends) == k + 1 and ends[0] == 0 and ends[-1] == n, (
            f'hidden check: {n} examples, {k} devices'
        )
        assert max(sizes) - min(sizes) <= 1, (
            f'hidden check: {n} examples, {k} devices: {sizes}'
        )


def hidden_epoch_accuracy(rng, answer, solution):
    for num in (1, 3, 6):
        sizes = [int(n) for n in rng.randint(1, 200, num)]
        correct = [int(rng.randint(0, n + 1)) for n in sizes]
        assert_same(answer, solution, correct, sizes)
