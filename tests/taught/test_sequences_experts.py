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
    attention,
    count_tokens,
    decoder_scores,
    init_decoder,
    rms_norm,
    swiglu,
    token_loss,
)
from d2lmulti.model_parallelism import sequences_experts
from d2lmulti.model_parallelism.model_parallel import leaves
from d2lmulti.model_parallelism.sequences_experts import (
    add_block,
    all_to_all,
    block_scores,
    choose_experts,
    expert_gradients,
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


def minibatch(n, length, seed=0):
    """Return X and y: rows of 1 to `length` words, few of them in the last
    positions, about half of them to predict."""
    rng = onp.random.RandomState(seed)
    X = rng.randint(3, V, (n, length))
    X[1:][onp.arange(length) >= rng.randint(1, length + 1, (n - 1, 1))] = 0
    y = onp.where((rng.rand(n, length) < 0.5) & (X > 0), X, 0)
    y[0, [0, -1]] = 5
    return [np.array(array, dtype='int32') for array in (X, y)]


@functools.lru_cache(maxsize=None)
def start(num_layers=2, dtype='float64', key_heads=2):
    """Two query heads share a key head."""
    params = init_decoder(
        1, V, 8, num_layers, 2 * key_heads, key_heads, size=4
    )
    return [param.astype(dtype) for param in params]


# Attention against a formula in NumPy


def attention_data(n, length, scale=1.0):
    """Return Q, K, V and the gradient of the means: two key heads, three
    queries for each at each position."""
    rng = onp.random.RandomState(0)
    Q, dO = scale * rng.normal(size=(2, n, 2, length, 3, 3))
    K, V = scale * rng.normal(size=(2, n, 2, length, 3))
    return Q, K, V, dO


def one_query_head(Q, K, V, dO):
    """Return the means and the gradients of Q, K and V: NumPy, float64; and
    the sums of the sizes of the terms from which each is made."""
    T = Q.shape[2]
    hidden = onp.triu(onp.ones((T, T)), 1) > 0
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


def by_formula(Q, K, V, dO):
    """Return the same for all query heads; those of K and V are sums."""
    each = [
        one_query_head(Q[:, :, :, i], K, V, dO[:, :, :, i]) for i in range(3)
    ]
    return [
        [onp.stack(arrays, axis=3) for arrays in (means, dQs)]
        + [sum(dKs), sum(dVs)]
        for means, dQs, dKs, dVs in (zip(*kind) for kind in zip(*each))
    ]


def on_devices(arrays, k, split):
    """Return the same, by the ring."""
    places = [own for own in split(arrays[0].shape[2], k) if len(own)]
    n = len(arrays[0])
    *QKV, dOs = [
        [
            np.array(
                array[:, :, own].reshape(n, 2, -1, 3),
                dtype='float64',
                ctx=mx.cpu(i),
            )
            for i, own in enumerate(places)
        ]
        for array in arrays
    ]
    Os, logs = ring_attention(*QKV, places)
    all_results = Os, *ring_backward(dOs, Os, logs, *QKV, places)
    for results in all_results:
        assert [a.ctx for a in results] == [a.ctx for a in dOs]
    order = onp.concatenate(places).argsort()
    return [
        onp.concatenate(
            [
                result.asnumpy().reshape(n, 2, len(own), *shape[3:])
                for result, own in zip(results, places)
            ],
            axis=2,
        )[:, :, order]
        for results, shape in zip(
            all_results, [array.shape for array in (arrays[3], *arrays[:3])]
        )
    ]


def assert_equals_formula(k, length, split=split_plain, scale=1.0):
    """A sum of n terms is right to n roundings of the sum of their sizes.
    There are four, one after the other, of at most three times `length`
    terms and k corrections; and an exponential multiplies the rounding of
    its score."""
    arrays = attention_data(2, length, scale)
    right, sizes = by_formula(*arrays)
    results = on_devices(arrays, k, split)
    largest = abs(arrays[0]).max() * abs(arrays[1]).max() * 3
    roundings_of = 4 * (3 * length + k + 3) + 4 * largest
    for array, value, size in zip(results, right, sizes):
        bound = 2 * roundings_of * onp.finfo(float).eps * size.max()
        assert abs(array - value).max() <= bound


@each_split
@pytest.mark.parametrize('length', [1, 13])
@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_ring_attention_equals_the_formula(k, length, split):
    assert_equals_formula(k, length, split)


def test_large_scores_do_not_overflow():
    """In float64, exp overflows above 709."""
    assert_equals_formula(3, 13, scale=40.0)


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
            rows, columns = visible(queries, keys)
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
                for rows, columns in [visible(places[i], places[i - step])]
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


def one_device(X, y, dtype='float64', **options):
    """Return the gradients of chapter 14's decoder, and the loss."""
    params = get_params(start(dtype=dtype, **options), mx.cpu(0))
    with autograd.record():
        scores = decoder_scores(X, params, 4)
        loss = token_loss(scores, y).sum() / count_tokens(y)
    loss.backward()
    return [param.grad for param in params], float(loss)


def run(X, y, k, dtype='float64', key_heads=2, **options):
    """Return the gradients on each device, and the loss."""
    devices = [mx.cpu(i) for i in range(k)]
    replicas = [
        get_params(start(dtype=dtype, key_heads=key_heads), device)
        for device in devices
    ]
    loss = sequence_gradients(X, y, replicas, devices, 4, **options)
    return [[param.grad for param in params] for params in replicas], loss


def assert_equals_one_device(k, length, split=split_plain, n=3, key_heads=2):
    """float64 differs by far less than a rounding to float32."""
    X, y = minibatch(n, length)
    right, right_loss = one_device(X, y, key_heads=key_heads)
    device_grads, loss = run(X, y, k, split=split, key_heads=key_heads)
    assert all(roundings(grads, right) <= 1 for grads in device_grads)
    assert abs(loss - right_loss) < 1e-12 * right_loss


@each_split
@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_gradients_equal_those_of_one_device(k, split):
    assert_equals_one_device(k, 13, split)


@each_split
@pytest.mark.parametrize('n, length', [(3, 2), (4, 7)])
def test_other_shapes_equal_one_device(n, length, split):
    """Two words are too few for three devices."""
    assert_equals_one_device(3, length, split, n)


def test_float32_differs_by_rounding_only():
    X, y = minibatch(3, 13)
    results = [one_device(X, y, dtype)[0] for dtype in ('float32', 'float64')]
    device_grads, _ = run(X, y, 3, 'float32')
    assert all(all_close(grads, results) for grads in device_grads)


def test_a_device_whose_words_are_all_padding_adds_nothing():
    X, y = minibatch(2, 8)
    X[:, 5:], y[:, 5:] = 0, 0
    right, _ = one_device(X, y)
    assert all(roundings(grads, right) <= 1 for grads in run(X, y, 4)[0])


def test_gradients_are_not_added_to_those_of_the_last_step():
    """In the second step, the third device has no word."""
    devices = [mx.cpu(i) for i in range(3)]
    replicas = [get_params(start(), device) for device in devices]
    for length in (5, 2):
        X, y = minibatch(3, length)
        sequence_gradients(X, y, replicas, devices, 4)
    right, _ = one_device(X, y)
    assert roundings([p.grad for p in replicas[2]], right) <= 1


# Bytes


def ring_bytes(k, n, length, num_layers, split):
    """Return the bytes that k devices copy without gradients and tokens."""
    X, y = minibatch(n, length)
    devices = [mx.cpu(i) for i in range(k)]
    params = start(num_layers)
    replicas = [get_params(params, device) for device in devices]
    copies = record_copies(
        lambda: sequence_gradients(X, y, replicas, devices, 4, split=split)
    )
    gradients = 2 * (k - 1) * 8 * sum(param.size for param in params)
    tokens = 2 * 4 * n * sum(map(len, split(length, k)[1:]))
    return sum(size for *_, size in copies) - gradients - tokens


@each_split
@pytest.mark.parametrize('k', [1, 5])
def test_bytes_are_those_of_the_formula(k, split):
    """Of two key heads, though there are four query heads."""
    for n, length, num_layers in ((3, 13, 2), (1, 8, 1)):
        passes = 6 * k - 4 if k > 1 else 0
        numbers = passes * num_layers * n * length * 2 * 4
        assert ring_bytes(k, n, length, num_layers, split) == 8 * numbers


def test_no_array_is_as_large_as_all_weights():
    """A device holds the scores of one block."""
    largest = []

    def watched(*arguments):
        for *place, S in block_scores(*arguments):
            largest.append(S.shape)
            yield *place, S

    with mock.patch.object(sequences_experts, 'block_scores', watched):
        on_devices(attention_data(1, 16), 4, split_plain)
    assert set(largest) == {(1, 2, 12, 4)} and len(largest) == 2 * 10


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


@each_split
@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_heads_on_devices_equal_one_device(k, split):
    """Also if k divides neither heads nor positions."""
    attend = heads_names()['attend_heads']
    with mock.patch.object(sequences_experts, 'attend', attend):
        assert_equals_one_device(k, 13, split, key_heads=4)


def attention_numbers(attend, k, n, heads, length, width):
    """Return the numbers that are sent forward and backward, with three
    query heads for each key head."""
    places, tape = split_plain(length, k), []
    QKVs = leaves(
        [
            np.ones((n, heads, len(own), 3 + 2, width), ctx=mx.cpu(i))
            for i, own in enumerate(places)
        ]
    )
    return [
        sum(size for *_, size in record_copies(work)) // 4
        for work in (
            lambda: attend(tape, QKVs, places),
            lambda: [backward() for backward in reversed(tape)],
        )
    ]


def heads_formula(k, n, heads, length, width):
    """What is not on the right device already is sent, number by number:
    three queries, their means, a key and a value."""
    position, head = [
        onp.concatenate([[i] * len(own) for i, own in enumerate(owns)])
        for owns in (split_plain(length, k), split_plain(heads, k))
    ]
    elsewhere = (position[:, None] != head).sum()
    return [(3 + 3 + 2) * n * width * int(elsewhere)] * 2


SHAPES = [(1, 4, 8, 2), (2, 4, 13, 3), (1, 6, 5, 1)]


@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_numbers_that_heads_send(k, shape):
    attend = heads_names()['attend_heads']
    counted = attention_numbers(attend, k, *shape)
    assert counted == heads_formula(k, *shape)
    n, heads, length, width = shape
    if heads % k == length % k == 0:
        M = n * heads * length * width
        assert counted[1] == 2 * (3 * M + M) * (k - 1) // k


@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('k', [1, 2, 4])
def test_numbers_that_the_ring_sends_forward_and_backward(k, shape):
    n, heads, length, width = shape
    M = n * heads * length * width
    assert attention_numbers(sequences_experts.attend, k, *shape) == [
        (k - 1) * 2 * M,
        (k - 1) * 4 * M + 2 * M * (k > 1),
    ]


def test_the_way_back_is_that_of_autograd():
    names, places = heads_names(), split_zigzag(13, 3)
    arrays = leaves(
        [
            np.ones((2, 4, len(own), 4, 3), ctx=mx.cpu(i))
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
    k, lengths, split=split_plain, key_heads=2
):
    """Chapter 14's decoder on each document, its gradients added. The places
    of the packed words run on."""
    rng, T = onp.random.RandomState(8), sum(lengths)
    X, y = rng.randint(3, V, (2, 1, T))
    ends = onp.cumsum(lengths)
    total = 0
    for end, length in zip(ends, lengths):
        own = [
            np.array(array[:, end - length : end], dtype='int32')
            for array in (X, y)
        ]
        grads, _ = one_device(*own, key_heads=key_heads)
        total = total + length / T * onp.array(
            [grad.asnumpy() for grad in grads], dtype=object
        )
    device_grads, _ = run(
        np.array(X, dtype='int32'),
        np.array(y, dtype='int32'),
        k,
        key_heads=key_heads,
        split=split,
        documents=onp.repeat(range(len(lengths)), lengths)[None],
    )
    assert all(roundings(grads, [*total]) <= 1 for grads in device_grads)


@each_split
@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_packed_documents_equal_each_alone(k, split):
    assert_packed_equals_each_alone(k, (1, 1, 9, 2), split)


@pytest.mark.parametrize('k', [1, 3])
def test_heads_see_their_document_only(k):
    attend = heads_names()['attend_heads']
    with mock.patch.object(sequences_experts, 'attend', attend):
        assert_packed_equals_each_alone(k, (5, 6, 2), key_heads=4)


def test_packing_without_a_mask_is_noticed(monkeypatch):
    monkeypatch.setattr(
        sequences_experts,
        'block_scores',
        lambda *arguments: block_scores(*arguments[:-1]),
    )
    with pytest.raises(AssertionError):
        assert_packed_equals_each_alone(3, (5, 6, 2))


def test_documents_of_another_shape_are_refused():
    replicas = [get_params(start(), device) for device in TWO]
    with pytest.raises(ValueError, match='documents must have'):
        sequence_gradients(
            TOKENS, TOKENS, replicas, TWO, 4, documents=onp.zeros((1, 5), int)
        )


# Experts


def expert_params(num_experts, dtype='float64'):
    """Return parameters of all devices and the experts of two blocks."""
    rng = onp.random.RandomState(0)

    def arrays(*shapes):
        return [np.array(rng.normal(size=shape), dtype) for shape in shapes]

    expert = (8, 5), (8, 5), (5, 8)
    return [*start(dtype=dtype), *arrays(*2 * [(8, num_experts)])], [
        [arrays(*expert) for _ in range(num_experts)] for _ in range(2)
    ]


def choices_by_hand(p, num_choices, bias):
    """Return which rows each expert computes, with loops."""
    kept = onp.zeros(p.shape)
    for row in onp.ndindex(p.shape[:-1]):
        for _ in range(num_choices):
            left = onp.where(kept[row], -onp.inf, p[row] + bias)
            kept[(*row, left.argmax())] = 1
    return kept


def experts_in_one_graph(
    X, y, num_experts, num_choices, biases, dtype='float64'
):
    """Return all gradients, the mean loss and who chose what, NumPy: every
    expert computes every word."""
    params, experts = expert_params(num_experts, dtype)
    params = get_params(params, mx.cpu(0))
    experts = [[get_params(e, mx.cpu(0)) for e in own] for own in experts]
    choices = []
    with autograd.record():
        H = params[0][X]
        for b, own in enumerate(experts):
            gain1, *heads, gain2, W_gate, W_up, W_down = params[
                1 + 9 * b : 10 + 9 * b
            ]
            H = H + attention(rms_norm(H, gain1), *heads, 4)
            h = rms_norm(H, gain2)
            p = npx.softmax(np.dot(h, params[b - 2]))
            kept = choices_by_hand(p.asnumpy(), num_choices, biases[b])
            choices.append(kept * (X.asnumpy() > 0)[..., None])
            gates = p * np.array(kept, dtype=dtype)
            H = H + swiglu(h, W_gate, W_up, W_down)
            for e, params_e in enumerate(own):
                H = H + gates[..., e : e + 1] * swiglu(h, *params_e)
        scores = np.dot(rms_norm(H, params[-4]), params[-3])
        loss = token_loss(scores, y).sum() / count_tokens(y)
    loss.backward()
    every = [*params, *sum(sum(experts, []), [])]
    return [param.grad for param in every], float(loss), choices


def run_step(X, y, k, num_experts, dtype='float64', **options):
    """Return all gradients as each device has them, the loss, the choices."""
    devices = [mx.cpu(i) for i in range(k)]
    params, experts = expert_params(num_experts, dtype)
    replicas = [get_params(params, device) for device in devices]
    experts = [
        [get_params(each, devices[e % k]) for e, each in enumerate(own)]
        for own in experts
    ]
    results = expert_gradients(
        X, y, replicas, experts, devices, size=4, **options
    )
    every = sum(sum(experts, []), [])
    return [
        [param.grad for param in (*params, *every)] for params in replicas
    ], *results


def some_biases(num_experts):
    return onp.random.RandomState(7).uniform(-0.3, 0.3, (2, num_experts))


def assert_experts_equal_one_graph(
    k, n, num_experts, num_choices=1, length=4, **options
):
    """float64 differs by far less than a rounding to float32."""
    X, y = minibatch(n, length)
    biases = some_biases(num_experts)
    right, right_loss, kept = experts_in_one_graph(
        X, y, num_experts, num_choices, biases
    )
    device_grads, loss, choices = run_step(
        X, y, k, num_experts, num_choices=num_choices, biases=biases, **options
    )
    assert all(roundings(grads, right) <= 1 for grads in device_grads)
    assert abs(loss - right_loss) < 1e-12 * right_loss
    for chosen, each in zip(choices, kept):  # nothing is dropped
        counts = sequences_experts.count_words(chosen, num_experts)
        assert counts.tolist() == each.sum(axis=(0, 1)).tolist()
        assert sum(counts) == int((X > 0).sum()) * num_choices
    return counts


DISPATCHES = [
    sequences_experts.to_experts,
    sequences_experts.to_experts_by_node,
]


@pytest.mark.parametrize('dispatch', DISPATCHES)
@pytest.mark.parametrize('num_experts, num_choices', [(3, 2), (6, 1)])
@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_experts_equal_one_graph(k, num_experts, num_choices, dispatch):
    assert_experts_equal_one_graph(
        k, 6, num_experts, num_choices, dispatch=dispatch
    )


@pytest.mark.parametrize('dispatch', DISPATCHES)
@pytest.mark.parametrize('n, k', [(2, 2), (5, 5), (7, 3)])
def test_few_words_equal_one_graph(n, k, dispatch):
    """Some experts get no word, and some devices send none."""
    counts = assert_experts_equal_one_graph(
        k, n, 8, 2, length=1, dispatch=dispatch
    )
    assert 0 in counts or n > 4


def test_experts_in_float32_differ_by_rounding_only():
    X, y = minibatch(8, 5)
    results = [
        experts_in_one_graph(X, y, 6, 2, (0, 0), dtype)[0]
        for dtype in ('float32', 'float64')
    ]
    for grads in run_step(X, y, 4, 6, 'float32', num_choices=2)[0]:
        assert all_close(grads, results)


def test_the_router_prefers_the_largest_probabilities():
    probs = [np.array([[0.2, 0.5, 0.3], [0.4, 0.1, 0.5]]), np.ones((1, 3)) / 3]
    Xs = [np.array([[5, 7]]), np.array([[5]])]
    first, second = choose_experts(probs, Xs, 2)
    assert first.tolist() == [[1, 2], [2, 0]]
    assert second.tolist() == [[0], [1]]
    first, second = choose_experts(probs, Xs, 1, onp.array([0.35, 0, 0.1]))
    assert first.tolist() == [[0, 0]]
    assert second.tolist() == [[0]]


def test_padding_goes_to_no_expert():
    chosen = choose_experts([np.ones((4, 3))], [np.array([[5, 0], [7, 0]])], 2)
    assert chosen[0].tolist() == [[0, -1, 0, -1], [1, -1, 1, -1]]
    counts = sequences_experts.count_words(chosen * 2, 3)
    assert counts.tolist() == [4, 4, 0]


def test_a_bias_falls_for_experts_with_more_words_than_the_mean():
    bias = onp.array([0.5, 0, 0, -1])
    sequences_experts.update_bias(bias, onp.array([9, 3, 4, 0]), 0.25)
    assert bias.tolist() == [0.25, 0.25, 0, -0.75]


@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_a_row_enters_each_node_once(k):
    """Nodes of two devices; four of eight experts for each word."""
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


def bias_in_the_weights(H, h, results, probs, chosen, params):
    bias = some_biases(probs.shape[1])[0]
    bias = np.array(bias, dtype=H.dtype, ctx=H.ctx)
    return right_mix(H, h, results, probs + bias, chosen, params)


def each_device_its_own_bias(device_probs, Xs, num_choices, bias):
    """As if each had counted its own words."""
    return [
        right_choice([probs], [X], num_choices, bias * (i == 0))[0]
        for i, (probs, X) in enumerate(zip(device_probs, Xs))
    ]


def shared_is_left_out(H, h, results, probs, chosen, params):
    nothing = [*params[:6], *[0 * param for param in params[6:]]]
    return right_mix(H, h, results, probs, chosen, nothing)


def rows_from_the_next(arrays, places, targets):
    return right_return(arrays[1:] + arrays[:1], places, targets)


right_mix = sequences_experts.mix
right_choice = sequences_experts.choose_experts
right_return = sequences_experts.from_experts


@pytest.mark.parametrize(
    'name, bug',
    [
        ('mix', bias_in_the_weights),
        ('mix', shared_is_left_out),
        ('choose_experts', each_device_its_own_bias),
        ('from_experts', rows_from_the_next),
        ('allreduce_gradients', lambda device_params: None),
    ],
)
def test_bugs_of_experts_are_noticed(name, bug, monkeypatch):
    monkeypatch.setattr(sequences_experts, name, bug)
    with pytest.raises((AssertionError, mx.MXNetError, IndexError)):
        assert_experts_equal_one_graph(3, 6, 6, 2)


@pytest.mark.parametrize('k', [1, 2, 3, 5])
@pytest.mark.parametrize('num_choices', [1, 2])
def test_bytes_of_the_all_to_alls(k, num_choices):
    """Four exchanges of the words whose expert is on another device."""
    X, y = minibatch(6, 4)
    *_, kept = experts_in_one_graph(X, y, 4, num_choices, (0, 0))
    sizes = [6 // k + (i < 6 % k) for i in range(k)]
    homes = onp.repeat(range(k), sizes)[:, None, None]
    elsewhere = sum(
        (each * (onp.arange(4) % k != homes)).sum() for each in kept
    )
    copies = record_copies(
        lambda: run_step(X, y, k, 4, num_choices=num_choices)
    )
    params, experts = expert_params(4)
    gradients = 2 * (k - 1) * 8 * sum(param.size for param in params)
    placed = (k - 1) * 8 * sum(param.size for param in params)
    placed += 8 * sum(
        param.size
        for own in experts
        for e, each in enumerate(own)
        for param in each
        if e % k
    )
    tokens = 2 * 4 * 4 * (6 - sizes[0])
    sent = sum(size for *_, size in copies)
    assert sent - gradients - placed - tokens == 4 * elsewhere * 8 * 8


# Bugs that must be noticed


def positions_from_0(H, W_q, W_k, W_v, places, size):
    """RoPE, as if each device had the first words."""
    places = onp.arange(len(places))
    return right_project(H, W_q, W_k, W_v, places, size)


def gradients_of_blocks_stay(*arguments):
    """The last pass is left out: device i has block i + 1."""
    dQs, *others = right_backward(*arguments)
    return dQs, *[
        [grad.copyto(dQ.ctx) for grad, dQ in zip(grads[1:] + grads[:1], dQs)]
        for grads in others
    ]


right_project = sequences_experts.queries_keys_values
right_backward = sequences_experts.ring_backward


@pytest.mark.parametrize(
    'name, bug',
    [
        ('allreduce_gradients', lambda device_params: None),
        ('queries_keys_values', positions_from_0),
        ('ring_backward', gradients_of_blocks_stay),
    ],
)
def test_bugs_of_the_ring_are_noticed(name, bug, monkeypatch):
    monkeypatch.setattr(sequences_experts, name, bug)
    assert_equals_one_device(1, 12)
    with pytest.raises(AssertionError):
        assert_equals_one_device(3, 12)


# What is refused


TOKENS = np.ones((2, 5), dtype='int32')
TWO = [mx.cpu(0), mx.cpu(1)]


def sequence(X=TOKENS, y=TOKENS, size=4, split=split_plain, documents=None):
    replicas = [get_params(start(), device) for device in TWO]
    sequence_gradients(X, y, replicas, TWO, size, split, documents)


def experts(X=TOKENS, y=TOKENS, num_experts=2, num_blocks=2, **options):
    params, every = expert_params(2)
    replicas = [get_params(params, device) for device in TWO]
    every = [own[:num_experts] for own in every[:num_blocks]]
    expert_gradients(X, y, replicas, every, TWO, size=4, **options)


def at(*places):
    return lambda length, k: [onp.array(own) for own in places]


@pytest.mark.parametrize(
    'call, words',
    [
        (lambda: sequence(y=TOKENS[:, :2]), 'y must have the shape of X'),
        (lambda: sequence(y=0 * TOKENS), 'no words to predict'),
        (lambda: sequence(X=TOKENS + V), 'X must be from 0 to 10'),
        (lambda: sequence(size=3), 'size must be even and fit the weights'),
        (lambda: sequence(split=at([0, 1, 2, 3, 4])), 'what split returns'),
        (lambda: sequence(split=at([2, 1], [0, 3, 4])), 'in ascending order'),
        (lambda: sequence(split=at([0, 1, 2], [2, 3, 4])), '0 to 4 to one'),
        (lambda: sequence(split=at([0, 1, 2], [4])), '0 to 4 to one device'),
        (
            lambda: sequence(split=lambda n, k: [slice(n)] * k),
            'NumPy, is needed',
        ),
        (lambda: sequence(X=TOKENS.asnumpy()), 'X is a NumPy array'),
        (lambda: sequence(documents=TOKENS), 'documents is an MXNet array'),
        (lambda: experts(num_choices=3), 'at most the number of experts, 2'),
        (lambda: experts(num_choices=1.5), 'num_choices must be an integer'),
        (lambda: experts(num_experts=1), 'router .* 1 in all, but has 2'),
        (
            lambda: experts(num_blocks=1),
            'experts needs .* each block, 2 in all',
        ),
        (lambda: experts(num_blocks=0), '2 in all, but has 0'),
        (lambda: experts(biases=[]), 'biases needs .* block, 2 in all'),
        (
            lambda: experts(biases=[[0, 0], [0]]),
            'each of biases .* each expert, 2 in',
        ),
        (lambda: experts(X=TOKENS.asnumpy()), 'X is a NumPy array'),
        (lambda: experts(y=TOKENS[:, :2]), 'y must have the shape of X'),
        (lambda: experts(y=TOKENS + V), 'y must be from 0 to 10'),
    ],
)
def test_what_cannot_be_computed_is_refused(call, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call()
