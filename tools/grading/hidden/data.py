"""Hidden checks of chapter 4."""

import mxnet as mx
from compare import both, is_close


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
