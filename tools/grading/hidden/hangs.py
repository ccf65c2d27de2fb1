"""Hidden checks of chapter 20."""

from compare import assert_same


def random_records(rng, num_workers, solution, last_first=None):
    """Return {worker: records} of rings that begin and end anywhere, or
    begin at `last_first` at the latest, and end after it."""
    Record, records = solution.__globals__['Record'], {}
    for worker in rng.permutation(20)[:num_workers]:
        first, count = int(rng.randint(4)), int(rng.randint(9))
        if last_first is not None:
            first = int(rng.randint(last_first + 1))
            count += last_first and last_first - first + 1
        records[f'rank {worker}'] = [
            Record(
                *(first + i, 'push w', '(3,)', 'float32', 'a.py:3'),
                *(float(rng.randint(5)), None),
            )
            for i in range(count)
        ]
    return records


def hidden_first_difference(rng, answer, solution):
    for first in (0, 3) * 12:  # if rings have begun later, all have begun
        records = random_records(rng, rng.randint(1, 5), solution, first)
        for own in records.values():
            for i, record in enumerate(own):
                field = ('line', 'name', 'shape', 'dtype')[rng.randint(4)]
                if not rng.randint(4):
                    own[i] = record._replace(**{field: 'another'})
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
