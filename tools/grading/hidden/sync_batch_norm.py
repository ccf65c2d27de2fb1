"""Hidden checks of chapter 12."""

import mxnet as mx
from compare import assert_same, is_close, outcome


def hidden_join(rng, answer, solution):
    for k in (1, 2, 5):
        counts = [int(n) for n in rng.randint(1, 50, k)]
        means, variances = [*rng.randn(k)], [*rng.uniform(0, 3, k)]
        assert_same(answer, solution, counts, means, variances)
        shift = float(rng.uniform(2e7, 5e7))
        moved = [shift + mean for mean in means]
        _, variance = answer(counts, moved, variances)
        assert is_close(variance, solution(counts, moved, variances)[1]), (
            f'hidden check: join{(counts, moved, variances)}: not {variance!r}'
        )


def hidden_from_sums(rng, answer, solution):
    for n in (1, 2, 4, 30, 1000):
        values = rng.randn(n) * 10 ** float(rng.uniform(-3, 3))
        total, squares = float(values.sum()), float((values**2).sum())
        assert_same(answer, solution, n, total, squares)


def hidden_shard_means(rng, answer, solution):
    for k in (1, 2, 3, 5):
        values = rng.randn(k, 3)
        counts = [int(n) for n in rng.randint(1, 40, k)]
        for sync in (False, True):
            sums = [
                mx.np.array(v, dtype='float64', ctx=mx.cpu(i))
                for i, v in enumerate(values)
            ]
            found, *_ = outcome(answer, sums, counts, sync)
            for i, mean in enumerate(found):
                right = values[i] / counts[i]
                if sync:
                    right = values.sum(axis=0) / sum(counts)
                assert is_close(mean, right), (
                    f'hidden check: {k} shards of {counts}, sync {sync}'
                )
