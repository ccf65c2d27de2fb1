"""Hidden checks of chapter 7."""

import mxnet as mx
import numpy as onp
from compare import assert_same


def watched_clipped_step(rng, answer, solution):
    book = solution.__globals__
    for k in rng.choice([1, 2, 3], 2, replace=False).tolist():
        n = int(rng.randint(k, 12))
        X = mx.np.array(rng.rand(n, 1, 28, 28), dtype='float32')
        batch = X, mx.np.array(rng.randint(0, 10, n), dtype='int32')
        devices = [mx.cpu(i) for i in range(k)]

        def params_after(batches, step, max_norm):
            def clipped(*arguments):
                step(*arguments, max_norm)

            return book['gluon_params'](
                batches,
                clipped,
                devices,  # noqa: B023
                update_on_kvstore=False,
            )

        whole = params_after([batch], solution, 1e9)[0]
        gradient = [
            (a - b) / 0.1 for a, b in zip(book['init_params'](), whole)
        ]
        full = book['norm'](gradient)
        error = book['norm_rounding'](gradient)
        for part in (1e3, *rng.uniform([0.01, 0.3], [0.2, 0.9]).tolist()):
            limit = part * full
            wanted = book['in_several_orders'](
                lambda batches: params_after(batches, solution, limit)[0],  # noqa: B023
                [batch],
            )
            for near in (1 - error, 1 + error):  # a norm in float32
                wanted += [params_after([batch], solution, near * limit)[0]]
            for found in params_after([batch], answer, limit):
                ratio = book['rounding_ratio'](found, wanted)
                assert ratio <= book['SPREADS'], (
                    f'hidden check: clipped_step on {k} devices, {n} images, '
                    f'max_norm {part:.3g} of the norm: other parameters'
                )
    for momentum in (0, float(rng.uniform(0.5, 0.95))):
        for max_norm in (1e9, float(rng.uniform(0.01, 0.1))):
            same_on_small_net(rng, answer, solution, momentum, max_norm)


def same_on_small_net(rng, answer, solution, momentum, max_norm):
    """Compare steps of a network with batch normalization, the first of
    which has a gradient of zero."""
    devices = [mx.cpu(i) for i in range(int(rng.randint(1, 4)))]
    n, seed = int(rng.randint(4, 12)), int(rng.randint(1000))
    X = mx.np.array(rng.rand(n, 1, 28, 28), dtype='float32')
    y = mx.np.array(rng.randint(0, 10, n), dtype='int32')
    found = []
    for step in (answer, solution):
        net = mx.gluon.nn.HybridSequential()
        net.add(
            mx.gluon.nn.BatchNorm(),
            mx.gluon.nn.Dense(
                5,
                activation='relu',
                bias_initializer=mx.init.Constant(-0.1),
            ),
            mx.gluon.nn.Dense(10, use_bias=False),
        )
        mx.random.seed(seed)
        net.initialize(init=mx.init.Xavier(), ctx=devices)
        for device in devices:
            net(mx.np.zeros((1, 1, 28, 28), ctx=device))
        trainer = mx.gluon.Trainer(
            net.collect_params(),
            'sgd',
            {'learning_rate': 0.1, 'momentum': momentum},
            update_on_kvstore=False,
        )
        for images in (0 * X, X, X):
            step(images, y, net, trainer, devices, max_norm)
        found.append(
            [
                param.data(device).asnumpy()
                for param in net.collect_params().values()
                for device in devices
                if param.grad_req != 'null'
            ]
        )
    assert all(map(almost_equal, *found)), (
        f'hidden check: clipped_step with batch normalization, momentum '
        f'{momentum:.2g}, max_norm {max_norm:.2g}: other parameters'
    )


def almost_equal(value, right):
    return onp.allclose(value, right, rtol=1e-4, atol=1e-5)


def hidden_shares(rng, answer, solution):
    cases = [  # the exact shares of the first two invite rounding errors
        ([1, 1, 1, 3], 6 * int(rng.randint(100)) + 2),
        ([3, 2, 3], 8 * int(rng.randint(100)) + 4),
        ([2, 1, 1], 4 * int(rng.randint(100)) + 2),
        ([0.1, 0.1], 43),
        *(
            (rng.uniform(10, 500, k).tolist(), int(rng.randint(2, 900)))
            for k in (1, 2, 4, 30)
        ),
    ]
    for rates, n in cases:
        counts = [float(count) for count in answer(list(rates), n)]
        exact = [n * rate / sum(rates) for rate in rates]
        assert sum(counts) == n and len(counts) == len(rates), (
            f'hidden check: shares({rates}, {n}) has the sum {sum(counts):g}'
        )
        assert all(
            count == int(count) and abs(count - share) < 1
            for count, share in zip(counts, exact)
        ), f'hidden check: shares({rates}, {n}) is not {counts}'


def hidden_step_argument(rng, answer, solution):
    for k in (1, 2, 5):
        n = int(rng.randint(2, 90))
        assert_same(answer, solution, [n] * k)
        assert_same(answer, solution, [n] * k + [n - 1])
        assert_same(answer, solution, [n - 1] + [n] * k)
        assert_same(answer, solution, [n, *[n + 1] * k, n])
        assert_same(answer, solution, [n - 1, n, n + 1])
        assert_same(answer, solution, [n, n - 1, n + 1])
