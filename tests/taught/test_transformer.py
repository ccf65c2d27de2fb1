"""A transformer: the layers, and steps that weigh shards by tokens."""

import functools
from itertools import chain

import mxnet as mx
import numpy as onp
import pytest
from helpers import as_type, roundings
from hypothesis import given, settings
from hypothesis import strategies as st
from mxnet import autograd, np, npx

import d2lmulti
from d2lmulti.datasets import alice
from d2lmulti.learning import transformer
from d2lmulti.learning.transformer import (
    attention_weights,
    build_vocab,
    count_tokens,
    encode,
    init_transformer,
    mask_words,
    token_loss,
    transformer_scores,
)

V = 23
few = settings(max_examples=60)
init = functools.partial(
    init_transformer, 3, V, max_length=9, width=16, num_layers=2
)


def sentences(n, seed=0, longest=9):
    """Return tokens of n sentences of 1 to `longest` words, padded."""
    rng = onp.random.RandomState(seed)
    tokens = rng.randint(3, V, (n, longest)).astype('int32')
    lengths = rng.randint(1, longest + 1, (n, 1))
    return onp.where(onp.arange(longest) < lengths, tokens, 0)


def minibatch(n, seed=0, fraction=0.4):
    """Return X and y with few words in the first rows, many in the last."""
    tokens = sentences(n, seed)
    tokens = tokens[(tokens > 0).sum(axis=1).argsort(kind='stable')]
    return [
        np.array(data, dtype='int32')
        for data in mask_words(tokens, seed, V, fraction)
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
    assert vocab == ['<pad>', '<unk>', '<mask>', 'a', 'b']
    assert encode(texts, vocab).tolist() == [[3, 4, 3, 0, 0], [4, 3, 1, 3, 4]]


# Masked words


def assert_masks_are_right(n, seed, fraction):
    tokens = sentences(n, seed)
    X, y = mask_words(tokens, seed, V, fraction)
    assert X.shape == y.shape == tokens.shape
    assert X.dtype == y.dtype == onp.int32
    chosen = y != 0
    assert (y[chosen] == tokens[chosen]).all()
    assert (X[~chosen] == tokens[~chosen]).all()
    assert (X[chosen] >= 2).all() and (X < V).all()
    lengths = (tokens > 0).sum(axis=1)
    right = onp.maximum(1, onp.round(fraction * lengths))
    assert (chosen.sum(axis=1) == right).all()
    assert ((X == 0) == (tokens == 0)).all()


@few
@given(st.integers(1, 40), st.integers(0, 99), st.floats(0, 0.99))
def test_each_sentence_loses_its_fraction_of_words(n, seed, fraction):
    assert_masks_are_right(n, seed, fraction)


def test_chosen_words_become_the_mask_or_another_word_or_stay():
    tokens = onp.random.RandomState(0).randint(3, 1000, (2000, 20))
    X, y = mask_words(tokens, 0, 1000, 0.5)
    chosen = y != 0
    masked, same = (X == 2)[chosen].mean(), (X == y)[chosen].mean()
    assert masked == pytest.approx(0.8, abs=0.02)
    assert same == pytest.approx(0.1, abs=0.02)


def test_the_seed_determines_the_masks():
    tokens = sentences(30)
    first, again = mask_words(tokens, 1, V), mask_words(tokens, 1, V)
    assert all((a == b).all() for a, b in zip(first, again))
    assert (first[1] != mask_words(tokens, 2, V)[1]).any()


@pytest.mark.parametrize(
    'tokens, vocab_size, fraction, error',
    [
        (onp.array([3, 4]), V, 0.15, ValueError),
        (onp.array([[3, 4], [0, 0]]), V, 0.15, ValueError),
        (onp.array([[3, V]]), V, 0.15, ValueError),
        (onp.array([[3, -1]]), V, 0.15, ValueError),
        (onp.array([[3, 4]]), 3, 0.15, ValueError),
        (onp.array([[3, 4]]), '9', 0.15, TypeError),
        (onp.array([[3, 4]]), V, 1, ValueError),
        (onp.array([[3, 4]]), V, -0.1, ValueError),
        (onp.array([[3, 4]]), V, None, TypeError),
    ],
)
def test_words_that_cannot_be_masked(tokens, vocab_size, fraction, error):
    with pytest.raises(error):
        mask_words(tokens, 0, vocab_size, fraction)


@pytest.mark.parametrize(
    'tokens, options, words',
    [
        (np.ones(3), {}, r'X must have the shape \(n, length\)'),
        (np.ones((1, 99)), {}, 'at most .* positions'),
        (np.ones((1, 3)), {'num_heads': 5}, 'num_heads must divide the width'),
    ],
)
def test_tokens_and_heads_that_do_not_fit(tokens, options, words):
    with pytest.raises(ValueError, match=words):
        transformer_scores(tokens, init(), **options)


# The network


def assert_gradients_are_right(eps=1e-5):
    params = [param.astype('float64') for param in init()]
    X, y = minibatch(5)
    for param in params:
        param.attach_grad()

    def total():
        return token_loss(transformer_scores(X, params, num_heads=2), y).sum()

    with autograd.record():
        value = total()
    value.backward()
    rng, float32_eps = onp.random.RandomState(0), onp.finfo('float32').eps
    for param in params:
        grad = param.grad.asnumpy()
        entries = [tuple(map(rng.randint, param.shape)) for _ in range(2)]
        largest = abs(grad).argmax()
        for entry in [*entries, onp.unravel_index(largest, grad.shape)]:
            before, totals = param[entry].item(), []
            for shift in (eps, -eps, 0):
                param[entry] = before + shift
                totals.append(total().item())
            slope = (totals[0] - totals[1]) / (2 * eps)
            assert abs(slope - grad[entry]) < float32_eps * abs(grad).max()


def test_gradients_are_those_of_finite_differences():
    assert_gradients_are_right()


def assert_padding_changes_nothing():
    tokens = sentences(12, longest=5)
    padded = onp.pad(tokens, ((0, 0), (0, 4)))
    params = as_type(init())
    near = transformer_scores(np.array(tokens), params)
    far = transformer_scores(np.array(padded), params)
    assert far.shape == (12, 9, V)
    assert roundings([far[:, :5]], [near]) <= 1


def test_padding_changes_no_score():
    assert_padding_changes_nothing()


@pytest.mark.parametrize('num_heads', [1, 2, 4])
def test_every_head_is_softmax_attention(num_heads):
    rng = onp.random.RandomState(0)
    Q, K = rng.normal(size=(2, 3, num_heads, 5, 4))
    hidden = onp.zeros((3, 1, 1, 5))
    hidden[1, ..., 3:] = 1
    ours = attention_weights(
        *(np.array(a, dtype='float64') for a in (Q, K, hidden))
    )
    powers = onp.exp(Q @ K.swapaxes(2, 3) / 2) * (1 - hidden)
    right = powers / powers.sum(axis=3, keepdims=True)
    assert roundings([ours], [right]) <= 1


def test_a_position_sees_the_order_of_the_words():
    params = as_type(init())
    scores = [
        transformer_scores(np.array([row]), params)[0, 0]
        for row in ([3, 4, 5], [3, 5, 4])
    ]
    assert roundings(scores[:1], scores[1:]) > 100


def test_the_seed_determines_the_parameters():
    assert d2lmulti.training.max_difference(init(), init()) == 0
    other = init_transformer(4, V, max_length=9, width=16, num_layers=2)
    assert d2lmulti.training.max_difference(init(), other) > 0.1


# The loss


def test_the_loss_is_summed_over_the_predicted_words():
    X, y = minibatch(7)
    scores = transformer_scores(X, as_type(init()))
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


def reference_step(X, y, lr=1, net=transformer_scores):
    """Return parameters after a step on the mean over predicted words."""
    params = d2lmulti.get_params(as_type(init()), mx.cpu(0))
    with autograd.record():
        log_probs = npx.log_softmax(net(X, params)).reshape(-1, V)
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
        **{'net': transformer_scores, 'loss': token_loss, **how},
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


def test_training_on_two_devices_learns():
    tokens = encode(
        [['a', 'b', 'c', 'd'] * 2, ['d', 'c', 'b', 'a']] * 20,
        ['<pad>', '<unk>', '<mask>', 'a', 'b', 'c', 'd'],
    )
    devices = [mx.cpu(0), mx.cpu(1)]
    params = init_transformer(0, 7, max_length=8, width=16)
    replicas = [d2lmulti.get_params(params, device) for device in devices]
    losses = []
    for epoch in range(8):
        data = mask_words(tokens, epoch, 7)
        total = 0
        for X, y in d2lmulti.Minibatches(*data, 10, seed=epoch):
            total += float(
                token_loss(transformer_scores(X, replicas[0]), y).sum()
            )
            d2lmulti.train_batch(
                X,
                y,
                replicas,
                devices,
                len(X) / count_tokens(y),
                net=transformer_scores,
                loss=token_loss,
            )
        losses.append(total)
    assert losses[-1] < losses[0] / 2
    assert d2lmulti.training.max_difference(*replicas) == 0


# A causal decoder


def assert_later_words_change_nothing():
    params = as_type(init())
    X = onp.random.RandomState(0).randint(3, V, (4, 9))
    for i in range(1, 9):
        changed = X.copy()
        changed[:, i:] = 3 + (changed[:, i:] - 2) % (V - 3)
        scores = [
            transformer_scores(np.array(tokens), params, causal=True)
            for tokens in (X, changed)
        ]
        assert roundings(*[[each[:, :i]] for each in scores]) <= 1
        assert roundings(*[[each[:, i:]] for each in scores]) > 100


def test_a_decoder_sees_no_later_word():
    assert_later_words_change_nothing()


def test_a_decoder_without_its_mask_equals_the_encoder_at_the_last_word():
    """In one layer: there the last position sees all others anyway."""
    params = as_type(init_transformer(0, V, max_length=9, width=16))
    X = np.array(onp.random.RandomState(0).randint(3, V, (4, 9)))
    causal, both = [
        transformer_scores(X, params, causal=causal)
        for causal in (True, False)
    ]
    assert roundings([causal[:, -1]], [both[:, -1]]) <= 1
    assert roundings([causal[:, 0]], [both[:, 0]]) > 100


@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_a_decoder_takes_the_step_of_one_device(monkeypatch, k):
    decoder = functools.partial(transformer_scores, causal=True)
    right = functools.partial(reference_step, net=decoder)
    monkeypatch.setitem(globals(), 'reference_step', right)
    assert max(distances(13, k, net=decoder)) <= 1
    if k > 1:
        lost = distances(13, k, net=decoder, allreduce=lambda data: None)
        assert min(lost) > 100


def loss_of_copies(monkeypatch, gain, seed):
    """Return a decoder's mean loss for the second half of new rows, which
    repeats the first; its attention is multiplied by `gain`."""
    right = transformer.attention
    monkeypatch.setattr(
        transformer, 'attention', lambda *inputs: gain * right(*inputs)
    )
    params = d2lmulti.get_params(
        init_transformer(seed, 9, max_length=7, width=32), mx.cpu(0)
    )
    rng, state = onp.random.RandomState(seed), []
    for _ in range(150):
        rows = onp.tile(rng.randint(3, 9, (32, 4)), 2)
        X, y = [np.array(part, dtype='int32') for part in (rows, rows)]
        X, y = X[:, :-1], y[:, 1:] * (np.arange(7) > 2)
        with autograd.record():
            scores = transformer_scores(X, params, causal=True)
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


def assert_heads_add_up(num_heads, groups, size=3):
    rng = onp.random.RandomState(0)
    width = num_heads * size
    H, W_qkv, b_qkv, W_out, b_out = [
        np.array(rng.normal(size=shape), dtype='float64')
        for shape in (
            (2, 5, width),
            (3 * width, width),
            (3 * width,),
            (width, width),
            (width,),
        )
    ]
    hidden = np.array(onp.triu(onp.ones((5, 5)), 1)[None, None])
    right = transformer.attention(
        H, hidden, W_qkv, b_qkv, W_out, b_out, num_heads
    )
    total = np.zeros_like(right)
    for heads in onp.array_split(onp.arange(num_heads), groups):
        own = (heads[:, None] * size + onp.arange(size)).ravel()
        rows = np.array((own + width * onp.arange(3)[:, None]).ravel())
        total = total + transformer.attention(
            H,
            hidden,
            W_qkv[rows],
            b_qkv[rows],
            W_out[:, np.array(own)],
            b_out * float(heads[0] == 0),
            len(heads),
        )
    assert roundings([total], [right]) <= 1


@pytest.mark.parametrize(
    'num_heads, groups', [(1, 1), (4, 2), (4, 3), (4, 4), (5, 2), (5, 3)]
)
def test_the_output_is_the_sum_over_any_groups_of_heads(num_heads, groups):
    assert_heads_add_up(num_heads, groups)


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
