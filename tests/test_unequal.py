"""Shards of unequal size: the step of one device, and shares that fit."""
import contextlib
import ctypes
import threading
import time

import mxnet as mx
import numpy as onp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mxnet import base, np

import d2lmulti
from d2lmulti import unequal
from d2lmulti.data import shard_sizes
from d2lmulti.unequal import (adapt_shares, balanced_shares,
                              compute_gradients, measure_speeds,
                              train_unequal)
from test_equivalence import ROUNDING, minibatch, reference_steps, replicas_on

POSITIVE = st.floats(1e-300, 1e300)
many = settings(deadline=None)


def devices_of(k):
    return [mx.cpu(i) for i in range(k)]


def furthest(replicas, sizes, lr=0.1):
    """Return how far the replicas are from plain steps on one device."""
    right = reference_steps([minibatch(n, seed)
                             for seed, n in enumerate(sizes)], lr)
    return max(abs(param.asnumpy() - p).max()
               for replica in replicas for param, p in zip(replica, right))


def after_steps(k, sizes, step):
    """Return replicas after `step(X, y, replicas, devices, lr)`."""
    replicas = replicas_on(devices_of(k))
    for seed, n in enumerate(sizes):
        step(*minibatch(n, seed), replicas, devices_of(k), 0.1)
    return replicas


def assert_same_steps(shares, sizes=(61, 7), **more):
    for step in (
            lambda *a: d2lmulti.train_batch(*a, shares=shares),
            lambda *a: train_unequal(*a, shares=shares, **more)):
        replicas = after_steps(len(shares), sizes, step)
        assert furthest(replicas, sizes) <= ROUNDING * len(sizes)


@pytest.mark.parametrize('shares', [
    [3], onp.array([2, 1]), (2, 1), [1, 1], [1, 50], [1, 2, 4],
    [0.2, 0.7, 0.1], [9, 1, 1, 9]])
def test_unequal_shards_make_the_steps_of_one_device(shares):
    assert_same_steps(shares)


@pytest.mark.parametrize('shares', [[2, 1], [1, 2, 4], [9, 1, 1, 9]])
def test_without_synchronization_every_replica_differs(shares):
    replicas = after_steps(len(shares), (61,), lambda *a: train_unequal(
        *a, shares=shares, allreduce=lambda data: None))
    for replica in replicas:
        assert furthest([replica], (61,)) > 100 * ROUNDING


@pytest.mark.parametrize('most', [[None, 7], [5, 20], [1, 1], [100, None]])
def test_a_device_that_works_in_parts_makes_the_same_step(most):
    assert_same_steps([2, 1], most=most)


def test_repeated_work_changes_nothing_but_the_time():
    assert_same_steps([2, 1], repeats=[1, 3], most=[None, 9])


def test_shards_have_the_sizes_of_the_shares():
    data = np.arange(20).reshape(10, 2)
    shards = d2lmulti.split_and_load(data, devices_of(3), [5, 2, 3])
    assert [len(shard) for shard in shards] == [5, 2, 3]
    joined = onp.concatenate([shard.asnumpy() for shard in shards])
    assert (joined == data.asnumpy()).all()
    X_shards, y_shards = d2lmulti.split_batch(data, data, devices_of(2),
                                              [4, 1])
    assert [len(shard) for shard in X_shards] == [8, 2]
    assert [len(shard) for shard in y_shards] == [8, 2]


def assert_proportional(num_rows, shares):
    sizes = shard_sizes(num_rows, shares)
    assert sum(sizes) == num_rows and min(sizes) >= 1
    largest = max(shares)
    total = sum(share / largest for share in shares)
    exact = [num_rows * (share / largest) / total for share in shares]
    if min(exact) >= 1:
        assert all(abs(size - share) < 1 + 1e-9
                   for size, share in zip(sizes, exact))
    for size, share in zip(sizes, exact):  # nobody pays for more than k
        assert share - len(shares) < size < share + 1 + 1e-9


@many
@given(st.data())
def test_shares_add_up_and_are_within_one_of_proportional(data):
    shares = data.draw(st.lists(POSITIVE, min_size=1, max_size=8))
    assert_proportional(data.draw(st.integers(len(shares), 5000)), shares)


@many
@given(st.data())
def test_like_devices_get_the_same(data):
    shares = data.draw(st.lists(st.floats(0.1, 10), min_size=1, max_size=8))
    num_rows = data.draw(st.integers(len(shares), 500))
    sizes = shard_sizes(num_rows, shares)
    assert sizes == shard_sizes(num_rows, [4 * share for share in shares])
    for size, share in zip(sizes, shares):
        for other, other_share in zip(sizes, shares):
            if share > other_share:
                assert size >= other


@many
@given(st.data())
def test_caps_are_kept_and_the_rest_is_proportional(data):
    k = data.draw(st.integers(1, 6))
    speeds = data.draw(st.lists(st.floats(0.1, 10), min_size=k, max_size=k))
    caps = data.draw(st.lists(st.one_of(st.none(), st.integers(1, 60)),
                              min_size=k, max_size=k))
    room = sum(10 ** 6 if cap is None else cap for cap in caps)
    batch_size = data.draw(st.integers(k, min(300, max(k, room))))
    shares = balanced_shares(speeds, batch_size, caps)
    assert sum(shares) == batch_size and min(shares) >= 1
    assert all(cap is None or share <= cap
               for share, cap in zip(shares, caps))
    free = [i for i in range(k) if caps[i] is None or shares[i] < caps[i]]
    if free:
        rest = sum(shares[i] for i in free)
        exact = [rest * speeds[i] / sum(speeds[j] for j in free)
                 for i in free]
        if min(exact) >= 1:
            assert all(abs(shares[i] - share) < 1 + 1e-9
                       for i, share in zip(free, exact))


@pytest.mark.parametrize('k', [1, 3, 4, 7])
def test_an_even_split_is_the_special_case(k):
    for n in range(k, 40):
        assert shard_sizes(n, [3] * k) == [n // k + (i < n % k)
                                           for i in range(k)]


def test_the_rows_left_over_go_to_who_finishes_first():
    assert shard_sizes(10, [1, 1, 1, 5]) == [1, 1, 1, 7]


@pytest.mark.parametrize('shares', [
    [1], [1, 1, 1], [1, 0], [1, -1], [0, 0], [1, float('inf')],
    [1, float('nan')], [1, '2'], [1, None]])
def test_useless_shares_are_refused(shares):
    for call in (lambda: d2lmulti.split_and_load(np.zeros(9), devices_of(2),
                                                 shares),
                 lambda: train_unequal(*minibatch(9),
                                       replicas_on(devices_of(2)),
                                       devices_of(2), 0.1, shares)):
        with pytest.raises(ValueError, match='shares must be a finite number'):
            call()


@pytest.mark.parametrize('speed', [0, -1, float('inf'), float('nan'), '1'])
def test_useless_speeds_are_refused(speed):
    with pytest.raises(ValueError, match='speeds must be a finite number.*'
                                         '2 here'):
        balanced_shares([1, speed], 10)


@pytest.mark.parametrize('call, message', [
    (lambda: balanced_shares([1, 1], 1), 'cannot be split over 2'),
    (lambda: balanced_shares([1, 1], 10, [3, 6]), 'do not fit into 9'),
    (lambda: balanced_shares([1, 1], 10, [3]), 'caps must be 2'),
    (lambda: balanced_shares([1, 1], 10, [0, None]), 'caps must be 2'),
    (lambda: balanced_shares([], 10), '1 here'),
    (lambda: balanced_shares([1], 2.5), 'whole number'),
    (lambda: adapt_shares([5, 5], []), 'recent must hold'),
    (lambda: adapt_shares([5, 5], [[1]]), 'recent must hold'),
    (lambda: adapt_shares([5, 5], [[1, 0]]), 'recent must hold'),
    (lambda: adapt_shares([5, 5], [[1, -1]]), 'recent must hold'),
    (lambda: adapt_shares([5, 5], [[1, float('inf')]]), 'recent must hold'),
    (lambda: adapt_shares([0, 10], [[1, 1]]), 'share 0 must be a whole'),
    (lambda: adapt_shares([5, 5.0], [[1, 1]]), 'share 1 must be a whole'),
    (lambda: adapt_shares([5, 5], [[1, 1]], caps=[4, 4]), 'do not fit'),
    (lambda: measure_speeds(devices_of(2), 2.5), 'shard_size must be'),
    (lambda: measure_speeds(devices_of(2), num_runs=0), 'num_runs must be'),
    (lambda: adapt_shares([5, 5], [[1, 1]], margin=1), 'margin must be'),
    (lambda: adapt_shares([5, 5], [[1, 1]], margin=-1), 'margin must be')])
def test_what_cannot_work_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize('limits', [
    {'repeats': [1]}, {'repeats': [1, 0]}, {'repeats': [1, 1.5]},
    {'repeats': [None, 1]}, {'most': [0, None]}, {'most': [1]}])
def test_useless_limits_are_refused_before_any_work(limits):
    replicas = replicas_on(devices_of(2))
    with pytest.raises(ValueError, match='must be 2 whole numbers'):
        train_unequal(*minibatch(9), replicas, devices_of(2), 0.1, [1, 1],
                      **limits)
    for replica in replicas:
        for param, first in zip(replica, d2lmulti.init_params(seed=3)):
            assert (param.asnumpy() == first.asnumpy()).all()


def test_speeds_are_in_proportion_to_what_the_devices_do(monkeypatch):
    times = iter([[9, 9]] + [[1, 4], [2, 2], [2, 5]])  # the first warms up
    monkeypatch.setattr(unequal, 'train_unequal', lambda *a: next(times))
    assert measure_speeds(devices_of(2), 12, num_runs=3) == [6, 3]


def sizes_of_work(monkeypatch, **limits):
    """Return how many images each device worked on, each time."""
    worked = {device: [] for device in devices_of(2)}

    def noted(X, params):
        worked[X.ctx].append(len(X))
        return d2lmulti.lenet(X, params)

    monkeypatch.setattr(unequal, 'lenet', noted)
    train_unequal(*minibatch(30), replicas_on(devices_of(2)), devices_of(2),
                  0.1, [2, 1], **limits)
    return list(worked.values())


def test_a_slow_device_repeats_its_work(monkeypatch):
    assert sizes_of_work(monkeypatch) == [[20], [10]]
    assert sizes_of_work(monkeypatch, repeats=[1, 3]) == [[20], [10] * 3]


def test_no_part_is_larger_than_what_fits(monkeypatch):
    assert [sorted(sizes) for sizes in sizes_of_work(
        monkeypatch, most=[9, None])] == [[6, 7, 7], [10]]


def test_each_device_is_timed_until_its_gradients_are_there(monkeypatch):
    clock = iter([100.0])
    ends = {mx.cpu(0): 103.0, mx.cpu(1): 107.0}
    events = []
    monkeypatch.setattr(unequal.npx, 'waitall',
                        lambda: events.append('waitall'))
    monkeypatch.setattr(unequal.time, 'perf_counter', lambda: next(clock))
    monkeypatch.setattr(unequal, 'time_when_ready',
                        lambda array: np.array([ends[array.ctx]]))
    assert train_unequal(*minibatch(6), replicas_on(devices_of(2)),
                         devices_of(2), 0.1, [1, 1]) == [3.0, 7.0]
    assert events == ['waitall']  # or earlier work would be timed, too


@contextlib.contextmanager
def held_back(device):
    """Let a CPU device's worker begin nothing new until the block ends, and
    see that the block does not wait for it."""
    end, ended = threading.Event(), []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    def wait(run_context, nothing):
        ended.append(end.wait(20))

    cpu = (ctypes.c_int * 2)(1, device.device_id)
    base.check_call(base._LIB.MXEnginePushSync(
        wait, None, None, cpu, None, 0, None, 0, None, 0, b'wait', False))
    try:
        yield
    finally:
        end.set()
        mx.npx.waitall()  # `wait` must live so long
    assert ended == [True]


def test_the_clock_waits_for_its_array_and_only_for_it():
    _, slow, quick = devices_of(3)  # MXNet uses cpu(0) when it copies
    arrays = [np.ones(3, ctx=device) for device in (slow, quick)]
    mx.npx.waitall()
    times = [time.perf_counter()]
    with held_back(slow):
        late, early = [unequal.time_when_ready(x + 1) for x in arrays]
        times += [float(early), time.perf_counter()]
    times += [float(late), time.perf_counter()]
    assert times == sorted(times)


def test_replicas_that_do_not_fit_are_refused():
    replicas = replicas_on(devices_of(2))
    with pytest.raises(ValueError, match='replicas for 2 devices'):
        train_unequal(*minibatch(6), replicas[:1], devices_of(2), 0.1, [1, 1])
    with pytest.raises(ValueError, match='learning rate'):
        train_unequal(*minibatch(6), replicas, devices_of(2), -1, [1, 1])


def test_the_speeds_of_real_devices_are_positive():
    speeds = measure_speeds(devices_of(2), 4, [1, 2], num_runs=1)
    assert len(speeds) == 2 and min(speeds) > 0


def simulate(seed, adapt, factor=2.0, k=2, noise=0.05, num_steps=90,
             change=40):
    """Return each step's time as a multiple of the least, and the steps in
    which the shares changed; the last device's cost changes at `change`."""
    rng = onp.random.RandomState(seed)
    costs, shares = onp.ones(k), [256 // k] * k
    recent, times, changes = [], [], []
    for now in range(num_steps):
        if now == change:
            costs[-1] *= factor
        times.append(max(shares * costs) * sum(1 / costs) / sum(shares))
        recent = recent[-6:] + [list(costs * onp.exp(
            rng.normal(0, noise, k)))]
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
    changes = sum(len(simulate(seed, adapt_shares, 1.0, k)[1])
                  for seed in range(10))
    assert changes <= 5  # in 900 steps


def test_a_single_slow_step_moves_nothing():
    recent = [[1, 1]] * 3 + [[1, 9]] * 2 + [[1, 1]] * 3
    for end in range(1, 9):
        assert adapt_shares([50, 50], recent[:end]) == [50, 50]
    assert adapt_shares([50, 50], [[1, 9]] * 4) == [50, 50]
    assert adapt_shares([50, 50], [[1, 9]] * 5) == [90, 10]
    assert adapt_shares((50, 50), onp.array([[1, 9]] * 5)) == [90, 10]


def test_adapted_shares_keep_the_caps():
    assert adapt_shares([50, 50], [[1, 9]] * 5, caps=[60, None]) == [60, 40]


@pytest.mark.parametrize('recent', [[[1, 9]], [[1, 9]] * 5, [[1, 1]] * 5])
def test_shares_above_a_cap_are_changed_in_any_case(recent):
    assert adapt_shares([90, 10], recent, caps=[60, None])[0] <= 60


def error_of_means(sizes):
    """Return the relative error of the mean of the shards' means."""
    X, y = minibatch(sum(sizes))
    (params,) = replicas_on(devices_of(1))

    def gradient(start, end):
        compute_gradients([X[start:end]], [y[start:end]], [params], [1],
                          [None])
        return onp.concatenate([param.grad.asnumpy().ravel() / (end - start)
                                for param in params])

    ends = onp.cumsum([0, *sizes])
    right = gradient(0, ends[-1])
    means = [gradient(*pair) for pair in zip(ends, ends[1:])]
    return (onp.linalg.norm(sum(means) / len(sizes) - right)
            / onp.linalg.norm(right))


def test_the_mean_of_means_is_right_for_equal_shards_only():
    assert error_of_means([32, 32]) < 1e-5
    assert error_of_means([43, 21]) > 0.01
    assert error_of_means([60, 4]) > 0.1
