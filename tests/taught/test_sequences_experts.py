"""Ring attention and experts, on any number of devices as on one."""

import functools
import math
import pathlib
from unittest import mock

import mxnet as mx
import nbformat
import numpy as onp
import pytest
from helpers import roundings
from mxnet import autograd, np, npx

from d2lmulti.learning import transformer
from d2lmulti.learning.transformer import (
    count_tokens,
    init_transformer,
    token_loss,
    transformer_scores,
)
from d2lmulti.model_parallelism import sequences_experts
from d2lmulti.model_parallelism.sequences_experts import (
    add_block,
    all_to_all,
    block_scores,
    choose_experts,
    expert_gradients,
    leaves,
    ring_attention,
    ring_backward,
    sequence_gradients,
    split_plain,
    split_zigzag,
    visible,
)
from d2lmulti.profiler import record_copies
from d2lmulti.replicas import get_params
from d2lmulti.rounding import all_close, rounding_ratio

V = 11
SPLITS = [split_plain, split_zigzag]
each_split = pytest.mark.parametrize('split', SPLITS)
causal_or_not = pytest.mark.parametrize('causal', [False, True])


def minibatch(n, length, seed=0):
    """Return X and y: rows of 1 to `length` words, few of them in the last
    positions, about half of them to predict."""
    rng = onp.random.RandomState(seed)
    X = rng.randint(3, V, (n, length))
    X[1:][onp.arange(length) >= rng.randint(1, length + 1, (n - 1, 1))] = 0
    y = onp.where((rng.rand(n, length) < 0.5) & (X > 0), X, 0)
    y[0, 0] = 5
    return [np.array(array, dtype='int32') for array in (X, y)]


@functools.lru_cache(maxsize=None)
def start(length, num_layers=2, dtype='float64'):
    params = init_transformer(
        1, V, max(length, 2), width=8, num_layers=num_layers
    )
    return [param.astype(dtype) for param in params]


# Attention against a formula in NumPy


def attention_data(n, length, seed=0, scale=1.0):
    """Return Q, K, V, the gradient of the means, and the padding mask."""
    rng = onp.random.RandomState(seed)
    arrays = scale * rng.normal(size=(4, n, 2, length, 3))
    is_padding = onp.zeros((n, 1, 1, length))
    is_padding[1:, ..., (length + 2) // 2 :] = 1
    return arrays, is_padding


def by_formula(Q, K, V, dO, is_padding, causal):
    """Return the means and the gradients of Q, K and V: NumPy, float64; and
    the sums of the sizes of the terms from which each is made."""
    T = Q.shape[2]
    hidden = is_padding + onp.triu(onp.ones((T, T)), 1) * causal > 0
    S = onp.where(hidden, -onp.inf, Q @ K.swapaxes(2, 3) / math.sqrt(3))
    A = onp.exp(S - S.max(axis=3, keepdims=True))
    A /= A.sum(axis=3, keepdims=True)
    dA = dO @ V.swapaxes(2, 3)
    dS = A * (dA - (A * dA).sum(axis=3, keepdims=True)) / math.sqrt(3)
    size = A * (
        abs(dO) @ abs(V).swapaxes(2, 3) + abs(A * dA).sum(3)[..., None]
    )
    size = [A @ abs(V), size @ abs(K), size.swapaxes(2, 3) @ abs(Q)]
    dK, dV = dS.swapaxes(2, 3) @ Q, A.swapaxes(2, 3) @ dO
    return [A @ V, dS @ K, dK, dV], [*size, A.swapaxes(2, 3) @ abs(dO)]


def on_devices(arrays, is_padding, k, causal, split, dtype='float64'):
    """Return the same, by the ring."""
    places = [own for own in split(arrays.shape[3], k) if len(own)]
    parts = [
        [
            np.array(array[:, :, own], dtype=dtype, ctx=mx.cpu(i))
            for i, own in enumerate(places)
        ]
        for array in arrays
    ]
    pads = [
        np.array(is_padding[..., own], dtype=dtype, ctx=mx.cpu(i))
        for i, own in enumerate(places)
    ]
    *QKV, dOs = parts
    Os, logs = ring_attention(*QKV, pads, places, causal)
    all_results = Os, *ring_backward(dOs, Os, logs, *QKV, pads, places, causal)
    for results in all_results:
        assert [a.ctx for a in results] == [a.ctx for a in dOs]
    order = onp.concatenate(places).argsort()
    return [
        onp.concatenate([a.asnumpy() for a in results], axis=2)[:, :, order]
        for results in all_results
    ]


def assert_equals_formula(k, length, causal, split=split_plain, scale=1.0):
    """A sum of n terms is right to n roundings of the sum of their sizes.
    There are four, one after the other, of at most `length` terms and k
    corrections; and an exponential multiplies the rounding of its score."""
    arrays, is_padding = attention_data(2, length, scale=scale)
    right, sizes = by_formula(*arrays, is_padding, causal)
    results = on_devices(arrays, is_padding, k, causal, split)
    largest = abs(arrays[0]).max() * abs(arrays[1]).max() * 3
    roundings_of = 4 * (length + k + 3) + 4 * largest
    for array, value, size in zip(results, right, sizes):
        bound = 2 * roundings_of * onp.finfo(float).eps * size.max()
        assert abs(array - value).max() <= bound


@each_split
@causal_or_not
@pytest.mark.parametrize('length', [1, 13])
@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_ring_attention_equals_the_formula(k, length, causal, split):
    assert_equals_formula(k, length, causal, split)


@causal_or_not
def test_large_scores_do_not_overflow(causal):
    """In float64, exp overflows above 709."""
    assert_equals_formula(3, 13, causal, scale=40.0)


def test_blocks_may_come_in_any_order():
    rng = onp.random.RandomState(0)
    S = np.array(rng.normal(0, 300, (1, 1, 5, 9)), dtype='float64')
    V = np.array(rng.normal(size=(1, 1, 9, 2)), dtype='float64')
    right = np.matmul(npx.softmax(S), V)
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        state = [np.full((1, 1, 5, 1), -1e30, dtype='float64')] + [
            np.zeros((1, 1, 5, n), dtype='float64') for n in (1, 2)
        ]
        for i in order:
            block = slice(3 * i, 3 * i + 3)
            state = add_block(*state, S[..., block], V[:, :, block])
        # an exponential multiplies the rounding of scores up to 1,000
        assert rounding_ratio([state[2]], [[right]]) < 8 * 1000


# The split


@each_split
@pytest.mark.parametrize('length', [0, 1, 3, 8, 13])
@pytest.mark.parametrize('k', [1, 2, 4, 5])
def test_every_position_is_on_one_device_in_order(length, k, split):
    places = split(length, k)
    assert len(places) == k
    assert sorted(onp.concatenate(places)) == [*range(length)]
    assert all((onp.diff(own) > 0).all() for own in places)


@each_split
@pytest.mark.parametrize('k', [2, 3, 5])
def test_visible_leaves_out_only_what_the_mask_hides(k, split):
    places = split(13, k)
    for queries in places:
        for keys in places:
            rows, columns = visible(queries, keys, True)
            seen = queries[:, None] >= keys
            inside = seen[rows, columns]
            assert inside.sum() == seen.sum()
            if inside.size:  # and no row or column too many
                assert inside.any(axis=0).all()
                assert inside.any(axis=1).all()


def work(split, length, k):
    """Return the products of each device in each step, (steps, devices)."""
    places = split(length, k)
    return onp.array(
        [
            [
                (rows.stop - rows.start) * (columns.stop - columns.start)
                for i in range(k)
                for rows, columns in [
                    visible(places[i], places[i - step], True)
                ]
            ]
            for step in range(k)
        ]
    )


@pytest.mark.parametrize('k', [2, 3, 4, 8])
def test_zigzag_gives_every_device_the_same_work(k):
    """By the formulas of the chapter, in blocks of (length / k)^2."""
    length = 4 * k
    plain, zigzag = work(split_plain, length, k), work(split_zigzag, length, k)
    assert plain.sum() == zigzag.sum() == k * (k + 1) // 2 * 16
    assert (plain.sum(axis=0) == 16 * (onp.arange(k) + 1)).all()
    assert (zigzag == zigzag[:, :1]).all()


# The whole step


def one_device(X, y, causal, dtype='float64', num_layers=2, num_heads=2):
    """Return the gradients of chapter 14's transformer, with later positions
    hidden if `causal`, and the loss."""

    def weights(Q, K, is_padding):
        later = onp.triu(onp.ones((Q.shape[2],) * 2), 1)
        hidden = np.maximum(is_padding, np.array(later, dtype=Q.dtype))
        return own_weights(Q, K, hidden)

    own_weights = transformer.attention_weights
    params = get_params(start(X.shape[1], num_layers, dtype), mx.cpu(0))
    with mock.patch.object(
        transformer, 'attention_weights', weights if causal else own_weights
    ):
        with autograd.record():
            scores = transformer_scores(X, params, num_heads)
            loss = token_loss(scores, y).sum() / count_tokens(y)
    loss.backward()
    return [param.grad for param in params], float(loss)


def run(X, y, k, dtype='float64', num_layers=2, num_heads=2, **options):
    """Return the gradients on each device, and the loss."""
    devices = [mx.cpu(i) for i in range(k)]
    replicas = [
        get_params(start(X.shape[1], num_layers, dtype), device)
        for device in devices
    ]
    loss = sequence_gradients(X, y, replicas, devices, num_heads, **options)
    return [[param.grad for param in params] for params in replicas], loss


def assert_equals_one_device(
    k, length, causal, split=split_plain, n=3, num_heads=2
):
    """float64 differs by far less than a rounding to float32."""
    X, y = minibatch(n, length)
    right, right_loss = one_device(X, y, causal, num_heads=num_heads)
    device_grads, loss = run(
        X, y, k, causal=causal, split=split, num_heads=num_heads
    )
    assert all(roundings(grads, right) <= 1 for grads in device_grads)
    assert abs(loss - right_loss) < 1e-12 * right_loss


@each_split
@causal_or_not
@pytest.mark.parametrize('k', [1, 2, 3, 4, 5])
def test_gradients_equal_those_of_one_device(k, causal, split):
    assert_equals_one_device(k, 13, causal, split)


@each_split
@pytest.mark.parametrize('n, length', [(1, 1), (3, 2), (1, 6), (4, 7)])
def test_other_shapes_equal_one_device(n, length, split):
    """Two words are too few for three devices."""
    assert_equals_one_device(3, length, True, split, n)


def test_float32_differs_by_rounding_only():
    X, y = minibatch(3, 13)
    results = [
        one_device(X, y, True, dtype)[0] for dtype in ('float32', 'float64')
    ]
    device_grads, _ = run(X, y, 3, 'float32', causal=True)
    assert all(all_close(grads, results) for grads in device_grads)


def test_a_device_whose_words_are_all_padding_adds_nothing():
    X, y = minibatch(2, 8)
    X[:, 5:], y[:, 5:] = 0, 0
    right, _ = one_device(X, y, False)
    assert all(roundings(grads, right) <= 1 for grads in run(X, y, 4)[0])


def test_gradients_are_not_added_to_those_of_the_last_step():
    X, y = minibatch(2, 5)
    devices = [mx.cpu(i) for i in range(2)]
    replicas = [get_params(start(5), device) for device in devices]
    for _ in range(2):
        sequence_gradients(X, y, replicas, devices, 2)
    right, _ = one_device(X, y, False)
    assert roundings([p.grad for p in replicas[1]], right) <= 1


# Bytes


def ring_bytes(k, n, length, num_layers, split=split_plain):
    """Return the bytes that k devices copy without gradients and tokens."""
    X, y = minibatch(n, length)
    devices = [mx.cpu(i) for i in range(k)]
    params = start(length, num_layers)
    replicas = [get_params(params, device) for device in devices]
    copies = record_copies(
        lambda: sequence_gradients(X, y, replicas, devices, 2, split=split)
    )
    gradients = 2 * (k - 1) * 8 * sum(param.size for param in params)
    tokens = 2 * 4 * n * sum(map(len, split(length, k)[1:]))
    return sum(size for *_, size in copies) - gradients - tokens


def formula(k, n, length, num_layers):
    return (
        8 * num_layers * n * length * ((6 * k - 4) * 8 + 2 * (k - 1))
        if k > 1
        else 0
    )


@each_split
@pytest.mark.parametrize('k', [1, 2, 5])
def test_bytes_are_those_of_the_formula(k, split):
    for n, length, num_layers in ((3, 13, 2), (1, 8, 1)):
        counted = ring_bytes(k, n, length, num_layers, split)
        assert counted == formula(k, n, length, num_layers)


def test_no_array_is_as_large_as_all_weights():
    """A device holds the scores of one block."""
    arrays, is_padding = attention_data(1, 16)
    largest = []

    def watched(*arguments):
        for *place, S in block_scores(*arguments):
            largest.append(S.shape)
            yield *place, S

    with mock.patch.object(sequences_experts, 'block_scores', watched):
        on_devices(arrays, is_padding, 4, False, split_plain)
    assert set(largest) == {(1, 2, 4, 4)} and len(largest) == 2 * 16


def test_all_to_all_brings_each_part_to_its_device():
    devices = [mx.cpu(i) for i in range(3)]
    parts = [
        [np.full(1, 10 * i + j, ctx=devices[i]) for j in range(3)]
        for i in range(3)
    ]
    received = all_to_all(parts, devices)
    for j, arrays in enumerate(received):
        assert [a.item() for a in arrays] == [10 * i + j for i in range(3)]
        assert all(a.ctx == devices[j] for a in arrays)


# All-to-all over heads, from the chapter's cells


CHAPTER = (
    pathlib.Path(__file__)
    .parents[2]
    .joinpath('notebooks', '17_sequences_experts.ipynb')
)
WAYS = {'ulysses': 'to_heads', 'ulysses-attend': 'attend_heads'}


def heads_names():
    """Return what the cells define."""
    source = '\n'.join(
        cell.source
        for cell in nbformat.read(CHAPTER, 4).cells
        if cell.id in WAYS
    )
    assert all(f'def {name}(' in source for name in WAYS.values())
    names = dict(vars(sequences_experts))
    names['attention_weights'] = transformer.attention_weights
    exec(source, names)
    return names


def assert_heads_equal_one_device(attend, *arguments, **options):
    with mock.patch.object(sequences_experts, 'attend', attend):
        assert_equals_one_device(*arguments, **options)


@each_split
@causal_or_not
@pytest.mark.parametrize('num_heads, lengths', [(4, (13, 2)), (8, (8,))])
@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_heads_on_devices_equal_one_device(
    k, num_heads, lengths, causal, split
):
    """Also if k divides neither heads nor positions."""
    for length in lengths:
        assert_heads_equal_one_device(
            heads_names()['attend_heads'],
            k,
            length,
            causal,
            split,
            num_heads=num_heads,
        )


def attention_numbers(attend, k, n, heads, length, width):
    """Return the numbers that are sent forward and backward."""
    places, tape = split_plain(length, k), []
    QKVs = leaves(
        [
            np.ones((3, n, heads, len(own), width), ctx=mx.cpu(i))
            for i, own in enumerate(places)
        ]
    )
    pads = [
        np.zeros((n, 1, 1, len(own)), ctx=mx.cpu(i))
        for i, own in enumerate(places)
    ]
    return [
        sum(size for *_, size in record_copies(work)) // 4
        for work in (
            lambda: attend(tape, QKVs, pads, places, False),
            lambda: [backward() for backward in reversed(tape)],
        )
    ]


def heads_formula(k, n, heads, length, width):
    """What is not on the right device already is sent, number by number."""
    position, head = [
        onp.concatenate([[i] * len(own) for i, own in enumerate(owns)])
        for owns in (split_plain(length, k), split_plain(heads, k))
    ]
    elsewhere = (position[:, None] != head).sum()
    sent = 4 * n * width * int(elsewhere)
    return [sent + (k - 1) * n * length, sent]


SHAPES = [(1, 4, 8, 2), (2, 4, 13, 3), (1, 6, 5, 1)]


@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_numbers_that_heads_send(k, shape):
    attend = heads_names()['attend_heads']
    counted = attention_numbers(attend, k, *shape)
    assert counted == heads_formula(k, *shape)
    n, heads, length, width = shape
    if heads % k == length % k == 0:
        N = n * heads * length * width
        assert counted[1] == 4 * (k - 1) * N // k


@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('k', [1, 2, 4])
def test_numbers_that_the_ring_sends_forward_and_backward(k, shape):
    n, heads, length, width = shape
    N, mask = n * heads * length * width, n * length
    assert attention_numbers(sequences_experts.attend, k, *shape) == [
        (k - 1) * (2 * N + mask),
        (k - 1) * (4 * N + mask) + 2 * N * (k > 1),
    ]


def test_the_way_back_is_that_of_autograd():
    names, places = heads_names(), split_zigzag(13, 3)
    arrays = leaves(
        [
            np.ones((2, 4, len(own), 3), ctx=mx.cpu(i))
            for i, own in enumerate(places)
        ]
    )
    with autograd.record():
        outputs = names['to_heads'](arrays, places)
    grads = [np.random.normal(size=a.shape, ctx=a.ctx) for a in outputs]
    autograd.backward(outputs, grads)
    for array, grad in zip(arrays, names['to_positions'](grads, places)):
        assert array.ctx == grad.ctx and (array.grad == grad).all()


# Packed documents


def assert_packed_equals_each_alone(
    k, lengths, causal=True, split=split_plain
):
    """Chapter 14's transformer on each document, its gradients added."""
    rng, T = onp.random.RandomState(8), sum(lengths)
    X, y = rng.randint(3, V, (2, 1, T))
    ends = onp.cumsum(lengths)
    total = 0
    for end, length in zip(ends, lengths):
        params = get_params(start(T), mx.cpu(0))
        own = slice(end - length, end)
        with autograd.record():
            scores = transformer_scores(
                np.array(X[:, own], dtype='int32'),
                params,
                num_heads=4,
                causal=causal,
            )
            loss = token_loss(scores, np.array(y[:, own], dtype='int32'))
            mean = loss.sum() / T
        mean.backward()
        total = total + onp.array(
            [param.grad.asnumpy() for param in params], dtype=object
        )
    devices = [mx.cpu(i) for i in range(k)]
    replicas = [get_params(start(T), device) for device in devices]
    sequence_gradients(
        np.array(X, dtype='int32'),
        np.array(y, dtype='int32'),
        replicas,
        devices,
        causal=causal,
        split=split,
        documents=onp.repeat(range(len(lengths)), lengths)[None],
    )
    for params in replicas:
        assert roundings([p.grad for p in params], [*total]) <= 1


@each_split
@causal_or_not
@pytest.mark.parametrize('lengths', [(5, 6, 2), (1, 1, 9, 2), (7,)])
@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_packed_documents_equal_each_alone(k, lengths, causal, split):
    assert_packed_equals_each_alone(k, lengths, causal, split)


@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_heads_see_their_document_only(k):
    attend = heads_names()['attend_heads']
    with mock.patch.object(sequences_experts, 'attend', attend):
        assert_packed_equals_each_alone(k, (5, 6, 2))


def without_mask(*arguments):
    return block_scores(*arguments[:-1])


@pytest.mark.parametrize(
    'name, bug',
    [
        ('block_scores', without_mask),
        ('restart', lambda documents: 0 * documents + onp.arange(13)),
    ],
)
def test_bugs_of_packing_are_caught(name, bug, monkeypatch):
    monkeypatch.setattr(sequences_experts, name, bug)
    with pytest.raises(AssertionError):
        assert_packed_equals_each_alone(3, (5, 6, 2))


def test_documents_of_another_shape_are_refused():
    params = init_transformer(0, V, 5, 8)
    replicas = [get_params(params, device) for device in TWO]
    with pytest.raises(ValueError, match='documents must have'):
        sequence_gradients(
            TOKENS, TOKENS, replicas, TWO, documents=onp.zeros((1, 5), int)
        )


# Experts

WIDTH, WORDS = 5, 11


def expert_params(num_experts, dtype='float64', seed=0):
    """Return parameters of all devices and those of each expert."""
    rng = onp.random.RandomState(seed)

    def arrays(*shapes):
        return [np.array(rng.normal(size=shape), dtype) for shape in shapes]

    wide = 4 * WIDTH
    expert = (wide, WIDTH), (wide,), (WIDTH, wide), (WIDTH,)
    shared = arrays((WORDS, WIDTH), (num_experts, WIDTH), *expert, (WORDS,))
    return shared, [arrays(*expert) for _ in range(num_experts)]


def words(n, seed=0):
    rng = onp.random.RandomState(seed)
    return [np.array(rng.randint(0, WORDS, n), 'int32') for _ in range(2)]


def choices_by_hand(p, num_choices, bias):
    """Return which rows each expert computes, with loops."""
    kept = onp.zeros(p.shape)
    for row, each in enumerate(p):
        for _ in range(num_choices):
            left = onp.where(kept[row], -onp.inf, each + bias)
            kept[row, left.argmax()] = 1
    return kept


def experts_by_formula(X, y, shared, experts, num_choices, bias=0):
    """Return all gradients and the mean loss: NumPy, float64, by hand."""
    X, y = X.asnumpy(), y.asnumpy()
    shared, *experts = [
        [param.asnumpy().astype('float64') for param in params]
        for params in (shared, *experts)
    ]
    E, W, *common, last = shared
    n = len(X)
    H = E[X]
    p = onp.exp(H @ W.T)
    p /= p.sum(axis=1, keepdims=True)
    kept = choices_by_hand(p, num_choices, bias)
    every = [*experts, common]
    gates = [*(p * kept).T, onp.ones(n)]
    hidden = [onp.maximum(H @ W1.T + b1, 0) for W1, b1, _, _ in every]
    results = [A @ W2.T + b2 for A, (_, _, W2, b2) in zip(hidden, every)]
    out = H + sum(g[:, None] * R for g, R in zip(gates, results))
    q = onp.exp(out @ E.T + last)
    q /= q.sum(axis=1, keepdims=True)
    loss = -onp.log(q[range(n), y]).mean()
    q[range(n), y] -= 1
    q /= n
    d_out = q @ E
    dH, dE = d_out.copy(), q.T @ out
    grads = []
    for gate, A, (W1, _, W2, _) in zip(gates, hidden, every):
        dR = gate[:, None] * d_out
        dA = dR @ W2 * (A > 0)
        grads += [dA.T @ H, dA.sum(0), dR.T @ A, dR.sum(0)]
        dH += dA @ W1
    dp = onp.stack([(d_out * R).sum(1) for R in results[:-1]], 1) * kept
    dz = p * (dp - (p * dp).sum(axis=1, keepdims=True))
    dH += dz @ W
    onp.add.at(dE, X, dH)
    return [dE, dz.T @ H, *grads[-4:], q.sum(0), *grads[:-4]], loss


def run_step(X, y, k, num_experts, dtype='float64', **options):
    """Return all gradients as each device has them, the loss, the counts."""
    devices = [mx.cpu(i) for i in range(k)]
    shared, experts = expert_params(num_experts, dtype)
    replicas = [get_params(shared, device) for device in devices]
    experts = [
        get_params(params, devices[e % k]) for e, params in enumerate(experts)
    ]
    results = expert_gradients(X, y, replicas, experts, devices, **options)
    return [
        [p.grad for arrays in (params, *experts) for p in arrays]
        for params in replicas
    ], *results


def some_bias(num_experts):
    return onp.random.RandomState(7).uniform(-0.3, 0.3, num_experts)


def assert_experts_equal_formula(k, n, num_experts, num_choices=1, **options):
    """float64 differs by far less than a rounding to float32."""
    X, y = words(n)
    bias = some_bias(num_experts)
    right, right_loss = experts_by_formula(
        X, y, *expert_params(num_experts), num_choices, bias
    )
    device_grads, loss, counts = run_step(
        X, y, k, num_experts, num_choices=num_choices, bias=bias, **options
    )
    assert all(roundings(grads, right) <= 1 for grads in device_grads)
    assert abs(loss - right_loss) < 1e-12 * right_loss
    assert sum(counts) == n * num_choices  # nothing is dropped
    return counts


DISPATCHES = [
    sequences_experts.to_experts,
    sequences_experts.to_experts_by_node,
]


@pytest.mark.parametrize('dispatch', DISPATCHES)
@pytest.mark.parametrize('num_experts, num_choices', [(1, 1), (3, 2), (6, 1)])
@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_experts_equal_the_formula(k, num_experts, num_choices, dispatch):
    assert_experts_equal_formula(
        k, 13, num_experts, num_choices, dispatch=dispatch
    )


@pytest.mark.parametrize('dispatch', DISPATCHES)
@pytest.mark.parametrize('n, k', [(1, 1), (2, 2), (5, 5), (7, 3)])
def test_few_words_equal_the_formula(n, k, dispatch):
    """Some experts get no word, and some devices send none."""
    counts = assert_experts_equal_formula(k, n, 8, 2, dispatch=dispatch)
    assert 0 in counts or n > 4


def test_experts_in_float32_differ_by_rounding_only():
    X, y = words(40)
    right, _ = experts_by_formula(X, y, *expert_params(6), 2)
    single = [run_step(X, y, k, 6, 'float32', num_choices=2) for k in (1, 4)]
    for grads in single[1][0]:
        assert all_close(grads, [single[0][0][0], right])


def test_the_router_prefers_the_largest_probabilities():
    probs = [np.array([[0.2, 0.5, 0.3], [0.4, 0.1, 0.5]]), np.ones((1, 3)) / 3]
    first, second = choose_experts(probs, 2)
    assert first.tolist() == [[1, 2], [2, 0]]
    assert second.tolist() == [[0], [1]]
    first, second = choose_experts(probs, 1, onp.array([0.35, 0, 0.1]))
    assert first.tolist() == [[0, 0]]
    assert second.tolist() == [[0]]


def test_a_bias_falls_for_experts_with_more_words_than_the_mean():
    bias = onp.array([0.5, 0, 0, -1])
    sequences_experts.update_bias(bias, onp.array([9, 3, 4, 0]), 0.25)
    assert bias.tolist() == [0.25, 0.25, 0, -0.75]


@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_a_row_enters_each_node_once(k):
    """Nodes of two devices; four of eight experts for each word."""
    X, y = words(13)
    homes = onp.repeat(range(k), [13 // k + (i < 13 % k) for i in range(k)])
    crossed = {}
    for dispatch in DISPATCHES:
        devices = [mx.cpu(i) for i in range(k)]
        hs = [
            np.array(onp.eye(13)[homes == i], ctx=device)
            for i, device in enumerate(devices)
        ]
        chosen = [
            onp.random.RandomState(i)
            .rand(int((homes == i).sum()), 8)
            .argsort(axis=1)
            .T[:4]
            for i in range(k)
        ]
        places = [
            [
                np.array(onp.flatnonzero((own == e).any(0)), 'int64', ctx=d)
                for e in range(8)
            ]
            for own, d in zip(chosen, devices)
        ]
        found = []
        copies = record_copies(
            lambda d=dispatch, h=hs, p=places, f=found, cpus=devices: f.extend(
                d(h, p, [cpus[e % k] for e in range(8)])
            )
        )
        crossed[dispatch] = (
            [a.asnumpy().tolist() for a in found],
            sum(
                size // 104
                for a, b, size in copies
                if a.device_id // 2 != b.device_id // 2
            ),
        )
    (rows, _), (others, num) = crossed.values()
    assert rows == others
    needed = 0
    for i, own in enumerate(chosen):
        for row in own.T:
            needed += len({e % k // 2 for e in row} - {i // 2})
    assert num == needed


def bias_in_the_weights(H, results, probs, chosen, params):
    bias = np.array(some_bias(probs.shape[1]), dtype=H.dtype, ctx=H.ctx)
    return right_mix(H, results, probs + bias, chosen, params)


def each_device_its_own_bias(device_probs, num_choices, bias):
    """As if each had counted its own words."""
    return [
        right_choice([probs], num_choices, bias * (i == 0))[0]
        for i, probs in enumerate(device_probs)
    ]


def shared_is_left_out(H, results, probs, chosen, params):
    nothing = [*params[:2], *[0 * p for p in params[2:6]], params[-1]]
    return right_mix(H, results, probs, chosen, nothing)


right_mix = sequences_experts.mix
right_choice = sequences_experts.choose_experts


@pytest.mark.parametrize(
    'name, bug',
    [
        ('mix', bias_in_the_weights),
        ('mix', shared_is_left_out),
        ('choose_experts', each_device_its_own_bias),
    ],
)
def test_bugs_of_experts_are_caught(name, bug, monkeypatch):
    monkeypatch.setattr(sequences_experts, name, bug)
    with pytest.raises(AssertionError):
        assert_experts_equal_formula(3, 13, 6, 2)


@pytest.mark.parametrize('k', [1, 2, 3, 5])
@pytest.mark.parametrize('num_choices', [1, 2])
def test_bytes_of_the_all_to_alls(k, num_choices):
    """Four exchanges of the rows whose expert is on another device."""
    X, y = words(13)
    devices = [mx.cpu(i) for i in range(k)]
    shared, experts = expert_params(4)
    p = onp.exp(shared[0].asnumpy()[X.asnumpy()] @ shared[1].asnumpy().T)
    order = (-p).argsort(axis=1)[:, :num_choices]
    sizes = [13 // k + (i < 13 % k) for i in range(k)]
    homes = onp.repeat(range(k), sizes)
    elsewhere = (order % k != homes[:, None]).sum()
    replicas = [get_params(shared, device) for device in devices]
    experts = [get_params(a, devices[e % k]) for e, a in enumerate(experts)]
    copies = record_copies(
        lambda: expert_gradients(X, y, replicas, experts, devices, num_choices)
    )
    gradients = 2 * (k - 1) * 8 * sum(param.size for param in shared)
    tokens = 2 * 4 * (13 - sizes[0])
    sent = sum(size for *_, size in copies)
    assert sent - gradients - tokens == 4 * elsewhere * 8 * WIDTH


# Bugs that must be noticed


def test_gradients_of_one_device_alone_are_noticed(monkeypatch):
    monkeypatch.setattr(
        sequences_experts, 'allreduce_gradients', lambda device_params: None
    )
    with pytest.raises(AssertionError):
        assert_equals_one_device(3, 13, True)


def test_rows_that_come_back_to_another_device_are_noticed(monkeypatch):
    right = sequences_experts.from_experts

    def from_the_next(arrays, places, targets):
        return right(arrays[1:] + arrays[:1], places, targets)

    monkeypatch.setattr(sequences_experts, 'from_experts', from_the_next)
    with pytest.raises((AssertionError, mx.MXNetError, IndexError)):
        assert_experts_equal_formula(3, 13, 3, 2)


# What is refused


TOKENS = np.ones((2, 5), dtype='int32')
TWO = [mx.cpu(0), mx.cpu(1)]


def sequence(X=TOKENS, y=TOKENS, num_heads=4, split=split_plain):
    params = init_transformer(0, V, 5, 8)
    replicas = [get_params(params, device) for device in TWO]
    sequence_gradients(X, y, replicas, TWO, num_heads, split=split)


def experts(X=TOKENS[0], y=TOKENS[0], num_experts=2, **options):
    expert = [np.ones((8, 4)), np.ones(8), np.ones((4, 8)), np.ones(4)]
    router = [np.ones((V, 4)), np.ones((2, 4)), *expert, np.ones(V)]
    replicas = [get_params(router, device) for device in TWO]
    every = [get_params(expert, TWO[i % 2]) for i in range(num_experts)]
    expert_gradients(X, y, replicas, every, TWO, **options)


def at(*places):
    return lambda length, k: [onp.array(own) for own in places]


@pytest.mark.parametrize(
    'call, words',
    [
        (lambda: sequence(y=TOKENS[:, :2]), 'y must have the shape of X'),
        (lambda: sequence(y=0 * TOKENS), 'no words to predict'),
        (lambda: sequence(X=TOKENS + V), 'X must be from 0 to 10'),
        (lambda: sequence(num_heads=3), 'num_heads must divide the width, 8'),
        (lambda: sequence(np.ones((2, 6)), np.ones((2, 6))), 'at most 5 pos'),
        (lambda: sequence(split=at([0, 1, 2, 3, 4])), 'what split returns'),
        (lambda: sequence(split=at([2, 1], [0, 3, 4])), 'in ascending order'),
        (lambda: sequence(split=at([0, 1, 2], [2, 3, 4])), '0 to 4 to one'),
        (lambda: sequence(split=at([0, 1, 2], [4])), '0 to 4 to one device'),
        (lambda: experts(num_choices=3), 'at most the number of experts, 2'),
        (lambda: experts(num_choices=1.5), 'num_choices must be an integer'),
        (lambda: experts(num_experts=1), 'router, .* 1 in all, but has 2'),
        (lambda: experts(y=TOKENS[0, :2]), '5 examples but 2 labels'),
        (lambda: experts(y=TOKENS[0] + V), 'y must be from 0 to 10'),
    ],
)
def test_what_cannot_be_computed_is_refused(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()
