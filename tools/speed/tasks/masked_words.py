"""Chapter 14's masked words, trained longer: does attention help?"""

import itertools
from unittest import mock

NUM_EPOCHS, BATCH_SIZE, PEAK = 40, 64, 0.005


def measure(trial):
    """Return the losses on hidden held-out words, with attention, without
    it, and by frequency alone; for one seed."""
    from d2lmulti.learning import transformer

    tokens, held_out, size = read_tokens()
    trained = {'with': train(tokens, size, trial['seed'])}
    with mock.patch.object(transformer, 'attention', no_attention):
        trained['without'] = train(tokens, size, trial['seed'])
        losses = {'without': hidden_loss(trained['without'], held_out, size)}
    losses['with'] = hidden_loss(trained['with'], held_out, size)
    losses['frequency'] = frequency_loss(tokens, held_out, size)
    return losses


def read_tokens():
    """Return the tokens of chapter 14 to train on, those that are held out,
    and the size of the vocabulary."""
    import numpy as np

    from d2lmulti.datasets.alice import read_sentences
    from d2lmulti.learning.transformer import build_vocab, encode

    sentences = read_sentences(max_length=20)
    np.random.RandomState(0).shuffle(sentences)
    vocab = build_vocab(sentences[:-400])
    parts = sentences[:-400], sentences[-400:]
    return (*(encode(part, vocab) for part in parts), len(vocab))


def no_attention(H, *others):
    """Return zeros in the place of what attention adds."""
    return 0 * H


def train(tokens, size, seed):
    """Return the parameters after Adam with a warm-up and a decay, each
    epoch with other hidden words."""
    import mxnet as mx

    from d2lmulti import Minibatches, backward, get_params
    from d2lmulti.learning.large_batch import adam, warmup_and_decay
    from d2lmulti.learning.transformer import (
        count_tokens,
        init_transformer,
        mask_words,
        token_loss,
        transformer_scores,
    )

    params = get_params(init_transformer(seed, size, max_length=20), mx.cpu())
    state = []
    epochs = (
        Minibatches(
            *mask_words(tokens, 100 * seed + epoch, size), BATCH_SIZE, epoch
        )
        for epoch in range(NUM_EPOCHS)
    )
    num_steps = NUM_EPOCHS * -(-len(tokens) // BATCH_SIZE)
    for i, (X, y) in enumerate(itertools.chain.from_iterable(epochs)):
        backward([X], [y], [params], transformer_scores, token_loss)
        grads = [param.grad / count_tokens(y) for param in params]
        lr = warmup_and_decay(i, PEAK, 100, num_steps + 1, power=1)
        adam(params, grads, state, lr)
    return params


def hidden_loss(params, held_out, size):
    """Return the mean loss of the held-out words that the mask replaces."""
    from mxnet import np

    from d2lmulti.learning.transformer import (
        MASK,
        count_tokens,
        mask_words,
        token_loss,
        transformer_scores,
    )

    X, y = mask_words(held_out, 1000, size)
    y = np.array(y * (X == MASK), dtype='int32')
    scores = transformer_scores(np.array(X, dtype='int32'), params)
    return float(token_loss(scores, y).sum()) / count_tokens(y)


def frequency_loss(tokens, held_out, size):
    """Return the loss of guessing each word by its frequency alone."""
    import numpy as np

    from d2lmulti.learning.transformer import MASK, mask_words

    X, y = mask_words(held_out, 1000, size)
    counts = np.bincount(tokens[tokens > 0], minlength=size) + 0.5
    answers = y[(X == MASK) & (y > 0)]
    return float(-np.log(counts / counts.sum())[answers].mean())
