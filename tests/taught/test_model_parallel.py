"""Pipeline and tensor parallelism give the gradients of one device."""

import functools
import gc
import itertools
import pathlib
import weakref
from unittest import mock

import mxnet as mx
import nbformat
import numpy as onp
import pytest
from helpers import as_type, roundings
from hypothesis import given, settings
from hypothesis import strategies as st
from mxnet import autograd, np, npx

import d2lmulti
from d2lmulti.model_parallelism import model_parallel

CHAPTERS = pathlib.Path(__file__).parents[2] / 'notebooks'
few = settings(max_examples=25)


def make_decoder(num_key_heads=4, num_layers=2, n=9):
    """Return a decoder's parameters, gains other than 1, and its tokens."""
    rng = onp.random.RandomState(0)
    params = as_type(
        d2lmulti.init_decoder(
            0,
            17,
            width=12,
            num_layers=num_layers,
            num_heads=2 * num_key_heads,
            num_key_heads=num_key_heads,
            size=4,
            num_units=19,
        )
    )
    params = [
        np.array(rng.uniform(0.5, 1.5, param.shape), dtype='float64')
        if param.ndim == 1
        else param
        for param in params
    ]
    words = rng.randint(1, 17, (n, 7))
    words *= onp.arange(7) < rng.randint(2, 8, (n, 1))
    X, y = [
        np.array(part, dtype='int32') for part in (words[:, :-1], words[:, 1:])
    ]
    return params, X, y


def reference(X, y, params):
    """Return the gradients on one device."""
    params = d2lmulti.get_params(params, mx.cpu(0))
    with autograd.record():
        scores = d2lmulti.decoder_scores(X, params, 4)
        total = d2lmulti.token_loss(scores, y).sum()
    total.backward()
    return [param.grad.asnumpy() for param in params]


SCHEDULES = [
    d2lmulti.gpipe_schedule,
    d2lmulti.one_f_one_b_schedule,
    model_parallel.zero_bubble_schedule,
]
each_schedule = pytest.mark.parametrize('schedule', SCHEDULES)
of_two_phases = pytest.mark.parametrize('schedule', SCHEDULES[:2])
ahead = functools.partial(model_parallel.zero_bubble_schedule, ahead=2)


def interleaved(num_devices):
    return functools.partial(
        model_parallel.interleaved_schedule, num_devices=num_devices
    )


def pipeline(
    X,
    y,
    params,
    k,
    num_micro_batches=1,
    schedule=SCHEDULES[0],
    costs=None,
    num_chunks=1,
    times=1,
):
    devices = [mx.cpu(i) for i in range(k)]
    stages = d2lmulti.split_layers(
        d2lmulti.decoder_layers(params, 4), devices, costs, num_chunks
    )
    for _ in range(times):  # the second time nothing is left of the first
        gradients = d2lmulti.pipeline_gradients(
            X, y, stages, num_micro_batches, schedule
        )
    assert [gradient.ctx for gradient in gradients] == [
        device
        for stage, device in zip(stages, devices * num_chunks)
        for _ in model_parallel.stage_params(stage)
    ]
    return [gradient.asnumpy() for gradient in gradients]


def assert_equal(grads, expected):
    assert roundings(grads, expected) <= 1


def assert_pipeline_equals_one_device(
    n, k, num_micro_batches, *options, **more
):
    params, X, y = make_decoder(n=n)
    expected = reference(X, y, params)
    grads = pipeline(X, y, params, k, num_micro_batches, *options, **more)
    assert_equal(grads, expected)
    assert min(abs(right).max() for right in expected) > 0


@pytest.mark.parametrize('k', [1, 2, 3, 4])
@pytest.mark.parametrize('n, num_micro_batches', [(13, 4), (5, 5)])
@each_schedule
def test_a_pipeline_gives_the_gradients_of_one_device(
    n, num_micro_batches, k, schedule
):
    assert_pipeline_equals_one_device(
        n, k, num_micro_batches, schedule, times=2
    )


@pytest.mark.parametrize(
    'k, num_chunks, m', [(1, 4, 3), (2, 2, 2), (2, 2, 6), (2, 1, 4), (4, 1, 4)]
)
def test_interleaved_stages_give_the_gradients_of_one_device(k, num_chunks, m):
    assert_pipeline_equals_one_device(
        13, k, m, interleaved(k), num_chunks=num_chunks
    )


@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_more_warm_up_gives_the_gradients_of_one_device(k):
    for m in (4, 9):
        assert_pipeline_equals_one_device(13, k, m, ahead)


def test_a_part_of_the_minibatch_gives_other_gradients():
    params, X, y = make_decoder(n=12)
    with pytest.raises(AssertionError):
        assert_equal(
            pipeline(X[:6], y[:6], params, 2, 2), reference(X, y, params)
        )


@few
@given(st.integers(1, 4), st.sampled_from(SCHEDULES), st.data())
def test_any_micro_batches(k, schedule, data):
    n = data.draw(st.integers(1, 9))
    m = data.draw(st.integers(1, n))
    costs = data.draw(
        st.none() | st.lists(st.floats(0, 9), min_size=4, max_size=4)
    )
    assert_pipeline_equals_one_device(n, k, m, schedule, costs)


@pytest.mark.parametrize('k', [2, 3, 4])
def test_no_stage_holds_everything_and_together_they_hold_it_once(k):
    params, _, _ = make_decoder()
    stages = d2lmulti.split_layers(
        d2lmulti.decoder_layers(params, 4), [mx.cpu(i) for i in range(k)]
    )
    held = [model_parallel.stage_params(stage) for stage in stages]
    assert all(len(own) < len(params) for own in held)
    for whole, param in zip(sum(held, []), params):
        assert (whole.asnumpy() == param.asnumpy()).all()


def test_what_crosses_in_a_pipeline_does_not_depend_on_micro_batches():
    params, X, y = make_decoder(n=12)
    stages = d2lmulti.split_layers(
        d2lmulti.decoder_layers(params, 4), [mx.cpu(0), mx.cpu(1)]
    )
    sent = [
        d2lmulti.profiler.record_copies(
            lambda m=m: d2lmulti.pipeline_gradients(X, y, stages, m)
        )
        for m in (1, 4)
    ]
    total = [sum(num_bytes for _, _, num_bytes in copies) for copies in sent]
    assert total == [72 * (4 + 8 * 2 * 12)] * 2  # tokens, activations
    assert [len(copies) for copies in sent] == [1 + 2, 1 + 2 * 4]


# Stages by cost


def every_cut(costs, k):
    """Yield the parts of each way to cut costs into k parts, none empty."""
    for cuts in itertools.combinations(range(1, len(costs)), k - 1):
        ends = [0, *cuts, len(costs)]
        yield [costs[a:b] for a, b in zip(ends, ends[1:])]


def assert_largest_stage_is_least(costs, k):
    parts = [costs[part] for part in model_parallel.split_by_cost(costs, k)]
    assert sum(parts, []) == costs and len(parts) == k and all(parts)
    least = min(max(map(sum, cut)) for cut in every_cut(costs, k))
    assert max(map(sum, parts)) == least


@given(st.lists(st.integers(0, 20), min_size=1, max_size=8), st.data())
@settings(max_examples=100)
def test_no_cut_has_a_cheaper_largest_stage(costs, data):
    k = data.draw(st.integers(1, len(costs)))
    assert_largest_stage_is_least(costs, k)


def test_many_layers_are_cut_in_time():
    parts = model_parallel.split_by_cost([1.0, 2.0, 3.0] * 40, 16)
    assert parts[0].start == 0 and parts[-1].stop == 120


def test_stages_follow_the_costs():
    layers, devices = [(scale, [])] * 4, [mx.cpu(0), mx.cpu(1)]
    lengths = [
        [len(stage) for stage in d2lmulti.split_layers(layers, devices, costs)]
        for costs in (None, [9, 1, 1, 1], [1.5, 9, 9, 20.0])
    ]
    assert lengths == [[2, 2], [1, 3], [3, 1]]


# Schedules


def scale(h, W, b):
    """A layer of no cost, for runs that are only logged."""
    return h * W + b


PHASES = {
    'forward': 'forward_stage',
    'backward': 'backward_stage',
    'inputs': 'backward_inputs',
    'weights': 'backward_weights',
}


def log_run(p, m, schedule, num_chunks=1):
    """Run a tiny pipeline. Return the calls as (time step, stage, phase,
    micro-batch), and the most that each device held after any of them."""
    num_stages = p * num_chunks
    layers = [(scale, [np.ones(3), np.ones(3)])] * num_stages
    devices = [mx.cpu(s) for s in range(p)]
    stages = d2lmulti.split_layers(layers, devices, num_chunks=num_chunks)
    calls, held = [], [0] * p
    waitall = mock.Mock(side_effect=npx.waitall)

    def logged(run, phase):
        @functools.wraps(run)
        def run_and_log(stages, s, i, arrived, live, y):
            depth.append(phase)
            if len(depth) == 1:
                calls.append((waitall.call_count, s, phase, i))
            run(stages, s, i, arrived, live, y)
            depth.pop()
            d = s % p
            held[d] = max(held[d], sum(stage % p == d for stage, _ in live))

        return run_and_log

    depth = []  # a whole backward pass calls its halves
    with mock.patch.object(npx, 'waitall', waitall), mock.patch.multiple(
        model_parallel,
        **{
            name: logged(getattr(model_parallel, name), phase)
            for phase, name in PHASES.items()
        },
    ):
        d2lmulti.pipeline_gradients(
            np.ones((m, 1, 3)), np.zeros((m, 1)), stages, m, schedule
        )
    return calls, held


def assert_bubble(p, m, schedule):
    calls, _ = log_run(p, m, schedule)
    num_steps = max(step for step, *_ in calls) + 1
    assert len({call[:2] for call in calls}) == len(calls) == 2 * p * m
    assert num_steps == 2 * (m + p - 1)  # idle: (p - 1) / (m + p - 1)
    done = {(s, phase, i): step for step, s, phase, i in calls}
    for (s, phase, i), step in done.items():
        before = s - 1 if phase == 'forward' else s + 1
        assert not 0 <= before < p or done[before, phase, i] < step
        assert phase == 'forward' or done[s, 'forward', i] < step


def assert_live(p, m, schedule, expected):
    assert log_run(p, m, schedule)[1] == expected


@of_two_phases
@pytest.mark.parametrize('p', [1, 2, 3, 4])
def test_the_bubble_is_that_of_the_formula(p, schedule):
    for m in (1, 2, 3, 5, 8, 16):
        assert_bubble(p, m, schedule)


@pytest.mark.parametrize('p', [1, 2, 3, 4])
def test_live_micro_batches(p):
    for m in (1, 3, 8):
        assert_live(p, m, d2lmulti.gpipe_schedule, [m] * p)
        assert_live(
            p,
            m,
            d2lmulti.one_f_one_b_schedule,
            [min(p - s, m) for s in range(p)],
        )


def assert_interleaved(p, v, m):
    calls, held = log_run(p, m, interleaved(p), num_chunks=v)
    assert len({(step, s % p) for step, s, _, _ in calls}) == len(calls)
    assert len(calls) == 2 * p * v * m  # each in a time step of its device
    assert max(step for step, *_ in calls) + 1 == 2 * (v * m + p - 1)
    assert held == [
        min(v * m, 2 * (p - d - 1) + (v - 1) * p + 1) for d in range(p)
    ]


@pytest.mark.parametrize('p, v', [(1, 3), (2, 1), (2, 2), (2, 3), (3, 2)])
def test_interleaved_stages_make_the_bubble_shorter(p, v):
    for m in (p, 2 * p, 4 * p):
        assert_interleaved(p, v, m)


def assert_zero_bubble(p, m, schedule=None):
    """`m`: at least 2p - 1 with ahead = 2, and p with ahead = 1."""
    schedule = schedule or model_parallel.zero_bubble_schedule
    calls, held = log_run(p, m, schedule)
    assert len(calls) == 3 * p * m
    assert max(step for step, *_ in calls) + 1 == 3 * m + p - 1
    idle = []
    for s in range(p):
        own = [step for step, stage, *_ in calls if stage == s]
        idle.append(max(own) + 1 - min(own) - 3 * m)
    done = {(s, phase, i): step for step, s, phase, i in calls}
    for s, i in itertools.product(range(p), range(m)):
        assert done[s, 'forward', i] < done[s, 'inputs', i]
        assert done[s, 'inputs', i] < done[s, 'weights', i]
        assert s == p - 1 or done[s + 1, 'inputs', i] < done[s, 'inputs', i]
    return idle, held


@pytest.mark.parametrize('p', [1, 2, 3, 4])
def test_zero_bubble(p):
    for m in (2 * p, 2 * p + 3):
        assert assert_zero_bubble(p, m) == (
            [p - s - 1 for s in range(p)],
            [p] * p,
        )
        assert assert_zero_bubble(p, m, ahead) == ([0] * p, [2 * p - 1] * p)


def most_alive(schedule, m=8, p=2):
    """Return how many activations of stage 0 exist at once, at most, as
    Python sees it: a layer's output lives as long as it can be reached."""
    alive = weakref.WeakSet()
    counts = []

    class Activation:
        """A weak set needs an object that can be in it."""

    def layer(h, W, b):
        h = h * W + b
        if h.ctx == mx.cpu(0):
            h.mark = Activation()
            alive.add(h.mark)
            counts.append(len(alive))
        return h

    stages = d2lmulti.split_layers(
        [(layer, [np.ones(3), np.ones(3)])] * p,
        [mx.cpu(s) for s in range(p)],
    )
    gc.collect()
    d2lmulti.pipeline_gradients(
        np.ones((m, 1, 3)), np.zeros((m, 1)), stages, m, schedule
    )
    gc.collect()
    assert not alive  # all are freed at the end
    return max(counts)


def assert_freed():
    assert most_alive(d2lmulti.gpipe_schedule) == 8
    assert most_alive(d2lmulti.one_f_one_b_schedule) <= 3  # one in the call
    assert most_alive(model_parallel.zero_bubble_schedule) <= 3


def test_activations_are_freed_after_the_backward_pass():
    assert_freed()


def by_hand(num_stages, m):
    """Return a schedule that is neither: backward passes last first."""
    forward = [('forward', i) for i in range(m)]
    return [forward + [('backward', i) for i in reversed(range(m))]] * (
        num_stages
    )


def test_any_schedule_can_be_run():
    assert_pipeline_equals_one_device(7, 3, 3, by_hand)
    assert_pipeline_equals_one_device(
        7, 2, 3, lambda p, m: (iter(map(list, o)) for o in by_hand(p, m))
    )


F0, B0, I0, W0, F1, B1, I1, W1 = [
    (phase, i) for i in (0, 1) for phase in PHASES
]


@pytest.mark.parametrize(
    'orders, message',
    [
        ([[F0, F1, B0, B1]], '2 in all, but has 1'),
        ([[F0, F1, B0], [F0, F1, B0, B1]], 'device 0 has .* 0 times'),
        ([[F0, F1, B0, B1], [F0, F0, F1, B0, B1]], 'device 1 has .* 2 t'),
        ([[F0, F1, B0, B1], [F0, F1, B0, ('forward', 2)]], "'forward', 2"),
        ([[F0, F1, B0, B1], [F0, F1, B0, ('back', 1)]], "'back', 1"),
        (
            [[B0, F0, F1, B1], [F0, F1, B0, B1]],
            'ends, .*d., 0, 0',
        ),
        (
            [[F0, F1, B0, B1], [B0, F0, F1, B1]],
            'ends, .*d., 0, 1',
        ),
        ([[F0, B0, F1, B1], [F0, F1, B0, B1]], 'never ends'),
        ([[F0, F1, B0, B1], [F0, F1, I0, B1, W0]], "'backward', 1.* 1 time"),
        ([[F0, F1, B0, B1], [F0, F1, W0, I0, I1, W1]], "wait.*'weights', 0"),
        (
            [[F0, F1, B0, B1], [(*F0, 0), F1, B0, B1]],
            r'device 1 has .*, 0\) 1 time',
        ),
    ],
)
def test_a_schedule_that_cannot_end_is_refused(orders, message):
    params, X, y = make_decoder(n=4)
    stages = d2lmulti.split_layers(d2lmulti.decoder_layers(params, 4), TWO)
    with pytest.raises(ValueError, match=message):
        d2lmulti.pipeline_gradients(X, y, stages, 2, lambda p, m: orders)
    grads = d2lmulti.pipeline_gradients(X, y, stages, 2)  # nothing is left
    assert_equal([g.asnumpy() for g in grads], reference(X, y, params))


def test_a_pass_that_sends_nothing_ends_the_run(monkeypatch):
    def silent(stages, s, i, arrived, live, y):
        arrived[s, 'weights', i] = True

    monkeypatch.setattr(model_parallel, 'backward_stage', silent)
    params, X, y = make_decoder(n=4)
    stages = d2lmulti.split_layers(d2lmulti.decoder_layers(params, 4), TWO)
    message = r"arrive: stage 0 waits for \('backward', 0\)\. Does"
    with pytest.raises(RuntimeError, match=message):
        d2lmulti.pipeline_gradients(X, y, stages, 2)


# What is refused


TWO = [mx.cpu(0), mx.cpu(1)]


@pytest.mark.parametrize(
    'call, words',
    [
        (
            lambda p: model_parallel.split_by_cost([1, 1], 3),
            '2 layers .* over 3 stages',
        ),
        (
            lambda p: model_parallel.split_by_cost([1, 1], 1.0),
            'k must be an integer',
        ),
        (
            lambda p: d2lmulti.split_layers([(scale, [])] * 2, TWO, [1]),
            'costs needs an entry for each layer',
        ),
        (lambda p: in_stages(p, 4, 4, 5), '4 examples .* over 5 mic'),
        (lambda p: in_stages(p, 4, 4, '2'), 'must be an integer'),
        (lambda p: in_stages(p, 4, 3, 2), '4 examples but 3 labels'),
        (
            lambda p: model_parallel.interleaved_schedule(3, 4, 2),
            'divide num_stages, 3',
        ),
        (
            lambda p: model_parallel.interleaved_schedule(4, 3, 2),
            'num_micro_batches, 3',
        ),
        (
            lambda p: model_parallel.interleaved_schedule(4, 4, 0),
            'divide num_stages, 4, but 0 does not',
        ),
        (
            lambda p: model_parallel.zero_bubble_schedule(2, 2, ahead=0),
            'ahead must be',
        ),
    ],
)
def test_counts_that_do_not_fit_are_refused(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call(make_decoder()[0])


def in_stages(params, num_rows, num_labels, num_micro_batches):
    stages = d2lmulti.split_layers(d2lmulti.decoder_layers(params, 4), TWO)
    X, y = np.ones((num_rows, 6)), np.ones((num_labels, 6))
    return d2lmulti.pipeline_gradients(X, y, stages, num_micro_batches)


@pytest.mark.parametrize(
    'split',
    [
        lambda params, devices: d2lmulti.split_layers(
            [(scale, [])] * 2, devices
        ),
        lambda params, devices: d2lmulti.shard_decoder(params, devices, 4),
    ],
)
def test_a_device_twice_is_refused(split):
    with pytest.raises(ValueError, match='twice'):
        split(make_decoder()[0], [mx.cpu(0), mx.cpu(0)])


def test_a_group_without_a_sentence_is_refused():
    (path,) = CHAPTERS.glob('*_model_parallel.ipynb')
    (source,) = [
        cell.source
        for cell in nbformat.read(path, 4).cells
        if cell.id == 'two-ways'
    ]
    names = {**vars(model_parallel), 'allreduce': None}
    exec(f'from d2lmulti.checks import check_num_rows\n{source}', names)
    X, y, groups = np.ones((1, 6)), np.ones((1, 6)), [None, None]
    with pytest.raises(ValueError, match='1 example cannot be split over 2 g'):
        names['data_tensor_gradients'](X, y, groups)


# The decoder, its heads, units and vocabulary


def assert_decoder(k, num_key_heads=4, num_layers=2):
    """Every device has the gains' gradients of one device, and together
    they have those of all other parameters."""
    params, X, y = make_decoder(num_key_heads, num_layers)
    expected = reference(X, y, params)
    shards = d2lmulti.shard_decoder(params, [mx.cpu(i) for i in range(k)], 4)
    for _ in range(2):  # the second time nothing is left of the first
        found = d2lmulti.decoder_gradients(X, y, shards, 4)
    for parts in zip(*found):
        right, parts = expected.pop(0), [part.asnumpy() for part in parts]
        if right.ndim == 1:
            assert_equal(parts, [right] * k)
            continue
        assert parts[0].shape != right.shape or k == 1
        axis = [a != b for a, b in zip(parts[0].shape, right.shape)]
        joined = onp.concatenate(parts, axis.index(True) if k > 1 else 0)
        assert_equal([joined], [right])


@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_a_tensor_parallel_decoder_is_that_of_one_device(k):
    assert_decoder(k, num_key_heads=5, num_layers=1)


def keys_of_the_first_device(right):
    def shard(param, j, num_params, num_keys, i, k):
        return right(param, j, num_params, num_keys, i * (j != 3), k)

    return shard


def a_part_of_the_width(right):
    def norm(H, gain):
        half = H.shape[2] // 2
        return np.concatenate(
            [
                right(H[:, :, :half], gain[:half]),
                right(H[:, :, half:], gain[half:]),
            ],
            axis=2,
        )

    return norm


@pytest.mark.parametrize(
    'name, wrong',
    [
        ('largest', lambda right: list),
        ('summed', lambda right: list),
        ('decoder_shard', keys_of_the_first_device),
        ('rms_norm', a_part_of_the_width),
        ('f', lambda right: lambda tape, arrays: arrays),
    ],
)
def test_a_wrong_exchange_in_a_decoder_is_noticed(monkeypatch, name, wrong):
    right = getattr(model_parallel, name)
    monkeypatch.setattr(model_parallel, name, wrong(right))
    if name in ('largest', 'summed'):  # in the softmax only
        exact = model_parallel.score_gradients
        monkeypatch.setattr(model_parallel, name, right)
        monkeypatch.setattr(
            model_parallel,
            'score_gradients',
            functools.partial(exact, **{name: wrong(right)}),
        )
    with pytest.raises(AssertionError):
        assert_decoder(2)


def test_scores_of_any_size_do_not_overflow():
    """exp(900) is infinite: only the maximum of all keeps it away."""
    scores = onp.array([[[900.0, 898, 1, 0], [0, 0, -900, 3]]])
    y = np.array([[2, 3]], dtype='int32')
    parts = [
        np.array(scores[..., own], dtype='float64', ctx=mx.cpu(i))
        for i, own in enumerate((slice(0, 2), slice(2, 4)))
    ]
    found = model_parallel.score_gradients(
        parts,
        [y.as_in_ctx(mx.cpu(i)) for i in range(2)],
    )
    shifted = onp.exp(scores - scores.max(axis=2, keepdims=True))
    right = shifted / shifted.sum(axis=2, keepdims=True)
    right[0, 0, 2] -= 1
    right[0, 1, 3] -= 1
    joined = onp.concatenate([part.asnumpy() for part in found], axis=2)
    assert roundings([joined], [right]) <= 1


@pytest.mark.parametrize(
    'size, words',
    [
        (4, '2 key heads cannot be split over 3'),
        (0, 'size must be at least 1'),
        (6, 'size must be even and fit the weights'),
    ],
)
def test_heads_that_cannot_be_split_are_refused(size, words):
    params, _, _ = make_decoder(2)
    devices = [mx.cpu(i) for i in range(3)]
    with pytest.raises(ValueError, match=words):
        d2lmulti.shard_decoder(params, devices, size)
