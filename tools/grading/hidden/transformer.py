"""Hidden checks of chapter 14."""

import mxnet as mx
from compare import is_close


def watched_train_batch_tokens(rng, answer, solution):
    for k in (1, 2, 3, 4):
        X = rng.randint(1, 9, (k + 1 + int(rng.randint(5)), 4))
        y = X * (rng.uniform(size=X.shape) < 0.4)
        y[0, 0], y[-1] = 5, 0  # a sentence without words
        devices, lr = [mx.cpu(i) for i in range(k)], float(rng.uniform(1, 2))
        start, results = rng.randn(9), []
        for step in (answer, solution):
            replicas = [[mx.np.array(start, ctx=device)] for device in devices]
            for (scores,) in replicas:
                scores.attach_grad()
            arrays = [mx.np.array(array, dtype='int32') for array in (X, y)]
            step(*arrays, replicas, devices, lr, same_scores)
            results.append(replicas)
        assert is_close(*results), f'hidden check: {k} devices, words {y}'


def same_scores(X, params):
    """Return the scores of all words, the same at each place."""
    return params[0] + mx.np.zeros((*X.shape, 1), ctx=X.ctx)


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
