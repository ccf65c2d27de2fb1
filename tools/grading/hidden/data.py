"""Hidden checks of chapter 4."""

import mxnet as mx
from compare import assert_same, both, is_close


def hidden_step_time(rng, answer, solution):
    assert_same(answer, solution, [9, 8, 1], [9, 4, 1])
    for k in (1, 2, 5):
        sizes = [int(n) for n in rng.randint(0, 500, k)]
        assert_same(answer, solution, sizes, [*rng.uniform(1, 300, k)])


def hidden_split_and_load(rng, answer, solution):
    for _ in range(6):
        k = int(rng.randint(1, 5))
        data = mx.np.array(rng.randn(int(rng.randint(k, 40)), 2))
        devices = [mx.cpu(i) for i in range(k)]
        shards, wanted = both(answer, solution, data, devices)
        assert is_close(list(shards), wanted), (
            f'hidden check: {len(data)} rows, {k} devices'
        )
        for shard, device in zip(shards, devices):
            assert shard.ctx == device, (
                f'hidden check: a shard lives on {shard.ctx}, not {device}'
            )


def hidden_epoch_accuracy(rng, answer, solution):
    for num in (1, 3, 6):
        sizes = [int(n) for n in rng.randint(1, 200, num)]
        correct = [int(rng.randint(0, n + 1)) for n in sizes]
        assert_same(answer, solution, correct, sizes)
