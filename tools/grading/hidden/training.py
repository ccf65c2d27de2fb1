"""Hidden checks of chapter 5."""

import mxnet as mx
from compare import assert_same, both, is_close

import d2lmulti


def hidden_accumulated_step(rng, answer, solution):
    X = mx.np.array(rng.randn(13, 1, 28, 28).astype('float32'))
    y = mx.np.array(rng.randint(0, 10, 13))
    params = d2lmulti.init_params(int(rng.randint(1000)))
    lr = float(rng.uniform(0.1, 1))
    for num_micro_batches in (1, 2, 5, 13):
        results = [
            step(X, y, [p.copy() for p in params], lr, num_micro_batches)
            for step in (answer, solution)
        ]
        assert is_close(list(results[0]), list(results[1])), (
            f'hidden check: 13 images in {num_micro_batches} parts'
        )


def hidden_step_factors(rng, answer, solution):
    for _ in range(5):
        k = int(rng.randint(1, 9))
        assert_same(answer, solution, int(rng.randint(k, 99)), k)


def hidden_disagreement(rng, answer, solution):
    for k in (1, 2, 4):
        device_params = [
            [
                mx.np.array(rng.randn(2, 3), 'float32', ctx=mx.cpu(i)),
                mx.np.array(rng.randn(4), 'float32', ctx=mx.cpu(i)),
            ]
            for i in range(k)
        ]
        assert is_close(*both(answer, solution, device_params)), (
            f'hidden check: {k} replicas'
        )
        device_params[-1][1][0] += 1e-5
        small = both(answer, solution, device_params)
        assert abs(small[0] - small[1]) <= 1e-6 * small[1], (
            f'hidden check: {k} replicas, a difference of {small[1]:.3g}'
        )
        device_params[-1][0][-1, -1] += 9
        assert is_close(*both(answer, solution, device_params)), (
            f'hidden check: {k} replicas, their last numbers'
        )
        device_params[-1][1][2] = float('nan')
        found = answer(device_params)
        assert found != found, f'hidden check: {k} replicas, the last with NaN'
