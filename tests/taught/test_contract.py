"""A training that notices: callbacks that break their contract, replicas
apart, and right trainings of all kinds; `d2lmulti.contract`."""

import mxnet as mx
import numpy as onp
import pytest
from mxnet import np, npx

import d2lmulti
from d2lmulti.communication import collectives
from d2lmulti.contract import check_workers

K, N = 3, 31  # devices; examples, in minibatches of 12, 12 and 7
RNG = onp.random.RandomState(0)
X = RNG.normal(size=(N, 6)).astype('float32')
Y = RNG.randint(0, 5, N).astype('int32')


def init(seed):
    """Return the parameters of a network with a hidden layer."""
    rng = onp.random.RandomState(seed)
    shapes = (6, 8), (8,), (8, 5), (5,)
    return [np.array(rng.normal(size=s), dtype='float32') for s in shapes]


def net(X, params):
    W1, b1, W2, b2 = params[:4]
    return np.dot(np.tanh(np.dot(X, W1) + b1), W2) + b2


def train(**callbacks):
    """Train for an epoch, or as many as given."""
    options = {'num_epochs': 1, 'net': net, 'init': init, **callbacks}
    num_devices = options.pop('num_devices', K)
    return d2lmulti.train(num_devices, 12, 0.1, data=(X, Y, X, Y), **options)


# Wrong ways to sum


def rebinds(data):
    total = sum((array.copyto(data[0].ctx) for array in data[1:]), data[0])
    for i, array in enumerate(data):
        data[i] = total.copyto(array.ctx)


def returns(data):
    total = sum(array.copyto(data[0].ctx) for array in data)
    return [total.copyto(array.ctx) for array in data]


def does_nothing(data):
    pass


def averages(data):
    d2lmulti.allreduce(data)
    for array in data:
        array /= len(data)


def only_broadcasts(data):
    for array in data[1:]:
        data[0].copyto(array)


def sums_twice(data):
    d2lmulti.allreduce(data)
    d2lmulti.allreduce(data)


def forgets_the_last(data):
    total = data[-1]
    total[:] = 0
    for array in data[:-1]:
        total += array.copyto(total.ctx)
    for array in data[:-1]:
        total.copyto(array)


def forgets_to_send_to_the_last(data):
    d2lmulti.allreduce(data[:-1])


def skips_matrices(data):
    if data[0].ndim == 1:
        d2lmulti.allreduce(data)


def every_other_time():
    calls = []

    def allreduce(data):
        calls.append(None)
        if len(calls) <= 4 or len(calls) % 2:
            d2lmulti.allreduce(data)

    return allreduce


# Wrong ways to split


def split_drops_the_rest(X, y, devices):
    n = len(X) // len(devices) * len(devices) - len(devices)
    return d2lmulti.split_batch(X[:n], y[:n], devices)


def split_repeats(X, y, devices):
    X = np.concatenate([X[:1], X[:-1]])
    return d2lmulti.split_batch(X, np.concatenate([y[:1], y[:-1]]), devices)


def split_gives_all_to_all(X, y, devices):
    return [[a.copyto(device) for device in devices] for a in (X, y)]


def split_forgets_to_copy(X, y, devices):
    parts = d2lmulti.split_slices(len(X), len(devices))
    return [[a[rows] for rows in parts] for a in (X, y)]


def split_swaps_devices(X, y, devices):
    return d2lmulti.split_batch(X, y, devices[::-1])


def split_shuffles_x(X, y, devices):
    return d2lmulti.split_batch(X[::-1], y, devices)


def split_uses_two(X, y, devices):
    return d2lmulti.split_batch(X, y, devices[:2])


def split_copies_only_x(X, y, devices):
    parts = d2lmulti.split_slices(len(y), len(devices))
    return d2lmulti.split_and_load(X, devices), [y[rows] for rows in parts]


def split_as_pairs(X, y, devices):
    return [*zip(*d2lmulti.split_batch(X, y, devices))]


def random_init(seed):
    return [np.random.normal(size=p.shape) for p in init(seed)]


log_softmax = npx.log_softmax
WRONG = {  # the callback, and what the message says
    'rebinds': ({'allreduce': rebinds}, 'into the list'),
    'returns': ({'allreduce': returns}, 'returns new arrays'),
    'does nothing': ({'allreduce': does_nothing}, 'does not write'),
    'averages': ({'allreduce': averages}, 'leaves 0.33 x'),
    'only broadcasts': ({'allreduce': only_broadcasts}, '0 x that of cpu.1'),
    'sums twice': ({'allreduce': sums_twice}, 'leaves 3 x'),
    'forgets one': ({'allreduce': forgets_the_last}, '0 x that of cpu.2'),
    'sends to some': (
        {'allreduce': forgets_to_send_to_the_last},
        r'cpu.0. and cpu.2.',
    ),
    'skips matrices': ({'allreduce': skips_matrices}, 'does not write'),
    'every other time': ({'allreduce': every_other_time}, r'params\[[01]\]'),
    'loss: mean': (
        {'loss': lambda s, y: d2lmulti.loss(s, y).mean()},
        r'loss returns the shape \(\) for 4 examples',
    ),
    'loss: of classes': (
        {'loss': lambda s, y: -log_softmax(s)},
        'a number for each',
    ),
    'loss: a float': (
        {'loss': lambda s, y: float(d2lmulti.loss(s, y).sum())},
        'loss returns',
    ),
    'loss: nan': (
        {'loss': lambda s, y: np.log(-np.exp(d2lmulti.loss(s, y)))},
        'is nan',
    ),
    'loss: infinite': (
        {'loss': lambda s, y: d2lmulti.loss(s, y) + np.exp(s[:, 0] + 99)},
        'is inf',
    ),
    'net: one row': ({'net': lambda X, p: net(X, p)[:1]}, 'net returns'),
    'init: random': ({'init': random_init}, 'start apart'),
    'split: rest': ({'split': split_drops_the_rest}, 'each must be in one'),
    'split: repeats': ({'split': split_repeats}, 'into two shards'),
    'split: all': ({'split': split_gives_all_to_all}, 'each must be in one'),
    'split: no copy': ({'split': split_forgets_to_copy}, 'copyto.mx.cpu.1'),
    'split: swaps': ({'split': split_swaps_devices}, 'copyto.mx.cpu.0'),
    'split: labels': ({'split': split_shuffles_x}, 'labels of others'),
    'split: two': ({'split': split_uses_two}, 'the 3 devices'),
    'split: only X': ({'split': split_copies_only_x}, r'y_shards\[1\]'),
    'split: pairs': ({'split': split_as_pairs}, 'two lists'),
    'split: called': ({'split': ([], [])}, 'split is .*do not call it'),
    'loss: called': ({'loss': np.zeros(4)}, 'loss is .*do not call it'),
    'allreduce: called': ({'allreduce': None}, 'allreduce is None'),
}


@pytest.mark.parametrize('case', WRONG)
def test_a_wrong_callback_is_named_within_an_epoch(case):
    callbacks, said = WRONG[case]
    if case == 'every other time':
        callbacks = {'allreduce': callbacks['allreduce']()}
    with pytest.raises(
        (TypeError, ValueError, FloatingPointError), match=said
    ):
        train(**callbacks)


def test_replicas_that_a_net_moves_apart_are_named():
    steps = []

    def drifting(X, params):
        steps.append(None)
        if len(steps) == 12:
            params[2][:] += 0.5
        return net(X, params)

    with pytest.raises(ValueError, match=r'params\[2\], .* differs by up to'):
        train(net=drifting, num_epochs=2)


# Right trainings


def split_unevenly(X, y, devices):
    return d2lmulti.split_by_shares(X, y, devices, [3, 1, 2])


def split_in_turn(X, y, devices):
    return [
        [a[i :: len(devices)].copyto(d) for i, d in enumerate(devices)]
        for a in (X, y)
    ]


def split_with_noise(X, y, devices):
    return d2lmulti.split_batch(X + np.random.normal(size=X.shape), y, devices)


def sums_in_own_order(data):
    """Each device adds up on its own, beginning with its own array."""
    copies = [array.copy() for array in data]
    for i, array in enumerate(data):
        for other in copies[i + 1 :] + copies[:i]:
            array += other.copyto(array.ctx)


def sums_halves(data):
    """Sum in float16."""
    halves = [array.astype('float16') for array in data]
    d2lmulti.allreduce(halves)
    for array, half in zip(data, halves):
        array[:] = half.astype('float32')


def sends_the_largest(data):
    """Sum the larger half of each array's numbers."""
    for array in data:
        array *= abs(array) >= abs(array).mean()
    d2lmulti.allreduce(data)


def sends_signs(data):
    d2lmulti.exchange_compressed(data, {}, d2lmulti.one_bit)


def init_with_means(seed):
    return [*init(seed), np.zeros(8)]


def net_with_means(X, params):
    """Batch normalization with statistics and running means of each device
    alone."""
    W1, b1, W2, b2, means = params
    h = np.dot(X, W1) + b1
    with mx.autograd.pause():
        means[:] = 0.9 * means + 0.1 * h.mean(axis=0)
    return np.dot(np.tanh(h - h.mean(axis=0)), W2) + b2


def net_with_dropout(X, params):
    W1, b1, W2, b2 = params
    h = npx.dropout(np.tanh(np.dot(X, W1) + b1), p=0.5)
    return np.dot(h, W2) + b2


def squares(scores, y):
    return ((scores - npx.one_hot(y, 5)) ** 2).sum(axis=1)


def unused(X, params):
    return net(X, params[1:])


SUMS = {
    **{
        name: getattr(d2lmulti, name)
        for name in collectives.__all__
        if name.endswith('allreduce') and not name.startswith('bucket')
    },
    'own order': sums_in_own_order,
    'float16': sums_halves,
    'largest': sends_the_largest,
    'signs': sends_signs,
}
NETS = {
    'net': {},
    'running means': {'net': net_with_means, 'init': init_with_means},
    'dropout': {'net': net_with_dropout},
    'squares': {'loss': squares},
    'a column': {'loss': lambda s, y: d2lmulti.loss(s, y).reshape(-1, 1)},
    'unused': {'net': unused, 'init': lambda seed: [np.ones(3), *init(seed)]},
    'dead': {'net': lambda X, p: net(X, p) * 0},
}
SPLITS = {
    'even': d2lmulti.split_batch,
    'uneven': split_unevenly,
    'in turn': split_in_turn,
    'noise': split_with_noise,
}


@pytest.mark.parametrize('name', SUMS)
def test_a_right_sum_gives_no_alarm(name):
    train(allreduce=SUMS[name], num_epochs=2)


@pytest.mark.parametrize('name', NETS)
def test_a_right_network_gives_no_alarm(name):
    train(**NETS[name], num_epochs=2)
    train(num_devices=1, **NETS[name])


@pytest.mark.parametrize('name', SPLITS)
def test_a_right_split_gives_no_alarm(name):
    train(split=SPLITS[name], num_epochs=2)


class Pair:
    """Two workers, of which the second has other numbers for parameter 1."""

    def __init__(self, other):
        self.other = other

    def gather(self, values):
        return onp.array([values, [values[0], self.other, *values[2:]]])


def test_a_job_compares_the_parameters_of_all_workers():
    replicas = [d2lmulti.get_params(init(0), mx.cpu(i)) for i in range(2)]
    for params in replicas:
        for param in params:
            param.grad[:] = 1
    seen = []
    pair = Pair(None)
    pair.gather = lambda values: seen.extend(values) or onp.array([values])
    check_workers(replicas, pair)
    check_workers(replicas, Pair(seen[1]))
    with pytest.raises(ValueError, match=r'params\[1\], .*workers 0 and 1'):
        check_workers(replicas, Pair(seen[1] + 0.1))
    replicas[1][2][0, 0] += 1
    with pytest.raises(ValueError, match=r'params\[2\], .*cpu.0. and cpu.1.'):
        check_workers(replicas, Pair(seen[1]))
