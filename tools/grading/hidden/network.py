"""Hidden checks of chapter 2."""

import mxnet as mx
from compare import assert_same

import d2lmulti


def hidden_lenet(rng, answer, solution):
    for n in (1, 4):
        params = [
            mx.np.array(0.2 * rng.randn(*param.shape), dtype='float64')
            for param in d2lmulti.init_params()
        ]
        X = mx.np.array(rng.uniform(size=(n, 1, 28, 28)))
        assert_same(answer, solution, X, params)


def hidden_loss(rng, answer, solution):
    for n, scale in ((1, 1), (5, 20), (8, 1e3)):
        y_hat = mx.np.array(scale * rng.randn(n, 10))
        y = mx.np.array(rng.randint(0, 10, n))
        assert_same(answer, solution, y_hat, y)
