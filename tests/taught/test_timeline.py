"""Timelines: what the profiler has seen, told apart and drawn."""

import contextlib
import ctypes
import functools
import json
import math
import pathlib
import random
import threading
import time

import matplotlib
import mxnet as mx
import nbformat
import numpy as onp
import pytest
from mxnet import base, np

import d2lmulti
from d2lmulti import plots, profiler
from d2lmulti.communication import timeline
from d2lmulti.profiler import Operator

matplotlib.use('agg')

TWO_LANES = [
    Operator('cpu(0)', 'dot', 0, 10),
    Operator('cpu(0)', 'CopyCPU2CPU', 10, 12),
    Operator('cpu(1)', 'dot', 12, 20),
]


def test_a_profile_names_device_and_operator_in_milliseconds():
    a = np.ones((300, 300), ctx=mx.cpu(0))
    b = np.ones((300, 300), ctx=mx.cpu(1))
    operators = profiler.profile(
        lambda: (np.dot(a, a), np.dot(b, b), a.copyto(b))
    )
    assert {o.device for o in operators} == {'cpu(0)', 'cpu(1)'}
    assert sum('dot' in o.name for o in operators) == 2
    assert [profiler.operator_kind(o) for o in operators].count('copy') == 1
    assert min(o.start for o in operators) == 0
    assert all(0 <= o.start <= o.end < 10_000 for o in operators)


def test_a_profile_holds_nothing_of_the_one_before():
    a = np.ones((10, 10))
    first = profiler.profile(lambda: [np.dot(a, a) for _ in range(5)])
    second = profiler.profile(lambda: np.dot(a, a))
    assert (len(first), len(second)) == (5, 1)


def test_the_profiler_stops_also_after_an_error():
    with pytest.raises(ZeroDivisionError):
        profiler.profile(lambda: 1 / 0)
    operators = profiler.profile(lambda: np.ones(3) + 1)
    assert 0 < len(operators) < 5


def test_nothing_is_written_while_the_profiler_runs(tmp_path, monkeypatch):
    """A file that appears late would keep its folder from being removed."""
    monkeypatch.setattr(profiler.tempfile, 'tempdir', str(tmp_path))
    seen = []

    def work():
        for _ in range(15):
            np.ones(3).wait_to_read()
            time.sleep(0.1)
            seen.extend(tmp_path.glob('*/*'))

    profiler.profile(work)
    assert seen == [] == list(tmp_path.iterdir())


@contextlib.contextmanager
def held_back(device):
    """Keep a CPU device's worker thread busy until the block ends, and check
    that the block did not wait for it."""
    end, ended = threading.Event(), []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
    def wait(run_context, nothing):
        ended.append(end.wait(20))

    cpu = (ctypes.c_int * 2)(1, device.device_id)
    base.check_call(
        base._LIB.MXEnginePushSync(
            wait, None, None, cpu, None, 0, None, 0, None, 0, b'wait', False
        )
    )
    try:
        yield
    finally:
        end.set()
        mx.npx.waitall()  # `wait` must live so long
    assert ended == [True]


def test_the_clock_waits_for_its_array_and_only_for_it():
    slow, quick = mx.cpu(1), mx.cpu(2)  # MXNet uses cpu(0) when it copies
    arrays = [np.ones(3, ctx=device) for device in (slow, quick)]
    mx.npx.waitall()
    times = [time.perf_counter()]
    with held_back(slow):
        late, early = [timeline.time_when_ready(x + 1) for x in arrays]
        times += [float(early), time.perf_counter()]
    times += [float(late), time.perf_counter()]
    assert times == sorted(times)


def test_the_idle_fraction_counts_what_no_operator_covers():
    assert timeline.idle_fraction(TWO_LANES) == 1 - (12 + 8) / 40


def test_the_idle_fraction_of_given_devices_counts_one_that_never_worked():
    three = [mx.cpu(0), 'cpu(1)', mx.cpu(2)]
    assert timeline.idle_fraction(TWO_LANES, three) == 1 - (12 + 8) / 60
    assert timeline.idle_fraction(TWO_LANES, [mx.cpu(0)]) == 1 - 12 / 20


def test_operators_side_by_side_in_one_lane_count_once():
    """A GPU copies while it computes."""
    assert (
        timeline.idle_fraction(
            [
                Operator('gpu(0)', 'dot', 0, 10),
                Operator('gpu(0)', 'Copy', 4, 8),
                Operator('gpu(0)', 'dot', 9, 15),
                Operator('gpu(0)', 'dot', 18, 20),
            ]
        )
        == 1 - 17 / 20
    )


def test_operators_too_short_for_the_clock_are_no_error():
    assert timeline.idle_fraction([Operator('cpu(0)', 'dot', 0, 0)]) == 1


def test_a_timeline_has_a_lane_for_each_device():
    axis = timeline.plot_timeline(TWO_LANES, length=50)
    assert [label.get_text() for label in axis.get_yticklabels()] == [
        'cpu(0)',
        'cpu(1)',
    ]
    assert axis.get_xlim() == (0, 50)
    names = [text.get_text() for text in axis.get_legend().get_texts()]
    assert names == ['forward', 'backward', 'copy', 'sum, update', 'waiting']


@pytest.mark.parametrize(
    'content',
    ['no JSON', '[3', '{"a": 1}', '', json.dumps({'traceEvents': []})],
)
def test_a_file_without_operators_is_refused(content, tmp_path):
    path = tmp_path / 'profile.json'
    path.write_text(content)
    with pytest.raises(ValueError, match='profile.json|no operators'):
        profiler.read_profile(path)


def test_nothing_to_draw_is_refused():
    for function in (timeline.plot_timeline, timeline.idle_fraction):
        with pytest.raises(ValueError, match='no operators'):
            function([])
    with pytest.raises(ValueError, match='no operators'):
        timeline.idle_fraction([], [mx.cpu(0)])
    with pytest.raises(ValueError, match='nothing ran on MXNet'):
        profiler.profile(lambda: None)


def test_copies_are_counted_between_devices_only():
    a = np.ones(10, dtype='float64', ctx=mx.cpu(0))
    b = np.ones(10, dtype='float64', ctx=mx.cpu(1))

    def work():
        a.copyto(mx.cpu(1))
        b[:3].copyto(a[:3])
        b.as_in_ctx(mx.cpu(2))
        a.copyto(mx.cpu(0))  # stays
        a[:0].copyto(mx.cpu(1))  # nothing

    assert d2lmulti.profiler.record_copies(work) == [
        (mx.cpu(0), mx.cpu(1), 80),
        (mx.cpu(1), mx.cpu(0), 24),
        (mx.cpu(1), mx.cpu(2), 80),
    ]


# Buckets in reverse order, in a cell of the chapter

CHAPTER = (
    pathlib.Path(d2lmulti.__file__)
    .parents[1]
    .joinpath('notebooks', '09_timeline.ipynb')
)
SHAPES = [(3,), (2, 2), (5,), (1,), (6,), (2,)]


def chapter_names():
    """Return what the cell defines."""
    (source,) = [
        cell.source
        for cell in nbformat.read(CHAPTER, 4).cells
        if cell.id == 'buckets'
    ]
    names = {'math': math, 'bucket_allreduce': d2lmulti.bucket_allreduce}
    exec(source, names)
    return names


def assert_buckets_fill_in_reverse(names):
    random = onp.random.RandomState(0)
    for limit in (0, 1, 4, 12, 20, 100, math.inf):
        for length in range(8):
            sizes = random.randint(0, 9, length).tolist()
            buckets = names['reverse_buckets'](sizes, limit)
            assert [i for bucket in buckets for i in bucket] == list(
                reversed(range(length))
            )
            for bucket in buckets:
                assert bucket
                filled = [sizes[i] for i in bucket]
                assert len(bucket) == 1 or sum(filled[:-1]) < limit
                assert bucket is buckets[-1] or sum(filled) >= limit


def replicas_with_gradients(k):
    """Return k replicas whose gradients are whole numbers, and the sums."""
    random = onp.random.RandomState(k)
    values = [random.randint(1, 9, (k, *shape)) for shape in SHAPES]
    replicas = []
    for i in range(k):
        params = [np.zeros(shape, ctx=mx.cpu(i)) for shape in SHAPES]
        for param, value in zip(params, values):
            param.attach_grad()
            param.grad[:] = np.array(value[i], dtype='float32')
        replicas.append(params)
    return replicas, [value.sum(axis=0) for value in values]


def assert_sums_in_buckets(names):
    sizes = [4 * math.prod(shape) for shape in SHAPES]
    for k in (1, 2, 3, 4):
        for limit in (0, 24, math.inf):
            replicas, sums = replicas_with_gradients(k)
            before = [param.grad.asnumpy() for param in replicas[-1]]
            assert k == 1 or any((a != b).any() for a, b in zip(before, sums))
            copies = d2lmulti.profiler.record_copies(
                lambda params=replicas, limit=limit: names['sum_in_buckets'](
                    params, limit
                )
            )
            for params in replicas:
                for param, value in zip(params, sums):
                    assert (param.grad.asnumpy() == value).all()
            num_buckets = len(names['reverse_buckets'](sizes, limit))
            assert len(copies) == 2 * (k - 1) * num_buckets


def test_buckets_fill_from_the_last_parameter_to_the_first():
    assert_buckets_fill_in_reverse(chapter_names())


def test_sums_in_buckets_are_those_of_one_device():
    assert_sums_in_buckets(chapter_names())


@pytest.mark.parametrize(
    ('name', 'kind'),
    [
        ('Convolution', 'forward'),
        ('_np_dot', 'forward'),
        ('_backward_np_dot', 'backward'),
        ('_backward_npi_broadcast_add', 'backward'),
        ('CopyCPU2CPU', 'copy'),
        ('CopyCPU2GPU', 'copy'),
        ('_npi_subtract', 'sum, update'),
    ],
)
def test_a_timeline_tells_the_parts_of_a_step_apart(name, kind):
    assert profiler.operator_kind(Operator('cpu(0)', name, 0, 1)) == kind


def test_a_lane_has_the_color_of_its_device_in_several_shades():
    operators = [
        Operator('cpu(0)', 'Convolution', 0, 1),
        Operator('cpu(0)', '_backward_Convolution', 1, 2),
        Operator('cpu(1)', '_backward_Convolution', 0, 2),
    ]
    axis = timeline.plot_timeline(operators)
    first, second = (lane.get_facecolors() for lane in axis.collections)
    forward, backward = (tuple(color[:3]) for color in first)
    assert backward == plots.shade(plots.DEVICE_COLORS[0], 1)
    assert tuple(second[0][:3]) == plots.shade(plots.DEVICE_COLORS[1], 1)
    assert forward == plots.shade(plots.DEVICE_COLORS[0], 0.4)


# The simulated clock


def longest_path(lanes):
    """Return when each task ends: the longest chain of tasks before it."""
    seconds, before = {}, {}
    for tasks in lanes.values():
        names = [name for name, *_ in tasks]
        for last, (name, duration, needs) in zip([None, *names], tasks):
            seconds[name] = duration
            before[name] = [*needs, *([] if last is None else [last])]

    @functools.lru_cache(maxsize=None)
    def end(name):
        return seconds[name] + max([0, *map(end, before[name])])

    return {name: end(name) for name in seconds}


@pytest.mark.parametrize('seed', range(50))
def test_tasks_end_after_the_longest_chain_before_them(seed):
    rng = random.Random(seed)
    lanes = {i: [] for i in range(rng.randint(1, 4))}
    for name in range(rng.randint(1, 30)):
        needs = rng.sample(range(name), min(name, rng.randint(0, 3)))
        lanes[rng.choice([*lanes])].append((name, rng.randint(0, 9), needs))
    ran = timeline.play(lanes)
    assert {o.name: o.end for o in ran} == longest_path(lanes)
    for lane, tasks in lanes.items():
        own = [o for o in ran if o.device == lane]
        assert [(o.name, o.end - o.start) for o in own] == [
            task[:2] for task in tasks
        ]


def test_tasks_that_wait_for_each_other_are_named():
    lanes = {0: [('a', 1, ['b'])], 1: [('b', 1, ['a'])]}
    with pytest.raises(ValueError, match="wait for each other: .'a', 'b'"):
        timeline.play(lanes)
