"""How often a step counts each row is solved for, whatever the loss weighs
them by, and without a number of devices. The seeds begin at 13100.
"""

import numpy as np
import pytest

from samestep import same_step

ROWS, TOKENS, WIDTH, WORDS = 16, 6, 5, 7
PARTS = np.array_split(np.arange(ROWS), 4)


def token_sums(params, X, y):
    """Return gradients of the summed loss of labels that are seen, and how
    many these are. A few rows have none."""
    scores = X @ params['w'] + params['b']
    e = np.exp(scores - scores.max(-1, keepdims=True))
    off = e / e.sum(-1, keepdims=True)
    off[(*np.indices(y.shape), np.maximum(y, 0))] -= 1
    off *= (y >= 0)[..., None]
    flat = X.reshape(-1, WIDTH), off.reshape(-1, WORDS)
    return {'w': flat[0].T @ flat[1], 'b': flat[1].sum(0)}, (y >= 0).sum()


def mean(params, X, y):
    """Return the gradients of the mean over all tokens of these rows."""
    sums, count = token_sums(params, X, y)
    with np.errstate(invalid='ignore'):
        return {n: g / g.dtype.type(count) for n, g in sums.items()}


def added(grads, parts=1):
    return {n: sum(g[n] for g in grads) / parts for n in grads[0]}


def of_rows(*rows):
    """Return a step that adds up the tokens of these rows, one by one, and
    divides by all tokens of the minibatch."""

    def step(params, X, y):
        sums = [token_sums(params, X[[i]], y[[i]])[0] for i in rows]
        count = (y >= 0).sum()
        return {n: g / g.dtype.type(count) for n, g in added(sums).items()}

    return step


def mean_of_means(params, X, y):
    return added([mean(params, X[rows], y[rows]) for rows in PARTS], 4)


def sum_of_means(params, X, y):
    return added([mean(params, X[rows], y[rows]) for rows in PARTS])


def mean_of_rows(params, X, y):
    own = [mean(params, X[[i]], y[[i]]) for i in range(1, ROWS)]
    return added(own, ROWS - 1)


EVERY = range(ROWS)
BUGS = {
    'ragged means': (mean_of_means, ': as the mean of the means of 4 parts'),
    'summed': (sum_of_means, ': as the sum of the means of 4 parts is.'),
    'a mean over rows': (mean_of_rows, 'a mean of the rows, each of the same'),
    'the first part twice': (
        of_rows(*range(4), *EVERY),
        'it counts 1 to 3 twice, 4 to 15 once.',
    ),
    'zero_grad after the first part': (
        of_rows(*range(4, ROWS)),
        'it counts 1 to 3 never, 4 to 15 once.',
    ),
    'a sampler that draws again': (
        of_rows(1, 1, 1, 3, 4, 4, 6, 9, 9, 9, 11, 12, 13, 14, 15),
        'twice',
    ),
    'padded by the first rows': (
        of_rows(*EVERY, 1, 2),
        'it counts 1 to 2 twice, 3 to 15 once.',
    ),
}


def case(seed):
    rng = np.random.RandomState(seed)
    y = rng.randint(0, WORDS, (ROWS, TOKENS))
    y[rng.uniform(size=y.shape) < 0.4] = -100
    y[0] = -100  # a row without a label
    y[1:, 0] = 1
    params = {'w': rng.normal(size=(WIDTH, WORDS)), 'b': np.zeros(WORDS)}
    return params, [(rng.normal(size=(ROWS, TOKENS, WIDTH)), y)]


@pytest.mark.parametrize('bug', BUGS)
def test_counts_are_solved_for(bug):
    step, words = BUGS[bug]
    for seed in 13100, 13101:
        found = same_step(step, mean, *case(seed), gradients=True)
        assert not found and words in str(found), found


def test_what_is_no_sum_over_rows_has_no_counts():
    def shifted(params, X, y):
        return mean(params, X, np.roll(y, 2, axis=0))

    found = same_step(shifted, mean, *case(13100), gradients=True)
    assert not found and 'counts' not in str(found)


def test_right_sums_are_equal():
    found = same_step(of_rows(*EVERY), mean, *case(13100), gradients=True)
    assert found, found
