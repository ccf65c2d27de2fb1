"""Devices, slices, copies and clocks."""

import mxnet as mx
import pytest
from helpers import put_in
from hypothesis import given, settings
from hypothesis import strategies as st
from mxnet import gluon, np

import d2lmulti
from d2lmulti import devices
from d2lmulti.checks import sizes_of_slices


@pytest.mark.parametrize('k', [1, 2, 7, 64])
def test_devices_are_distinct(k):
    assert len(set(d2lmulti.try_devices(k))) == k


def assert_slices_are_fair(n, k):
    parts = [list(range(n))[part] for part in d2lmulti.split_slices(n, k)]
    assert len(parts) == k and sum(parts, []) == list(range(n))
    lengths = [len(part) for part in parts]
    assert max(lengths) - min(lengths) <= 1
    assert lengths == sorted(lengths, reverse=True)  # longer parts first
    assert lengths == sizes_of_slices(n, k)  # what the checks expect


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


SLICE_BUGS = {
    'remainder lost': ('i * size + min(i, longer)', 'i * size'),
    'longer parts last': ('min(i, longer)', 'max(0, i - k + longer)'),
    'one more for the first only': ('min(i, longer)', 'longer * (i > 0)'),
}


@pytest.mark.parametrize('bug', SLICE_BUGS)
def test_bug_in_the_slices_is_caught(bug, monkeypatch):
    put_in(monkeypatch, d2lmulti.split_slices, *SLICE_BUGS[bug])
    with pytest.raises(AssertionError):
        assert_slices_are_fair(11, 4)


def test_only_explicit_copies_between_devices_are_recorded():
    x, other = np.ones((3, 5)), mx.cpu(1)
    target = np.zeros((3, 5), ctx=other)
    copies = d2lmulti.devices.record_copies(
        lambda: (
            x.copyto(other),
            x.as_in_ctx(other),
            x.copyto(target),
            x.copyto(mx.cpu(0)),
            x.copy(),
            x[:0].copyto(other),
        )
    )
    assert copies == [(mx.cpu(0), other, 60)] * 3


def copies_of_gluon():
    devices = [mx.cpu(0), mx.cpu(1)]
    return d2lmulti.devices.record_copies(
        lambda: gluon.utils.split_and_load(np.ones((4, 3)), devices)
    )


def test_copies_by_gluon_are_recorded():
    assert copies_of_gluon() == [(mx.cpu(0), mx.cpu(1), 24)]


def test_copies_by_gluon_that_go_unrecorded_are_caught(monkeypatch):
    put_in(
        monkeypatch,
        d2lmulti.devices.record_copies,
        'as_in_context=np.ndarray.as_in_ctx',
        '',
    )
    with pytest.raises(AssertionError):
        test_copies_by_gluon_are_recorded()


def test_copying_is_as_before_once_the_record_is_made():
    before = np.ndarray.copyto, np.ndarray.as_in_context
    copies_of_gluon()
    with pytest.raises(ZeroDivisionError):
        d2lmulti.devices.record_copies(lambda: 1 / 0)
    assert (np.ndarray.copyto, np.ndarray.as_in_context) == before


def test_a_direct_read_is_no_recorded_copy():
    a, b = np.ones(3), np.ones(3, ctx=mx.cpu(1))
    assert d2lmulti.devices.record_copies(lambda: a + b) == []


def assert_drains_on_both_sides(monkeypatch):
    events = []
    monkeypatch.setattr(
        devices.npx, 'waitall', lambda: events.append('waitall')
    )
    d2lmulti.devices.median_seconds(lambda: events.append('work'), num_runs=2)
    assert events == ['waitall', 'work', 'waitall'] * 3


def test_timing_drains_the_engine_on_both_sides(monkeypatch):
    assert_drains_on_both_sides(monkeypatch)


def test_a_clock_that_stops_too_early_is_caught(monkeypatch):
    put_in(
        monkeypatch,
        d2lmulti.devices.median_seconds,
        'work()\n        npx.waitall()',
        'work()',
    )
    with pytest.raises(AssertionError):
        assert_drains_on_both_sides(monkeypatch)
