"""Gradients that are added up from parts in bfloat16 give no alarm: with
`low`, their spread is measured on parts. The seeds begin at 9000.
"""

import re
import sys

import numpy as np
import pytest
from plain import bfloat16, shards_of

from samestep import Taken, same_step

SEEDS = range(9000, 9100)


def rounded(array):
    return bfloat16(array) if array.dtype == np.float32 else array


def sums_of(params, X, y, read=np.asarray):
    """Return the gradients of a regression with one bias; `read` rounds each
    once, as autocast does."""
    off = X @ params['w'] + params['b'] - y
    off = off * (y != -100)  # a label that is left out
    return {
        'w': read(X.T @ off),
        'b': read(off.sum(keepdims=True)),
        'seen': params['seen'],  # a buffer that stays
    }


def scaled(grads, factor):
    factor = grads['w'].dtype.type(factor)
    return {**grads, 'w': grads['w'] * factor, 'b': grads['b'] * factor}


DIVISORS = {
    'a sum': lambda y: 1,
    'a mean': len,
    'a mean of what is not left out': lambda y: (y != -100).sum(),
}


def whole(divisor, read=np.asarray):
    """Return gradients; to divide before they are rounded is the same."""

    def found(params, X, y):
        return scaled(sums_of(params, X, y, read), 1 / divisor(y))

    return found


def in_parts(divisor, k, factor=1):
    """Return gradients of k parts, each rounded on its own."""

    def found(params, X, y):
        parts = [sums_of(params, *s, rounded) for s in shards_of(X, y, k)]
        total = {
            name: sum(part[name] for part in parts) for name in ('w', 'b')
        }
        return scaled({**parts[0], **total}, factor / divisor(y))

    return found


def case(seed, ordered=False):
    rng = np.random.RandomState(seed)
    params = {'w': rng.normal(size=8), 'b': rng.normal(size=1)}
    X, y = rng.normal(size=(61, 8)), 3 * rng.normal(size=61)
    y = np.sort(y) if ordered else y
    y[rng.rand(61) < 0.2] = -100
    return {**params, 'seen': np.ones(3)}, [(X, y)]


def alarms(divisor, ordered=False, factor=1):
    return sum(
        not same_step(
            in_parts(divisor, 2 + seed % 7, factor),
            whole(divisor),
            *case(seed, ordered),
            low=whole(divisor, rounded),
            gradients=True,
        )
        for seed in SEEDS
    )


@pytest.mark.parametrize('ordered', [False, True])
@pytest.mark.parametrize('loss', DIVISORS)
def test_parts_that_are_added_up_give_no_alarm(loss, ordered):
    assert alarms(DIVISORS[loss], ordered) == 0


def test_the_whole_minibatch_alone_would_give_alarms(monkeypatch):
    parts = sys.modules['samestep.parts']
    monkeypatch.setattr(parts, 'NUM_PARTS', ())
    assert alarms(len) > 0


def test_parts_hide_no_factor():
    assert alarms(len, factor=1.05) == len(SEEDS)


def test_a_factor_near_1_is_said_where_few_digits_are_sure():
    for seed in SEEDS[:20]:
        found = same_step(
            in_parts(len, 3, 1.05),
            whole(len),
            *case(seed),
            low=whole(len, rounded),
            gradients=True,
        )
        for d in found.failures():
            assert re.search(r' one times 1\.0[456]\.$', d.cause), d.cause


def wrong_updates(rate=0.1):
    """Return how many of some steps are called wrong that keep parameters in
    bfloat16."""

    def descend(params, grads, rate=0.1):
        kind = params['w'].dtype.type
        moved = {n: params[n] - kind(rate) * grads[n] for n in ('w', 'b')}
        return {**params, **moved}

    def rounded_step(found, rate=0.1):
        def step(params, X, y):
            grads = found(params, X, y)
            new = descend(params, grads, rate)
            return Taken(grads, {n: rounded(a) for n, a in new.items()})

        return step

    found = [
        same_step(
            rounded_step(in_parts(len, 2 + seed % 3), rate),
            whole(len),
            *case(seed),
            low=rounded_step(whole(len, rounded)),
            update=descend,
        )
        for seed in SEEDS
    ]
    assert not any(d.of == 'gradient' for c in found for d in c.failures())
    return sum(not comparison for comparison in found)


def test_updates_that_are_rounded_give_no_alarm():
    assert wrong_updates() == 0


def test_a_wrong_rate_is_seen_where_updates_are_rounded():
    assert wrong_updates(rate=0.15) == len(SEEDS)


def test_one_rounded_update_would_give_alarms(monkeypatch):
    parts = sys.modules['samestep.parts']
    monkeypatch.setattr(parts, 'NUM_UPDATES', 1)
    assert wrong_updates() > 0


def rows_of_low(reference, batch, params):
    """Return of how many rows each call of `low` is, and the answer."""
    rows = []

    def low(params, X, y):
        rows.append(len(X))
        return reference(params, X, y)

    return rows, same_step(
        reference,
        reference,
        params,
        [batch],
        low=low,
        gradients=True,
    )


def test_what_does_not_add_up_is_measured_on_the_whole():
    def normalized(params, X, y):
        grads = sums_of(params, X, y)
        return {**grads, 'w': grads['w'] / np.sqrt((X * X).mean(axis=0))}

    def adds_a_decay(params, X, y):
        grads = sums_of(params, X, y)  # a sum, so not the decay's parts
        return {**grads, 'w': grads['w'] + params['w']}

    def needs_many(params, X, y):
        if len(X) < 61:
            raise ValueError('too few rows')
        return sums_of(params, X, y)

    params, (batch,) = case(9000)
    for reference in normalized, adds_a_decay, needs_many:
        rows, found = rows_of_low(reference, batch, params)
        assert found and rows.count(61) == 8, reference
    rows, _ = rows_of_low(sums_of, batch, params)
    assert {31, 21, 16} < {*rows} and rows.count(61) == 2


def test_a_part_without_labels_is_left_out(capfd):
    """Its mean is 0 / 0, of which LAPACK would complain."""
    params, ((X, y),) = case(9000)
    y[:31] = -100
    divisor = DIVISORS['a mean of what is not left out']
    with np.errstate(invalid='ignore', divide='ignore'):
        rows, found = rows_of_low(whole(divisor), (X, y), params)
    assert found and rows.count(61) == 8
    assert capfd.readouterr() == ('', '')


def test_weights_that_any_numbers_would_fit_are_not_taken():
    """Of two parts and two numbers."""

    def two(params, X, y):
        return {'b': np.array([(X * X).std(), y.std()], X.dtype)}

    rng = np.random.RandomState(9000)
    batch = rng.normal(size=(61, 4)), rng.normal(size=61)
    rows, _ = rows_of_low(two, batch, {'b': np.ones(2)})
    assert rows.count(61) == 8


def test_rows_of_an_embedding_between_those_looked_at_are_added_up():
    """Some numbers are looked at: none of them may be moved."""

    def looked_up(params, X, y, read=np.asarray):
        kind = params['table'].dtype
        table = np.zeros_like(params['table'])
        off = params['table'][X] * y.astype(kind)[:, None]
        np.add.at(table, X, off)
        return {'table': read(table), 'b': read(off.sum(axis=0))}

    def step(params, X, y):
        parts = [looked_up(params, *s, rounded) for s in shards_of(X, y, 2)]
        return {name: sum(p[name] for p in parts) for name in parts[0]}

    rng = np.random.RandomState(9000)
    params = {'table': rng.normal(size=(9000, 4)), 'b': np.zeros(4)}
    batch = np.full(60, 1), rng.normal(size=60)

    def ask(scale):
        return same_step(
            lambda *given: {n: scale * g for n, g in step(*given).items()},
            looked_up,
            params,
            [batch],
            low=lambda *given: looked_up(*given, rounded),
            gradients=True,
        )

    assert ask(1) and not ask(1.1)


def test_parts_add_up_in_spite_of_roundings_in_the_reference():
    """As of the bias of keys in attention, whose gradient is 0 but for them,
    and of networks that cast to float32."""

    def found(params, X, y, read=np.asarray):
        off = X @ params['w'] + params['b'] - y
        low = (X.T.astype('float32') @ off.astype('float32')).astype(X.dtype)
        zero = off.sum(keepdims=True) - [sum(off)]
        return {**sums_of(params, X, y), 'w': read(low), 'zero': read(zero)}

    params, (batch,) = case(9000)
    params = {**params, 'zero': np.zeros(1)}
    rows = []

    def low(params, X, y):
        rows.append(len(X))
        return found(params, X, y, rounded)

    assert same_step(found, found, params, [batch], low=low, gradients=True)
    assert {31, 21, 16} < {*rows} and rows.count(61) == 2
