"""Hidden checks of chapter 1."""

import time
from unittest import mock

import mxnet as mx
from compare import is_close


def watched_layers_seconds(rng, answer, solution):
    """It measures: here is what hardly depends on the time."""
    book = solution.__globals__
    for k in (1, *rng.choice([2, 4, 5], 2, replace=False).tolist()):
        calls, waits, marked = [], [], mx.cpu(int(rng.randint(k)))
        times = []

        def watched(x, W, b):
            times.append(time.perf_counter())  # noqa: B023
            calls.append([x, W, b])  # noqa: B023
            nan = float('nan')
            factor = nan if x.ctx == marked else 1  # noqa: B023
            return book['twenty_layers'](x, W, b) * factor

        noted = book['noted_waits'](lambda: waits.append(len(calls)))  # noqa: B023
        with mock.patch('__main__.twenty_layers', watched), noted:
            seconds = answer(k)
        times.append(time.perf_counter())
        assert_measured(seconds, calls, waits, k, marked)
        marks = sorted({0, *waits})  # from one wait to the next
        rounds = [
            (times[end] - times[start]) * k / (end - start)
            for start, end in zip(marks, marks[1:])
        ]
        assert 0.3 * min(rounds) < seconds < 3 * max(rounds), (
            f'hidden check: layers_seconds({k}) is not the time of a round'
        )
        book['expect_inputs'](calls, k)


def assert_measured(seconds, calls, waits, k, marked):
    """Assert what every right measurement on `k` devices has in common.

    `calls`: the arguments of each; `waits`: how many there had been before
    each wait; `marked`: the device whose results were nan.
    """
    hint = f'hidden check: layers_seconds({k})'
    assert float(seconds) > 0, f'{hint} is {seconds!r}'
    assert len(calls) >= k, f'{hint}: {len(calls)} calls of twenty_layers'
    used = [{array.ctx for array in arguments} for arguments in calls[-k:]]
    assert len(set.union(*used)) == k and max(map(len, used)) == 1, (
        f'{hint} uses {used}'
    )
    assert waits.count(len(calls)) >= k, f'{hint} does not drain'
    assert all((n - len(calls)) % k == 0 for n in waits), (  # after warm-ups
        f'{hint} waits within a round'
    )
    assert not any(
        array.ctx != marked and mx.np.isnan(array).any()
        for arguments in calls[-k:]
        for array in arguments
    ), f'{hint}: a device uses the result of another'


def hidden_copy_batched(rng, answer, solution):
    for num in (1, 2, 5):
        arrays = [
            mx.np.array(rng.randn(*rng.randint(1, 6, rng.randint(1, 4))))
            for _ in range(num)
        ]
        copies = answer(arrays, mx.cpu(1))
        assert all(array.ctx == mx.cpu(1) for array in copies), 'hidden check'
        assert is_close(list(copies), arrays), (
            f'hidden check: {num} arrays do not arrive as they were'
        )


def watched_split_slices(rng, answer, solution):
    for _ in range(6):
        n, k = int(rng.randint(0, 300)), int(rng.randint(1, 12))
        found = [list(range(n))[part] for part in answer(n, k)]
        wanted = [list(range(n))[part] for part in solution(n, k)]
        assert found == wanted, f'hidden check: {n} items, {k} devices'
