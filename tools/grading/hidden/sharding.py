"""Hidden checks of chapter 16."""

import mxnet as mx
from compare import assert_same, is_close


def watched_zero1_step(rng, answer, solution):
    for k in (1, 2, 3, 4):
        shapes = [(int(rng.randint(4, 30)),), (2, int(rng.randint(2, 9)))]
        start = [rng.randn(*shape).astype('float32') for shape in shapes]
        history = [[rng.randn(k, *s) for s in shapes] for _ in range(3)]
        rates = [float(rate) for rate in rng.uniform(0.02, 0.5, 3)]
        results = []
        for step in (answer, solution):
            replicas = [
                [mx.np.array(array, ctx=mx.cpu(i)) for array in start]
                for i in range(k)
            ]
            states = [[] for _ in range(k)]
            for rate, grads in zip(rates, history):
                for param, grad in every(replicas, grads):
                    param.attach_grad()
                    param.grad[:] = mx.np.array(grad, ctx=param.ctx)
                step(replicas, rate, states)
            results.append((replicas, [*map(held, states, replicas)]))
        assert is_close(*results), (
            f'hidden check: {shapes} on {k} devices, rates {rates}'
        )


def every(replicas, grads):
    """Yield each parameter of each replica, and its gradient."""
    for i, replica in enumerate(replicas):
        for param, each in zip(replica, grads):
            yield param, each[i]


def held(state, replica):
    """Return how many numbers a state has, and where."""
    places = {str(getattr(array, 'ctx', replica[0].ctx)) for array in state}
    return sum(array.size for array in state), sorted(places)


def hidden_next_scale(rng, answer, solution):
    large = rng.uniform(35_000, 60_000, 9).astype('float16')
    assert_same(answer, solution, 4, [large], 1, 5)
    assert_same(
        answer, solution, 2.0 ** int(rng.randint(25, 40)), [large], 4, 5
    )
    huge = rng.uniform(1, 1.7, (2, 3)) * 1e308
    assert_same(answer, solution, 4, [large, huge, -huge, huge], 1, 5)
    for bad in (None, float('inf'), float('nan')):
        for num_good in (0, 3, 4):
            grads = [rng.randn(2, 3), rng.randn(4)]
            if bad is not None:
                grads[int(rng.randint(2))].flat[1] = bad
            scale = 2.0 ** int(rng.randint(-30, 40))
            assert_same(answer, solution, scale, grads, num_good, 5)
