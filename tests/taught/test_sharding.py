"""ZeRO 1 to 3 and recomputation take the step of one device."""

import functools
import math
import pathlib
import weakref

import mxnet as mx
import nbformat
import numpy as onp
import pytest
from helpers import as_type, assert_ctrl_c_waits, roundings
from hypothesis import given, settings
from hypothesis import strategies as st
from mxnet import autograd, np
from mxnet.autograd import is_recording

import d2lmulti
from d2lmulti.cluster.checkpoint import (
    Checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from d2lmulti.communication.collectives import direct_allreduce
from d2lmulti.devices import split_slices
from d2lmulti.learning.large_batch import adam, lars, sgd_momentum
from d2lmulti.model_parallelism import sharding
from d2lmulti.model_parallelism.model_parallel import (
    shard_decoder,
    split_layers,
    stage_params,
)
from d2lmulti.model_parallelism.sharding import (
    backward_recomputed,
    clip_gradients,
    find_places,
    gather_params,
    muon,
    orthogonalize,
    reshard,
    scatter_flat,
    scatter_params,
    train_batch_replicated,
    train_batch_zero1,
    train_batch_zero2,
    train_batch_zero3,
)
from d2lmulti.profiler import record_copies

net = functools.partial(d2lmulti.decoder_scores, size=2)
layers = functools.partial(d2lmulti.decoder_layers, size=2)
NUM_LAYERS = 3  # of 1, 9 and 2 arrays
CHAPTERS = pathlib.Path(__file__).parents[2] / 'notebooks'
RATES = {'descend': 0.05, 'sgd_momentum': 0.05, 'adam': 0.003}
HOST = mx.cpu(5)  # minibatches: no training device, so that copies count


def descend(params, grads, state, lr):
    """Gradient descent, as an update rule."""
    for param, grad in zip(params, grads):
        param -= lr * grad


def start(seed=0):
    """Return a decoder's parameters, gains other than 1."""
    rng = onp.random.RandomState(seed)
    params = d2lmulti.init_decoder(seed, 11, 7, 1, 4, 4, size=2, num_units=5)
    return [
        np.array(rng.uniform(0.5, 1.5, param.shape), dtype='float32')
        if param.ndim == 1
        else param
        for param in params
    ]


SHAPES = [param.shape for param in start()]


def batches(size, seed=1, num_steps=3):
    """Return minibatches of sentences of 2 to 6 words."""
    rng = onp.random.RandomState(seed)
    words = rng.randint(1, 11, (num_steps, size, 6))
    words *= onp.arange(6) < rng.randint(2, 7, (num_steps, size, 1))
    return [
        [
            np.array(part, dtype='int32', ctx=HOST)
            for part in (rows[:, :-1], rows[:, 1:])
        ]
        for rows in words
    ]


@functools.lru_cache(maxsize=None)
def by_hand(update, size):
    """Return the parameters after three steps on one device, in float64."""
    params = [param.asnumpy() for param in start()]
    state = []
    for X, y in batches(size):
        arrays = [np.array(param, dtype='float64') for param in params]
        for array in arrays:
            array.attach_grad()
        with autograd.record():
            scores = net(X.as_in_ctx(mx.cpu(0)), arrays)
            losses = d2lmulti.token_loss(scores, y.as_in_ctx(mx.cpu(0)))
            mean = losses.sum() / (y.asnumpy() > 0).sum()
        mean.backward()
        params = [array.asnumpy() for array in arrays]
        grads = [array.grad.asnumpy() for array in arrays]
        update(params, grads, state, RATES[update.__name__])
    return params


def run(stage, update, size, k, forget=None, dtype='float32', **options):
    """Take three steps; return each device's parameters, the states and the
    bytes that the devices sent in the last step."""
    params = as_type(start(), dtype)
    devices = [mx.cpu(i) for i in range(k)]
    states = [[] for _ in devices]
    step = [
        train_batch_replicated,
        train_batch_zero1,
        train_batch_zero2,
        train_batch_zero3,
    ][stage]
    if stage == 3:
        arrays = scatter_params(params, devices)
    else:
        arrays = [d2lmulti.get_params(params, device) for device in devices]
    options.update({'net': net} if stage < 2 else {'layers': layers})
    for i, (X, y) in enumerate(batches(size)):
        if i == 2 and forget is not None:
            states[forget].clear()
        copies = record_copies(
            lambda X=X, y=y: step(
                X,
                y,
                arrays,
                devices,
                RATES[update.__name__],
                states,
                update=update,
                **options,
            )
        )
    sent = [
        sum(size for sender, _, size in copies if sender == device)
        for device in devices
    ]
    if stage == 3:
        arrays = [gather_params(arrays)]
    return arrays, states, sent


def assert_takes_the_step_of_one(stage, update, size, k, **options):
    replicas = run(stage, update, size, k, dtype='float64', **options)[0]
    for params in replicas:
        assert roundings(params, by_hand(update, size)) <= 1


@pytest.mark.parametrize('stage', [0, 1, 2, 3])
@pytest.mark.parametrize(
    'k, update',
    [(3, descend)]
    + [(k, rule) for k in (1, 2, 3, 4) for rule in (sgd_momentum, adam)],
)
def test_every_stage_takes_the_steps_of_one_device(stage, k, update):
    assert_takes_the_step_of_one(stage, update, 13 if k < 4 else 5, k)


@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_micro_batches_of_zero3_make_the_step_of_one_device(k):
    assert_takes_the_step_of_one(3, sgd_momentum, 13, k, num_micro_batches=3)


def test_zero3_gathers_each_layer_twice_for_each_micro_batch():
    sent = {
        m: sum(run(3, sgd_momentum, 13, 3, num_micro_batches=m)[2])
        for m in (1, 2, 3)
    }
    assert [sent[m] for m in (1, 2, 3)] == [sent[1] * m for m in (1, 2, 3)]


@pytest.mark.parametrize('k', [2, 3, 4])
def test_without_the_exchange_the_steps_differ(k):
    with pytest.raises(AssertionError):
        assert_takes_the_step_of_one(
            0, sgd_momentum, 13, k, allreduce=lambda data: None
        )


def assert_bit_identical(stage, update, size, k):
    allreduce = d2lmulti.allreduce if stage == 3 else direct_allreduce
    right = run(0, update, size, k, allreduce=allreduce)[0]
    for params in run(stage, update, size, k)[0]:
        for param, value in zip(params, right[0]):
            assert (param.asnumpy() == value.asnumpy()).all()


@pytest.mark.parametrize('update', [sgd_momentum, adam])
@pytest.mark.parametrize('stage', [1, 2, 3])
def test_the_same_sums_give_the_same_bits(stage, update):
    assert_bit_identical(stage, update, 13, 3)


@pytest.mark.parametrize('k', [1, 4])
@pytest.mark.parametrize('stage', [1, 2, 3])
def test_a_state_is_that_of_the_parts_alone(stage, k):
    _, states, _ = run(stage, sgd_momentum, 13, k)
    split = scatter_params if stage == 3 else scatter_flat
    parts = split(start(), [mx.cpu(j) for j in range(k)])
    assert [[array.shape for array in state] for state in states] == [
        [part.shape for part in own] for own in parts
    ]
    for j, state in enumerate(states):
        assert all(array.ctx == mx.cpu(j) for array in state)


def assert_sends(stage, k):
    """As an allreduce in stages 1 and 2, 1.5 times as much in stage 3."""
    size = sum(map(math.prod, SHAPES))
    sent = run(stage, sgd_momentum, 13, k)[2]
    assert sum(sent) == (3 if stage == 3 else 2) * (k - 1) * 4 * size
    if stage < 3:
        plain = run(0, sgd_momentum, 13, k, allreduce=direct_allreduce)[2]
        assert sent == plain


@pytest.mark.parametrize('k', [1, 2, 3, 4])
@pytest.mark.parametrize('stage', [1, 2, 3])
def test_the_bytes_are_those_of_the_paper(stage, k):
    assert_sends(stage, k)


def test_zero2_leaves_no_whole_gradient():
    devices = [mx.cpu(0), mx.cpu(1)]
    replicas = [d2lmulti.get_params(start(), device) for device in devices]
    ((X, y),) = batches(5, num_steps=1)
    train_batch_zero2(X, y, replicas, devices, 0.1, [[], []], layers=layers)
    assert all(param.grad.size == 0 for params in replicas for param in params)


def assert_frees_gradients(monkeypatch, stage):
    """No layer's gradients are left when the next layer computes its own."""
    gradients, left = sharding.gradients, []

    def watched(*arguments):
        assert not any(ref() is not None for ref in left), 'not freed'
        grads = gradients(*arguments)
        # the first is that of the layer's input, but tokens have none
        left.extend(map(weakref.ref, grads[1:] or grads))
        return grads

    monkeypatch.setattr(sharding, 'gradients', watched)
    run(stage, sgd_momentum, 5, 1)
    assert len(left) == 3 * len(SHAPES)


@pytest.mark.parametrize('stage', [2, 3])
def test_gradients_of_a_layer_are_freed_in_time(stage, monkeypatch):
    assert_frees_gradients(monkeypatch, stage)


def test_parts_may_be_empty_from_the_first_parameter_on():
    """Adam counts its steps even where it has no number to update."""
    devices = [mx.cpu(i) for i in range(3)]
    params = [np.ones(1), np.ones((7, 1))]
    gathered = []
    for k in (1, 3):
        device_shards = scatter_params(params, devices[:k])
        for shards in device_shards:
            grads, state = [array + 1 for array in shards], []
            adam(shards, grads, state, 0.1)
            adam(shards, grads, state, 0.1)
        gathered.append(gather_params(device_shards))
    for one, three in zip(*gathered):
        assert (one.asnumpy() == three.asnumpy()).all()
        assert (one.asnumpy() != 1).all()


def test_zero3_gathers_into_the_memory_of_two_layers():
    shapes = [own for _, own in layers(SHAPES)]
    params = sharding.layer_buffers(shapes, mx.cpu(1), 'float32')
    assert [param.shape for param in params] == SHAPES
    for i, param in enumerate(params):
        param[:] = i
    for i in range(1, 12):
        assert (params[i].asnumpy() == i).all()
    assert set(params[0].asnumpy().reshape(-1)) >= {10, 11}  # overwritten


def watched_layers(call):
    """Return a function like `layers`, whose layer i calls `call(i)`."""

    def watch(i, layer):
        return lambda *arrays: call(i) or layer(*arrays)

    return lambda params: [
        (watch(i, layer), own) for i, (layer, own) in enumerate(layers(params))
    ]


def test_zero3_gathers_the_next_layer_before_one_computes(monkeypatch):
    gathered, before = [], []
    all_gather_rows, gradients = sharding.all_gather_rows, sharding.gradients

    def gather(parts, data):
        gathered.append(data[0].shape)
        all_gather_rows(parts, data)

    def backward(*arguments):
        before.append(len(gathered))
        return gradients(*arguments)

    monkeypatch.setattr(sharding, 'all_gather_rows', gather)
    monkeypatch.setattr(sharding, 'gradients', backward)
    ((X, y),) = batches(5, num_steps=1)
    train_batch_zero3(
        X,
        y,
        scatter_params(start(), [mx.cpu(0)]),
        [mx.cpu(0)],
        0.1,
        [[]],
        layers=watched_layers(lambda i: before.append(len(gathered))),
    )
    again = [
        *SHAPES[10:],
        *SHAPES[1:10],
        *SHAPES[:1],
    ]  # from the last layer to the first
    assert gathered == SHAPES + again
    # 1, 9 and 2 arrays forward; 2, 9 and 1 backward; the next one as well
    assert before == [10, 12, 14, 23, 24, 24]


@pytest.mark.parametrize('k', [1, 2, 3, 4, 6])
def test_shards_make_the_parameters_again(k):
    devices = [mx.cpu(i) for i in range(k)]
    shards = scatter_params(start(), devices)
    assert [[a.ctx for a in arrays] for arrays in shards] == [
        [device] * len(SHAPES) for device in devices
    ]
    for param, gathered in zip(start(), gather_params(shards)):
        assert param.shape == gathered.shape
        assert (param.asnumpy() == gathered.asnumpy()).all()


# Another number of devices


def copies(params, devices):
    return [[param.copyto(device) for param in params] for device in devices]


def pipeline(params, devices):
    return [
        stage_params(stage) for stage in split_layers(layers(params), devices)
    ]


def tensor(params, devices):
    return shard_decoder(params, devices, size=2)


SPLITS = {
    'replicated': copies,
    'flat': scatter_flat,
    'shards': scatter_params,
    'tensor': tensor,
    'pipeline': pipeline,
}
LAYOUTS = [
    (name, k)
    for name in SPLITS
    for k in (1, 2, 3, 4)
    if name != 'pipeline' or k <= NUM_LAYERS
]


def experts(params, devices):
    """Some arrays are on all devices, each of the others on one."""
    return [
        [
            param.copyto(device)
            for i, param in enumerate(params)
            if i < 2 or i % len(devices) == j
        ]
        for j, device in enumerate(devices)
    ]


# Clipping: every number counts once, wherever it is


def assert_clips_as_one(name, k, max_norm):
    """The norm is a sum of squares in float64; scaling rounds twice."""
    split = {**SPLITS, 'experts': experts}[name]
    devices = [mx.cpu(i) for i in range(k)]
    grads = [array.astype('float32') for array in start(5)]
    right = onp.sqrt(
        sum((g.asnumpy().astype('float64') ** 2).sum() for g in grads)
    )
    shards = split([grad.copy() for grad in grads], devices)
    scaled = split([grad.copy() for grad in grads], devices)
    places = find_places(split, SHAPES, devices)
    total = clip_gradients(shards, places, max_norm)
    assert abs(total - right) <= 1e-12 * right
    factor = min(1, max_norm / right)
    for own, wanted in zip(shards, scaled):
        for array, other in zip(own, wanted):
            other = other.asnumpy().astype('float64') * factor
            bound = 2 * onp.finfo('float32').eps * abs(other)
            assert (abs(array.asnumpy() - other) <= bound).all()


@pytest.mark.parametrize('max_norm', [0.1, 1e9])
@pytest.mark.parametrize('k', [1, 2, 3, 4])
@pytest.mark.parametrize('name', [*SPLITS, 'experts'])
def test_clipping_is_that_of_one_device(name, k, max_norm):
    if name != 'pipeline' or k <= NUM_LAYERS:
        assert_clips_as_one(name, k, max_norm)


@pytest.mark.parametrize('k', [1, 2, 3])
def test_clipping_sends_one_number_per_device(k):
    devices = [mx.cpu(i) for i in range(k)]
    shards = scatter_params(start(5), devices)
    places = find_places(scatter_params, SHAPES, devices)
    sent = record_copies(lambda: clip_gradients(shards, places, 1))
    assert [size for *_, size in sent] == [8] * 2 * (k - 1)


@pytest.mark.parametrize('k', [1, 2, 3])
def test_norms_of_whole_parameters_cost_a_number_for_each(k):
    """Those of parameters and of gradients."""
    devices = [mx.cpu(i) for i in range(k)]
    sent = []
    for update in (sgd_momentum, lars):
        parts, grads = (scatter_params(start(i), devices) for i in (5, 6))
        states = [[] for _ in devices]
        copies = record_copies(
            lambda p=parts, g=grads, s=states, u=update: (
                sharding.update_shards(p, g, 0.1, s, u)
            )
        )
        sent.append(sum(size for *_, size in copies))
    size = onp.dtype(start(5)[0].dtype).itemsize
    assert sent == [0, 2 * 2 * (k - 1) * len(SHAPES) * size]


def test_gradients_of_zero_stay_zero():
    grads = [np.zeros(shape) for shape in SHAPES]
    places = find_places(copies, SHAPES, [mx.cpu(0)])
    assert clip_gradients([grads], places, 1) == 0
    assert all((grad == 0).all() for grad in grads)


@pytest.mark.parametrize(
    'max_norm, error', [(0, ValueError), (-1, ValueError), ('1', TypeError)]
)
def test_an_invalid_norm_is_refused(max_norm, error):
    with pytest.raises(error, match='max_norm'):
        clip_gradients([], [], max_norm)


def test_each_device_that_clips_by_its_own_norm_is_noticed(monkeypatch):
    monkeypatch.setattr(sharding, 'allreduce', lambda squares: None)
    with pytest.raises(AssertionError):
        assert_clips_as_one('experts', 3, 0.1)


# Another number of devices: the layouts


@functools.lru_cache(maxsize=None)
def held_in(layout):
    """Return parameters in a layout, and the states of rules that have taken
    three steps there, from gradients that depend on the place alone."""
    name, k = layout
    devices = [mx.cpu(i) for i in range(k)]
    arrays = SPLITS[name](start(), devices)
    states = {rule: [[] for _ in devices] for rule in (sgd_momentum, adam)}
    for rule, own_states in states.items():
        for seed in (1, 2, 3):
            grads = SPLITS[name](start(seed), devices)
            for params, own, state in zip(arrays, grads, own_states):
                rule(params, own, state, 0.05)
    return devices, arrays, [[[] for _ in devices], *states.values()]


def bits(device_arrays):
    return [
        [(array.shape, array.ctx, array.asnumpy().tobytes()) for array in own]
        for own in device_arrays
    ]


def places_of(layout):
    name, k = layout
    devices = [mx.cpu(i) for i in range(k)]
    return find_places(SPLITS[name], SHAPES, devices)


@settings(max_examples=50)
@given(st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS))
def test_any_layout_becomes_any_other_bit_for_bit(before, after):
    """As if it had been in the other layout from the first step on."""
    _, params, states = held_in(before)
    devices, right_params, right_states = held_in(after)
    old, new = places_of(before), places_of(after)
    for held, right in zip([params, *states], [right_params, *right_states]):
        assert bits(reshard(held, old, new, devices)) == bits(right)


def test_what_was_loaded_has_the_bits_that_were_saved(tmp_path):
    """ZeRO 3 on four devices, a file, the pipeline on three; the file holds
    what one device would."""
    _, params, states = held_in(('shards', 4))
    one, old = places_of(('replicated', 1)), places_of(('shards', 4))
    (whole,) = reshard(params, old, one, [mx.cpu(0)])
    (state,) = reshard(states[2], old, one, [mx.cpu(0)])
    save_checkpoint(tmp_path, Checkpoint(whole, optimizer=state))
    saved = load_checkpoint(tmp_path)
    assert [param.shape for param in saved.params] == SHAPES
    assert saved.optimizer[-1] == [3]
    devices, right_params, right_states = held_in(('pipeline', 3))
    for array, right in (
        (saved.params, right_params),
        (saved.optimizer, right_states[2]),
    ):
        loaded = reshard([array], one, places_of(('pipeline', 3)), devices)
        assert bits(loaded) == bits(right)


def continued(update, stages, ks, dtype='float64'):
    """Return parameters and state of one device after two steps on some
    devices, and one on others."""
    rate, state, step = RATES[update.__name__], [], 0
    params = as_type(start(), dtype)
    while step < 3:
        stage, k = stages[step > 1], ks[step > 1]
        devices = [mx.cpu(i) for i in range(k)]
        one = places_of(('replicated', 1))
        held = ['shards' if stage == 3 else 'replicated']
        held.append([*held, 'flat', 'flat', 'shards'][stage])
        layouts = [places_of((name, k)) for name in held]
        arrays = reshard([params], one, layouts[0], devices)
        if stage < 3:
            arrays = [
                d2lmulti.get_params(own, device)
                for own, device in zip(arrays, devices)
            ]
        states = reshard([state], one, layouts[1], devices)
        for X, y in batches(13)[step : 2 if step < 2 else 3]:
            STEPS[stage](
                X,
                y,
                arrays,
                devices,
                rate,
                states,
                update=update,
                **({'net': net} if stage < 2 else {'layers': layers}),
            )
            step += 1
        (params,) = reshard(arrays, layouts[0], one, [mx.cpu(0)])
        (state,) = reshard(states, layouts[1], one, [mx.cpu(0)])
    return params, state


@pytest.mark.parametrize('update', [sgd_momentum, adam])
@pytest.mark.parametrize(
    'stages, ks',
    [((0, 1), (4, 2)), ((1, 2), (2, 3)), ((2, 3), (3, 1)), ((3, 0), (1, 4))]
    + [((2, 2), (4, 3)), ((3, 3), (4, 2))],
)
def test_training_goes_on_with_other_devices_as_on_one(update, stages, ks):
    assert_goes_on(update, stages, ks)


def assert_goes_on(update, stages, ks):
    params, state = continued(update, stages, ks)
    assert roundings(params, by_hand(update, 13)) <= 1
    if update is adam:
        assert state[-1].item() == 3


@pytest.mark.parametrize(
    'stages, allreduce',
    [
        ((1, 2), direct_allreduce),
        ((2, 1), direct_allreduce),
        ((0, 3), d2lmulti.allreduce),
        ((3, 0), d2lmulti.allreduce),
    ],
)
def test_where_sums_have_the_same_order_no_bit_changes(stages, allreduce):
    """Three devices, as before, in another layout."""
    right = run(0, adam, 13, 3, allreduce=allreduce)
    params, state = continued(adam, stages, (3, 3), 'float32')
    assert bits([params])[0] == bits(right[0])[0]
    assert bits([state])[0] == bits(right[1])[0]


def test_a_state_of_two_dimensions_and_empty_shards_goes_on():
    """Some devices hold no number of some parameters."""
    shapes, devices = [(1,), (2, 1)], [mx.cpu(i) for i in range(4)]
    params = [np.ones(shape) for shape in shapes]
    four = find_places(scatter_flat, shapes, devices)
    one = find_places(copies, shapes, devices[:1])
    shards = reshard([params], one, four, devices)
    assert [[array.size for array in own] for own in shards] == [
        [1, 1],
        [0, 1],
        [0, 0],
        [0, 0],
    ]
    (whole,) = reshard(shards, four, one, devices[:1])
    assert bits([whole]) == bits([params])


@pytest.mark.parametrize('shape', [(5,), (4, 3), (1,), (3,)])
def test_the_state_of_a_single_parameter_goes_on(shape):
    """Adam's is as many arrays as a state of three kinds would be."""
    assert_single_goes_on(shape)


def assert_single_goes_on(shape):
    held = {}
    for k in (1, 2, 3, 4):
        devices = [mx.cpu(i) for i in range(k)]
        param = np.arange(math.prod(shape), dtype='float32').reshape(shape)
        params = scatter_flat([param], devices)
        states = [[] for _ in devices]
        for own, state in zip(params, states):
            for _ in range(3):
                adam(own, [param * param for param in own], state, 0.05)
        held[k] = find_places(scatter_flat, [shape], devices), states
    for old, before in held.values():
        for new, after in held.values():
            devices = [mx.cpu(i) for i in range(len(new))]
            assert bits(reshard(before, old, new, devices)) == bits(after)


def drop_device(arrays):
    return arrays[:-1]


def drop_array(arrays):
    return [arrays[0][:-1], *arrays[1:]]


@pytest.mark.parametrize('drop', [drop_device, drop_array])
@pytest.mark.parametrize('layout', [('shards', 3), ('tensor', 2)])
def test_a_shard_that_is_missing_is_refused(drop, layout):
    devices, params, states = held_in(layout)
    old, new = places_of(layout), places_of(('replicated', 1))
    for held in (params, states[1], states[2]):
        with pytest.raises(ValueError, match='do not fit the layout'):
            reshard(drop(held), old, new, [mx.cpu(0)])
    if drop is drop_device:  # and its places with it
        with pytest.raises(ValueError, match='has no place for some numbers'):
            reshard(params[:-1], old[:-1], new, [mx.cpu(0)])


@pytest.mark.parametrize('num_devices', [1, 3])
def test_devices_that_the_new_layout_is_not_for_are_refused(num_devices):
    devices, params, _ = held_in(('shards', 3))
    old, new = places_of(('shards', 3)), places_of(('shards', 2))
    with pytest.raises(ValueError, match='each device of the new layout, 2'):
        reshard(params, old, new, devices[:num_devices])


def test_a_layout_of_other_devices_is_refused():
    _, params, _ = held_in(('shards', 3))
    with pytest.raises(ValueError, match='give find_places the function'):
        reshard(
            params,
            places_of(('shards', 4)),
            places_of(('replicated', 1)),
            [mx.cpu(0)],
        )


# Muon: whole matrices


def by_svd(G, num_steps=5):
    """Return U f(S) V^T: the iteration acts on the singular values alone."""
    U, S, Vt = onp.linalg.svd(G, full_matrices=False)
    S = S / (onp.sqrt((S**2).sum()) + 1e-7)
    for _ in range(num_steps):
        S = 3.4445 * S - 4.775 * S**3 + 2.0315 * S**5
    return U @ onp.diag(S) @ Vt


@pytest.mark.parametrize('shape', [(3, 3), (2, 7), (9, 4), (1, 5), (5, 1)])
def test_an_orthogonalized_matrix_has_other_singular_values(shape):
    G = onp.random.RandomState(3).normal(size=shape)
    found = orthogonalize(np.array(G, dtype='float64')).asnumpy()
    assert onp.allclose(found, by_svd(G), atol=1e-10)
    assert abs(onp.linalg.svd(found)[1] - 1).max() < 0.4


def assert_muon_is_that_of_one(k, turn=lambda matrix: matrix, **options):
    """Three steps with momentum, by hand in NumPy."""
    rng = onp.random.RandomState(4)
    shapes = [(7, 11), (11, 5), (5, 3), (6, 6)]
    start, *steps = [[rng.normal(size=s) for s in shapes] for _ in range(4)]
    devices = [mx.cpu(i) for i in range(k)]

    def scatter(matrices):
        arrays = [np.array(turn(m), dtype='float64') for m in matrices]
        return scatter_params(arrays, devices)

    shards, states = scatter(start), [[] for _ in devices]
    right, velocities = [m.copy() for m in start], [0 for _ in start]
    for grads in steps:
        muon(shards, scatter(grads), 0.1, states, **options)
        for i, grad in enumerate(grads):
            velocities[i] = 0.95 * velocities[i] + grad
            right[i] -= 0.1 * by_svd(velocities[i])
    for found, wanted in zip(gather_params(shards), right):
        assert onp.allclose(turn(found.asnumpy()), wanted, atol=1e-10)


@pytest.mark.parametrize('turn', [lambda matrix: matrix, onp.transpose])
@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_muon_on_shards_is_that_of_one_device(k, turn):
    assert_muon_is_that_of_one(k, turn)


@pytest.mark.parametrize('k', [2, 3])
def test_orthogonalizing_shards_alone_is_caught(k):
    with pytest.raises(AssertionError):
        assert_muon_is_that_of_one(
            k,
            orthogonalize=lambda states: [
                list(map(orthogonalize, shards)) for shards in states
            ],
        )


def test_each_device_orthogonalizes_its_share_of_the_matrices(monkeypatch):
    seen, right = set(), orthogonalize

    def watched(G, *more):  # calls itself for a transposed matrix
        seen.add((G.ctx.device_id, *sorted(G.shape)))
        return right(G, *more)

    monkeypatch.setattr(sharding, 'orthogonalize', watched)
    assert_muon_is_that_of_one(3)
    assert seen == {(0, 7, 11), (1, 5, 11), (2, 3, 5), (0, 6, 6)}


def test_elementwise_steps_refuse_an_update_of_whole_matrices():
    def whole(params, grads, state, lr):
        for param, grad in zip(params, grads):
            param -= lr * grad / (grad**2).sum() ** 0.5

    arguments, more = step_arguments(3)
    with pytest.raises(ValueError, match='each number on its own'):
        train_batch_zero3(*arguments, **more, update=whole)


# Recomputation


def assert_recomputed(num_segments, size=9):
    ((X, y),) = batches(size, num_steps=1)
    params = as_type(start())
    usual, again = [d2lmulti.get_params(params, HOST) for _ in range(2)]
    with autograd.record():
        total = d2lmulti.token_loss(net(X, usual), y).sum()
    total.backward()
    backward_recomputed(X, y, again, num_segments, layers)
    right, recomputed = [[p.grad for p in arrays] for arrays in (usual, again)]
    assert all(abs(grad.asnumpy()).max() > 0 for grad in right)
    assert roundings(recomputed, right) <= 1


@pytest.mark.parametrize('num_segments', [1, 2, 3])
def test_recomputed_gradients_are_the_same(num_segments):
    assert_recomputed(num_segments)


@pytest.mark.parametrize(
    'mistake, words',
    [
        (
            lambda X, y, params: (X, y, copies(params, [HOST])[0], 1),
            'has no gradient',
        ),
        (lambda X, y, params: (X, y, [params], 1), 'an MXNet array is needed'),
        (lambda X, y, params: (X.asnumpy(), y, params, 1), 'X is a NumPy arr'),
        (
            lambda X, y, params: (X, y[:3], params, 1),
            '4 examples but 3 labels',
        ),
        (lambda X, y, params: (X, y, params, 9), 'over 9 segments'),
    ],
)
def test_what_cannot_be_recomputed_is_refused(mistake, words):
    ((X, y),) = batches(4, num_steps=1)
    params = d2lmulti.get_params(start(), HOST)
    with pytest.raises((TypeError, ValueError), match=words):
        backward_recomputed(*mistake(X, y, params), layers)


def test_recomputation_leaves_the_minibatch_as_it_is():
    ((X, y),) = batches(4, num_steps=1)
    before = X.asnumpy()
    params = d2lmulti.get_params(start(), HOST)
    backward_recomputed(X, y, params, 2, layers)
    assert X.grad is None
    assert (X.asnumpy() == before).all()


def test_each_layer_but_the_last_segment_runs_twice():
    calls = []
    ((X, y),) = batches(4, num_steps=1)
    params = d2lmulti.get_params(start(), HOST)
    watched = watched_layers(lambda i: calls.append((i, is_recording())))
    backward_recomputed(X, y, params, 3, watched)
    assert calls == [
        (0, False),
        (1, False),
        (2, True),
        (1, True),
        (0, True),
    ]


# What a device holds: the chapter's formula


def formula_of_the_chapter():
    cells = nbformat.read(CHAPTERS / '16_sharding.ipynb', 4).cells
    (source,) = (c.source for c in cells if 'def held_numbers' in c.source)
    names = {}
    exec(source.partition('\nllama')[0], names)
    return names['held_numbers']


def test_parameters_are_as_many_as_the_chapter_counts():
    counted, *_ = formula_of_the_chapter()(9, 11, 1, 7, 4, 4, 2, 5)
    assert counted == sum(map(math.prod, SHAPES))


def test_a_block_keeps_what_the_chapter_counts(monkeypatch):
    """The inputs of all its products, and besides, what is normed and the
    two factors of SwiGLU's units."""
    T, width, num_heads, num_key_heads, size, units = 9, 7, 6, 3, 2, 5
    params = d2lmulti.init_decoder(
        0, 11, width, 1, num_heads, num_key_heads, size, units
    )
    seen = []

    def watched(right):
        def product(a, b):
            seen.extend([a] if b.ndim == 2 else [a, b])
            return right(a, b)

        return product

    for name in ('dot', 'matmul'):
        monkeypatch.setattr(np, name, watched(getattr(np, name)))
    layer, own = d2lmulti.decoder_layers(params, size)[1]
    layer(np.zeros((1, T, width)), *own)
    numbers = sum({id(array): array.size for array in seen}.values())
    kinds = [num_heads, num_key_heads, size, units]
    _, *one = formula_of_the_chapter()(T, 11, 1, width, *kinds)
    _, *none = formula_of_the_chapter()(T, 11, 0, width, *kinds)
    assert sum(one) - sum(none) == numbers + T * (2 * width + 2 * units)


# FP8


def e4m3_numbers():
    """Return all of them that are at least 0, from their bits."""
    found = []
    for bits in range(127):  # 127 is nan
        exponent, fraction = divmod(bits, 8)
        found.append(
            (1 + fraction / 8) * 2.0 ** (exponent - 7)
            if exponent
            else fraction / 8 * 2.0**-6
        )
    return onp.array(found)


def test_numbers_become_the_nearest_of_e4m3():
    numbers = e4m3_numbers()
    assert numbers[-1] == 448
    assert (sharding.round_e4m3(-numbers) == -numbers).all()
    rng = onp.random.RandomState(5)
    array = rng.normal(size=999) * 2.0 ** rng.randint(-14, 9, 999)
    apart = abs(abs(array)[:, None] - numbers)
    found = sharding.round_e4m3(array)
    assert (abs(found - array) == apart.min(axis=1)).all()
    assert (sharding.round_e4m3(onp.array([1e9, -1e9])) == [448, -448]).all()
    # halfway: to the even fraction
    assert (
        sharding.round_e4m3(onp.array([1.0625, 1.1875])) == [1, 1.25]
    ).all()


def assert_within_the_bound():
    rng = onp.random.RandomState(6)
    for block in (8, 64, 128):
        X, W = rng.normal(size=(9, 256)), rng.normal(size=(256, 7))
        X *= 10.0 ** rng.randint(-9, 9, X.shape)
        found, bound = sharding.multiply_fp8(X, W, block, block)
        assert (abs(found - X @ W) <= bound).all()
        assert (bound <= abs(X) @ abs(W) * 0.14 + bound.max() * 1e-3).all()


def test_products_in_fp8_are_within_the_bound():
    assert_within_the_bound()


@pytest.mark.parametrize(
    'bug',
    [
        lambda array: array.astype('float16') * 1.1,
        lambda array: onp.ldexp(0.5, onp.frexp(array)[1]) * onp.sign(array),
        lambda array: sharding_round(array).clip(-240, 240),
        lambda array: sharding_round(array / 8),
    ],
)
def test_another_rounding_is_out_of_the_bound(bug, monkeypatch):
    monkeypatch.setattr(sharding, 'round_e4m3', bug)
    with pytest.raises(AssertionError):
        assert_within_the_bound()


sharding_round = sharding.round_e4m3


# Arguments


def step_arguments(stage):
    devices = [mx.cpu(0), mx.cpu(1)]
    X, y = batches(4, num_steps=1)[0]
    more = {'states': [[], []]}
    if stage == 3:
        arrays = scatter_params(start(), devices)
    else:
        arrays = [d2lmulti.get_params(start(), device) for device in devices]
    more.update({'layers': layers} if stage > 1 else {'net': net})
    return [X, y, arrays, devices, 0.1], more


STEPS = [
    train_batch_replicated,
    train_batch_zero1,
    train_batch_zero2,
    train_batch_zero3,
]


@pytest.mark.parametrize('stage', [0, 1, 2, 3])
@pytest.mark.parametrize(
    'states, error, message',
    [
        ([[]], ValueError, 'a list for each of 2 devices'),
        ([[]] * 2, ValueError, 'share one state'),
        ([(), ()], ValueError, 'a list for each of 2 devices'),
        (None, ValueError, 'a list for each of 2 devices'),
    ],
)
def test_invalid_states_are_refused(stage, states, error, message):
    arguments, more = step_arguments(stage)
    with pytest.raises(error, match=message):
        STEPS[stage](*arguments, **{**more, 'states': states})


@pytest.mark.parametrize('stage', [0, 1, 2, 3])
def test_a_state_of_another_shard_is_refused(stage):
    arguments, more = step_arguments(stage)
    STEPS[stage](*arguments, **more)
    swapped = [state[:-1] for state in more['states']]
    with pytest.raises(ValueError, match='belongs to other parameters'):
        STEPS[stage](*arguments, **{**more, 'states': swapped})


@pytest.mark.parametrize('stage', [0, 1, 2, 3])
@pytest.mark.parametrize(
    'position, value, error',
    [
        (1, np.zeros(3), ValueError),
        (3, [mx.cpu(0)], ValueError),
        (3, [mx.cpu(1), mx.cpu(0)], ValueError),
        (3, [mx.cpu(0), mx.cpu(0)], ValueError),
        (4, 0, ValueError),
        (4, '0.1', TypeError),
    ],
)
def test_invalid_arguments_are_refused(stage, position, value, error):
    arguments, more = step_arguments(stage)
    arguments[position] = value
    with pytest.raises(error):
        STEPS[stage](*arguments, **more)


@pytest.mark.parametrize('stage', [2, 3])
def test_layers_that_do_not_fit_are_refused(stage):
    arguments, more = step_arguments(stage)
    more['layers'] = lambda params: layers(params)[:2]
    with pytest.raises(ValueError, match='need 10 parameters, not 12'):
        STEPS[stage](*arguments, **more)


@pytest.mark.parametrize('stage', [0, 1, 2, 3])
def test_a_minibatch_without_a_word_to_predict_is_refused(stage):
    arguments, more = step_arguments(stage)
    arguments[1] = 0 * arguments[1]
    with pytest.raises(ValueError, match='no words to predict'):
        STEPS[stage](*arguments, **more)


def assert_interrupt_waits(step):
    devices = [mx.cpu(0), mx.cpu(1)]
    X, y = batches(4, num_steps=1)[0]

    def update(params, grads, state, lr):
        for param, grad in zip(params, grads):
            param -= lr / 1 * grad

    assert_ctrl_c_waits(
        lambda replicas, lr: step(
            X, y, replicas, devices, lr, [[], []], update=update, net=net
        ),
        start(),
        devices,
    )


@pytest.mark.parametrize('step', STEPS[:2])
def test_an_interrupt_waits_for_the_end_of_the_step(step):
    assert_interrupt_waits(step)


@pytest.mark.parametrize('step', STEPS[:2])
def test_a_step_that_an_interrupt_cuts_short_is_caught(step):
    with pytest.raises(AssertionError):
        assert_interrupt_waits(step.__wrapped__)


# Bugs that must be noticed


@pytest.mark.parametrize('stage', [1, 2, 3])
def test_a_state_that_is_lost_is_caught(stage):
    with pytest.raises(AssertionError):
        assert_takes_the_step_of_one(stage, sgd_momentum, 13, 3, forget=1)


def mean_of_the_micro_batch(*arguments):
    """Divides by the words of the micro-batch, not of all."""
    *most, num_words = arguments
    return sharding_forward(*most, d2lmulti.count_tokens(most[1]))


sharding_forward = sharding.forward_layers


@pytest.mark.parametrize(
    'name, bug, num_micro_batches',
    [
        ('forward_layers', mean_of_the_micro_batch, 3),
        (
            'layer_buffers',
            functools.partial(sharding.layer_buffers, num_buffers=1),
            1,
        ),
        ('add', lambda held, grad: grad, 3),
        (
            'reduce_scatter_rows',
            lambda grads: [
                grad[rows].copy()
                for grad, rows in zip(
                    grads, split_slices(len(grads[0]), len(grads))
                )
            ],
            1,
        ),
    ],
)
def test_bugs_of_sharded_parameters_are_caught(
    name, bug, num_micro_batches, monkeypatch
):
    monkeypatch.setattr(sharding, name, bug)
    with pytest.raises(AssertionError):
        assert_takes_the_step_of_one(
            3, sgd_momentum, 13, 3, num_micro_batches=num_micro_batches
        )
