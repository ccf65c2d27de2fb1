"""Hidden checks of chapter 8."""

import mxnet as mx
from compare import is_close, outcome

import d2lmulti


def hidden_ring_allreduce(rng, answer, solution):
    for k in (1, 2, 3, 4, 6):
        values = rng.randn(k, int(rng.randint(k, 25))).astype('float32')
        devices = [mx.cpu(int(i)) for i in rng.permutation(9)[:k]]
        data = [mx.np.array(v, ctx=d) for v, d in zip(values, devices)]
        _, (after,), copies, _ = outcome(answer, data)
        for array in after:
            assert is_close(array, values.sum(axis=0)), (
                f'hidden check: {k} arrays do not become their sum'
            )
        pairs = zip(devices, devices[1:] + devices[:1])
        links = [pair for pair in pairs for _ in range(2 * (k - 1))]
        found = [(sender, receiver) for sender, receiver, _ in copies]
        assert sorted(map(str, found)) == sorted(map(str, links)), (
            f'hidden check: {k} devices, {devices}: copies elsewhere'
        )


def watched_sum_in_bucket(rng, answer, solution):
    for k in (1, 2, 3):
        shapes = [
            tuple(int(n) for n in rng.randint(1, 5, rng.randint(1, 4)))
            for _ in range(4)
        ]
        values = [[rng.randn(*shape) for shape in shapes] for _ in range(k)]
        arrays = [
            [mx.np.array(v, dtype='float64', ctx=mx.cpu(i)) for v in own]
            for i, own in enumerate(values)
        ]
        calls = []

        def noting(data, calls=calls):
            calls.append(len(data))
            d2lmulti.allreduce(data)

        answer([list(own) for own in arrays], noting)
        assert calls == [k], f'hidden check: calls with {calls} arrays'
        for own in arrays:
            for array, *parts in zip(own, *values):
                assert is_close(array, sum(parts)), (
                    f'hidden check: {k} devices, {shapes}: wrong sums'
                )


def hidden_halving_steps(rng, answer, solution):
    for k in (1, 2, 4, 32, 64):
        i = int(rng.randint(k))
        found = [
            (int(partner), [int(kept) for kept in slices])
            for partner, slices in answer(i, k)
        ]
        assert is_close(found, solution(i, k)), (
            f'hidden check: device {i} of {k}'
        )
