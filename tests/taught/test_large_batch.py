"""Learning rates for large minibatches, and gradient accumulation."""

import functools
import math
import pathlib

import mxnet as mx
import nbformat
import numpy as onp
import pytest
from helpers import (
    assert_ctrl_c_waits,
    descend,
    minibatch,
    minibatches,
    needs_mxnet,
    reference_steps,
    replicas_on,
    roundings,
)
from hypothesis import given
from hypothesis import strategies as st
from mxnet import np

import d2lmulti
from d2lmulti.learning.large_batch import (
    adam,
    lars,
    linear_scaling,
    norm,
    polynomial_decay,
    sgd_momentum,
    train_batch_accumulated,
    warmup,
    warmup_and_decay,
)

RATES = st.floats(1e-6, 1e3)
COUNTS = st.integers(1, 500)


def test_the_rate_is_scaled_once():
    assert linear_scaling(0.1, 256, 32) == pytest.approx(0.8)
    assert linear_scaling(0.1, 32, 32) == 0.1


def assert_rises_evenly(lr, num_warmup, share):
    start = share * lr
    rates = [start] + [
        warmup(step, lr, num_warmup, start) for step in range(num_warmup + 3)
    ]
    assert rates[num_warmup:] == [pytest.approx(lr)] * 4
    for rate, before in zip(rates[1 : num_warmup + 1], rates):
        assert rate - before == pytest.approx(
            (lr - start) / num_warmup, rel=1e-6, abs=1e-9 * lr
        )


@given(RATES, COUNTS, st.floats(0, 1))
def test_a_warm_up_rises_evenly_to_the_rate(lr, num_warmup, share):
    assert_rises_evenly(lr, num_warmup, share)


@given(RATES, COUNTS, st.floats(0.5, 4))
def test_a_decay_falls_from_the_rate_to_zero(lr, num_steps, power):
    rates = [
        polynomial_decay(step, lr, num_steps, power)
        for step in range(num_steps + 3)
    ]
    assert rates[0] == lr and rates[num_steps:] == [0, 0, 0]
    assert all(
        before > rate for rate, before in zip(rates[1 : num_steps + 1], rates)
    )


@given(RATES, st.integers(1, 50), st.integers(51, 200))
def test_a_schedule_is_continuous_and_never_negative(
    lr, num_warmup, num_steps
):
    rates = [
        warmup_and_decay(step, lr, num_warmup, num_steps)
        for step in range(num_steps + 2)
    ]
    assert min(rates) >= 0 and max(rates) == pytest.approx(lr)
    assert rates[num_warmup - 1] == pytest.approx(lr)
    largest = lr / num_warmup + 2 * lr / (num_steps - num_warmup)
    assert all(
        abs(rate - before) <= largest for rate, before in zip(rates[1:], rates)
    )


def assert_as_gluon(num_warmup, num_steps):
    gluon = mx.lr_scheduler.PolyScheduler(
        num_steps, base_lr=0.4, pwr=2, warmup_steps=num_warmup
    )
    for step in range(num_steps):
        # Gluon counts from 1, and its decay begins one update later.
        assert warmup_and_decay(
            step, 0.4, num_warmup, num_steps
        ) == pytest.approx(gluon(step + (step < num_warmup)))


@needs_mxnet
@given(st.integers(1, 50), st.integers(51, 200))
def test_schedules_equal_those_of_gluon(num_warmup, num_steps):
    assert_as_gluon(num_warmup, num_steps)


@pytest.mark.parametrize(
    'call, error',
    [
        (lambda: linear_scaling(0, 2, 1), ValueError),
        (lambda: linear_scaling('0.1', 2, 1), TypeError),
        (lambda: linear_scaling(0.1, 0, 1), ValueError),
        (lambda: linear_scaling(0.1, 2, 1.5), TypeError),
        (lambda: warmup(-1, 0.1, 5), ValueError),
        (lambda: warmup(0.5, 0.1, 5), TypeError),
        (lambda: warmup(1, 0.1, 0), ValueError),
        (lambda: warmup(1, 0.1, True), TypeError),
        (lambda: warmup(1, math.nan, 5), ValueError),
        (lambda: polynomial_decay(-1, 0.1, 5), ValueError),
        (lambda: polynomial_decay(1, 0.1, 5.0), TypeError),
        (lambda: polynomial_decay(1, 0.1, 5, power='2'), TypeError),
        (lambda: warmup_and_decay(0, 0.1, 50, 50), ValueError),
        (lambda: warmup_and_decay(0, 0.1, -1, 50), ValueError),
        (lambda: warmup_and_decay(-1, 0.1, 5, 50), ValueError),
        (lambda: warmup_and_decay('0', 0.1, 5, 50), TypeError),
        (lambda: lars([], [], [], 0.1, momentum=1), ValueError),
        (lambda: lars([], [], [], 0.1, momentum=-0.1), ValueError),
        (lambda: lars([], [], [], 0.1, momentum='0.9'), TypeError),
        (lambda: lars([], [], [], -1), ValueError),
    ],
)
def test_invalid_arguments_are_refused(call, error):
    with pytest.raises(error):
        call()


def assert_accumulated_step_is_the_same(k, num_micro_batches, size, allreduce):
    """The reference is one device with all examples at once."""
    devices = [mx.cpu(i) for i in range(k)]
    replicas = replicas_on(devices, 'float64')
    (batch,) = minibatches((size,))
    train_batch_accumulated(
        *batch, replicas, devices, 0.1, num_micro_batches, allreduce=allreduce
    )
    for replica in replicas:
        assert roundings(replica, reference_steps((size,))) <= 1


@pytest.mark.parametrize(
    'k, num_micro_batches, size',
    [(1, 5, 64), (2, 2, 61), (3, 3, 13), (3, 1, 8)],
)
def test_an_accumulated_step_is_that_of_one_device(k, num_micro_batches, size):
    if k > 1:
        with pytest.raises(AssertionError):
            assert_accumulated_step_is_the_same(
                k, num_micro_batches, size, lambda data: None
            )
    assert_accumulated_step_is_the_same(
        k, num_micro_batches, size, d2lmulti.allreduce
    )


def test_an_accumulated_step_is_that_of_train_batch_for_any_network():
    devices, (batch,) = [mx.cpu(0), mx.cpu(1)], minibatches([23])
    W = np.array(
        onp.random.RandomState(0).normal(size=(784, 10)), dtype='float64'
    )

    def first_to_second(X, y, devices):  # another split, uneven and swapped
        cut = len(X) // 3
        return [
            [
                array[rows].copyto(device)
                for rows, device in zip(
                    (slice(cut, None), slice(cut)), devices
                )
            ]
            for array in (X, y)
        ]

    kinds = {
        'net': lambda X, params: np.dot(X.reshape(len(X), -1), *params),
        'loss': lambda y_hat, y: ((y_hat - y.reshape(-1, 1)) ** 2).sum(axis=1),
        'split': first_to_second,
    }
    whole, parts = [
        [d2lmulti.get_params([W], device) for device in devices]
        for _ in range(2)
    ]
    d2lmulti.train_batch(*batch, whole, devices, 1e-4, **kinds)
    train_batch_accumulated(*batch, parts, devices, 1e-4, 4, **kinds)
    right = descend([W], [batch], 1e-4, kinds['net'], kinds['loss'])
    assert roundings([W], right) > 100
    for params in whole + parts:
        assert roundings(params, right) <= 1


def test_a_part_without_examples_is_refused():
    devices = [mx.cpu(i) for i in range(2)]
    replicas = replicas_on(devices)
    before = [param.asnumpy() for param in replicas[0]]
    with pytest.raises(ValueError, match='5 examples .* over 6 shards'):
        train_batch_accumulated(*minibatch(5), replicas, devices, 0.1, 3)
    assert all(
        (param.asnumpy() == value).all()
        for param, value in zip(replicas[0], before)
    )


@pytest.mark.parametrize('num_labels', [8, 11])
def test_a_wrong_number_of_labels_is_refused_before_any_work(num_labels):
    replicas = replicas_on([mx.cpu(0)])
    X, y = minibatch(10)[0], minibatch(num_labels)[1]
    with pytest.raises(ValueError, match=f'10 examples but {num_labels}'):
        train_batch_accumulated(X, y, replicas, [mx.cpu(0)], 0.1, 2)


def assert_interrupt_waits(step):
    devices, batch = [mx.cpu(0), mx.cpu(1)], minibatch(9)
    assert_ctrl_c_waits(
        lambda replicas, lr: step(*batch, replicas, devices, lr, 2),
        d2lmulti.init_params(),
        devices,
    )


def test_an_interrupt_waits_for_the_end_of_the_step():
    assert_interrupt_waits(train_batch_accumulated)


def test_a_step_that_an_interrupt_cuts_short_is_caught():
    with pytest.raises(AssertionError):
        assert_interrupt_waits(train_batch_accumulated.__wrapped__)


KINDS = [functools.partial(np.array, dtype='float64'), onp.array]


def assert_lars_is_the_formula(as_array):
    rng = onp.random.RandomState(0)
    values, gradients = rng.normal(size=(2, 3, 4, 5))
    values[1], gradients[2] = 0, 0
    params, grads = (
        [as_array(a) for a in arrays] for arrays in (values, gradients)
    )
    velocities = [as_array(onp.zeros((4, 5))) for _ in params]
    expected, speed = values.copy(), onp.zeros((3, 4, 5))
    for _ in range(3):
        lars(
            params, grads, velocities, 0.5, momentum=0.8, trust_coefficient=0.1
        )
        for i in range(3):
            norms = [
                onp.sqrt((a[i] ** 2).sum()) for a in (expected, gradients)
            ]
            trust_ratio = 0.1 * norms[0] / norms[1] if min(norms) else 1
            speed[i] = 0.8 * speed[i] + 0.5 * trust_ratio * gradients[i]
            expected[i] -= speed[i]
    assert roundings(params, expected) <= 1


@pytest.mark.parametrize('as_array', KINDS)
def test_lars_is_the_formula(as_array):
    assert_lars_is_the_formula(as_array)


@pytest.mark.parametrize('as_array', [np.array, onp.array])
@pytest.mark.parametrize('size', [1e-25, 1, 1e25])
def test_the_norm_is_right_where_squares_leave_float32(as_array, size):
    values = onp.array([3 * size, 0, 4 * size], dtype='float32')
    arrays = [as_array(values, dtype='float32')] * 2
    assert norm(arrays) == pytest.approx(50**0.5 * size, rel=1e-6)


def test_only_the_product_of_rate_and_trust_coefficient_counts():
    rng = onp.random.RandomState(0)
    start, *gradients = rng.normal(size=(6, 4, 5))

    def after(lr, trust_coefficient):
        params, velocities = [start.copy()], [onp.zeros((4, 5))]
        for gradient in gradients:
            lars(
                params,
                [gradient],
                velocities,
                lr,
                trust_coefficient=trust_coefficient,
            )
        return params[0]

    # A power of 2 changes no digit, so that nothing is rounded differently.
    assert (after(1, 0.02) == after(16, 0.02 / 16)).all()
    assert roundings([after(1, 0.02)], [after(8, 0.02 / 16)]) > 100


RULES = {'sgd_momentum': sgd_momentum, 'adam': adam}


def gradients_for(num_steps, shapes, seed=0):
    rng = onp.random.RandomState(seed)
    return [
        [rng.normal(size=shape) for shape in shapes] for _ in range(num_steps)
    ]


def after(rule, start, history, as_array=KINDS[0], **options):
    """Return parameters and state after a step for each list of gradients,
    in float64."""
    params, state = [as_array(a.copy()) for a in start], []
    for grads in history:
        rule(params, [as_array(g) for g in grads], state, 0.1, **options)
    return params, state


def formula(name, start, history, epsilon=1e-8):
    """Momentum, or algorithm 1 of Kingma and Ba, in float64."""
    params = [array.copy() for array in start]
    m, v = [[onp.zeros(a.shape) for a in start] for _ in range(2)]
    for t, grads in enumerate(history, 1):
        for i, g in enumerate(grads):
            if name == 'sgd_momentum':
                m[i] = 0.9 * m[i] + 0.1 * g
                params[i] -= m[i]
            else:
                m[i] = 0.9 * m[i] + (1 - 0.9) * g
                v[i] = 0.999 * v[i] + (1 - 0.999) * g**2.0
                root = onp.sqrt(v[i] / (1 - 0.999**t))
                params[i] -= 0.1 * m[i] / (1 - 0.9**t) / (root + epsilon)
    return params


SHAPES = [(3, 4), (5,), (1, 1), (0,)]


def assert_is_the_formula(name, as_array=KINDS[0], epsilon=None):
    start, *history = gradients_for(8, SHAPES)
    options = {} if epsilon is None else {'epsilon': epsilon}
    arrays, _ = after(RULES[name], start, history, as_array, **options)
    assert roundings(arrays, formula(name, start, history, **options)) <= 1


@pytest.mark.parametrize('as_array', KINDS)
@pytest.mark.parametrize('name', RULES)
def test_an_update_rule_is_the_formula(name, as_array):
    assert_is_the_formula(name, as_array)


def test_epsilon_stands_beside_the_corrected_root():
    assert_is_the_formula('adam', epsilon=0.1)


def assert_is_mxnets(name):
    start, *history = gradients_for(6, [(4, 3), (7,)])
    # MXNet keeps 1 - beta2 in float32, where 0.999 is not exact.
    beta2 = 1 - 2**-10
    options = {'beta2': beta2} if name == 'adam' else {}
    arrays, _ = after(RULES[name], start, history, **options)
    optimizer = {
        'sgd_momentum': mx.optimizer.SGD(learning_rate=0.1, momentum=0.9),
        'adam': mx.optimizer.Adam(learning_rate=0.1, beta2=beta2),
    }[name]
    params = [mx.nd.array(array, dtype='float64') for array in start]
    states = [optimizer.create_state(0, param) for param in params]
    for t, grads in enumerate(history, 1):
        if name == 'adam':  # its epsilon stands beside the uncorrected root
            optimizer.epsilon = 1e-8 * (1 - beta2**t) ** 0.5
        for i, grad in enumerate(grads):
            grad = mx.nd.array(grad, dtype='float64')
            arguments = i, params[i], grad, states[i]
            if not mx.__version__.startswith('1.9'):  # MXNet 2 takes lists
                arguments = [[one] for one in arguments]
            optimizer.update(*arguments)
    assert roundings(arrays, params) <= 8  # its rates are float32 numbers


@needs_mxnet
@pytest.mark.parametrize('name', RULES)
def test_an_update_rule_is_that_of_mxnet(name):
    assert_is_mxnets(name)


@pytest.mark.parametrize('name', RULES)
def test_equal_gradients_keep_replicas_bit_identical(name):
    devices = [mx.cpu(i) for i in range(3)]
    replicas, states = replicas_on(devices), [[] for _ in devices]
    for step in range(3):
        batch = minibatch(4 + step, seed=step)
        d2lmulti.train_batch(*batch, replicas, devices, 1e-9)
        for params, state in zip(replicas, states):
            grads = [param.grad / len(batch[0]) for param in params]
            RULES[name](params, grads, state, 0.01)
    for params, state, device in zip(replicas, states, devices):
        assert all(array.ctx == device for array in state)
        for arrays, first in ((params, replicas[0]), (state, states[0])):
            assert all(
                (a.asnumpy() == b.asnumpy()).all()
                for a, b in zip(arrays, first)
            )


@pytest.mark.parametrize('name', RULES)
def test_a_state_is_made_once_and_updated_in_place(name):
    params, grads = [np.ones((2, 2))], [np.ones((2, 2))]
    state = []
    RULES[name](params, grads, state, 0.1)
    arrays = list(state)
    RULES[name](params, grads, state, 0.1)
    assert len(state) == {'sgd_momentum': 1, 'adam': 3}[name]
    assert all(a is b for a, b in zip(arrays, state))
    if name == 'adam':
        assert state[-1].shape == (1,) and float(state[-1]) == 2


@pytest.mark.parametrize(
    'rule, options, error',
    [
        (sgd_momentum, {'momentum': 1}, ValueError),
        (sgd_momentum, {'momentum': '0.9'}, TypeError),
        (adam, {'beta1': 1}, ValueError),
        (adam, {'beta2': -0.1}, ValueError),
        (sgd_momentum, {'lr': 0}, ValueError),
        (adam, {'lr': None}, TypeError),
        (sgd_momentum, {'grads': [np.ones(2)]}, ValueError),
        (adam, {'grads': []}, ValueError),
        (sgd_momentum, {'state': [np.ones(2)]}, ValueError),
        (adam, {'state': [np.ones(3), np.ones(3)]}, ValueError),
    ],
)
def test_an_invalid_update_is_refused(rule, options, error):
    arguments = {'params': [np.ones(3)], 'grads': [np.ones(3)], 'lr': 0.1}
    with pytest.raises(error):
        rule(**{**arguments, 'state': [], **options})


def chapter_and_long_run():
    """Return the chapter and the rows of the stored table, as text."""
    root = pathlib.Path(__file__).parents[2]
    stored = root / 'tools/speed' / 'results' / 'LARGE_BATCH.md'
    rows = [
        [cell.strip() for cell in line.strip('|').split('|')]
        for line in stored.read_text().splitlines()
        if line.startswith('| ')
    ]
    return nbformat.read(root / 'notebooks' / '11_large_batch.ipynb', 4), rows


def test_the_chapter_shows_the_steps_of_the_stored_long_run():
    chapter, rows = chapter_and_long_run()
    (cell,) = (c for c in chapter.cells if c.id == 'long-run')
    names = {}
    exec(cell.source, names)
    long_run = names['LONG_RUN']
    assert [
        [
            str(size),
            f'{lr:g}',
            f'{low:g}–{high:g}',
            f'{middle} ({a}–{b})',
            f'{speedup:.2f}',
        ]
        for size, lr, (low, high), middle, (a, b), speedup in zip(
            *long_run.values()
        )
    ] == [
        row[:5]
        for row in rows
        if len(row) == 6 and '(' in row[3] and '(' not in row[2]
    ]


def test_the_chapter_shows_the_accuracies_of_the_stored_long_run():
    chapter, rows = chapter_and_long_run()
    (cell,) = (c for c in chapter.cells if c.id == 'schedules-table')
    shown = [line for line in cell.source.splitlines() if ', ×' in line]
    stored = [row for row in rows if len(row) == 6 and '(' in row[2]]
    assert shown == [
        f'{size + ", ×" + rate:9}' + ' '.join(accuracies)
        for size, rate, *accuracies in stored
    ]


def test_only_the_last_of_accumulated_parts_is_noticed(monkeypatch):
    def without_sums(parts, device_params, net, loss):
        for part in parts:
            d2lmulti.backward(*part, device_params, net, loss)

    monkeypatch.setattr(
        d2lmulti.learning.large_batch, 'accumulate_gradients', without_sums
    )
    with pytest.raises(AssertionError):
        assert_accumulated_step_is_the_same(2, 3, 13, d2lmulti.allreduce)


def test_each_replica_moves_by_its_own_state():
    devices, states = [mx.cpu(0), mx.cpu(1)], [[], []]
    replicas = [d2lmulti.get_params([np.ones(3)], d) for d in devices]
    for params in replicas:
        params[0].grad[:] = 1
    for _ in range(2):
        d2lmulti.learning.large_batch.update_replicas(
            replicas, 1, 0.1, d2lmulti.sgd_momentum, states
        )
    for params, state in zip(replicas, states):
        assert abs(params[0].asnumpy() - (1 - 0.1 - 0.19)).max() < 1e-6
        assert [array.ctx for array in state] == [params[0].ctx]
