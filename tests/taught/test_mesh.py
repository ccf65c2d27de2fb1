"""Several ways at once: on any mesh as on one device."""

import functools
import math

import mxnet as mx
import numpy as onp
import pytest
from helpers import roundings
from mxnet import autograd, np
from test_update_rules import RULES, forgets_to_move

from d2lmulti.devices import split_slices
from d2lmulti.learning.large_batch import lars, sgd_momentum
from d2lmulti.learning.transformer import (
    block,
    count_tokens,
    decoder_scores,
    init_decoder,
    token_loss,
)
from d2lmulti.model_parallelism import mesh as module
from d2lmulti.model_parallelism.mesh import (
    arrange,
    f_positions,
    g_positions,
    groups,
    hierarchical_allreduce,
    mesh_gradients,
    shard_mesh,
    train_batch_mesh,
)
from d2lmulti.model_parallelism.model_parallel import (
    add_to,
    f,
    g,
    gpipe_schedule,
    leaves,
    run_decoder,
    shard_decoder,
)
from d2lmulti.model_parallelism.sharding import find_places
from d2lmulti.profiler import record_copies
from d2lmulti.replicas import allreduce, get_params

AXES = 'data', 'pipeline', 'tensor'
V, WIDTH, SIZE, KEY_HEADS = 11, 12, 2, 5
WHOLE, POSITIONS = (f, g), (f_positions, g_positions)
both_ways = pytest.mark.parametrize('way', [WHOLE, POSITIONS])


def mesh_of(*lengths):
    return dict(zip(AXES, lengths))


def minibatch(n, length, seed=0):
    """Return X and y: rows of 1 to `length` words and the next ones."""
    rng = onp.random.RandomState(seed)
    tokens = rng.randint(3, V, (n, length + 1))
    ends = rng.randint(2, length + 2, (n - 1, 1))
    tokens[1:][onp.arange(length + 1) >= ends] = 0
    X = tokens[:, :-1] * (tokens[:, 1:] > 0)
    X[0, 1:2] = 0
    return [np.array(array, dtype='int32') for array in (X, tokens[:, 1:])]


def new_params(num_layers=1):
    return init_decoder(
        0, V, WIDTH, num_layers, 2 * KEY_HEADS, KEY_HEADS, SIZE, num_units=19
    )


@functools.lru_cache(maxsize=None)
def start():
    """Return parameters of three blocks, gains other than 1: float64."""
    rng = onp.random.RandomState(1)
    return [
        np.array(p.asnumpy() + rng.normal(0, 0.2, p.shape), dtype='float64')
        for p in new_params(3)
    ]


# The mesh


@pytest.mark.parametrize(
    'lengths', [(1, 1, 1), (2, 2, 2), (3, 2, 4), (1, 5, 2), (2, 1, 3)]
)
def test_every_rank_is_in_one_group_of_each_axis(lengths):
    mesh, size = mesh_of(*lengths), math.prod(lengths)
    for axis, length in mesh.items():
        members = groups(mesh, axis)
        assert len(members) == size // length
        assert all(len(group) == length for group in members)
        assert sorted(sum(members, [])) == [*range(size)]
        for group in members:  # by the rule, written out
            for other in AXES:
                places = {place(rank, lengths)[other] for rank in group}
                assert len(places) == (length if other == axis else 1)


def place(rank, lengths):
    """Return the place of a rank on each axis, by the chapter's rule."""
    _, P, T = lengths
    return dict(zip(AXES, (rank // T // P, rank // T % P, rank % T)))


def test_tensor_ranks_follow_each_other():
    assert groups(mesh_of(2, 2, 2), 'tensor')[0] == [0, 1]
    assert arrange(mesh_of(2, 3, 4))[1, 2, 3] == (1 * 3 + 2) * 4 + 3


# A block


def whole_block(H, output_grad):
    """Return the output and the gradients of a block on one device."""
    params = get_params(start()[1:10], mx.cpu(0))
    H.attach_grad()
    with autograd.record():
        out = block(H, *params, size=SIZE)
    out.backward(output_grad)
    return out, H.grad, [param.grad for param in params]


def split_block(params, devices):
    """With an embedding and an output of 0, which are left out again."""
    ends = [np.zeros((V, WIDTH)), np.ones(WIDTH), np.zeros((WIDTH, V))]
    shards = shard_decoder([ends[0], *params, *ends[1:]], devices, SIZE)
    return [own[1:10] for own in shards]


def run_block(k, way, T):
    """Return data, each device's positions, inputs, outputs and parameters,
    and the bytes sent."""
    rng = onp.random.RandomState(2)
    devices = [mx.cpu(i) for i in range(k)]
    H, dO = (
        np.array(a, dtype='float64') for a in rng.normal(size=(2, 3, T, WIDTH))
    )
    blocks, tape, outputs = split_block(start()[1:10], devices), [], []
    owns = split_slices(T, k) if way == POSITIONS else [slice(0, T)] * k
    hs = leaves([H[:, own].copyto(d) for own, d in zip(owns, devices)])
    grads = [dO[:, own].copyto(d) for own, d in zip(owns, devices)]

    def run():
        outputs.extend(run_decoder(tape, hs, blocks, SIZE, *way))
        add_to(outputs, grads)
        for backward in reversed(tape):
            backward()

    sent = sum(size for *_, size in record_copies(run))
    if way == POSITIONS and k > 1:
        for gains in zip(*[(params[0], params[5]) for params in blocks]):
            allreduce([gain.grad for gain in gains])
    return (H, dO), owns, hs, outputs, blocks, sent


def assert_block_equals_one_device(k, way, T=7):
    """float64 differs by far less than a rounding to float32."""
    data, owns, hs, outputs, blocks, _ = run_block(k, way, T)
    out, dH, grads = whole_block(*data)
    flat = onp.concatenate([grad.asnumpy().ravel() for grad in grads])
    places = find_places(
        split_block,
        [p.shape for p in start()[1:10]],
        [mx.cpu(i) for i in range(k)],
    )
    for i, own in enumerate(owns):
        assert roundings([outputs[i]], [out[:, own]]) <= 1
        assert roundings([hs[i].grad], [dH[:, own]]) <= 1
        found = [param.grad for param in blocks[i]]
        assert roundings(found, [flat[place] for place in places[i]]) <= 1


@both_ways
@pytest.mark.parametrize('k', [1, 2, 3, 5])
def test_a_block_equals_that_of_one_device(k, way):
    assert_block_equals_one_device(k, way)


@both_ways
@pytest.mark.parametrize('k', [1, 2, 4])
def test_a_block_sends_four_allreduces(k, way):
    """Of n T width numbers, 2 (k - 1) of them in each (Shoeybi 2019), with
    sequence parallelism as well (Korthikanti 2022)."""
    *_, sent = run_block(k, way, 13)
    assert sent == 4 * 2 * (k - 1) * 3 * 13 * WIDTH * 8


# The step


def one_device(X, y, params=None):
    """Return the gradients of chapter 14's decoder."""
    params = get_params(params or start(), mx.cpu(0))
    with autograd.record():
        loss = token_loss(decoder_scores(X, params, SIZE), y).sum()
        loss = loss / count_tokens(y)
    loss.backward()
    return [param.grad for param in params]


def on_mesh(*lengths):
    """Return a mesh, the parameters of each rank and their places."""
    mesh, shapes = mesh_of(*lengths), [p.shape for p in start()]
    devices = [mx.cpu(i) for i in range(math.prod(lengths))]

    def split(params, devices):
        return shard_mesh(params, devices, mesh, SIZE)

    return mesh, split(start(), devices), find_places(split, shapes, devices)


def assert_arrays_equal(device_arrays, places, right):
    flat = onp.concatenate([array.asnumpy().ravel() for array in right])
    for arrays, own in zip(device_arrays, places):
        assert roundings(arrays, [flat[place] for place in own]) <= 1


def gradients_of(device_params):
    return [[p.grad for p in params] for params in device_params]


def assert_equals_one_device(lengths, n=5, T=7, **options):
    """Every gradient on every device."""
    X, y = minibatch(n, T)
    mesh, device_params, places = on_mesh(*lengths)
    mesh_gradients(X, y, device_params, mesh, SIZE, **options)
    assert_arrays_equal(gradients_of(device_params), places, one_device(X, y))


@pytest.mark.parametrize(
    'lengths',
    [(2, 2, 2), (1, 3, 5)],
)
def test_gradients_equal_those_of_one_device(lengths):
    """Chapter 18 tries eight others, and leaves out each of the sums."""
    assert_equals_one_device(lengths)


@pytest.mark.parametrize(
    'T, lengths', [(1, (2, 1, 3)), (2, (1, 2, 3)), (13, (1, 1, 3))]
)
def test_lengths_that_tensor_ranks_do_not_divide(T, lengths):
    """Even fewer positions than devices."""
    assert_equals_one_device(lengths, T=T)


def test_other_schedules_and_micro_batches_are_as_right():
    assert_equals_one_device((2, 2, 1), num_micro_batches=1)
    assert_equals_one_device(
        (1, 3, 1), num_micro_batches=5, schedule=gpipe_schedule
    )


def test_what_several_devices_hold_is_bit_identical():
    X, y = minibatch(5, 7)
    mesh, device_params, places = on_mesh(2, 2, 2)
    mesh_gradients(X, y, device_params, mesh, SIZE)
    seen = {}
    for grads, own in zip(gradients_of(device_params), places):
        for grad, place in zip(grads, own):
            first = seen.setdefault(place.tobytes(), grad.asnumpy())
            assert (first == grad.asnumpy()).all()
    assert len(seen) < sum(map(len, places))


def test_gradients_are_not_added_to_those_of_the_last_step():
    X, y = minibatch(4, 5)
    mesh, device_params, places = on_mesh(1, 2, 2)
    for _ in range(2):
        mesh_gradients(X, y, device_params, mesh, SIZE)
    assert_arrays_equal(gradients_of(device_params), places, one_device(X, y))


# Bytes


def axis_between(a, b, lengths):
    (axis,) = (
        axis
        for axis in AXES
        if place(a, lengths)[axis] != place(b, lengths)[axis]
    )
    return axis


def count_bytes(lengths, n, T):
    """Return the bytes that cross each axis for one gradient."""
    X, y = minibatch(n, T)
    mesh, device_params, _ = on_mesh(*lengths)
    copies = record_copies(
        lambda: mesh_gradients(X, y, device_params, mesh, SIZE)
    )
    sent = dict.fromkeys(AXES, 0)
    for a, b, size in copies:
        sent[axis_between(a.device_id, b.device_id, lengths)] += size
    return sent


def bytes_by_formula(lengths, n, T, num_layers=3):
    (D, P, T_), N = lengths, n * T * WIDTH
    gains = (2 * num_layers + 1) * WIDTH
    split = sum(param.size for param in start()) - gains
    ends = 4 * N + 4 * n * T  # embedding and scores; the softmax
    return {
        'data': 8 * 2 * (D - 1) * (split + T_ * gains),
        'pipeline': 8 * 2 * (P - 1) * N,
        'tensor': 8 * (T_ - 1) * (8 * num_layers * N + ends + 2 * D * gains),
    }


@pytest.mark.parametrize('lengths', [(2, 2, 2), (3, 1, 2)])
def test_bytes_of_each_axis_are_those_of_the_formula(lengths):
    assert count_bytes(lengths, 7, 5) == bytes_by_formula(lengths, 7, 5)


# ZeRO


def assert_steps_equal_one_device(
    lengths, num_steps=2, rule=sgd_momentum, update=None, max_norm=None
):
    """One device: MXNet's gradients, and `rule` with NumPy's arrays."""
    X, y = minibatch(7, 5)
    mesh, device_params, places = on_mesh(*lengths)
    states = [[] for _ in device_params]
    params, state = [param.asnumpy() for param in start()], []
    for _ in range(num_steps):
        on_device = [np.array(p, dtype='float64') for p in params]
        grads = [grad.asnumpy() for grad in one_device(X, y, on_device)]
        length = math.sqrt(sum((grad**2).sum() for grad in grads))
        factor = min(1, max_norm / length) if max_norm else 1
        assert not max_norm or 0.1 < factor < 1 or max_norm > 100
        rule(params, [factor * grad for grad in grads], state, 0.1)
        train_batch_mesh(
            X,
            y,
            device_params,
            mesh,
            0.1,
            states,
            SIZE,
            update=update or rule,
            max_norm=max_norm,
        )
    right = [np.array(param, dtype='float64') for param in params]
    assert_arrays_equal(device_params, places, right)
    return device_params, states


@pytest.mark.parametrize('name', ['L2 decay', "a reader's own"])
def test_a_rule_does_on_a_mesh_what_it_does_in_numpy(name):
    assert_steps_equal_one_device((2, 1, 2), rule=RULES[name])


@pytest.mark.parametrize(
    'call, words',
    [
        (lambda: shards_on({'tensor': 2, 'data': 1}), 'in this order'),
        (lambda: shards_on(mesh_of(1, 1, 0)), 'tensor must be at least 1'),
        (lambda: shards_on(mesh_of(1, 1, 4)), 'each rank of the mesh, 4 in'),
        (lambda: shards_on(mesh_of(1, 2, 1)), '1 block .* over 2 stages'),
        (lambda: gradients_on(mesh_of(2, 2, 1)), 'each rank of the mesh, 4'),
        (lambda: gradients_on(y=WORDS[:1]), 'y must have the shape of X'),
        (lambda: gradients_on(y=0 * WORDS), 'y has no words to predict'),
        (lambda: gradients_on(y=WORDS + V), 'y must be from 0 to 10'),
        (lambda: gradients_on(num_micro_batches=3), 'over 3 micro-batches'),
        (lambda: gradients_on(schedule=backward_first), 'never ends'),
        (lambda: steps_on(states=[[]]), 'a list for each of 2 devices'),
        (lambda: steps_on(states=[[]] * 2), 'share one state'),
        (lambda: steps_on(max_norm=0), 'max_norm must be'),
        (lambda: hierarchical_allreduce([WORDS] * 2, 1), 'two arrays are one'),
        (lambda: hierarchical_allreduce([WORDS], 2), 'node_size must divide'),
        (lambda: hierarchical_allreduce([WORDS], 0), '1, but 0 does not'),
        (lambda: hierarchical_allreduce([WORDS], -1), '1, but -1 does not'),
    ],
)
def test_what_a_mesh_cannot_do_is_refused(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()


WORDS = np.ones((2, 5), dtype='int32')
PAIR = mesh_of(1, 1, 2)


def shards_on(mesh):
    return shard_mesh(new_params(), [mx.cpu(0), mx.cpu(1)], mesh, SIZE)


def gradients_on(mesh=PAIR, y=WORDS, **options):
    return mesh_gradients(WORDS, y, shards_on(PAIR), mesh, SIZE, **options)


def steps_on(states=((), ()), max_norm=None):
    states = [list(state) for state in states] if max_norm == 0 else states
    train_batch_mesh(
        WORDS,
        WORDS,
        shards_on(PAIR),
        PAIR,
        0.1,
        states,
        SIZE,
        max_norm=max_norm,
    )


def backward_first(num_stages, num_micro_batches):
    orders = gpipe_schedule(num_stages, num_micro_batches)
    return [order[::-1] for order in orders]


def test_a_rule_that_moves_nothing_is_refused_at_once():
    with pytest.raises(ValueError, match='forgets_to_move does not move'):
        assert_steps_equal_one_device((1, 2, 1), rule=forgets_to_move)


@pytest.mark.parametrize('lengths', [(3, 1, 1), (1, 3, 2)])
def test_norms_are_those_of_whole_parameters(lengths):
    assert_steps_equal_one_device(lengths, rule=lars)


@pytest.mark.parametrize(
    'lengths, max_norm',
    [((2, 2, 2), 1.0), ((1, 3, 3), 1.0), ((2, 1, 2), 1e9)],
)
def test_clipped_steps_equal_those_of_one_device(lengths, max_norm):
    """Adam's first steps hardly depend on a factor, momentum's do."""
    assert_steps_equal_one_device(lengths, max_norm=max_norm)


def test_a_data_group_keeps_each_number_of_the_state_once():
    device_params, states = assert_steps_equal_one_device((3, 2, 1))
    for group in groups(mesh_of(3, 2, 1), 'data'):
        sizes = [sum(a.size for a in states[rank]) for rank in group]
        whole = sum(p.size for p in device_params[group[0]])
        assert sum(sizes) == whole
        assert max(sizes) <= whole / 3 + len(device_params[0])


# Hierarchical allreduce


@pytest.mark.parametrize(
    'num_nodes, node_size', [(1, 3), (3, 1), (2, 4), (4, 2)]
)
@pytest.mark.parametrize('size', [1, 7, 24])
def test_a_hierarchical_allreduce_sums(num_nodes, node_size, size):
    p = num_nodes * node_size
    data = [np.arange(size, ctx=mx.cpu(i)) * (i + 1) for i in range(p)]
    copies = record_copies(lambda: hierarchical_allreduce(data, node_size))
    for array in data:
        right = onp.arange(size) * (p * (p + 1) // 2)
        assert (array.asnumpy() == right).all()
    between = sum(
        num_bytes
        for a, b, num_bytes in copies
        if a.device_id // node_size != b.device_id // node_size
    )
    assert between == 2 * (num_nodes - 1) * size * 4


# Bugs that must be noticed


def test_a_rank_that_clips_by_its_own_norm_is_noticed(monkeypatch):
    monkeypatch.setattr(module, 'sum_over_ranks', lambda *rows: None)
    with pytest.raises(AssertionError):
        assert_steps_equal_one_device((2, 2, 2), max_norm=1.0)


def test_a_step_that_sums_over_the_replicas_twice_is_noticed(monkeypatch):
    right = module.mesh_gradients

    def also_over_data(*arguments, axes):
        right(*arguments, axes=['data', *axes])

    monkeypatch.setattr(module, 'mesh_gradients', also_over_data)
    with pytest.raises(AssertionError):
        assert_steps_equal_one_device((2, 1, 1))
