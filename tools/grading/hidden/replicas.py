"""Hidden checks of chapter 3."""

import mxnet as mx
from compare import is_close, outcome


def hidden_get_params(rng, answer, solution):
    values = [rng.randn(3, 2), rng.randn(4).astype('float32')]
    params = [mx.np.array(v, dtype=v.dtype.name) for v in values]
    for device in (mx.cpu(0), mx.cpu(1)):
        replica, *_ = outcome(answer, params, device)
        assert len(replica) == 2, 'hidden check: a copy of each of 2 arrays'
        for copy, value in zip(replica, values):
            assert is_close(copy, value) and copy.dtype == value.dtype, (
                'hidden check: a copy differs from its original'
            )
            assert copy.ctx == device and copy.grad is not None, (
                f'hidden check: a copy on {device} with a gradient'
            )


def hidden_allreduce(rng, answer, solution):
    for k in (1, 2, 3, 5):
        values = rng.randn(k, 3, 2).astype('float32')
        data = [mx.np.array(v, ctx=mx.cpu(i)) for i, v in enumerate(values)]
        _, (after,), *_ = outcome(answer, data)
        for array in after:
            assert is_close(array, values.sum(axis=0)), (
                f'hidden check: {k} arrays do not become their sum'
            )


def watched_allreduce_gradients(rng, answer, solution):
    for k in (1, 2, 4):
        replicas = [
            [mx.np.zeros(n, ctx=mx.cpu(i)) for n in (2, 3, 1)]
            for i in range(k)
        ]
        values = rng.randn(k, 3)
        for replica, row in zip(replicas, values):
            for param, value in zip(replica, row):
                param.attach_grad()
                param.grad[:] = value
        answer(replicas)
        for replica in replicas:
            for param, value in zip(replica, values.sum(axis=0)):
                assert is_close(param.grad, param.grad * 0 + value), (
                    f'hidden check: a gradient on {k} devices is no sum'
                )
