"""Compressed exchanges and local rounds against NumPy, from the papers."""

import functools
import json
import pathlib

import mxnet as mx
import numpy as onp
import pytest
from helpers import (
    as_type,
    assert_ctrl_c_waits,
    descend,
    minibatch,
    needs_mxnet,
    replicas_on,
    roundings,
    smooth_lenet,
)
from mxnet import autograd, np

import d2lmulti
from d2lmulti.communication import compression
from d2lmulti.communication.compression import (
    exchange_compressed,
    one_bit,
    power_sgd,
    top_k,
    train_batch_compressed,
    train_round,
    train_round_diloco,
    two_bit,
)
from d2lmulti.learning.large_batch import adam, decay_weights, gradient_descent
from d2lmulti.profiler import record_copies
from d2lmulti.training import max_difference

DEVICES = [mx.cpu(i) for i in range(3)]
ROOT = pathlib.Path(__file__).parents[2]
# Shapes as of a dense layer, a bias and a convolution.
SHAPES = [(6, 9), (9, 6), (7,), (4, 2, 3, 3)]


def gradients(shape, num_exchanges=5, k=3, seed=0):
    """Return random gradients: for each exchange, an array per device."""
    rng = onp.random.RandomState(seed)
    return rng.normal(size=(num_exchanges, k, *shape))


def exchanged(compress, history, feedback=True):
    """Return what all exchanges leave on each device, in float64."""
    state, sums = {}, []
    for grads in history:
        arrays = [
            np.array(grad, dtype='float64', ctx=mx.cpu(i))
            for i, grad in enumerate(grads)
        ]
        exchange_compressed(arrays, state, compress, feedback)
        sums.append(arrays)
    return sums


# The references: what a device sends of its total, in NumPy.


def largest(total, count):
    """Aji and Heafield 2017: all but the largest become 0."""
    flat = total.ravel().copy()
    flat[onp.argsort(-abs(flat))[count:]] = 0
    return flat.reshape(total.shape)


def scaled_sign(total):
    """Karimireddy et al. 2019: the norm over d, times the sign."""
    norm = onp.sum(onp.abs(total))
    return norm / total.size * onp.where(total < 0, -1, 1)


def in_steps(total, threshold):
    """Two bits, as MXNet documents them."""
    sent = onp.zeros_like(total)
    sent[total >= threshold] = threshold
    sent[total <= -threshold] = -threshold
    return sent


def sent_by_each(send, history, feedback=True):
    """Return the sum in each exchange, of what `send` makes of each total."""
    residuals, sums = onp.zeros(history.shape[1:]), []
    for grads in history:
        totals = grads + feedback * residuals
        sent = onp.array([send(total) for total in totals])
        residuals = totals - sent
        sums.append(sent.sum(axis=0))
    return sums


def gram_schmidt(matrix):
    """Vogels et al. 2019 orthogonalize so."""
    columns = []
    for column in matrix.T:
        for _ in range(2):  # twice is enough
            for other in columns:
                column = column - (other @ column) * other
        columns.append(column / onp.linalg.norm(column))
    return onp.array(columns).T


def low_rank(history, rank, seed=0):
    """Return the sums by algorithms 1 and 2 of Vogels et al. 2019."""
    k, m = history.shape[1:3]
    matrices = history.reshape(len(history), k, m, -1)
    n, errors, sums = matrices.shape[-1], onp.zeros(matrices.shape[1:]), []
    Q = onp.random.RandomState(seed).normal(size=(n, rank))
    for grads in matrices:
        totals = grads + errors
        P = gram_schmidt(onp.mean([total @ Q for total in totals], axis=0))
        Qs = [total.T @ P for total in totals]
        Q = onp.mean(Qs, axis=0)
        errors = totals - onp.array([P @ each.T for each in Qs])
        sums.append((k * P @ Q.T).reshape(history.shape[2:]))
    return sums


def pair(name, size):
    """Return a compression and its reference, for arrays of a size."""
    return {
        'top-k': (
            functools.partial(top_k, fraction=0.2),
            functools.partial(largest, count=max(1, round(0.2 * size))),
        ),
        'one bit': (one_bit, scaled_sign),
        'two bits': (
            functools.partial(two_bit, threshold=0.8),
            functools.partial(in_steps, threshold=0.8),
        ),
    }[name]


def assert_same_sums(sums, right):
    for arrays, total in zip(sums, right):
        for array in arrays:
            assert roundings([array], [total]) <= 1


def assert_as_reference(name, shape, feedback=True):
    history = gradients(shape)
    compress, reference = pair(name, history[0, 0].size)
    assert_same_sums(
        exchanged(compress, history, feedback),
        sent_by_each(reference, history, feedback),
    )


@pytest.mark.parametrize('feedback', [True, False])
@pytest.mark.parametrize('shape', SHAPES)
@pytest.mark.parametrize('name', ['top-k', 'one bit', 'two bits'])
def test_messages_are_those_of_the_reference(name, shape, feedback):
    assert_as_reference(name, shape, feedback)


def assert_as_powersgd(shape, rank):
    history = gradients(shape)
    compress = functools.partial(power_sgd, rank=rank)
    assert_same_sums(exchanged(compress, history), low_rank(history, rank))


@pytest.mark.parametrize('rank', [1, 2, 3])
@pytest.mark.parametrize('shape', [s for s in SHAPES if len(s) > 1])
def test_powersgd_is_that_of_the_paper(shape, rank):
    assert_as_powersgd(shape, rank)


@needs_mxnet
def test_two_bits_are_bit_identical_with_mxnets_store():
    store = mx.kv.create('device')
    store.set_gradient_compression({'type': '2bit', 'threshold': 0.5})
    store.init('g', np.zeros(33))
    state = {}
    for grads in gradients((33,), 8, 2):
        arrays = [
            np.array(grad, dtype='float32', ctx=mx.cpu(i))
            for i, grad in enumerate(grads)
        ]
        total = np.zeros(33)
        store.push('g', [array.copy() for array in arrays])
        store.pull('g', total)
        exchange_compressed(arrays, state, two_bit)
        for array in arrays:
            assert (array.asnumpy() == total.asnumpy()).all()


WHOLE = {
    'PowerSGD': functools.partial(power_sgd, rank=99),
    'top-k': functools.partial(top_k, fraction=1),
}


def assert_loses_nothing(name, shape, rank):
    """`rank` of the gradients: they may be of low rank themselves."""
    history = gradients(shape)
    if len(shape) == 2:
        U, s, V = onp.linalg.svd(history, full_matrices=False)
        history = (U[..., :rank] * s[..., None, :rank]) @ V[..., :rank, :]
    sums = exchanged(WHOLE[name], history)
    assert_same_sums(sums, history.sum(axis=1))


@pytest.mark.parametrize('rank', [1, 6])
@pytest.mark.parametrize('shape', SHAPES[1:])
@pytest.mark.parametrize('name', WHOLE)
def test_full_rank_and_all_numbers_lose_nothing(name, shape, rank):
    assert_loses_nothing(name, shape, rank)


def assert_recovers_from_zeros(shape):
    """A matrix of zeros leaves a Q of zeros behind."""
    history = gradients(shape)
    history[:2] = 0
    assert_same_sums(exchanged(WHOLE['PowerSGD'], history), history.sum(1))


@pytest.mark.parametrize('shape', [(6, 9), (9, 6)])
def test_gradients_of_zero_do_not_stay_in_the_way(shape):
    assert_recovers_from_zeros(shape)


def sent_by_last(compress, size=96, k=3):
    data = [np.ones(size, ctx=mx.cpu(i)).reshape(8, -1) for i in range(k)]
    copies = record_copies(lambda: compress(data, {}))
    return sum(n for sender, _, n in copies if sender == mx.cpu(k - 1))


def assert_bytes_sent(k):
    size, (m, n) = 96, (8, 12)
    for compress, right in (
        (functools.partial(top_k, fraction=0.25), (k - 1) * 8 * size // 4),
        (one_bit, (k - 1) * (size // 8 + 4)),
        (two_bit, (k - 1) * size // 4),
    ):
        assert sent_by_last(compress, k=k) == right
    if m * 2 % k == n * 2 % k == 0:
        right = 2 * (k - 1) * 4 * 2 * (m + n) // k
        assert sent_by_last(power_sgd, k=k) == right


@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_only_messages_travel(k):
    assert_bytes_sent(k)


def steps(step, sizes=(13, 7), k=3, **options):
    """Take steps of a smooth LeNet in float64; return all replicas."""
    devices = DEVICES[:k]
    replicas = replicas_on(devices, 'float64')
    for seed, size in enumerate(sizes):
        X, y = minibatch(size, seed, 'float64')
        step(X, y, replicas, devices, 0.1, net=smooth_lenet, **options)
    return replicas


@functools.lru_cache(maxsize=None)
def plain_steps(sizes=(13, 7)):
    replicas = steps(d2lmulti.train_batch, sizes, k=1)
    return [param.asnumpy() for param in replicas[0]]


def assert_step_of_chapter_5(compress, k=3, **options):
    replicas = steps(
        train_batch_compressed, k=k, states=[], compress=compress, **options
    )
    for params in replicas:
        assert roundings(params, plain_steps()) <= 1


@pytest.mark.parametrize('k', [1, 3])
@pytest.mark.parametrize('name', WHOLE)
def test_a_step_that_loses_nothing_is_that_of_chapter_5(name, k):
    assert_step_of_chapter_5(WHOLE[name], k)


@pytest.mark.parametrize('compress', [power_sgd, top_k, one_bit, two_bit])
def test_a_step_that_loses_something_is_another(compress):
    with pytest.raises(AssertionError):
        assert_step_of_chapter_5(compress)


@pytest.mark.parametrize('compress', [power_sgd, top_k, one_bit, two_bit])
def test_replicas_stay_bit_identical(compress):
    first, *others = steps(
        train_batch_compressed, states=[], compress=compress
    )
    for params in others:
        for param, right in zip(params, first):
            assert (param.asnumpy() == right.asnumpy()).all()


def assert_nothing_is_lost(compress):
    """What has arrived and what waits is all that there was."""
    history = gradients((6, 9))
    state, arrived = {}, 0
    for grads in history:
        arrays = [
            np.array(grad, dtype='float64', ctx=mx.cpu(i))
            for i, grad in enumerate(grads)
        ]
        exchange_compressed(arrays, state, compress)
        arrived = arrived + arrays[0].asnumpy()
    waiting = sum(array.asnumpy() for array in state['residuals'])
    assert roundings([arrived + waiting], [history.sum((0, 1))]) <= 1


@pytest.mark.parametrize('compress', [power_sgd, top_k, one_bit, two_bit])
def test_with_feedback_nothing_is_lost(compress):
    assert_nothing_is_lost(compress)


def test_arrays_keep_their_dtype():
    for dtype in ('float32', 'float64'):
        for compress in (top_k, one_bit, two_bit, power_sgd):
            arrays = as_type([np.ones((4, 4), ctx=d) for d in DEVICES], dtype)
            exchange_compressed(arrays, {}, compress)
            assert all(array.dtype == dtype for array in arrays)


# Rounds of local steps


def gradient_of(params, X, y):
    """Return the gradient of the mean loss by autograd on one device."""
    arrays = [np.array(param, dtype='float64') for param in params]
    for array in arrays:
        array.attach_grad()
    with autograd.record():
        mean = d2lmulti.loss(smooth_lenet(X, arrays), y).mean()
    mean.backward()
    return [array.grad.asnumpy() for array in arrays]


class AdamW:
    """Loshchilov and Hutter 2019, for a list of NumPy arrays."""

    def __init__(self, lr=0.003, weight_decay=0.01):
        self.lr, self.weight_decay, self.t = lr, weight_decay, 0

    def step(self, params, grads):
        if not self.t:
            self.m = [0 * grad for grad in grads]
            self.v = [0 * grad for grad in grads]
        self.t += 1
        new = []
        for i, (param, grad) in enumerate(zip(params, grads)):
            self.m[i] = 0.9 * self.m[i] + 0.1 * grad
            self.v[i] = 0.999 * self.v[i] + 0.001 * grad**2
            m = self.m[i] / (1 - 0.9**self.t)
            v = self.v[i] / (1 - 0.999**self.t)
            move = m / (onp.sqrt(v) + 1e-8) + self.weight_decay * param
            new.append(param - self.lr * move)
        return new


class Descent:
    def step(self, params, grads):
        return [p - 0.1 * g for p, g in zip(params, grads)]


def rounds(num_rounds=3, H=2, size=12):
    """Return minibatches, float64, that three devices share evenly."""
    return [
        [minibatch(size, 10 * i + j, 'float64') for j in range(H)]
        for i in range(num_rounds)
    ]


def by_the_papers(schedule, make_inner, outer_lr, momentum):
    """Return the parameters by algorithm 1 of Douillard et al. 2023.

    `schedule`: for each round, the workers that take part; each has its part
    of the examples. Who comes back starts a new inner optimizer.
    """
    params = [p.asnumpy() for p in replicas_on([mx.cpu(0)], 'float64')[0]]
    velocities, inner = [0 * param for param in params], {}
    for present, minibatches in zip(schedule, rounds(len(schedule))):
        inner = {i: inner.get(i) or make_inner() for i in present}
        moves = []
        for place, i in enumerate(present):
            own = params
            for X, y in minibatches:
                rows = onp.array_split(onp.arange(len(X)), len(present))
                rows = rows[place]
                own = inner[i].step(own, gradient_of(own, X[rows], y[rows]))
            moves.append(own)
        delta = [
            param - onp.mean(worker, axis=0)
            for param, worker in zip(params, map(list, zip(*moves)))
        ]
        velocities = [momentum * v + d for v, d in zip(velocities, delta)]
        params = [
            param - outer_lr * (d + momentum * v)
            for param, d, v in zip(params, delta, velocities)
        ]
    return params


def by_us(schedule, step, lr, update, **outer):
    """Return the last replica after the same rounds, by our functions."""
    workers, shared = {}, (replicas_on([mx.cpu(0)], 'float64')[0], [])
    for present, minibatches in zip(schedule, rounds(len(schedule))):
        workers = {
            i: workers.get(i)
            or (
                d2lmulti.get_params(shared[0], mx.cpu(i)),
                [velocity.copyto(mx.cpu(i)) for velocity in shared[1]],
                [],
            )
            for i in present
        }
        replicas, outer_states, states = zip(*workers.values())
        devices = [mx.cpu(i) for i in present]
        more = [list(outer_states)] if outer else []
        step(
            minibatches,
            list(replicas),
            devices,
            lr,
            update,
            list(states) if update else None,
            *more,
            net=smooth_lenet,
            **outer,
        )
        shared = replicas[0], outer_states[0]
    return [*replicas]


EVERYONE = [(0, 1, 2)] * 3
LEAVING = [(0, 1, 2), (0, 2), (0, 1, 2)]
adam_w = functools.partial(decay_weights, update=adam, weight_decay=0.01)


def assert_diloco(schedule):
    outer = {'outer_lr': 0.7, 'momentum': 0.9}
    right = by_the_papers(schedule, AdamW, **outer)
    replicas = by_us(schedule, train_round_diloco, 0.003, adam_w, **outer)
    for params in replicas:
        assert roundings(params, right) <= 1


def assert_local_sgd(schedule):
    right = by_the_papers(schedule, Descent, outer_lr=1, momentum=0)
    for params in by_us(schedule, train_round, 0.1, None):
        assert roundings(params, right) <= 1


@pytest.mark.parametrize('schedule', [EVERYONE, LEAVING])
def test_diloco_is_that_of_the_paper(schedule):
    assert_diloco(schedule)


@pytest.mark.parametrize('schedule', [EVERYONE, LEAVING])
def test_local_sgd_is_the_mean_of_local_steps(schedule):
    assert_local_sgd(schedule)


def test_devices_count_by_their_examples_of_all_minibatches():
    """Of five and four examples, the first of two devices has three, two."""
    batches = [minibatch(n, n, 'float64') for n in (5, 4)]
    replicas = replicas_on(DEVICES[:2], 'float64')
    start = [param.copy() for param in replicas[0]]
    train_round(batches, replicas, DEVICES[:2], 0.1, net=smooth_lenet)
    own = [
        [(X[rows], y[rows]) for (X, y), rows in zip(batches, parts)]
        for parts in (
            (slice(0, 3), slice(0, 2)),
            (slice(3, 5), slice(2, 4)),
        )
    ]
    ends = [descend(start, each, 0.1, smooth_lenet) for each in own]
    right = [(5 * p + 4 * q) / 9 for p, q in zip(*ends)]
    for params in replicas:
        assert roundings(params, right) <= 1


def one_minibatch(step, size, k, *more, **options):
    devices = DEVICES[:k]
    replicas = replicas_on(devices, 'float64')
    for seed in range(2):
        batch = minibatch(size, seed, 'float64')
        step([batch], replicas, devices, 0.1, *more, **options)
    return replicas


def assert_h1_is_a_plain_step(size=13, k=3):
    lists = [[[] for _ in range(k)] for _ in range(2)]
    for step, more, options in (
        (train_round, (), {}),
        (
            train_round_diloco,
            (gradient_descent, *lists),
            {'outer_lr': 1, 'momentum': 0},
        ),
    ):
        replicas = one_minibatch(
            step, size, k, *more, net=smooth_lenet, **options
        )
        for params in replicas:
            assert roundings(params, plain_steps((size, size))) <= 1


@pytest.mark.parametrize('size, k', [(13, 1), (13, 3), (3, 3)])
def test_one_local_step_is_the_step_of_chapter_5(size, k):
    assert_h1_is_a_plain_step(size, k)


def test_only_the_inner_states_differ():
    k = 3
    states, outer = [[] for _ in range(k)], [[] for _ in range(k)]
    replicas = replicas_on(DEVICES, 'float64')
    for minibatches in rounds(2):
        train_round_diloco(
            minibatches, replicas, DEVICES, 0.003, adam_w, states, outer
        )

    def alike(lists):
        return [
            all((a.asnumpy() == b.asnumpy()).all() for a, b in zip(*pair))
            for pair in ((lists[0], other) for other in lists[1:])
        ]

    assert alike(replicas) == alike(outer) == [True, True]
    assert alike(states) == [False, False]


STATES = [[] for _ in DEVICES]
MISTAKES = [  # of a round or a step, and the words that matter
    (lambda *r: train_round((X, Y), *r, 0.1), r': \[minibatches\]'),
    (lambda *r: train_round(iter([(X, Y)]), *r, 0.1), r': list\(minibatches'),
    (lambda *r: train_round([], *r, 0.1), 'minibatches. must be at least 1'),
    (lambda *r: train_round([(X, Y)], *r, 0.1, states=STATES), 'pass update'),
    (
        lambda *r: train_round([(X, Y)], *r, 0.1, adam, [[]] * 3),
        'share one state',
    ),
    (lambda *r: diloco(*r, [[]]), 'outer_states must have a list for each of'),
    (lambda *r: diloco(*r, [[], [X], []]), 'outer_states must be alike'),
    (lambda *r: compressed(*r, [{}]), 'an entry for each parameter, 8 in all'),
    (
        lambda *r: compressed(*r, [{'residuals': [X, X]}] * 8),
        'residuals of the shapes and devices',
    ),
    (
        lambda *r: compression.average_params(r[0], [1]),
        'weights needs an entry for each replica',
    ),
    (lambda *r: top_k([X], {}, fraction=2), 'fraction must be above 0'),
    (lambda *r: two_bit([X], {}, threshold=0), 'threshold must be'),
    (lambda *r: power_sgd([X], {}, rank=1.5), 'rank must be an integer'),
]
X, Y = minibatch(6)


def diloco(replicas, devices, outer):
    states = [[] for _ in devices]
    train_round_diloco([(X, Y)], replicas, devices, 0.1, adam, states, outer)


def compressed(replicas, devices, states):
    train_batch_compressed(X, Y, replicas, devices, 0.1, states, one_bit)


@pytest.mark.parametrize('mistake, words', MISTAKES)
def test_a_mistake_is_refused_before_any_replica_moves(mistake, words):
    replicas = replicas_on(DEVICES)
    with pytest.raises((TypeError, ValueError), match=words):
        mistake(replicas, DEVICES)
    assert max_difference(replicas[0], replicas_on(DEVICES)[0]) == 0


def test_a_round_with_too_few_examples_at_its_end_changes_nothing():
    replicas = replicas_on(DEVICES, 'float64')
    start = replicas_on(DEVICES, 'float64')
    with pytest.raises(ValueError, match='2 examples'):
        train_round(
            [minibatch(size, 0, 'float64') for size in (8, 2)],
            replicas,
            DEVICES,
            0.1,
        )
    assert max(map(max_difference, replicas, start)) == 0


def test_ctrl_c_leaves_no_half_of_a_step():
    X, y = minibatch(8)
    assert_ctrl_c_waits(
        lambda replicas, lr: train_batch_compressed(
            X, y, replicas, DEVICES, lr, [], power_sgd
        ),
        d2lmulti.init_params(),
        DEVICES,
    )
    assert_ctrl_c_waits(
        lambda replicas, lr: train_round([(X, y)], replicas, DEVICES, lr),
        d2lmulti.init_params(),
        DEVICES,
    )


# What was measured


def measured():
    path = ROOT / 'tools/speed' / 'results' / 'compression.json'
    return json.loads(path.read_text())


def test_the_stored_curves_show_that_feedback_matters():
    """By more than three standard errors of both together."""
    methods = measured()
    names = [name for name in methods if f'{name}, without' in methods]
    assert len(names) >= 4
    for name in names:
        sent, accuracy, error = methods[name][-1]
        lost_sent, lost, lost_error = methods[f'{name}, without'][-1]
        assert sent == lost_sent
        assert accuracy - lost > 3 * (error**2 + lost_error**2) ** 0.5, name


# A state of other arrays, and a nan


COMPRESS = [top_k, one_bit, two_bit, power_sgd]


@pytest.mark.parametrize('compress', COMPRESS)
@pytest.mark.parametrize('k, shape', [(2, (6, 9)), (3, (9, 6)), (3, (54,))])
def test_a_state_of_other_arrays_is_refused(compress, k, shape):
    state = {}
    for wanted in (False, True):
        num_devices, each = (k, shape) if wanted else (3, (6, 9))
        arrays = [np.ones(each, ctx=c) for c in DEVICES[:num_devices]]
        if wanted:
            with pytest.raises(ValueError, match='state has residuals of'):
                exchange_compressed(arrays, state, compress)
        else:
            exchange_compressed(arrays, state, compress)


def test_a_state_of_another_rank_is_refused():
    state = {}
    arrays = [np.ones((6, 9), ctx=device) for device in DEVICES]
    power_sgd(arrays, state, rank=2)
    with pytest.raises(ValueError, match='state has Qs of'):
        power_sgd(arrays, state, rank=4)
    with pytest.raises(ValueError, match='state has Qs of'):
        power_sgd(arrays[:2], state, rank=2)
    with pytest.raises(TypeError, match='a dict, {} before the first'):
        exchange_compressed(arrays, [], one_bit)


def test_outer_states_of_another_network_are_refused():
    replicas = replicas_on(DEVICES[:2])
    outer = [[np.zeros(3, ctx=device)] for device in DEVICES[:2]]
    with pytest.raises(ValueError, match='outer_states have the shapes'):
        train_round_diloco(
            [minibatch(4)],
            replicas,
            DEVICES[:2],
            0.1,
            gradient_descent,
            [[], []],
            outer,
        )


@pytest.mark.parametrize('bad', [onp.nan, onp.inf])
@pytest.mark.parametrize('compress', COMPRESS)
def test_one_number_that_is_not_finite_does_not_stay(compress, bad):
    history = gradients((6, 9))
    history[1][0, 2, 3] = bad
    after = exchanged(compress, history)[2:]
    assert all(onp.isfinite(a.asnumpy()).all() for a in sum(after, []))


@pytest.mark.parametrize('compress', [one_bit, power_sgd])
def test_a_step_that_is_skipped_leaves_no_trace(compress):
    """As chapter 16 skips a step whose gradients have overflowed."""
    history = gradients((6, 9))
    overflow = onp.full_like(history[:1], onp.inf)
    skipped = exchanged(
        compress, onp.concatenate([history[:2], overflow, history[2:]])
    )
    right = exchanged(compress, history)
    assert not onp.isfinite(skipped[2][0].asnumpy()).any()
    for arrays_then, wanted in zip(skipped[:2] + skipped[3:], right):
        for array, other in zip(arrays_then, wanted):
            assert (array.asnumpy() == other.asnumpy()).all()
