"""Devices, slices, copies and clocks."""

import mxnet as mx
import numpy as onp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mxnet import gluon, np

import d2lmulti
from d2lmulti import devices


@pytest.mark.parametrize('k', [1, 2, onp.int64(7), 64])
def test_devices_are_distinct(k):
    assert len(set(d2lmulti.try_devices(k))) == k
    assert all(isinstance(c, type(mx.cpu())) for c in d2lmulti.try_devices(k))


def assert_slices_are_fair(n, k):
    parts = [list(range(n))[part] for part in d2lmulti.split_slices(n, k)]
    assert len(parts) == k and sum(parts, []) == list(range(n))
    lengths = [len(part) for part in parts]
    assert max(lengths) - min(lengths) <= 1
    assert lengths == sorted(lengths, reverse=True)  # longer parts first


@settings(max_examples=60)
@given(st.integers(0, 100), st.integers(1, 20))
def test_slices_cover_everything_in_order_and_differ_by_at_most_one(n, k):
    assert_slices_are_fair(n, k)


@pytest.mark.parametrize(
    'n, k, error',
    [
        (-1, 2, ValueError),
        (3, 0, ValueError),
        (3.0, 2, TypeError),
        (3, '2', TypeError),
        (3, True, TypeError),
    ],
)
def test_invalid_arguments_of_split_slices(n, k, error):
    with pytest.raises(error):
        d2lmulti.split_slices(n, k)


@pytest.mark.parametrize(
    'k, words',
    [
        (0, 'k, the number of devices, must be at least 1'),
        (65, 'at most 64 work side by side'),
        ('2', 'must be an integer, not .2.'),
        ([mx.cpu(0)], r'must be an integer, not .cpu\(0\)'),
        (True, 'must be an integer'),
    ],
)
def test_a_number_of_devices_that_cannot_be(k, words):
    with pytest.raises((TypeError, ValueError), match=words):
        d2lmulti.try_devices(k)


def test_only_explicit_copies_between_devices_are_recorded():
    x, other = np.ones((3, 5)), mx.cpu(1)
    target = np.zeros((3, 5), ctx=other)
    copies = d2lmulti.profiler.record_copies(
        lambda: (
            x.copyto(other),
            x.as_in_ctx(other),
            x.copyto(target),
            x.copyto(mx.cpu(0)),
            x.copy(),
            x[0, :1].copyto(other),
            x[:0].copyto(other),
        )
    )
    assert copies == [(mx.cpu(0), other, n) for n in (60, 60, 60, 4)]


def test_a_copy_that_is_recorded_is_made():
    made = []
    d2lmulti.profiler.record_copies(
        lambda: made.append(np.ones(3).copyto(mx.cpu(1)))
    )
    assert made[0].ctx == mx.cpu(1) and (made[0] == 1).all()


def copies_of_gluon():
    devices = [mx.cpu(0), mx.cpu(1)]
    return d2lmulti.profiler.record_copies(
        lambda: gluon.utils.split_and_load(np.ones((4, 3)), devices)
    )


def test_copies_by_gluon_are_recorded():
    assert copies_of_gluon() == [(mx.cpu(0), mx.cpu(1), 24)]


def test_copying_is_as_before_once_the_record_is_made():
    before = np.ndarray.copyto, np.ndarray.as_in_context
    copies_of_gluon()
    with pytest.raises(ZeroDivisionError):
        d2lmulti.profiler.record_copies(lambda: 1 / 0)
    assert (np.ndarray.copyto, np.ndarray.as_in_context) == before


def test_the_median_of_the_runs_after_the_first_is_their_time(monkeypatch):
    lengths = [100.0, 7.0, 1.0, 3.0]  # the first is the warm-up
    clock = iter([t for n in lengths for t in (50.0, 50.0 + n)])
    monkeypatch.setattr(devices.time, 'perf_counter', lambda: next(clock))
    seconds = d2lmulti.devices.median_seconds(lambda: None, num_runs=3)
    assert seconds == 3.0


def assert_drains_on_both_sides(clock, monkeypatch):
    events = []
    monkeypatch.setattr(
        devices.npx, 'waitall', lambda: events.append('waitall')
    )
    clock(lambda: events.append('work'), num_runs=2)
    assert events == ['waitall', 'work', 'waitall'] * 3


def test_timing_drains_the_engine_on_both_sides(monkeypatch):
    assert_drains_on_both_sides(d2lmulti.devices.median_seconds, monkeypatch)


def test_a_clock_that_stops_too_early_is_noticed(monkeypatch):
    def impatient(work, num_runs):
        for _ in range(num_runs + 1):
            devices.npx.waitall()
            work()  # queues it, no more

    with pytest.raises(AssertionError):
        assert_drains_on_both_sides(impatient, monkeypatch)
