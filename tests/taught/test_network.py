"""LeNet, its parameters and its loss."""

import numpy as onp
import pytest
from helpers import as_type, minibatch
from mxnet import gluon, np

import d2lmulti


def test_parameters_follow_from_the_seed():
    params, again, other = [d2lmulti.init_params(seed) for seed in (1, 1, 2)]
    assert all((p == q).all() for p, q in zip(params, again))
    assert not (params[0] == other[0]).all()
    assert sum(param.size for param in params) == 129_068


def test_weights_have_the_promised_size_and_biases_are_zero():
    for scale in (None, 0.01, 0):
        params = d2lmulti.init_params(scale=scale)
        for W, b, n in zip(params[::2], params[1::2], (9, 500, 800, 128)):
            std = (2 / n) ** 0.5 if scale is None else scale
            assert float(W.asnumpy().std()) == pytest.approx(std, rel=0.15)
            assert (b == 0).all()


def lenet_in_gluon(params):
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Conv2D(20, 3, activation='relu'),
        gluon.nn.AvgPool2D(2, 2),
        gluon.nn.Conv2D(50, 5, activation='relu'),
        gluon.nn.AvgPool2D(2, 2),
        gluon.nn.Flatten(),
        gluon.nn.Dense(128, activation='relu'),
        gluon.nn.Dense(10),
    )
    net.initialize()
    net(np.zeros((1, 1, 28, 28)))
    theirs = list(net.collect_params().values())
    for ours, their in zip(params, theirs):
        their.set_data(ours.T if ours.ndim == 2 else ours)
    return net


def test_the_scores_are_those_of_gluon():
    X, _ = minibatch(5)
    params = d2lmulti.init_params(seed=4)
    ours = d2lmulti.lenet(X, params)
    exact = d2lmulti.lenet(X.astype('float64'), as_type(params))
    theirs = lenet_in_gluon(params)(X)
    assert d2lmulti.network.all_close([theirs], [[ours], [exact]])


def test_the_loss_is_that_of_gluon_also_for_large_scores():
    scores = onp.random.RandomState(0).normal(size=(6, 10))
    scores = np.array(scores, dtype='float32')
    y = np.array([0, 9, 3, 3, 5, 1], dtype='int32')
    theirs = gluon.loss.SoftmaxCrossEntropyLoss()(scores, y)
    ours = d2lmulti.loss(scores, y)
    exact = d2lmulti.loss(scores.astype('float64'), y)
    assert d2lmulti.network.all_close([theirs], [[ours], [exact]])
    assert np.isfinite(d2lmulti.loss(1e6 * scores, y)).all()
