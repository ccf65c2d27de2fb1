"""Hidden checks of chapter 14."""

from compare import assert_same


def hidden_loss_factors(rng, answer, solution):
    for k in (1, 2, 6):
        counts = [int(count) for count in rng.randint(1, 90, k)]
        assert_same(answer, solution, counts)
    assert_same(answer, solution, [300, 100])
    # Any factor is right for a worker without words: its gradient is zero.
    for factors in (answer([3, 0, 5]), solution([3, 0, 5])):
        off = float(factors[0]) - 1.125, float(factors[2]) - 1.875
        assert max(map(abs, off)) < 1e-5, (
            'hidden check: a worker without words'
        )


def hidden_compare(rng, answer, solution):
    for _ in range(5):
        n, T, d = (int(number) for number in rng.randint(1, 999, 3))
        assert_same(answer, solution, n, T, d, rng.uniform(1e3, 1e9))


def hidden_split_by_tokens(rng, answer, solution):
    for _ in range(6):
        k = int(rng.randint(1, 7))
        lengths = [int(n) for n in rng.randint(1, 60, k + rng.randint(30))]
        shards = [[int(i) for i in shard] for shard in answer(lengths, k)]
        words = [sum(lengths[i] for i in shard) for shard in shards]
        case = f'hidden check: lengths {lengths}, {k} devices: {words}'
        assert len(shards) == k and all(shards), case
        assert sorted(sum(shards, [])) == [*range(len(lengths))], case
        assert max(words) <= sum(lengths) / k + max(lengths), case
