"""Planted bugs in plain NumPy, each a step on k devices, most with minibatches
that k does not divide. `planted` says what must be said; None, if all that
could be said would be invented. And many right steps: none is called wrong.
"""

import numpy as np
import pytest
from test_samestep import (
    bfloat16,
    descend,
    gradients,
    parallel,
    random_case,
    reference,
    shards_of,
)

from samestep import same_step

BUGS = {}


def case(seed, sizes):
    params, _ = random_case(seed)
    rng = np.random.RandomState(seed + 100)
    return params, [
        (rng.normal(size=(n, 20)), rng.randint(0, 5, n)) for n in sizes
    ]


def planted(cause, k, n=61, right=reference, make=case):
    """Register a bug: a function of (params, X, y, k), or a maker of one."""

    def register(step):
        sizes = n if isinstance(n, tuple) else (n,)
        BUGS[step.__name__] = (step, cause, k, sizes, right, make)
        return step

    return register


def look(name, seed=0):
    step, _, k, sizes, right, make = BUGS[name]
    return same_step(
        step() if step.__code__.co_argcount == 0 else with_devices(step, k),
        right,
        *make(seed, sizes),
        num_devices=k,
    )


def with_devices(step, k):
    return lambda params, X, y: step(params, X, y, k)


def found_on(params, X, y, k):
    """Return the sums of gradients of each shard."""
    return [gradients(params, *shard) for shard in shards_of(X, y, k)]


def add_up(found):
    return [sum(arrays) for arrays in zip(*found)]


# Denominators


@planted('the right one times 1.525', 2, (40, 61))
def count_of_the_first_minibatch():
    counts = []

    def step(params, X, y):
        counts.append(len(X))
        return descend(params, add_up(found_on(params, X, y, 2)), counts[0])

    return step


@planted('times the 62 rows', 4, 62)
def never_divided(params, X, y, k):
    return descend(params, add_up(found_on(params, X, y, k)), 1)


def masked_sums(params, X, y):
    seen = y > 0
    return gradients(params, X[seen], y[seen])


def masked(params, X, y):
    return descend(params, masked_sums(params, X, y), max(1, (y > 0).sum()))


@planted('the right one times', 3, right=masked)
def hidden_labels_counted(params, X, y, k):
    sums = add_up([masked_sums(params, *s) for s in shards_of(X, y, k)])
    return descend(params, sums, len(X))


# Shards


@planted(None, 2, 62)
def labels_of_the_other_shard(params, X, y, k):
    labels = np.roll(y, len(y) // 2)
    return descend(params, add_up(found_on(params, X, labels, k)), len(X))


# Replicas
@planted('started from parameters', 2)
def biases_not_broadcast(params, X, y, k):
    starts = [
        [p if p.ndim > 1 else p + p.dtype.type(0.1 * i) for p in params]
        for i in range(k)
    ]
    return from_own(starts, X, y)


@planted('started from parameters', 3)
def a_seed_for_each_rank(params, X, y, k):
    starts = [params] + [
        [(p + 0.3 * rng.normal(size=p.shape)).astype(p.dtype) for p in params]
        for rng in map(np.random.RandomState, range(1, k))
    ]
    return from_own(starts, X, y)


def from_own(starts, X, y):
    """Return replicas that take the same step, each from its own start."""
    found = [
        gradients(start, *shard)
        for start, shard in zip(starts, shards_of(X, y, len(starts)))
    ]
    return [descend(start, add_up(found), len(X)) for start in starts]


@planted('Only some replicas are wrong: [1]', 4)
def another_rate_on_one(params, X, y, k):
    sums = add_up(found_on(params, X, y, k))
    rates = [len(X), len(X) / 0.9, len(X), len(X)]
    return [descend(params, sums, rate) for rate in rates]


# State
def momentum(params, X, y, kept=0.9, decay=0.01, devices=1):
    params, held = params[:4], params[4:]
    scale = params[0].dtype.type
    grads = [
        g / scale(len(X)) + scale(devices * decay) * p
        for g, p in zip(gradients(params, X, y), params)
    ]
    held = [scale(kept) * h + g for h, g in zip(held, grads)]
    return [*(p - scale(0.1) * h for p, h in zip(params, held)), *held]


def with_momentum(seed, sizes):
    params, batches = case(seed, sizes)
    rng = np.random.RandomState(seed)
    return params + [rng.normal(size=p.shape) for p in params], batches


@planted('and 0.9 times what was there', 2, right=momentum, make=with_momentum)
def momentum_of_each_device_added(params, X, y, k):
    return momentum(params, X, y, kept=0.9 * k)


@planted('step before', 2, (61, 40))
def gradients_of_the_step_before():
    held = []

    def step(params, X, y):
        held.append((add_up(found_on(params, X, y, 2)), len(X)))
        return descend(params, *held[max(0, len(held) - 2)])

    return step


@planted('the right one and that of the step before', 3, (61, 61))
def gradients_not_zeroed():
    held = []

    def step(params, X, y):
        held.extend(found_on(params, X, y, 3))
        return descend(params, add_up(held), len(X))

    return step


def decayed(params, X, y, times=1):
    moved = reference(params, X, y)
    scale = params[0].dtype.type(0.02 * times)
    return [new - scale * old for new, old in zip(moved, params)]


@planted('and -0.06 times what was there: a decay', 4, right=decayed)
def decay_of_each_device_added(params, X, y, k):
    return decayed(params, X, y, times=k)


@planted('and 0.02 times what was there: a decay', 2, right=decayed)
def decay_left_out(params, X, y, k):
    return descend(params, add_up(found_on(params, X, y, k)), len(X))


# Norms and statistics
def clipped(params, X, y, again=0):
    sums = gradients(params, X, y)
    squares = sum((g * g).sum() for g in sums) + again * (sums[3] ** 2).sum()
    return descend(params, sums, np.sqrt(squares))


@planted('the right one times 0.9', 3, right=clipped)
def a_bias_counted_by_each(params, X, y, k):
    return clipped(params, X, y, again=k - 1)


@planted('0 to 30 0.827 times, 31 to 60 0.745 times', 2, right=clipped)
def each_shard_clipped(params, X, y, k):
    ends = [clipped(params, *shard) for shard in shards_of(X, y, k)]
    return [sum(arrays) / arrays[0].dtype.type(k) for arrays in zip(*ends)]


def statistics(params, X, y):
    return [X.mean(axis=0), ((X - X.mean(axis=0)) ** 2).mean(axis=0)]


def of_statistics(seed, sizes):
    _, batches = case(seed, sizes)
    return [np.zeros(20), np.zeros(20)], [(X + 1, y) for X, y in batches]


@planted("the mean of the shards' own", 4, 62, statistics, of_statistics)
def variance_of_the_means_left_out(params, X, y, k):
    found = [statistics(params, *shard) for shard in shards_of(X, y, k)]
    return [statistics(params, X, y)[0], add_up(found)[1] / X.dtype.type(k)]


# Tensor parallelism
@planted('one with array 3 times 3, as if each device had added it', 3)
def a_bias_added_by_each(params, X, y, k):
    W1, b1, W2, b2 = params
    sums = gradients([W1, b1, W2, b2 * b2.dtype.type(k)], X, y)
    return descend(params, sums, len(X))


@planted('Only some arrays are wrong: [0, 1]', 2)
def the_gradient_of_the_input_not_summed(params, X, y, k):
    """Layer 2 is split by its scores; layer 1 hears of the first part."""
    W1, b1, W2, b2 = params
    sums = gradients(params, X, y)
    h = np.tanh(X @ W1 + b1)
    p = np.exp(h @ W2 + b2)
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    back = (p[:, :3] @ W2[:, :3].T) * (1 - h * h)
    return descend(params, [X.T @ back, back.sum(axis=0), *sums[2:]], len(X))


# Buffers
@planted('from number 10 on', 3)
def a_bucket_read_ten_too_far(params, X, y, k):
    sums = add_up(found_on(params, X, y, k))
    flat = np.concatenate([g.reshape(-1) for g in sums])
    at = np.cumsum([0] + [g.size for g in sums])
    sums[1] = flat[at[1] + 10 : at[2] + 10]
    sums[0] = flat[10 : at[1] + 10].reshape(20, 30)
    return descend(params, sums, len(X))


@planted('the numbers of array 1, from number 0 on', 2)
def a_buffer_used_again(params, X, y, k):
    sums = add_up(found_on(params, X, y, k))
    sums[3] = sums[1][:5]
    return descend(params, sums, len(X))


@planted('Wrong are 30 of 600 numbers, the first at (19, 0)', 2)
def a_bucket_too_short(params, X, y, k):
    found = found_on(params, X, y, k)
    sums = add_up(found)
    sums[0][-1] = found[0][0][-1]
    return descend(params, sums, len(X))


@planted('times 2 to the power of -10', 2)
def a_loss_scale_taken_away_twice(params, X, y, k):
    sums = add_up(found_on(params, X, y, k))
    return descend(params, [g / g.dtype.type(1024) for g in sums], len(X))


# Ten more, written after all causes were


@planted('step before', 3, (61, 50))
def a_loader_that_is_stuck():
    batches = []

    def step(params, X, y):
        batches.append((X, y))
        return reference(params, *batches[0])

    return step


@planted('0 to 30 once, 31 to 60 -1 times', 2)
def one_device_subtracts(params, X, y, k):
    first, second = found_on(params, X, y, k)
    return descend(params, [a - b for a, b in zip(first, second)], len(X))


@planted('twice', 3)
def a_tied_bias_updated_twice(params, X, y, k):
    sums = add_up(found_on(params, X, y, k))
    sums[1] = sums[1] + sums[1]
    return descend(params, sums, len(X))


@planted('Wrong are', 2)
def the_last_writer_wins(params, X, y, k):
    """Rows of a matrix that both devices touch are written, not added."""
    first, second = found_on(params, X, y, k)
    sums = add_up([first, second])
    sums[2][:7] = second[2][:7]
    return descend(params, sums, len(X))


@planted(None, 4)
def each_layer_moves_before_the_next_is_asked(params, X, y, k):
    params = list(params)
    for j in reversed(range(4)):
        sums = add_up(found_on(params, X, y, k))
        params[j] = descend(params, sums, len(X))[j]
    return params


@planted('divided by the 2 devices', 2)
def old_and_new_averaged(params, X, y, k):
    half = params[0].dtype.type(0.5)
    return [
        half * (old + new) for old, new in zip(params, reference(params, X, y))
    ]


@planted(None, 3)
def inputs_centered_by_shard(params, X, y, k):
    shards = [(X - X.mean(axis=0), y) for X, y in shards_of(X, y, k)]
    found = [gradients(params, *shard) for shard in shards]
    return descend(params, add_up(found), len(X))


@pytest.mark.parametrize('name', BUGS)
def test_a_planted_bug_is_found_and_no_cause_is_invented(name):
    for seed in range(3):
        assert not look(name, seed), name
    cause, said = BUGS[name][1], look(name)
    if cause is None:
        assert not any(d.cause for d in said.differences), said
    else:
        assert cause in str(said)


# Right steps
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


def masked_by_shards(params, X, y, k):
    sums = add_up([masked_sums(params, *s) for s in shards_of(X, y, k)])
    return descend(params, sums, max(1, (y > 0).sum()))


def in_any_order(params, X, y, k):
    rows = np.random.RandomState(k).permutation(len(X))
    return parallel(k)(params, X[rows], y[rows])


RIGHT = [
    *((step, reference) for step in (accumulated, by_units, by_rows)),
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


def test_replicas_that_differ_in_another_way_did_not_start_so():
    def noisy(params, X, y):
        moved = parallel(2)(params, X, y)
        rng = np.random.RandomState(0)
        return [
            [(a + rng.normal(0, 0.1, a.shape)).astype(a.dtype) for a in own]
            for own in moved
        ]

    found = same_step(noisy, reference, *case(0, [61]), num_devices=2)
    assert not found and 'started' not in str(found)
