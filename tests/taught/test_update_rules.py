"""Every update rule, in every place that takes one, against NumPy."""

import functools
import types

import mxnet as mx
import numpy as onp
import pytest
from helpers import as_type
from mxnet import np

import d2lmulti
from d2lmulti.cluster import cluster
from d2lmulti.communication import compression
from d2lmulti.learning import large_batch
from d2lmulti.model_parallelism import sharding
from d2lmulti.rounding import to_numpy

LR = 0.05
# Each place's own tests have 1 to 4 devices: three share a rule's state
# evenly (30 numbers) and with a remainder (5).
K = 3
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
    'Adam': d2lmulti.adam,
    'LARS': d2lmulti.lars,
    "a reader's own": rmsprop,
    'decoupled decay': functools.partial(
        d2lmulti.decay_weights, update=d2lmulti.adam, weight_decay=0.3
    ),
    'L2 decay': functools.partial(d2lmulti.decay_weights, l2=True),
}


def layers(params):
    return [
        (lambda h, W, b: np.tanh(np.dot(h, W) + b), params[:2]),
        (lambda h, W, b: np.dot(h, W) + b, params[2:]),
    ]


def net(X, params):
    return sharding.run_layers(X, layers(params))


def squared(outputs, y):
    return ((outputs - y) ** 2).sum(axis=1)


def by_numbers(outputs, y):
    """Chapter 16 divides by the numbers of y, not by its rows."""
    return squared(outputs, y) * y.shape[1]


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
        update(params, gradients_by_numpy(params, X, y), state, LR)
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
            X, y, replicas, devices, LR, states, update, net, by_numbers
        )
    return replicas


def zero1(update, k):
    devices, replicas, batches, states = replicas_on(k)
    for X, y in batches:
        d2lmulti.train_batch_zero1(
            X, y, replicas, devices, LR, states, update, net, by_numbers
        )
    return replicas


def zero2(update, k):
    devices, replicas, batches, states = replicas_on(k)
    for X, y in batches:
        d2lmulti.train_batch_zero2(
            X, y, replicas, devices, LR, states, update, layers, by_numbers
        )
    return replicas


def zero3(update, k):
    devices, _, batches, states = replicas_on(k)
    shards = d2lmulti.scatter_params(problem()[0], devices)
    for X, y in batches:
        d2lmulti.train_batch_zero3(
            X, y, shards, devices, LR, states, update, layers, by_numbers
        )
    return [d2lmulti.gather_params(shards)]


def accumulated(update, k):
    devices, replicas, batches, states = replicas_on(k)
    for X, y in batches:
        num_micro_batches = max(1, min(3, len(X) // k))
        d2lmulti.train_batch_accumulated(
            X,
            y,
            replicas,
            devices,
            LR,
            num_micro_batches,
            net,
            squared,
            update=update,
            states=states,
        )
    return replicas


def on_cluster(update, k):
    devices, replicas, batches, states = replicas_on(k)
    X, y = (
        onp.concatenate([to_numpy(array) for array in data])
        for data in zip(*batches)
    )
    ends = onp.cumsum([0, *SIZES])
    minibatches = types.SimpleNamespace(
        load=lambda rows: as_type((np.array(X[rows]), np.array(y[rows])))
    )
    comm = cluster.all_processes()  # this one alone
    allreduce = functools.partial(cluster.allreduce_processes, comm=comm)
    for start, end in zip(ends, ends[1:]):
        cluster.cluster_step(
            onp.arange(start, end),
            minibatches,
            replicas,
            devices,
            LR,
            comm,
            allreduce,
            states=states,
            net=net,
            loss=squared,
            update=update,
            num_micro_batches=2,
        )
    return replicas


def weighted(update, k):
    devices, replicas, batches, states = replicas_on(k)
    for X, y in batches:
        d2lmulti.train_batch_weighted(
            X,
            y,
            replicas,
            devices,
            LR,
            [*range(1, k + 1)],
            **{'net': net, 'loss': squared},
            update=update,
            states=states,
        )
    return replicas


PLACES = [replicated, zero1, zero2, zero3, accumulated, weighted, on_cluster]


def assert_equals_numpy(place, update, k, reference=None):
    wanted = by_numpy(reference or update)
    for params in place(update, k):
        for param, right in zip(params, wanted):
            onp.testing.assert_allclose(param.asnumpy(), right, 1e-9, 1e-12)


def gradients_by_numpy(params, X, y):
    """Return the gradients of the mean loss."""
    W1, b1, W2, b2 = params
    h = onp.tanh(X @ W1 + b1)
    d_out = 2 * (h @ W2 + b2 - y) / len(X)
    d_h = (d_out @ W2.T) * (1 - h**2)
    return [X.T @ d_h, d_h.sum(0), h.T @ d_out, d_out.sum(0)]


def rounds_by_numpy(update, k, outer_lr=1, momentum=0):
    """Return the parameters after two rounds on k devices, of two steps and
    of one: each steps by its own shards and state, then they average."""
    params, batches = problem()
    params = [param.asnumpy() for param in params]
    batches = [[array.asnumpy() for array in batch] for batch in batches]
    states, velocities = [[] for _ in range(k)], [0] * len(params)
    for minibatches in (batches[:2], batches[2:]):
        moved, weights = [0] * len(params), 0
        for j, state in enumerate(states):
            own, weight = [param.copy() for param in params], 0
            for X, y in minibatches:
                rows = onp.array_split(onp.arange(len(X)), k)[j]
                grads = gradients_by_numpy(own, X[rows], y[rows])
                update(own, grads, state, LR)
                weight += len(rows)
            weights += weight
            moved = [
                total + weight * (old - new)
                for total, old, new in zip(moved, params, own)
            ]
        moved = [m / weights for m in moved]
        velocities = [momentum * v + m for v, m in zip(velocities, moved)]
        params = [
            param - outer_lr * (m + momentum * velocity)
            for param, m, velocity in zip(params, moved, velocities)
        ]
    return params


def in_rounds(update, k, step=compression.train_round, *outer):
    devices, replicas, batches, states = replicas_on(k)
    for minibatches in (batches[:2], batches[2:]):
        step(
            minibatches,
            replicas,
            devices,
            LR,
            update,
            states,
            *outer,
            net=net,
            loss=squared,
        )
    return replicas


def in_diloco_rounds(update, k):
    step = compression.train_round_diloco
    return in_rounds(update, k, step, [[] for _ in range(k)], 0.7, 0.9)


ROUNDS = {in_rounds: (1, 0), in_diloco_rounds: (0.7, 0.9)}


@pytest.mark.parametrize('rule', RULES)
@pytest.mark.parametrize('place', ROUNDS)
def test_a_rule_does_in_rounds_what_it_does_in_numpy(place, rule):
    wanted = rounds_by_numpy(RULES[rule], K, *ROUNDS[place])
    for params in place(RULES[rule], K):
        for param, right in zip(params, wanted):
            onp.testing.assert_allclose(param.asnumpy(), right, 1e-9, 1e-12)


@pytest.mark.parametrize('rule', RULES)
@pytest.mark.parametrize('place', PLACES)
def test_a_rule_does_in_every_place_what_it_does_in_numpy(place, rule):
    assert_equals_numpy(place, RULES[rule], K)


def forgets_to_move(params, grads, state, lr):
    params = [param - lr * grad for param, grad in zip(params, grads)]


def normalized(params, grads, state, lr):
    """Needs the norm of a whole gradient, but does not say so."""
    for param, grad in zip(params, grads):
        param -= lr * grad / large_batch.norm([grad])


def job_on_cluster(update, k):
    """Train by a whole job, whose workers exchange float32."""
    params, batches = problem('float32')
    X, y = (
        onp.concatenate([to_numpy(array) for array in data])
        for data in zip(*batches)
    )
    return cluster.train_on_cluster(
        k,
        len(X),
        LR,
        2,
        data=(X, y, X, y),
        init=lambda seed: params,
        evaluate=lambda *args: 0,
        **{'net': net, 'loss': squared, 'update': update},
    ).device_params


@pytest.mark.parametrize(
    'place',
    [*ROUNDS, *[job_on_cluster if p is on_cluster else p for p in PLACES]],
)
def test_a_rule_that_moves_nothing_is_refused_at_once(place):
    with pytest.raises(ValueError, match='forgets_to_move does not move'):
        place(forgets_to_move, 2)


def test_a_job_without_the_check_would_train_nothing(monkeypatch):
    monkeypatch.setattr(cluster, 'check_rule', lambda *arguments: None)
    for params in job_on_cluster(forgets_to_move, 2):
        for param, start in zip(params, problem('float32')[0]):
            assert (param.asnumpy() == start.asnumpy()).all()


class CountsSteps:
    """A rule that counts its steps, which a trial must not change."""

    num_steps = 0

    def __call__(self, params, grads, state, lr):
        self.num_steps += 1
        for param, grad in zip(params, grads):
            param -= lr * grad / self.num_steps


@pytest.mark.parametrize('place', [replicated, zero1, job_on_cluster])
def test_trying_a_rule_does_not_count_its_steps(place):
    rule = CountsSteps()
    k = 1 if place is job_on_cluster else 2  # it would move replicas apart
    place(rule, k)
    num_steps = 2 if place is job_on_cluster else len(SIZES)
    assert rule.num_steps == k * num_steps


@pytest.mark.parametrize('place', [zero1, zero2, zero3])
def test_a_rule_that_needs_whole_parameters_is_refused_parts(place):
    with pytest.raises(ValueError, match='normalized does not treat each'):
        place(normalized, 2)


def test_a_rule_that_moves_replicas_apart_is_named():
    with pytest.raises(ValueError, match='update do not do the same'):
        job_on_cluster(CountsSteps(), 2)


def test_a_rule_that_needs_whole_parameters_gets_them():
    assert_equals_numpy(replicated, normalized, 2)


@pytest.mark.parametrize(
    'more, error, message',
    [
        ({'states': [[], []]}, ValueError, 'pass update, too'),
        ({'update': d2lmulti.adam}, ValueError, 'a list for each of 2 dev'),
        ({'update': 'adam', 'states': [[], []]}, TypeError, 'not callable'),
        (
            {'update': rmsprop, 'states': [[]]},
            ValueError,
            'states must have a list for each of 2 devices',
        ),
    ],
)
def test_a_rule_and_its_states_come_together(more, error, message):
    devices, replicas, batches, _ = replicas_on(2)
    with pytest.raises(error, match=message):
        d2lmulti.train_batch_accumulated(
            *batches[0], replicas, devices, LR, 2, net, squared, **more
        )


def steps_by_hand(name, l2, w, gradients, decay):
    """Return w after a step per gradient, by formulas in NumPy alone."""
    v = m = s = onp.zeros_like(w)
    for t, g in enumerate(gradients, 1):
        if l2:
            g = g + decay * w
        else:
            w = w - LR * decay * w
        if name == 'gradient_descent':
            v = LR * g
        elif name == 'adam':
            m, s = 0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g**2
            root = onp.sqrt(s / (1 - 0.999**t)) + 1e-8
            v = LR * m / (1 - 0.9**t) / root
        else:
            norms = onp.linalg.norm(w) / onp.linalg.norm(g)
            v = 0.9 * v + LR * g * (0.02 * norms if name == 'lars' else 1)
        w = w - v
    return w


def assert_decays_by_the_formula(name, l2, as_array=onp.array):
    rng = onp.random.RandomState(1)
    w, gradients = rng.normal(size=(3, 4)), rng.normal(size=(5, 3, 4))
    wanted = steps_by_hand(name, l2, w, gradients, 0.3)
    params, state = [as_array(w.copy())], []
    for g in gradients:
        large_batch.decay_weights(
            params,
            [as_array(g)],
            state,
            LR,
            getattr(large_batch, name),
            0.3,
            l2,
        )
    (param,) = as_numpy(params)
    onp.testing.assert_allclose(param, wanted, 1e-9, 1e-12)


def as_numpy(arrays):
    return [onp.array(getattr(a, 'asnumpy', a.copy)()) for a in arrays]


@pytest.mark.parametrize('l2', [False, True])
@pytest.mark.parametrize(
    'name', ['gradient_descent', 'sgd_momentum', 'adam', 'lars']
)
def test_any_rule_decays_by_the_formula(name, l2):
    assert_decays_by_the_formula(name, l2)
    in_mxnet = functools.partial(np.array, dtype='float64')
    assert_decays_by_the_formula(name, l2, in_mxnet)


def test_without_decay_a_rule_is_itself():
    plain = large_batch.sgd_momentum
    for l2 in (False, True):
        rule = functools.partial(
            large_batch.decay_weights, weight_decay=0, l2=l2
        )
        for array, right in zip(by_numpy(rule), by_numpy(plain)):
            assert (array == right).all()


@pytest.mark.parametrize(
    'more, error, message',
    [
        ({'weight_decay': -0.1}, ValueError, 'at least 0'),
        ({'weight_decay': 1 / LR}, ValueError, r'lr \* weight_decay must be'),
        ({'lr': 0}, ValueError, 'learning rate'),
        ({'grads': []}, ValueError, 'same shapes'),
    ],
)
def test_an_invalid_decay_is_refused_before_it_changes_anything(
    more, error, message
):
    param = onp.ones(3)
    arguments = {'params': [param], 'grads': [param], 'state': [], 'lr': LR}
    with pytest.raises(error, match=message):
        d2lmulti.decay_weights(**{**arguments, **more})
    assert (param == 1).all()


def test_a_decay_that_needs_whole_parameters_is_refused_parts():
    rule = functools.partial(d2lmulti.decay_weights, update=d2lmulti.lars)
    with pytest.raises(ValueError, match='decay_weights does not treat each'):
        zero1(rule, 2)
