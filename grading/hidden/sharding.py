"""Hidden checks of chapter 16."""

import mxnet as mx
from compare import assert_same, is_close

from d2lmulti.devices import record_copies


def hidden_devices_needed(rng, answer, solution):
    assert_same(answer, solution, 6_000, 3, 48)
    for _ in range(12):
        num_params, stage = int(rng.randint(1, 400)), int(rng.randint(4))
        room = int(rng.randint(1, 20 * num_params))
        if not is_right_in_whole_numbers(answer, num_params, stage, room):
            assert_same(answer, solution, num_params, stage, room)


def is_right_in_whole_numbers(answer, num_params, stage, room):
    """Return whether an answer is right if shards are whole numbers."""
    found = answer(num_params, stage, room)
    for k in range(1, num_params + 2):
        part = -(-num_params // k)
        held = [num_params] * (3 - stage) + [part] * stage
        if 4 * (held[0] + held[1] + 2 * held[2]) <= room:
            return found == k
    return found is None


def hidden_zero1_step(rng, answer, solution):
    for k in (1, 2, 3, 4):
        size, n = int(rng.randint(4, 30)), int(rng.randint(k, 40))
        start = rng.randn(size).astype('float32')
        history = rng.randn(3, k, size).astype('float32')
        results, sent = [], []
        for step in (answer, solution):
            params = [mx.np.array(start, ctx=mx.cpu(i)) for i in range(k)]
            states = [[] for _ in range(k)]
            for grads in history:
                arrays = [
                    mx.np.array(g, ctx=p.ctx) for g, p in zip(grads, params)
                ]
                arguments = (params, arrays, states, 0.1, n)
                sent.append(num_sent(step, *arguments))
            results.append(params)
        assert is_close(*results), (
            f'hidden check: {size} parameters on {k} devices'
        )
        assert sent[:3] == sent[3:], (
            f'hidden check: {k} devices send {sent[0]} bytes, not {sent[3]}'
        )


def num_sent(step, *arguments):
    """Return how many bytes devices send to each other in a step."""
    copies = record_copies(lambda: step(*arguments))
    return sum(number for _, _, number in copies)


def hidden_next_scale(rng, answer, solution):
    large = rng.uniform(35_000, 60_000, 9).astype('float16')
    assert_same(answer, solution, 4, [large], 1, 5)
    for bad in (None, float('inf'), float('nan')):
        for num_good in (0, 3, 4):
            grads = [rng.randn(2, 3), rng.randn(4)]
            if bad is not None:
                grads[int(rng.randint(2))].flat[1] = bad
            scale = 2.0 ** int(rng.randint(-3, 16))
            assert_same(answer, solution, scale, grads, num_good, 5)
