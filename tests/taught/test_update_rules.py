"""Every update rule, in every place that takes one, against NumPy."""

import functools

import helpers
import mxnet as mx
import numpy as onp
import pytest
from helpers import as_type, put_in
from mxnet import np

import d2lmulti
from d2lmulti import cluster, large_batch, sharding

LR = 0.05
SIZES = (13, 9, 7)  # ragged minibatches, one step each
SHAPES = [(6, 5), (5,), (5, 3), (3,)]


def rmsprop(params, grads, state, lr):
    """A reader's own rule: it remembers the squares of the gradients."""
    if not state:
        state += [onp.zeros_like(param) for param in params]
    for param, grad, square in zip(params, grads, state):
        square[:] = 0.9 * square + 0.1 * grad**2
        param -= lr * grad / (square**0.5 + 0.01)


RULES = {
    'plain': d2lmulti.gradient_descent,
    'momentum': d2lmulti.sgd_momentum,
    'Adam': d2lmulti.adam,
    'LARS': d2lmulti.lars,
    'partial': functools.partial(d2lmulti.sgd_momentum, momentum=0.5),
    "a reader's own": rmsprop,
}
LAYERS = [
    lambda h, W, b: np.tanh(np.dot(h, W) + b),
    lambda h, W, b: np.dot(h, W) + b,
]


def net(X, params):
    return sharding.run_layers(X, params, LAYERS, slice(None))


def squared(outputs, y):
    return ((outputs - y) ** 2).sum(axis=1)


def problem(dtype='float64'):
    """Return (params, [(X, y), ...]) of a smooth network."""
    rng = onp.random.RandomState(0)
    params = [rng.normal(size=shape) for shape in SHAPES]
    batches = [
        (rng.normal(size=(n, 6)), rng.normal(size=(n, 3))) for n in SIZES
    ]
    arrays = as_type(map(np.array, params), dtype)
    return arrays, [as_type(map(np.array, batch), dtype) for batch in batches]


def by_numpy(update):
    """Return the parameters after the steps, without anything of ours."""
    params, batches = problem()
    params, state = [param.asnumpy() for param in params], []
    for X, y in batches:
        X, y = X.asnumpy(), y.asnumpy()
        W1, b1, W2, b2 = params
        h = onp.tanh(X @ W1 + b1)
        d_out = 2 * (h @ W2 + b2 - y) / len(X)
        d_h = (d_out @ W2.T) * (1 - h**2)
        grads = [X.T @ d_h, d_h.sum(0), h.T @ d_out, d_out.sum(0)]
        update(params, grads, state, LR)
    return params


def replicas_on(k):
    devices = [mx.cpu(i) for i in range(k)]
    params, batches = problem()
    replicas = [d2lmulti.get_params(params, device) for device in devices]
    return devices, replicas, batches, [[] for _ in devices]


def replicated(update, k):
    devices, replicas, batches, states = replicas_on(k)
    for X, y in batches:
        d2lmulti.train_batch_replicated(
            X, y, replicas, devices, LR, states, update, net, squared
        )
    return replicas


def zero1(update, k):
    devices, replicas, batches, states = replicas_on(k)
    for X, y in batches:
        d2lmulti.train_batch_zero1(
            X, y, replicas, devices, LR, states, update, net, squared
        )
    return replicas


def zero2(update, k):
    devices, replicas, batches, states = replicas_on(k)
    for X, y in batches:
        d2lmulti.train_batch_zero2(
            X, y, replicas, devices, LR, states, update, LAYERS, squared
        )
    return replicas


def zero3(update, k):
    devices, _, batches, states = replicas_on(k)
    shards = d2lmulti.scatter_params(problem()[0], devices)
    for X, y in batches:
        d2lmulti.train_batch_zero3(
            *(X, y, shards, devices, LR, states, SHAPES),
            *(update, LAYERS, squared),
        )
    return [d2lmulti.gather_params(shards, SHAPES)]


def accumulated(update, k):
    devices, replicas, batches, states = replicas_on(k)
    for X, y in batches:
        num_micro_batches = max(1, min(3, len(X) // k))
        d2lmulti.train_batch_accumulated(
            *(X, y, replicas, devices, LR, num_micro_batches, net, squared),
            update=update,
            states=states,
        )
    return replicas


def on_cluster(update, k):
    devices, replicas, batches, states = replicas_on(k)
    for X, y in batches:
        cluster.sum_gradients(X, y, replicas, devices, net, squared, 2)
        d2lmulti.allreduce_gradients(replicas)
        for params, state in zip(replicas, states):
            grads = [param.grad for param in params]
            weight = np.array(len(X), dtype='float64')
            cluster.scale_gradients(grads, weight)
            update(params, grads, state, LR)
    return replicas


PLACES = [replicated, zero1, zero2, zero3, accumulated, on_cluster]


def assert_equals_numpy(place, update, k, reference=None):
    wanted = by_numpy(reference or update)
    for params in place(update, k):
        for param, right in zip(params, wanted):
            onp.testing.assert_allclose(param.asnumpy(), right, 1e-9, 1e-12)


@pytest.mark.parametrize('rule', RULES)
@pytest.mark.parametrize('place', PLACES)
def test_a_rule_does_in_every_place_what_it_does_in_numpy(place, rule):
    for k in (1, 2, 3, 4):
        assert_equals_numpy(place, RULES[rule], k)


@pytest.mark.parametrize('rule', RULES)
def test_a_rule_in_a_weighted_step_is_that_in_a_replicated_one(rule):
    devices = [mx.cpu(0), mx.cpu(1)]
    batches = helpers.minibatches((13, 9))
    both = []
    for step in (
        lambda *args: d2lmulti.train_batch_weighted(
            *args[:5], [1, 2], update=RULES[rule], states=args[5]
        ),
        lambda *args: d2lmulti.train_batch_replicated(*args, RULES[rule]),
    ):
        replicas = helpers.replicas_on(devices, 'float64')
        states = [[] for _ in devices]
        for X, y in batches:
            step(X, y, replicas, devices, LR, states)
        both.append([p.asnumpy() for params in replicas for p in params])
    for found, right in zip(*both):
        onp.testing.assert_allclose(found, right, 1e-9, 1e-12)


def forgets_to_move(params, grads, state, lr):
    params = [param - lr * grad for param, grad in zip(params, grads)]


def normalized(params, grads, state, lr):
    """Needs the norm of a whole gradient, but does not say so."""
    for param, grad in zip(params, grads):
        param -= lr * grad / large_batch.norm([grad])


@pytest.mark.parametrize('place', PLACES[:5])
def test_a_rule_that_moves_nothing_is_refused_at_once(place):
    with pytest.raises(ValueError, match='forgets_to_move does not move'):
        place(forgets_to_move, 2)


@pytest.mark.parametrize('place', [zero1, zero2, zero3])
def test_a_rule_that_needs_whole_parameters_is_refused_parts(place):
    with pytest.raises(ValueError, match='normalized does not treat each'):
        place(normalized, 2)


def test_a_rule_that_needs_whole_parameters_gets_them():
    assert_equals_numpy(replicated, normalized, 2)


@pytest.mark.parametrize(
    'more, error, message',
    [
        ({'states': [[], []]}, ValueError, 'pass update, too'),
        ({'update': d2lmulti.adam}, TypeError, 'a list for each device'),
        ({'update': 'adam', 'states': [[], []]}, TypeError, 'a function'),
        (
            {'update': rmsprop, 'states': [[]]},
            ValueError,
            '2 devices need 2 states',
        ),
    ],
)
def test_a_rule_and_its_states_come_together(more, error, message):
    devices, replicas, batches, _ = replicas_on(2)
    with pytest.raises(error, match=message):
        d2lmulti.train_batch_accumulated(
            *batches[0], replicas, devices, LR, 2, net, squared, **more
        )


BUGS = {
    'a state that is not kept': (
        d2lmulti.lars,
        'state += [',
        'state = [',
        replicated,
        'lars',
    ),
    'the norms of the parts': (
        sharding.whole_norms,
        'for part in parts',
        'for part in parts[:1]',
        zero1,
        'lars',
    ),
    'no norms': (
        sharding.update_shards,
        "if 'norms' in",
        "if 'nothing' in",
        zero3,
        'lars',
    ),
    'the sum of the gradients': (
        large_batch.update_replicas,
        'param.grad / batch_size',
        'param.grad / 1',
        accumulated,
        'sgd_momentum',
    ),
}


@pytest.mark.parametrize('bug', BUGS)
def test_bug_in_an_update_is_caught(bug, monkeypatch):
    *mutation, place, name = BUGS[bug]
    right = getattr(large_batch, name)
    put_in(monkeypatch, *mutation)
    with pytest.raises(AssertionError):
        assert_equals_numpy(place, getattr(large_batch, name), 3, right)
