"""Heterogeneous devices: any split takes the step of one device."""

import functools
import signal

import mxnet as mx
import numpy as onp
import pytest
from helpers import (
    minibatch,
    minibatches,
    reference_steps,
    replicas_on,
    roundings,
)
from hypothesis import given
from hypothesis import strategies as st
from mxnet import np

import d2lmulti
from d2lmulti.learning import heterogeneous
from d2lmulti.learning.heterogeneous import (
    adapt_shares,
    balanced_shares,
    compute_gradients,
    shard_sizes,
    split_by_shares,
    train_batch_weighted,
)

POSITIVE = st.floats(1e-300, 1e300)


def devices_of(k):
    return [mx.cpu(i) for i in range(k)]


def distances(replicas, sizes):
    """Return how far the replicas are from plain steps on one device."""
    return [roundings(params, reference_steps(sizes)) for params in replicas]


def after_steps(k, sizes, step):
    """Return replicas after `step(X, y, replicas, devices, lr)`."""
    replicas = replicas_on(devices_of(k), 'float64')
    for X, y in minibatches(sizes):
        step(X, y, replicas, devices_of(k), 0.1)
    return replicas


def assert_same_steps(shares, sizes=(61, 7), **more):
    for step in (
        lambda *a: d2lmulti.train_batch(
            *a, split=functools.partial(split_by_shares, shares=shares)
        ),
        lambda *a: train_batch_weighted(*a, shares=shares, **more),
    ):
        replicas = after_steps(len(shares), sizes, step)
        assert max(distances(replicas, sizes)) <= 1


@pytest.mark.parametrize(
    'shares',
    [
        [3],
        onp.array([1, 50]),
        [0.2, 0.7, 0.1],
        (9, 1, 1, 9),
    ],
)
def test_unequal_shards_take_the_steps_of_one_device(shares):
    assert_same_steps(shares)


def test_without_synchronization_every_replica_differs():
    shares = [1, 2, 4]
    replicas = after_steps(
        len(shares),
        (61,),
        lambda *a: train_batch_weighted(
            *a, shares=shares, allreduce=lambda data: None
        ),
    )
    assert min(distances(replicas, (61,))) > 100


@pytest.mark.parametrize('max_examples', [[None, 7], [1, 100]])
def test_a_device_that_accumulates_gradients_takes_the_same_step(max_examples):
    assert_same_steps([2, 1], max_examples=max_examples)


def test_repeated_work_changes_nothing_but_the_time():
    assert_same_steps([2, 1], slowdowns=[1, 3], max_examples=[None, 9])


def test_an_interrupt_waits_for_the_end_of_the_step():
    interrupts = [signal.SIGINT]

    def interrupted(data):
        if interrupts:
            signal.raise_signal(interrupts.pop())
        d2lmulti.allreduce(data)

    replicas = replicas_on(devices_of(2), 'float64')
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            train_batch_weighted(
                *minibatches((61,))[0],
                replicas,
                devices_of(2),
                0.1,
                [2, 1],
                allreduce=interrupted,
            )
    finally:
        signal.signal(signal.SIGINT, before)
    assert max(distances(replicas, (61,))) <= 1


def assert_shards_hold_the_minibatch(n, shares):
    X, y = minibatch(n)
    devices = devices_of(len(shares))
    for data, shards in zip((X, y), split_by_shares(X, y, devices, shares)):
        assert [shard.ctx for shard in shards] == devices
        assert [len(shard) for shard in shards] == shard_sizes(n, shares)
        joined = onp.concatenate([shard.asnumpy() for shard in shards])
        assert (joined == data.asnumpy()).all()


@pytest.mark.parametrize('shares', [[1], [5, 2, 3], (1, 30), [2, 2, 2, 1]])
def test_shards_are_the_minibatch_in_order_on_their_devices(shares):
    for n in (4, 10, 31):
        assert_shards_hold_the_minibatch(n, shares)


def test_shards_share_no_memory_with_the_minibatch():
    X, y = minibatch(9)
    before = X.asnumpy()
    for shard in split_by_shares(X, y, devices_of(2), [2, 1])[0]:
        shard[:] = -1
    assert (X.asnumpy() == before).all()


def assert_proportional(num_rows, shares):
    sizes = shard_sizes(num_rows, shares)
    assert sum(sizes) == num_rows and min(sizes) >= 1
    largest = max(shares)
    total = sum(share / largest for share in shares)
    exact = [num_rows * (share / largest) / total for share in shares]
    if min(exact) >= 1:
        assert all(
            abs(size - share) < 1 + 1e-9 for size, share in zip(sizes, exact)
        )
    for size, share in zip(sizes, exact):  # none loses more than k rows
        assert share - len(shares) < size < share + 1 + 1e-9


@given(st.data())
def test_shares_add_up_and_are_within_one_of_proportional(data):
    shares = data.draw(st.lists(POSITIVE, min_size=1, max_size=8))
    assert_proportional(data.draw(st.integers(len(shares), 5000)), shares)


@given(st.data())
def test_equal_devices_get_equal_shards(data):
    shares = data.draw(st.lists(st.floats(0.1, 10), min_size=1, max_size=8))
    num_rows = data.draw(st.integers(len(shares), 500))
    sizes = shard_sizes(num_rows, shares)
    assert sizes == shard_sizes(num_rows, [4 * share for share in shares])
    for size, share in zip(sizes, shares):
        for other, other_share in zip(sizes, shares):
            if share > other_share:
                assert size >= other


@given(st.data())
def test_capacities_hold_and_the_rest_is_proportional(data):
    k = data.draw(st.integers(1, 6))
    speeds = data.draw(st.lists(st.floats(0.1, 10), min_size=k, max_size=k))
    capacities = data.draw(
        st.lists(
            st.one_of(st.none(), st.integers(1, 60)), min_size=k, max_size=k
        )
    )
    room = sum(
        10**6 if capacity is None else capacity for capacity in capacities
    )
    batch_size = data.draw(st.integers(k, min(300, max(k, room))))
    shares = balanced_shares(speeds, batch_size, capacities)
    assert sum(shares) == batch_size and min(shares) >= 1
    assert all(
        capacity is None or share <= capacity
        for share, capacity in zip(shares, capacities)
    )
    free = [
        i
        for i in range(k)
        if capacities[i] is None or shares[i] < capacities[i]
    ]
    if free:
        rest = sum(shares[i] for i in free)
        exact = [rest * speeds[i] / sum(speeds[j] for j in free) for i in free]
        if min(exact) >= 1:
            # One whose share is just below its capacity was rounded, too.
            bound = 1 + (k - len(free)) + 1e-9
            assert all(
                abs(shares[i] - share) < bound for i, share in zip(free, exact)
            )


@pytest.mark.parametrize('k', [1, 3, 4, 7])
def test_an_even_split_is_the_special_case(k):
    for n in range(k, 40):
        assert shard_sizes(n, [3] * k) == [
            n // k + (i < n % k) for i in range(k)
        ]


def test_the_remaining_rows_go_to_the_devices_that_finish_first():
    assert shard_sizes(10, [1, 1, 1, 5]) == [1, 1, 1, 7]


@pytest.mark.parametrize(
    'shares',
    [
        [1],
        [1, 1, 1],
        [1, 0],
        [1, -1],
        [1, float('inf')],
        [1, float('nan')],
        [1, '2'],
        [1, None],
    ],
)
def test_invalid_shares_are_rejected(shares):
    split = functools.partial(split_by_shares, shares=shares)
    calls = [
        lambda: split(*minibatch(9), devices_of(2)),
        lambda: d2lmulti.train_batch(
            *minibatch(9),
            replicas_on(devices_of(2)),
            devices_of(2),
            0.1,
            split=split,
        ),
        lambda: train_batch_weighted(
            *minibatch(9),
            replicas_on(devices_of(2)),
            devices_of(2),
            0.1,
            shares,
        ),
    ]
    if len(shares) == 2:
        calls.append(lambda: shard_sizes(9, shares))
    for call in calls:
        with pytest.raises(ValueError, match='shares must be'):
            call()


@pytest.mark.parametrize(
    'limits, error, message',
    [
        ({'slowdowns': [1]}, ValueError, 'slowdowns needs an entry'),
        (
            {'slowdowns': [1, 0]},
            ValueError,
            r'slowdowns\[1\] must be at least',
        ),
        ({'slowdowns': [1, 1.5]}, TypeError, r'slowdowns\[1\] must be an int'),
        (
            {'max_examples': [0, None]},
            ValueError,
            r'max_examples\[0\] must be at least',
        ),
        ({'max_examples': [1]}, ValueError, 'max_examples needs an entry'),
    ],
)
def test_invalid_limits_are_rejected_before_any_work(limits, error, message):
    replicas = replicas_on(devices_of(2))
    with pytest.raises(error, match=message):
        train_batch_weighted(
            *minibatch(9), replicas, devices_of(2), 0.1, [1, 1], **limits
        )
    for replica in replicas:
        for param, first in zip(replica, d2lmulti.init_params(seed=3)):
            assert (param.asnumpy() == first.asnumpy()).all()


def sizes_of_work(monkeypatch, **limits):
    """Return how many images each device worked on, each time."""
    worked = {device: [] for device in devices_of(2)}

    def noted(X_shards, *rest):
        for X in X_shards:
            worked[X.ctx].append(len(X))
        d2lmulti.backward(X_shards, *rest)

    monkeypatch.setattr(heterogeneous, 'backward', noted)
    train_batch_weighted(
        *minibatch(30),
        replicas_on(devices_of(2)),
        devices_of(2),
        0.1,
        [2, 1],
        **limits,
    )
    return list(worked.values())


def test_a_slow_device_repeats_its_work(monkeypatch):
    assert sizes_of_work(monkeypatch) == [[20], [10]]
    assert sizes_of_work(monkeypatch, slowdowns=[1, 3]) == [[20], [10] * 3]


def test_no_part_is_larger_than_what_fits(monkeypatch):
    assert [
        sorted(sizes)
        for sizes in sizes_of_work(monkeypatch, max_examples=[9, None])
    ] == [[6, 7, 7], [10]]


def test_each_device_is_timed_until_its_gradients_are_there(monkeypatch):
    clock = iter([100.0])
    ends = {mx.cpu(0): 103.0, mx.cpu(1): 107.0}
    events = []
    monkeypatch.setattr(
        heterogeneous.npx, 'waitall', lambda: events.append('waitall')
    )
    monkeypatch.setattr(
        heterogeneous.time, 'perf_counter', lambda: next(clock)
    )
    monkeypatch.setattr(
        heterogeneous,
        'time_when_ready',
        lambda array: np.array([ends[array.ctx]]),
    )
    assert train_batch_weighted(
        *minibatch(6), replicas_on(devices_of(2)), devices_of(2), 0.1, [1, 1]
    ) == [3.0, 7.0]
    assert events == ['waitall']  # or earlier work would be timed, too


def simulate(
    seed, adapt, factor=2.0, k=2, noise=0.05, num_steps=90, change=40
):
    """Return each step's time as a multiple of the least, and the steps in
    which the shares changed; the last device's cost changes at `change`."""
    rng = onp.random.RandomState(seed)
    costs, shares = onp.ones(k), [256 // k] * k
    recent, times, changes = [], [], []
    for now in range(num_steps):
        if now == change:
            costs[-1] *= factor
        times.append(max(shares * costs) * sum(1 / costs) / sum(shares))
        recent = recent[-6:] + [list(costs * onp.exp(rng.normal(0, noise, k)))]
        better = adapt(shares, recent)
        changes += [now] * (better != shares)
        shares = better
    return times, changes


@pytest.mark.parametrize('factor', [2.0, 0.5, 4.0])
@pytest.mark.parametrize('k', [2, 3, 4])
def test_shares_follow_a_change_within_ten_steps(factor, k):
    for seed in range(10):
        times, _ = simulate(seed, adapt_shares, factor, k)
        assert max(times[50:]) < 1.2


@pytest.mark.parametrize('k', [2, 4])
def test_noise_alone_moves_the_shares_rarely(k):
    changes = sum(
        len(simulate(seed, adapt_shares, 1.0, k)[1]) for seed in range(10)
    )
    assert changes <= 5  # in 900 steps


def test_a_single_slow_step_moves_nothing():
    recent = [[1, 1]] * 3 + [[1, 9]] * 2 + [[1, 1]] * 3
    for end in range(1, 9):
        assert adapt_shares([50, 50], recent[:end]) == [50, 50]
    assert adapt_shares([50, 50], [[1, 9]] * 4) == [50, 50]
    assert adapt_shares([50, 50], [[1, 9]] * 5) == [90, 10]
    assert adapt_shares((50, 50), onp.array([[1, 9]] * 5)) == [90, 10]


def test_shares_cannot_be_adapted_before_a_step():
    with pytest.raises(ValueError, match=r'len.recent. must be at least 1'):
        adapt_shares([50, 50], [])


def test_adapted_shares_keep_the_caps():
    assert adapt_shares([50, 50], [[1, 9]] * 5, capacities=[60, None]) == [
        60,
        40,
    ]


@pytest.mark.parametrize('recent', [[[1, 9]], [[1, 9]] * 5, [[1, 1]] * 5])
def test_shares_above_a_cap_are_changed_in_any_case(recent):
    assert adapt_shares([90, 10], recent, capacities=[60, None])[0] <= 60


def error_of_means(sizes):
    """Return the relative error of the mean of the shards' means."""
    ((X, y),) = minibatches([sum(sizes)])
    (params,) = replicas_on(devices_of(1), 'float64')

    def gradient(start, end):
        compute_gradients(
            [X[start:end]], [y[start:end]], [params], [1], [None]
        )
        return onp.concatenate(
            [param.grad.asnumpy().ravel() / (end - start) for param in params]
        )

    ends = onp.cumsum([0, *sizes])
    right = gradient(0, ends[-1])
    means = [gradient(*pair) for pair in zip(ends, ends[1:])]
    return onp.linalg.norm(sum(means) / len(sizes) - right) / onp.linalg.norm(
        right
    )


def test_the_mean_of_means_is_right_for_equal_shards_only():
    assert error_of_means([32, 32]) < onp.finfo('float32').eps
    assert error_of_means([43, 21]) > 0.01
    assert error_of_means([60, 4]) > 0.1


# Bugs that must be noticed


def test_the_mean_of_unequal_shards_means_is_noticed():
    def mean_of_a_shard(scores, y):
        return d2lmulti.loss(scores, y).mean()

    with pytest.raises(AssertionError):
        assert_same_steps([2, 1], (31,), loss=mean_of_a_shard)


def test_a_step_that_can_be_interrupted_is_caught(monkeypatch):
    monkeypatch.setitem(
        globals(), 'train_batch_weighted', train_batch_weighted.__wrapped__
    )
    with pytest.raises(AssertionError):
        test_an_interrupt_waits_for_the_end_of_the_step()
