"""`samestep.mxnet` reads what Gluon makes of a step: names, buffers, replicas;
and says what a function must do.
"""

import d2lmulti  # noqa: F401, isort: skip
import mxnet as mx
import numpy as onp
import pytest
from mxnet import autograd, gluon

from samestep.mxnet import same_step

LOSS = gluon.loss.SoftmaxCrossEntropyLoss()
TWO = [mx.cpu(0), mx.cpu(1)]


def network():
    net = gluon.nn.HybridSequential(prefix='net_')
    with net.name_scope():
        net.add(gluon.nn.Dense(16), gluon.nn.BatchNorm(), gluon.nn.Dense(5))
    return net


def batches(seed):
    rng = onp.random.default_rng(seed)
    return [(rng.normal(size=(61, 20)), rng.integers(0, 5, 61))]


def trained(net):
    params = net.collect_params().values()
    return [param for param in params if param.grad_req != 'null']


def apply(net, n, rate=0.01):
    how = {'learning_rate': rate}
    gluon.Trainer(net.collect_params(), 'adam', how).step(n)


def step(scale=1, momentum=0.9, rate=0.01):
    """Return a step that trains with Adam and returns gradients."""

    def train(build, X, y):
        net = build()
        net[1]._kwargs['momentum'] = momentum
        with autograd.record():
            loss = (LOSS(net(X), y) * scale / len(X)).sum()
        loss.backward()
        apply(net, 1, rate)
        return [param.grad() for param in trained(net)]

    return train


def update(build, gradients):
    net = build()
    with autograd.record():
        total = sum(
            (param.data() * gradient).sum()
            for param, gradient in zip(trained(net), gradients)
        )
    total.backward()
    apply(net, 1)


def compare(taken):
    return same_step(taken, step(), network, batches(7000), update=update)


def test_a_right_step_has_right_gradients_buffers_and_weights():
    comparison = compare(step())
    assert comparison
    assert {d.name for d in comparison.differences} >= {
        'dense0_weight',
        'batchnorm0_running_mean',
    }


@pytest.mark.parametrize(
    'bug, of, names',
    [
        ({'scale': 2}, 'gradient', {'dense0_weight', 'dense1_bias'}),
        ({'momentum': 0.8}, '', {'batchnorm0_running_var'}),
        ({'rate': 0.02}, 'update', {'dense1_weight'}),
    ],
)
def test_what_is_wrong_has_its_name(bug, of, names):
    failures = compare(step(**bug)).failures()
    assert names <= {d.name for d in failures}
    assert {d.of for d in failures} == {of}
    if 'momentum' in bug:
        assert not {'dense0_weight', 'dense1_bias'} & {
            d.name for d in failures
        }


def test_gradients_and_parameters_of_each_context_are_judged():
    def on_two(build, X, y, wrong=0):
        net = build(TWO)
        with autograd.record():
            losses = [
                (LOSS(net(X.as_in_ctx(d)), y.as_in_ctx(d)) / len(X)).sum()
                for d in TWO
            ]
        autograd.backward(losses)
        gradients = [param.list_grad() for param in trained(net)]
        gradients[-1][1][:] += wrong
        return gradients

    comparison = same_step(
        on_two, step(), network, batches(7001), gradients=True
    )
    assert comparison and {d.replica for d in comparison.differences} == {0, 1}
    comparison = same_step(
        lambda *given: on_two(*given, wrong=1),
        step(),
        network,
        batches(7001),
        gradients=True,
    )
    assert {(d.replica, d.name) for d in comparison.failures()} == {
        (1, 'dense1_bias')
    }


@pytest.mark.parametrize(
    'function, words',
    [
        (lambda build, X, y: None, r'has called build\(\) 0 times'),
        (lambda build, X, y: build() and [X, X], 'returns 2 gradients of 6'),
    ],
)
def test_a_function_that_does_not_do_its_part_is_told(function, words):
    with pytest.raises(ValueError, match=words):
        same_step(function, step(), network, batches(7002), update=update)


def test_parameters_that_build_loads_are_kept():
    def loaded():
        net = network()
        net.initialize(mx.init.One())
        net(mx.np.ones((1, 20)))
        return net

    comparison = same_step(
        step(), step(), loaded, batches(7003), update=update
    )
    assert comparison


@pytest.mark.parametrize('name', ['rmsprop', 'adagrad', 'adadelta', 'ftrl'])
def test_of_optimizers_with_a_float32_state_gradients_alone_are_judged(name):
    def train(build, X, y, takes_step, scale=1):
        net = build()
        with autograd.record():
            loss = (LOSS(net(X), y) * scale / len(X)).sum()
        loss.backward()
        if takes_step:
            gluon.Trainer(net.collect_params(), name).step(1)
        return [param.grad() for param in trained(net)]

    def compare(takes_step, scale=1):
        return same_step(
            lambda *given: train(*given, takes_step, scale),
            lambda *given: train(*given, takes_step),
            network,
            batches(7005),
            gradients=True,
        )

    assert compare(False) and not compare(False, 2)
    with pytest.raises(mx.MXNetError, match='float64'):
        compare(True)
