"""Hidden checks of chapter 9."""

from compare import assert_same

from d2lmulti.profiler import Operator


def hidden_idle_fractions(rng, answer, solution):
    for num in (1, 4, 13, 60):
        names = ['cpu(1)', 'cpu(10)', 'gpu(1)', 'cpu(2)', 'cpu(12)']
        names = [names[i] for i in rng.permutation(5)[: rng.randint(2, 6)]]
        operators = []
        for _ in range(num):
            start, length = rng.uniform(0, 20), rng.uniform(0.1, 9)
            name = names[int(rng.randint(len(names)))]
            operators.append(Operator(name, 'dot', start, start + length))
        if num % 2:  # ends last on a device that is not asked for
            operators.append(Operator(names.pop(0), 'dot', 30, 31))
        found = answer(list(operators), list(names))
        wanted = solution(operators, names)
        assert set(found) == set(wanted) and all(
            abs(found[name] - wanted[name]) < 1e-5 for name in names
        ), f'hidden check: {num} operators on {len(names)} devices'


def watched_train_prefetched(rng, answer, solution):
    def load(count, events):
        for i in range(count):
            events.append(f'load {i}')
            yield i + 1

    for count in (0, 1, 2, int(rng.randint(4, 20))):
        logs = []
        for train in (answer, solution):
            log = []
            train(
                load(count, log), log.append, lambda log=log: log.append('w')
            )
            logs.append(log)
        assert logs[0] == logs[1], f'hidden check: {count} minibatches'


def hidden_overlapped_seconds(rng, answer, solution):
    for _ in range(6):
        times = [float(seconds) for seconds in rng.uniform(0, 9, 3)]
        assert_same(answer, solution, *times, float(rng.rand()))
        times = [seconds / 1000 for seconds in times]  # not to be rounded
        assert_same(answer, solution, *times, float(rng.rand()))


def hidden_launches(rng, answer, solution):
    for n in (1, 4, 9):
        gradients = [int(i) for i in rng.permutation(n)]
        order = [int(i) for i in rng.permutation(n)]
        cuts = sorted({0, n, *rng.randint(0, n + 1, 3).tolist()})
        buckets = [gradients[a:b] for a, b in zip(cuts, cuts[1:])]
        found = [
            list(sent) for sent in answer([*map(list, buckets)], [*order])
        ]
        assert found == solution(buckets, order), (
            f'hidden check: buckets {buckets}, ready in the order {order}'
        )
