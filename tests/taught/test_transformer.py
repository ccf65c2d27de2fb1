"""A transformer: the layers, and steps that weigh shards by tokens."""

import functools
from itertools import chain

import mxnet as mx
import numpy as onp
import pytest
from helpers import as_type, roundings
from mxnet import autograd, np, npx

import d2lmulti
from d2lmulti.datasets import alice
from d2lmulti.learning import transformer
from d2lmulti.learning.transformer import (
    build_vocab,
    count_tokens,
    decoder_layers,
    decoder_scores,
    encode,
    init_decoder,
    token_loss,
)

V = 23
SIZE = 4  # numbers per head
init = functools.partial(
    init_decoder, 3, V, width=16, num_layers=2, size=SIZE, num_units=24
)
scores_of = functools.partial(decoder_scores, size=SIZE)


def sentences(n, seed=0, longest=9):
    """Return tokens of n sentences of 1 to `longest` words, padded."""
    rng = onp.random.RandomState(seed)
    tokens = rng.randint(3, V, (n, longest)).astype('int32')
    lengths = rng.randint(1, longest + 1, (n, 1))
    return onp.where(onp.arange(longest) < lengths, tokens, 0)


def minibatch(n, seed=0):
    """Return X and y with few words in the first rows, many in the last."""
    tokens = sentences(n, seed)
    tokens = tokens[(tokens > 0).sum(axis=1).argsort(kind='stable')]
    return [
        np.array(data, dtype='int32')
        for data in (tokens[:, :-1], tokens[:, 1:])
    ]


# The text


def test_the_text_is_the_frozen_one(monkeypatch, tmp_path):
    text = alice.read_alice()
    assert len(text) == 148_480 and text.isascii()
    changed = tmp_path / 'alice.txt'
    changed.write_text(text.replace('Rabbit', 'Hare', 1))
    monkeypatch.setattr(alice, 'PATH', changed)
    with pytest.raises(ValueError, match='git checkout'):
        alice.read_alice()


def test_line_ends_of_another_system_do_not_matter(monkeypatch, tmp_path):
    text = alice.read_alice()
    changed = tmp_path / 'alice.txt'
    changed.write_bytes(text.replace('\n', '\r\n').encode())
    monkeypatch.setattr(alice, 'PATH', changed)
    assert alice.read_alice() == text


@pytest.mark.parametrize('max_length', [1, 7, 20, 1000])
def test_cutting_sentences_loses_no_word(max_length):
    sentences = alice.read_sentences(max_length)
    whole = alice.read_sentences(10**6)
    assert list(chain(*sentences)) == list(chain(*whole))
    assert all(1 <= len(sentence) <= max_length for sentence in sentences)
    assert min(map(len, whole)) > 2


def test_tokens_are_the_words_of_the_sentence():
    texts = [['a', 'b', 'a'], ['b', 'a', 'c', 'a', 'b']]
    vocab = build_vocab(texts, min_count=2)
    assert vocab == ['<pad>', '<unk>', 'a', 'b']
    assert encode(texts, vocab).tolist() == [[2, 3, 2, 0, 0], [3, 2, 1, 2, 3]]


@pytest.mark.parametrize(
    'tokens, size, error, words',
    [
        (np.ones(3), SIZE, ValueError, r'X must have the shape \(n, length\)'),
        (np.ones((1, 3)), 3, ValueError, 'size must be even and fit'),
        (np.ones((1, 3)), 6, ValueError, 'size must be even and fit'),
        (np.ones((1, 3)), 0, ValueError, 'size must be'),
        (np.ones((1, 3)), '4', TypeError, 'size must be'),
    ],
)
def test_tokens_and_heads_that_do_not_fit(tokens, size, error, words):
    with pytest.raises(error, match=words):
        decoder_scores(tokens, init(), size)


# The network. Chapter 14 compares its gradients with finite differences.


def right_attention(H, W_q, W_k, W_v, W_out, size):
    """Return attention in NumPy: a key head for each query head, turned by
    matrices."""
    num_heads, length = W_q.shape[1] // size, H.shape[1]
    shared = num_heads * size // W_k.shape[1]
    place = onp.arange(length)
    total = 0
    for q in range(num_heads):
        own, its = [slice(i * size, (i + 1) * size) for i in (q, q // shared)]
        Q, K, V = H @ W_q[:, own], H @ W_k[:, its], H @ W_v[:, its]
        half = size // 2
        R = onp.zeros((length, size, size))
        for i in range(half):
            angle = place / 10_000 ** (2 * i / size)
            R[:, i, i] = R[:, i + half, i + half] = onp.cos(angle)
            R[:, i, i + half], R[:, i + half, i] = (
                -onp.sin(angle),
                onp.sin(angle),
            )
        Q, K = [onp.einsum('tij,ntj->nti', R, A) for A in (Q, K)]
        S = onp.einsum('nti,nsi->nts', Q, K) / size**0.5
        powers = onp.exp(S) * (place[:, None] >= place)
        means = powers @ V / powers.sum(axis=2, keepdims=True)
        total = total + means @ W_out[own]
    return total


def exact(arrays):
    """Return NumPy arrays as MXNet's, in float64."""
    return [np.array(array, dtype='float64') for array in arrays]


def draw(num_heads, num_key_heads, size=4, width=8, length=6):
    rng = onp.random.RandomState(0)
    return [
        rng.normal(size=shape)
        for shape in (
            (2, length, width),
            (width, num_heads * size),
            (width, num_key_heads * size),
            (width, num_key_heads * size),
            (num_heads * size, width),
        )
    ]


def assert_attention(num_heads, num_key_heads):
    arrays = draw(num_heads, num_key_heads)
    ours = transformer.attention(*exact(arrays), size=4)
    assert roundings([ours], [right_attention(*arrays, 4)]) <= 1


@pytest.mark.parametrize(
    'num_heads, num_key_heads', [(1, 1), (4, 1), (4, 2), (4, 4), (6, 2)]
)
def test_attention_shares_its_key_heads(num_heads, num_key_heads):
    assert_attention(num_heads, num_key_heads)


def reversed_keys(right):
    def weights(Q, K, is_hidden):
        return right(Q, K[:, ::-1], is_hidden)

    return weights


@pytest.mark.parametrize(
    'name, wrong',
    [
        ('rope', lambda right: lambda H, places: H),
        ('rope', lambda right: lambda H, places: right(H, places % 3)),
        ('attention_weights', reversed_keys),
        (
            'attention_weights',
            lambda right: lambda Q, K, hidden: right(Q, K, 0 * hidden),
        ),
    ],
    ids=['no turns', 'places from 0 again', 'other key heads', 'no mask'],
)
def test_a_wrong_attention_is_noticed(monkeypatch, name, wrong):
    right = getattr(transformer, name)
    monkeypatch.setattr(transformer, name, wrong(right))
    with pytest.raises(AssertionError):
        assert_attention(4, 2)


def assert_norm(H, gain):
    ours = transformer.rms_norm(*exact([H, gain]))
    right = H / onp.sqrt(onp.square(H).mean(axis=2, keepdims=True) + 1e-6)
    assert roundings([ours], [right * gain]) <= 1


def test_the_norm_is_over_the_whole_width(monkeypatch):
    rng = onp.random.RandomState(0)
    H, gain = rng.normal(2, 3, (3, 5, 8)), rng.normal(size=8)
    assert_norm(H, gain)
    right = transformer.rms_norm
    halves = [slice(0, 4), slice(4, 8)]
    monkeypatch.setattr(
        transformer,
        'rms_norm',
        lambda H, gain: np.concatenate(
            [right(H[..., half], gain[half]) for half in halves], axis=2
        ),
    )
    with pytest.raises(AssertionError):
        assert_norm(H, gain)


def test_swiglu_is_a_gate_times_a_product():
    rng = onp.random.RandomState(0)
    H, W_gate, W_up = rng.normal(size=(3, 5, 5))
    W_down = rng.normal(size=(5, 2))
    gate = H @ W_gate
    right = gate / (1 + onp.exp(-gate)) * (H @ W_up) @ W_down
    ours = transformer.swiglu(*exact([H[None], W_gate, W_up, W_down]))
    assert roundings([ours[0]], [right]) <= 1


def test_the_layers_one_by_one_are_the_decoder():
    params = as_type(init())
    h = X = np.array(sentences(4))
    layers = decoder_layers(params, SIZE)
    assert [len(own) for _, own in layers] == [1, 9, 9, 2]
    for layer, own in layers:
        h = layer(h, *own)
    assert roundings([h], [scores_of(X, params)]) <= 1


def test_the_seed_determines_the_parameters():
    assert d2lmulti.training.max_difference(init(), init()) == 0
    other = init_decoder(4, V, width=16, num_layers=2, size=4, num_units=24)
    assert d2lmulti.training.max_difference(init(), other) > 0.1


# The loss


def test_the_loss_is_summed_over_the_predicted_words():
    X, y = minibatch(7)
    scores = scores_of(X, as_type(init()))
    log_probs = npx.log_softmax(scores).asnumpy()
    right = [
        -sum(log_probs[i, j, t] for j, t in enumerate(row) if t)
        for i, row in enumerate(y.asnumpy())
    ]
    assert roundings([token_loss(scores, y)], [onp.array(right)]) <= 1


def test_tokens_are_counted_in_arrays_of_both_kinds():
    y = onp.array([[0, 3, 4], [0, 0, 0], [5, 0, 0]], 'int32')
    assert count_tokens(y) == count_tokens(np.array(y)) == 3
    assert type(count_tokens(np.array(y))) is int


# Weights by tokens


def reference_step(X, y, lr=1):
    """Return parameters after a step on the mean over predicted words."""
    params = d2lmulti.get_params(as_type(init()), mx.cpu(0))
    with autograd.record():
        log_probs = npx.log_softmax(scores_of(X, params)).reshape(-1, V)
        rows = np.array(onp.flatnonzero(y.asnumpy()))
        labels = y.reshape(-1)[rows]
        mean = -npx.pick(log_probs[rows], labels).mean()
    mean.backward()
    return [param - lr * param.grad for param in params]


def distances(n, k, shares=None, weight=None, lr=1, **how):
    """Return how far each of k replicas is from the reference step."""
    X, y = minibatch(n)
    devices = [mx.cpu(i) for i in range(k)]
    params = as_type(init())
    replicas = [d2lmulti.get_params(params, device) for device in devices]
    if shares:
        how['split'] = functools.partial(
            d2lmulti.split_by_shares, shares=shares
        )
    count = count_tokens(y) if weight is None else weight
    d2lmulti.train_batch(
        X,
        y,
        replicas,
        devices,
        lr * len(X) / count,
        **{'net': scores_of, 'loss': token_loss, **how},
    )
    right = reference_step(X, y, lr)
    return [roundings(params, right) for params in replicas]


CASES = [
    (n, k, shares)
    for n in (8, 13)
    for k, shares in (
        (1, None),
        (2, None),
        (3, None),
        (4, None),
        (2, (5, 1)),
        (3, (1, 2, 6)),
        (4, (9, 1, 1, 2)),
    )
]


def assert_one_step(n, k, shares):
    assert max(distances(n, k, shares)) <= 1


@pytest.mark.parametrize('n, k, shares', CASES)
def test_any_split_takes_the_step_of_one_device(n, k, shares):
    assert_one_step(n, k, shares)


@pytest.mark.parametrize('k', [2, 3, 4])
def test_without_synchronization_every_replica_differs(k):
    assert min(distances(13, k, allreduce=lambda data: None)) > 100


@pytest.mark.parametrize(
    'count',
    [len, lambda y: y.size],
    ids=['sentences', 'padding, too'],
)
def test_a_wrong_count_of_words_is_noticed(monkeypatch, count):
    monkeypatch.setitem(globals(), 'count_tokens', count)
    with pytest.raises(AssertionError):
        assert_one_step(13, 2, None)


@pytest.mark.parametrize('k', [2, 3, 4])
@pytest.mark.parametrize('n', [8, 13])
def test_weights_by_examples_are_wrong_on_several_devices(n, k):
    def loss(y_hat, y):
        scale = np.ones(len(y), dtype=y_hat.dtype, ctx=y.ctx)
        scale /= count_tokens(y)
        return token_loss(y_hat, y).sum() * scale

    one = distances(n, 1, weight=n, lr=1, loss=loss)
    several = distances(n, k, weight=n, lr=1, loss=loss)
    assert max(one) <= 1
    assert min(several) > 100


# A causal decoder


def test_a_decoder_sees_no_later_word_and_no_padding():
    params = as_type(init())
    X = onp.random.RandomState(0).randint(3, V, (4, 9))
    right = scores_of(np.array(X), params)
    padded = onp.pad(X, ((0, 0), (0, 4)))
    assert (
        roundings([scores_of(np.array(padded), params)[:, :9]], [right]) <= 1
    )
    for i in range(1, 9):
        changed = X.copy()
        changed[:, i:] = 3 + (changed[:, i:] - 2) % (V - 3)
        other = scores_of(np.array(changed), params)
        assert roundings([other[:, :i]], [right[:, :i]]) <= 1
        assert roundings([other[:, i:]], [right[:, i:]]) > 100


def loss_of_copies(monkeypatch, gain, seed):
    """Return a decoder's mean loss for the second half of new rows, which
    repeats the first; its attention is multiplied by `gain`."""
    right = transformer.attention
    monkeypatch.setattr(
        transformer, 'attention', lambda *inputs: gain * right(*inputs)
    )
    params = d2lmulti.get_params(init_decoder(seed, 9, width=32), mx.cpu(0))
    rng, state = onp.random.RandomState(seed), []
    for _ in range(150):
        rows = onp.tile(rng.randint(3, 9, (32, 4)), 2)
        X, y = [np.array(part, dtype='int32') for part in (rows, rows)]
        X, y = X[:, :-1], y[:, 1:] * (np.arange(7) > 2)
        with autograd.record():
            scores = decoder_scores(X, params)
            loss = token_loss(scores, y).sum() / count_tokens(y)
        loss.backward()  # of rows that no step has seen
        grads = [param.grad for param in params]
        d2lmulti.adam(params, grads, state, 0.01)
    monkeypatch.undo()
    return float(loss)


@pytest.mark.long
@pytest.mark.parametrize('seed', [0, 1, 2])
def test_a_decoder_copies_with_attention_only(monkeypatch, seed):
    """Six equally frequent tokens: without attention, a loss of log 6."""
    assert loss_of_copies(monkeypatch, 1, seed) < 0.8
    assert loss_of_copies(monkeypatch, 0, seed) > 1.5


# Heads


@pytest.mark.parametrize(
    'num_heads, num_key_heads, k', [(4, 2, 2), (4, 4, 3), (6, 3, 2)]
)
def test_the_output_is_the_sum_over_any_groups_of_heads(
    num_heads, num_key_heads, k
):
    H, W_q, W_k, W_v, W_out = arrays = draw(num_heads, num_key_heads)
    shared, total = num_heads // num_key_heads, 0
    for keys in onp.array_split(onp.arange(num_key_heads), k):
        narrow = slice(4 * keys[0], 4 * keys[-1] + 4)
        wide = slice(shared * narrow.start, shared * narrow.stop)
        total = total + transformer.attention(
            *exact(
                [H, W_q[:, wide], W_k[:, narrow], W_v[:, narrow], W_out[wide]]
            ),
            size=4,
        )
    assert roundings([total], [right_attention(*arrays, 4)]) <= 1


@pytest.mark.skipif(not mx.__version__.startswith('1.9'), reason='of 1.9.1')
@pytest.mark.parametrize('shape', [(2, 2), (1, 2), (2, 1)])
def test_where_has_a_wrong_gradient_with_a_number_only(shape):
    mask, x = (
        np.array([[1, 0], [0, 1]])[: shape[0], : shape[1]],
        np.ones((2, 2)),
    )
    x.attach_grad()
    for branch, is_right in ((0.0, False), (np.zeros((2, 2)), True)):
        with autograd.record():
            chosen = np.where(mask, x, branch)
        chosen.backward()
        right = np.broadcast_to(mask, (2, 2))
        assert (x.grad == (right if is_right else 1 - right)).all()
