"""Hidden checks of chapter 10."""

import mxnet as mx
from compare import assert_same, assert_unchanged, is_close

import d2lmulti


def watched_exchange_compressed(rng, answer, solution):
    for k, shape in (1, (3,)), (2, (7,)), (3, (2, 4)):
        state, residuals = {}, [0 * rng.randn(*shape) for _ in range(k)]
        for _ in range(3):
            parts = []

            def halves(arrays, state, parts=parts):
                parts[:] = [array / 2 for array in arrays]
                d2lmulti.allreduce(arrays)
                for array in arrays:
                    array /= 2
                return list(parts)

            values = [rng.randn(*shape) for _ in range(k)]
            arrays = [
                mx.np.array(value, dtype='float64', ctx=mx.cpu(i))
                for i, value in enumerate(values)
            ]
            answer(arrays, state, halves)
            totals = [v + r for v, r in zip(values, residuals)]
            residuals = [total / 2 for total in totals]
            for array in arrays:
                assert is_close(array, sum(residuals)), (
                    f'hidden check: {k} devices: not the sum of what is sent'
                )
            for kept, right in zip(state['residuals'], residuals):
                assert is_close(kept, right), (
                    f'hidden check: {k} devices: another residual'
                )


def watched_sum_low_rank(rng, answer, solution):
    for k, m, n in (1, 4, 3), (2, 3, 5), (3, 6, 4):
        left, right = rng.randn(m, 1), rng.randn(k, 1, n)
        matrices, Qs = (
            [
                mx.np.array(v, dtype='float64', ctx=mx.cpu(i))
                for i, v in enumerate(values)
            ]
            for values in (left @ right, [rng.rand(n, 1)] * k)
        )
        sums, sent, _ = answer(matrices, Qs, d2lmulti.direct_allreduce)
        for total, own, value in zip(sums, sent, left @ right):
            assert is_close(total, (left @ right).sum(axis=0)), (
                f'hidden check: {k} matrices of rank 1: another sum'
            )
            assert is_close(own, value), (
                f'hidden check: {k} matrices of rank 1: others were sent'
            )


def hidden_outer_step(rng, answer, solution):
    for workers, shape in (1, (5,)), (2, (1,)), (4, (2, 3)), (7, (4, 2, 3)):
        start, velocity, *arrived = rng.randn(2 + workers, *shape)
        outer_lr, momentum = (float(x) for x in rng.uniform(0.1, 0.9, 2))
        arguments = (start, arrived, velocity, outer_lr, momentum)
        assert_same(answer, solution, *arguments)
        assert_unchanged(answer, *arguments)
