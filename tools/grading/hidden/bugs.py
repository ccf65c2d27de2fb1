"""Hidden checks of chapter 26."""

import numpy as onp
from compare import assert_same


def hidden_factor_of(rng, answer, solution):
    for _ in range(8):
        right = rng.normal(size=(3, int(rng.randint(1, 5))))
        one_off = onp.zeros(right.shape)
        one_off[0, 0] = abs(right).max() / 1000
        for found in (
            0 * right,
            right + 0.9 * one_off,
            right + 3 * one_off,
            rng.uniform(-3, 3) * right,
            2 * right * (1 + 1e-4 * rng.uniform(-1, 1, right.shape)),
            right + rng.normal(size=right.shape),
        ):
            assert_same(answer, solution, found, right)


def watched_spread(rng, answer, solution):
    def added_up(params, X, y):
        terms = X[:, 0] * params[0] + params[1] + y.astype(X.dtype)
        return onp.cumsum([terms, 3 + terms, X[:, 0]], axis=1)[:, -1]

    for _ in range(5):
        n, num_orders = int(rng.randint(20, 60)), int(rng.randint(1, 6))
        X, y = rng.normal(size=(n, 2)), rng.randint(0, 3, n)
        params = list(rng.normal(size=(2, 1)))
        assert_same(answer, solution, added_up, params, X, y, num_orders)


def hidden_kind_after(rng, answer, solution):
    for kind, names in (
        ('partial', ['reduce-scatter', 'all-gather']),
        ('local', ['broadcast']),
        ('sharded', ['all-gather']),
        ('replicated', []),
    ):
        assert_same(answer, solution, kind, names)
    kinds = ['replicated', 'sharded', 'partial', 'local']
    fits = {'allreduce': 'partial', 'reduce-scatter': 'partial'}
    fits.update({'all-gather': 'sharded', 'broadcast': 'local'})
    wrong = [(k, [n], k) for n in fits for k in kinds if k != fits[n]]
    wrong += [('partial', ['allreduce', 'allreduce'], 'replicated')]
    for kind, names, at in wrong:
        try:
            found = answer(kind, list(names))
        except TypeError as error:
            named = names[-1] in str(error) and at in str(error)
            assert named, f'hidden check: {error}'
        else:
            raise AssertionError(
                f'hidden check: {kind}, {names}: no TypeError, {found!r}'
            )
