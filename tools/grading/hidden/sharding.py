"""Hidden checks of chapter 16."""

import mxnet as mx
from compare import assert_same, is_close, outcome


def hidden_devices_needed(rng, answer, solution):
    assert_same(answer, solution, 6_000, 3, 48)
    for _ in range(12):
        num_params, stage = int(rng.randint(1, 400)), int(rng.randint(4))
        room = int(rng.randint(1, 20 * num_params))
        assert_same(answer, solution, num_params, stage, room)
    for stage in (1, 2, 3):  # exactly the room of k devices; and none
        for _ in range(4):
            k, part = (int(number) for number in rng.randint(2, 90, 2))
            sharded = (8, 12, 16)[stage - 1] * k * part
            rest = 16 * k * part - sharded
            assert_same(answer, solution, k * part, stage, rest + sharded // k)
        assert_same(answer, solution, k * part, stage, rest)
    for k in (6, 10, 24, 30):
        assert_same(answer, solution, 120 * k, 1, 960 * k + 960)
    num_params = int(rng.randint(10, 1000))
    for few in (0, 1):
        assert_same(answer, solution, num_params, 0, 16 * num_params - few)
    assert_same(answer, solution, 10**6, 2, 4 * 10**6 + 600)  # 20,000


def hidden_zero1_step(rng, answer, solution):
    for k in (1, 2, 3, 4):
        size, n = int(rng.randint(4, 30)), int(rng.randint(k, 40))
        start = rng.randn(size).astype('float32')
        history = rng.randn(3, k, size).astype('float32')
        lrs = [float(lr) for lr in rng.uniform(0.02, 0.5, 3)]
        results, sent = [], []
        for step in (answer, solution):
            params = [mx.np.array(start, ctx=mx.cpu(i)) for i in range(k)]
            states = [[] for _ in range(k)]
            for i, grads in enumerate(history):
                arrays = [
                    mx.np.array(g, ctx=p.ctx) for g, p in zip(grads, params)
                ]
                arguments = (params, arrays, states, lrs[i], n + i)
                _, held_now, copies, now = outcome(step, *arguments)
                params, states = held_now[0], now[2]
                sent.append(sum(number for _, _, number in copies))
            results.append((params, [*map(held, states, params)]))
        assert is_close(*results), (
            f'hidden check: {size} parameters on {k} devices, rates {lrs}'
        )
        assert sent[:3] == sent[3:], (
            f'hidden check: {k} devices send {sent[0]} bytes, not {sent[3]}'
        )


def held(state, param):
    """Return how many numbers a state has, and where."""
    places = {str(getattr(array, 'ctx', param.ctx)) for array in state}
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
