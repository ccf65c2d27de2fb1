"""Hidden checks of chapter 20."""

from compare import assert_same


def random_records(rng, num_workers, solution):
    """Return {worker: records} of rings that begin and end anywhere."""
    Record, records = solution.__globals__['Record'], {}
    for worker in rng.permutation(20)[:num_workers]:
        first, count = int(rng.randint(4)), int(rng.randint(9))
        records[f'rank {worker}'] = [
            Record(
                *(first + i, 'push w', '(3,)', 'float32', 'a.py:3'),
                *(float(rng.randint(5)), None),
            )
            for i in range(count)
        ]
    return records


def hidden_behind(rng, answer, solution):
    for _ in range(12):
        records = random_records(rng, rng.randint(1, 6), solution)
        assert_same(answer, solution, records)


def hidden_times_last(rng, answer, solution):
    for _ in range(12):
        records = random_records(rng, rng.randint(2, 5), solution)
        assert_same(answer, solution, records)


def hidden_kind_of(rng, answer, solution):
    for _ in range(40):
        own, others = (
            [*rng.choice(['w1', 'w10'], int(rng.randint(1, 5)))]
            for _ in range(2)
        )
        own[0] = 'x' if own[0] == others[0] else own[0]
        assert_same(answer, solution, [*map(str, own)], [*map(str, others)])
