"""Right steps in plain NumPy, each in many ways: none is called wrong. And
each is seen if it is wrong by a thousandth, so that no bound hides all.
"""

import numpy as np
import pytest
from plain import (
    bfloat16,
    descend,
    gradients,
    parallel,
    random_case,
    reference,
    shards_of,
    summed,
)

from samestep import same_step


def case(seed, sizes):
    params, _ = random_case(seed)
    rng = np.random.RandomState(seed + 100)
    return params, [
        (rng.normal(size=(n, 20)), rng.randint(0, 5, n)) for n in sizes
    ]


def with_devices(step, k):
    return lambda params, X, y: step(params, X, y, k)


def found_on(params, X, y, k):
    """Return the sums of gradients of each shard."""
    return [gradients(params, *shard) for shard in shards_of(X, y, k)]


def add_up(found):
    return [sum(arrays) for arrays in zip(*found)]


def masked_sums(params, X, y):
    seen = y > 0
    return gradients(params, X[seen], y[seen])


def masked(params, X, y):
    return descend(params, masked_sums(params, X, y), max(1, (y > 0).sum()))


def accumulated(params, X, y, k):
    """Add micro-batches on each device, then all in one buffer."""
    found = [
        add_up(found_on(params, *shard, 2)) for shard in shards_of(X, y, k)
    ]
    flat = [np.concatenate([g.reshape(-1) for g in own]) for own in found]
    total = sum(flat[1:], flat[0].copy())
    at = np.cumsum([p.size for p in params])[:-1]
    parts = np.split(total, at)
    sums = [part.reshape(p.shape) for part, p in zip(parts, params)]
    return [descend(params, sums, len(X))] * k


def by_units(params, X, y, k):
    """Split the hidden units over the devices; add their scores."""
    W1, b1, W2, b2 = params
    parts = [
        (W1[:, units], b1[units], W2[units])
        for units in np.array_split(np.arange(30), k)
    ]
    hidden = [np.tanh(X @ W + b) for W, b, _ in parts]
    scores = sum(h @ W for h, (_, _, W) in zip(hidden, parts)) + b2
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    backs = [(p @ W.T) * (1 - h * h) for h, (_, _, W) in zip(hidden, parts)]
    sums = [
        np.concatenate([X.T @ back for back in backs], axis=1),
        np.concatenate([back.sum(axis=0) for back in backs]),
        np.concatenate([h.T @ p for h in hidden]),
        p.sum(axis=0),
    ]
    return descend(params, sums, len(X))


def by_rows(params, X, y, k):
    """Let each device move the rows that it owns, and join them (ZeRO)."""
    moved = descend(params, add_up(found_on(params, X, y, k)), len(X))
    pieces = [np.array_split(new.reshape(-1), k) for new in moved]
    return [
        np.concatenate(own).reshape(p.shape) for own, p in zip(pieces, params)
    ]


def in_a_ring(params, X, y, k):
    """Sum slice by slice, each from its own device on."""
    shards, sums = found_on(params, X, y, k), []
    for arrays in zip(*shards):
        slices = zip(*(np.array_split(g.reshape(-1), k) for g in arrays))
        flat = [
            sum(own[(i + j) % k] for j in range(k))
            for i, own in enumerate(slices)
        ]
        sums.append(np.concatenate(flat).reshape(arrays[0].shape))
    return descend(params, sums, len(X))


def in_stages(params, X, y, k):
    """Two stages, which send activations and their gradients of k parts."""
    W1, b1, W2, b2 = params
    sums = [0 * param for param in params]
    for X_part, y_part in shards_of(X, y, k):
        sent = np.tanh(X_part @ W1 + b1)
        _, _, W2_sum, b2_sum = gradients(params, X_part, y_part)
        p = np.exp(sent @ W2 + b2)
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(len(y_part)), y_part] -= 1
        came = (p @ W2.T) * (1 - sent * sent)
        own = X_part.T @ came, came.sum(axis=0), W2_sum, b2_sum
        sums = [total + part for total, part in zip(sums, own)]
    return descend(params, sums, len(X))


def masked_by_shards(params, X, y, k):
    sums = add_up([masked_sums(params, *s) for s in shards_of(X, y, k)])
    return descend(params, sums, max(1, (y > 0).sum()))


def in_any_order(params, X, y, k):
    rows = np.random.RandomState(k).permutation(len(X))
    return parallel(k)(params, X[rows], y[rows])


RIGHT = [
    *(
        (step, reference)
        for step in (accumulated, by_units, by_rows, in_a_ring, in_stages)
    ),
    (masked_by_shards, masked),
    (in_any_order, reference),
]


def rounded(step):
    """Let a step keep parameters and return them in bfloat16."""

    def in_bfloat16(params, X, y, *k):
        result = step([bfloat16(p) for p in params], X, y, *k)
        many = isinstance(result[0], list)
        return [bfloat16(a) for a in (result[0] if many else result)]

    return in_bfloat16


@pytest.mark.parametrize(
    'dtype, num_steps',
    [('float64', 50), ('float32', 100), ('float16', 30)],
)
def test_many_right_steps_give_no_false_alarm(dtype, num_steps):
    for i in range(num_steps):
        step, right = RIGHT[i % len(RIGHT)]
        k = 2 + i // len(RIGHT) % 3
        sizes = np.random.RandomState(i).randint(9, 70, 1 + i % 3)
        found = same_step(
            with_devices(step, k), right, *case(i, sizes), dtype=dtype
        )
        assert found, (step, k, found)


def test_right_steps_in_bfloat16_give_no_false_alarm():
    for i in range(50):
        step, right = RIGHT[i % len(RIGHT)]
        params, batches = case(i, [np.random.RandomState(i).randint(9, 70)])
        batches = [(4 * X, y) for X, y in batches]  # so that all moves
        params = [bfloat16(param) for param in params]
        found = same_step(
            with_devices(rounded(step), 2 + i // len(RIGHT) % 3),
            right,
            params,
            batches,
            low=rounded(right),
        )
        assert found, (step, found)


@pytest.mark.parametrize('step, right', RIGHT)
def test_the_right_steps_are_seen_if_they_are_wrong(step, right):
    """So that no bound is so wide that all steps are right."""

    def wrong(params, X, y):
        moved = step(params, X, y, 3)
        replicas = moved if isinstance(moved[0], list) else [moved]
        scale = params[0].dtype.type(1.001)
        return [
            [old + scale * (new - old) for old, new in zip(params, own)]
            for own in replicas
        ]

    assert not same_step(wrong, right, *case(0, [61]))


@pytest.mark.parametrize('dtype', ['float16', 'float32', 'float64'])
@pytest.mark.parametrize('k', [1, 2, 3, 4, 8])
def test_right_steps_are_equal(k, dtype):
    """On ragged minibatches, with empty shards too, in one step and five."""
    for seed in range(6):
        params, batches = random_case(seed, steps=1 + 4 * (seed % 2))
        comparison = same_step(
            parallel(k), reference, params, batches, dtype=dtype
        )
        assert comparison, comparison
        assert str(comparison) == 'equal up to rounding'


@pytest.mark.long
def test_a_thousand_right_steps_give_no_false_alarm():
    for seed in range(1000):
        params, batches = random_case(seed)
        for mode, reference_of_mode in ((False, reference), (True, gradients)):
            step = parallel(1 + seed % 8)
            if mode:
                step = summed(1 + seed % 8)
            assert same_step(
                step, reference_of_mode, params, batches, gradients=mode
            )
