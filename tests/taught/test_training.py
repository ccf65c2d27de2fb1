"""k devices take the step that one device takes, on every replica."""

import functools

import mxnet as mx
import numpy as onp
import pytest
from helpers import (
    as_type,
    descend,
    float32_results,
    minibatch,
    minibatches,
    reference_steps,
    replicas_on,
    roundings,
    smooth_lenet,
)
from mxnet import np, npx

import d2lmulti
from d2lmulti import checks

CPUS = [mx.cpu(0), mx.cpu(1)]


def distances(sizes, k, **how):
    """Return, for each of k replicas, how far it is from the reference."""
    devices = [mx.cpu(i) for i in range(k)]
    replicas = replicas_on(devices, 'float64')
    for X, y in minibatches(sizes):
        d2lmulti.train_batch(X, y, replicas, devices, 0.1, **how)
    return [roundings(params, reference_steps(sizes)) for params in replicas]


def assert_same_steps(sizes, k, **how):
    how.setdefault('allreduce', d2lmulti.allreduce)
    assert max(distances(sizes, k, **how)) <= 1


@pytest.mark.parametrize(
    'k, sizes', [(1, (61, 7)), (2, (61, 7)), (3, (64,)), (4, (5,))]
)
def test_k_devices_take_the_same_steps_as_one(k, sizes):
    assert_same_steps(sizes, k)


def test_without_synchronization_every_replica_differs():
    assert min(distances((64,), 3, allreduce=lambda data: None)) > 100


@pytest.mark.parametrize('k', [2, 3])
def test_steps_in_float32_differ_by_rounding_only(k):
    """With a smooth network: rounding may turn a relu on or off."""
    batches, expected = smooth_steps()
    devices = [mx.cpu(i) for i in range(k)]
    replicas = replicas_on(devices)
    for X, y in batches:
        d2lmulti.train_batch(X, y, replicas, devices, 0.1, net=smooth_lenet)
    for replica in replicas:
        assert d2lmulti.rounding.all_close(replica, expected)


@functools.lru_cache(maxsize=None)
def smooth_steps():
    """Return minibatches, and the results of steps on them in float32."""
    params = d2lmulti.init_params(seed=3)
    batches = [minibatch(n, n) for n in (31, 7)]
    return batches, float32_results(
        lambda batches: descend(params, batches, 0.1, smooth_lenet), batches
    )


def test_replicas_are_bit_identical():
    devices = [mx.cpu(i) for i in range(3)]
    replicas = replicas_on(devices)
    for seed in range(3):
        d2lmulti.train_batch(*minibatch(37, seed), replicas, devices, 0.1)
    for replica in replicas[1:]:
        for param, first in zip(replica, replicas[0]):
            assert (param.asnumpy() == first.asnumpy()).all()


@pytest.mark.parametrize('k', [1, 2])
def test_a_step_is_queued_without_a_wait(k, monkeypatch):
    devices = [mx.cpu(i) for i in range(k)]
    replicas = replicas_on(devices)
    batch = minibatch(8)
    npx.waitall()
    waits = []
    for name in (
        'MXNDArraySyncCopyToCPU',
        'MXNDArrayWaitToRead',
        'MXNDArrayWaitAll',
    ):
        call = getattr(mx.base._LIB, name)
        monkeypatch.setattr(
            mx.base._LIB,
            name,
            lambda *args, name=name, call=call: (
                waits.append(name) or call(*args)
            ),
        )
    d2lmulti.train_batch(*batch, replicas, devices, 0.1)
    assert waits == []
    npx.waitall()
    assert waits == ['MXNDArrayWaitAll']


def test_any_split_gives_the_same_step():
    def uneven(X, y, devices):
        ends = [0, 1, len(X)]
        return [
            [
                part[start:end].copyto(device)
                for start, end, device in zip(ends, ends[1:], devices)
            ]
            for part in (X, y)
        ]

    assert_same_steps((31, 12), 2, split=uneven)


def linear(X, params):
    return np.dot(X.reshape(len(X), -1), params[0]) + params[1]


def squares(scores, y):
    return ((scores - npx.one_hot(y, 10)) ** 2).sum(axis=1)


def init_linear(seed):
    rng = onp.random.RandomState(seed)
    return [
        np.array(rng.normal(0, 0.01, (784, 10)), dtype='float32'),
        np.zeros(10, dtype='float32'),
    ]


def test_another_network_and_loss_take_the_step_of_one_device():
    devices = [mx.cpu(i) for i in range(3)]
    (batch,) = minibatches([29])
    params = as_type(init_linear(0))
    replicas = [d2lmulti.get_params(params, device) for device in devices]
    d2lmulti.train_batch(
        *batch, replicas, devices, 0.01, net=linear, loss=squares
    )
    right = descend(params, [batch], 0.01, linear, squares)
    for replica in replicas:
        assert roundings(replica, right) <= 1
        assert roundings(params, right) > 100


@pytest.mark.parametrize('k', [1, 3])
def test_training_takes_the_steps_of_one_device(k):
    """Also for the last minibatch of an epoch, which is smaller."""
    X, y = (array.asnumpy() for array in minibatch(41))
    how = {'net': linear, 'loss': squares, 'init': init_linear}
    result = d2lmulti.train(
        k, 16, 0.001, num_epochs=2, seed=5, data=(X, y, X, y), **how
    )
    batches = d2lmulti.data.Minibatches(X, y, 16, seed=5)
    expected = float32_results(
        lambda batches: descend(
            init_linear(5), batches, 0.001, linear, squares
        ),
        [*batches, *batches],
    )
    for replica in result.device_params:
        assert d2lmulti.rounding.all_close(replica, expected)


def test_the_same_seed_gives_the_same_bits():
    X, y = minibatch(40)
    data = X.asnumpy(), y.asnumpy(), X.asnumpy(), y.asnumpy()
    runs = [
        d2lmulti.train(3, 16, 0.1, num_epochs=2, seed=5, data=data)
        for _ in range(2)
    ]
    assert runs[0].accuracies == runs[1].accuracies
    for p, q in zip(runs[0].device_params[-1], runs[1].device_params[-1]):
        assert (p.asnumpy() == q.asnumpy()).all()


def used_now_and_then(X, params):
    """Use the first and the last parameter only where a pixel says so."""
    first, *own, last = params
    scores = linear(X, own)
    return scores + first + last if float(X[0, 0, 0, 0]) > 0 else scores


def assert_unused_parameters_stay(k):
    devices = [mx.cpu(i) for i in range(k)]
    params = as_type([np.ones(10), *init_linear(0), np.ones(10)])
    replicas = [d2lmulti.get_params(params, device) for device in devices]
    batches = minibatches([8, 9, 7])
    for seen, (X, _) in zip((1, 0, 0), batches):
        X[:, 0, 0, 0] = seen
    for X, y in batches:
        before = [
            (replica[i], replica[i].asnumpy())
            for replica in replicas
            for i in (0, -1)
        ]
        d2lmulti.train_batch(
            X, y, replicas, devices, 0.01, net=used_now_and_then, loss=squares
        )
        for param, numbers in before:
            moved = (param.asnumpy() != numbers).any()
            assert moved == (float(X[0, 0, 0, 0]) > 0)
    right = descend(params, batches, 0.01, used_now_and_then, squares)
    assert roundings(params, right) > 100
    for replica in replicas:
        assert roundings(replica, right) <= 1


@pytest.mark.parametrize('k', [1, 2, 3])
def test_a_parameter_that_a_step_does_not_use_stays_as_it_is(k):
    """It would keep the gradient of the step before, k-fold after
    allreduce."""
    assert_unused_parameters_stay(k)


def test_the_step_leaves_its_arguments_alone():
    X, y = minibatch(10)
    before = X.asnumpy(), y.asnumpy()
    d2lmulti.train_batch(X, y, replicas_on(CPUS), CPUS, 0.1)
    assert (X.asnumpy() == before[0]).all()
    assert (y.asnumpy() == before[1]).all()


@pytest.mark.parametrize('k', [1, 2, 3, 4])
def test_accuracy_counts_every_example_on_every_device(k):
    devices = [mx.cpu(i) for i in range(k)]
    replicas = replicas_on(devices)
    batches = [minibatch(n, n) for n in (20, 13, 2, 1)]  # fewer than devices
    right = [
        d2lmulti.lenet(X, replicas[0]).asnumpy().argmax(axis=1) == y.asnumpy()
        for X, y in batches
    ]
    accuracy = d2lmulti.evaluate_accuracy(replicas, batches, devices)
    assert type(accuracy) is float
    assert accuracy == onp.concatenate(right).mean()


def test_training_learns_and_reports():
    X, y, X_test, y_test = d2lmulti.read_fashion_mnist()
    data = X[:512], y[:512], X_test[:128], y_test[:128]
    result = d2lmulti.train(2, 32, 0.1, num_epochs=3, data=data)
    assert result.accuracies[-1] > 0.4
    assert len(result.seconds) == len(result.accuracies) == 3
    assert str(result).startswith('test acc 0.')
    assert str(result).endswith(f'sec/epoch on {result.devices}')


def test_each_step_sums_by_the_given_algorithm_and_ends_in_its_epoch(
    monkeypatch,
):
    X, y = (array.asnumpy() for array in minibatch(40))
    events = []

    def counted(data):
        events.append(len(data))
        d2lmulti.allreduce(data)

    monkeypatch.setattr(
        d2lmulti.training.npx, 'waitall', lambda: events.append('end')
    )
    data = X, y, X[:4], y[:4]
    d2lmulti.train(
        2,
        16,
        0.1,
        num_epochs=1,
        data=data,
        net=linear,
        init=init_linear,
        allreduce=counted,
    )
    assert events == [2, 2, 'end'] * 3


def test_by_default_it_trains_for_ten_epochs_on_the_bundled_images(
    monkeypatch, capsys
):
    X, y = (array.asnumpy() for array in minibatch(6))
    monkeypatch.setattr(
        d2lmulti.training, 'read_fashion_mnist', lambda: (X, y, X, y)
    )
    how = {'net': linear, 'init': init_linear}
    result = d2lmulti.train(1, 4, 0.1, **how)
    assert len(result.accuracies) == 10
    assert capsys.readouterr().out.endswith(f'{result}\n')
    again = d2lmulti.train(1, 4, 0.1, seed=0, **how)
    for param, other in zip(result.device_params[0], again.device_params[0]):
        assert (param == other).all()


def test_an_epoch_takes_as_long_as_its_steps(monkeypatch):
    clock = iter([10.0, 13.0, 20.0, 25.0])
    monkeypatch.setattr(
        d2lmulti.training.time, 'perf_counter', lambda: next(clock)
    )
    X, y = (array.asnumpy() for array in minibatch(6))
    result = d2lmulti.train(
        1,
        4,
        0.1,
        num_epochs=2,
        data=(X, y, X, y),
        net=linear,
        init=init_linear,
    )
    assert result.seconds == [3.0, 5.0]


def test_a_result_is_told_in_a_line():
    result = d2lmulti.TrainResult(
        CPUS, [0.2, 0.1, 0.4, 0.75], [9.0, 1.0, 2.0, 2.0], []
    )
    assert str(result) == ('test acc 0.75, 2.0 sec/epoch on [cpu(0), cpu(1)]')
    none = d2lmulti.TrainResult(CPUS, [], [], [])
    assert str(none) == 'stopped in the first epoch on [cpu(0), cpu(1)]'


def test_the_largest_difference_of_two_lists_of_arrays():
    params = [np.array([1.0, -2.0]), np.array([3.0, 1.0, 1.0])]
    others = [np.array([1.5, -2.0]), np.array([5.0, 1.0, 1.0])]
    for one, other in ((params, others), (others, params)):
        difference = d2lmulti.training.max_difference(one, other)
        assert type(difference) is float and difference == 2.0
    assert d2lmulti.training.max_difference(params, params) == 0
    nan = [np.array([1.0, onp.nan]), np.array([3.0, 1.0, 1.0])]
    assert onp.isnan(d2lmulti.training.max_difference(nan, params))
    for wrong in (params[:1], [params[0], np.array([3.0])]):
        with pytest.raises(AssertionError, match='shapes'):
            d2lmulti.training.max_difference(params, wrong)


def examples(n=20):
    return onp.zeros((n, 1, 28, 28), 'float32'), onp.zeros(n, 'int32')


@pytest.mark.parametrize(
    'change, error',
    [
        (dict(num_devices=0), ValueError),
        (dict(num_devices=1000), ValueError),
        (dict(num_devices='2'), TypeError),
        (dict(num_epochs=0), ValueError),
        (dict(num_epochs=1.5), TypeError),
        (dict(lr=-1), ValueError),
        (
            dict(batch_size=19),
            ValueError,
        ),  # the last minibatch: 1 for 2 devices
        (dict(batch_size=0), ValueError),
        (dict(batch_size=2.5), TypeError),
        (dict(net='lenet'), ValueError),
        (dict(data=examples()), TypeError),
        (dict(data=(examples(), examples())), TypeError),
        (dict(data=[array.tolist() for array in examples() * 2]), TypeError),
    ],
)
def test_training_refuses_before_it_begins(change, error):
    arguments = dict(
        num_devices=2, batch_size=10, lr=0.1, num_epochs=1, data=examples() * 2
    )
    (name,) = change
    name = {'num_devices': 'k, the'}.get(name, name)
    with pytest.raises(error, match=f'{name}|devices|X_train'):
        d2lmulti.train(**{**arguments, **change})


def test_a_training_that_diverges_ends_after_the_epoch():
    X, y = (array.asnumpy() for array in minibatch(8))
    with pytest.raises(FloatingPointError, match='lr=1e.30 is too large'):
        d2lmulti.train(
            2,
            4,
            1e30,
            num_epochs=2,
            data=(1e30 * X, y, X, y),
            net=linear,
            init=init_linear,
        )


def test_lenet_is_given_no_label_that_it_would_clip():
    X, y = examples()
    y[3] = 10
    for data in ((X, y, *examples()), (*examples(), X, y)):
        with pytest.raises(ValueError, match='from 0 to 9.* example 3'):
            d2lmulti.train(1, 8, 0.1, num_epochs=1, data=data)


PARAMS = d2lmulti.init_params()
BATCH = minibatch(4)
RAW = [array.asnumpy() for array in BATCH]


@pytest.mark.parametrize(
    'given, message',
    [
        (dict(net=linear), r'net\(X_test\[:1\], params\) fails'),
        (dict(init=init_linear), 'has 8 parameters, not 2'),
        (dict(net=lambda X, p: None), 'scores is None'),
        (dict(net=lambda X, p: X.asnumpy()), 'scores is a NumPy array'),
    ],
)
def test_a_network_without_its_parameters_is_refused(given, message):
    X, y = (array.asnumpy() for array in minibatch(8))
    with pytest.raises(ValueError, match=message):
        d2lmulti.train(1, 4, 0.1, num_epochs=1, data=(X, y, X, y), **given)


@pytest.mark.parametrize(
    'data, words',
    [
        ((RAW, RAW), r'two pairs, \(\*data\[0\], \*data\[1\]\)'),
        (RAW, r'X_test, y_test\) is needed$'),
        (d2lmulti.read_fashion_mnist, 'is a function, .* is needed$'),
        ((RAW[0].astype('uint16'), *RAW[1:], *RAW), 'X_train holds uint16'),
    ],
)
def test_data_that_are_not_four_arrays(data, words):
    with pytest.raises(TypeError, match=words):
        d2lmulti.train(1, 4, 0.1, data=data)


def test_no_network_is_given_a_label_without_a_score():
    X, y = (array.asnumpy() for array in minibatch(8))
    y[5] = 10
    for part in ((X, y, X, 0 * y), (X, 0 * y, X, y)):
        with pytest.raises(ValueError, match='from 0 to 9.*example 5 has 10'):
            d2lmulti.train(
                1,
                4,
                0.1,
                num_epochs=1,
                data=part,
                net=linear,
                init=init_linear,
            )


@pytest.mark.parametrize('columns', [1, 10])
def test_targets_that_are_no_labels_may_have_any_values(columns):
    X, y = (array.asnumpy() for array in minibatch(8))
    y = onp.repeat(100.0 * y.reshape(-1, 1), columns, axis=1)

    def scores(X, params):
        return linear(X, params)[:, :columns]

    count = checks.count_classes(scores, init_linear(0), X, y, X)
    assert count is None


STEPS = [  # a step or its part, and the words of its refusal that matter
    (lambda R: step(CPUS, R), 'is a list of devices.*replicas come before'),
    (lambda R: step(iter(R), CPUS), 'iterator, but a .* device is needed$'),
    (lambda R: step(R[0], CPUS), 'list of arrays.*get_params.device_params'),
    (lambda R: step([R], CPUS[:1]), r'params\[0\] is a list'),  # wrapped twice
    (lambda R: step(R, 2), r'devices is 2.*: try_devices\(2\)'),
    (lambda R: step(R, '[cpu(0), cpu(1)]'), 'such as try_devices'),
    (lambda R: step(R, CPUS[:1] * 2), 'names a device twice'),
    (lambda R: step(R[:1], CPUS), '1 replica for 2 devices'),
    (lambda R: step(R[::-1], CPUS), r'lives on cpu\(1\), but belongs on cpu'),
    (lambda R: step([PARAMS, PARAMS], CPUS), 'no gradient.* get_params'),
    (lambda R: step([R[0], R[1][:7]], CPUS), 'more parameters than another'),
    (lambda R: step([R[0][:1] * 2], CPUS[:1]), 'one of them twice'),
    (lambda R: step(R, CPUS, lr='0.1'), 'learning rate lr must be a number'),
    (lambda R: step(R, CPUS, lr=0), 'learning rate .* above 0'),
    (lambda R: step(R, CPUS, BATCH[::-1]), 'are they swapped'),
    (lambda R: step(R, CPUS, (BATCH[0], BATCH[1][:3])), '4 examples but 3'),
    (lambda R: step(R, CPUS, [a[:0] for a in BATCH]), '0 examples cannot be'),
    (lambda R: step(R, CPUS, d2lmulti.split_batch(*BATCH, CPUS)), 'X is a li'),
    (lambda R: backward(*BATCH, R), 'a list with a shard .*: split_batch'),
    (lambda R: backward(*shards(), R[0]), 'list of replicas is needed'),
    (lambda R: backward(*shards(), R[:1]), '2 and 2 shards for 1 replica'),
    (lambda R: sgd(PARAMS, 0.1, 4), 'no gradient'),
    (lambda R: sgd(R, 0.1, 4), 'param is a list of arrays'),
    (lambda R: sgd(R[0], 4, 0.1), 'batch_size must be an integer'),
    (lambda R: evaluate([BATCH], R, CPUS), r'minibatches \(X, y\) is needed$'),
    (lambda R: evaluate(d2lmulti.Minibatches(*RAW, 2), R, CPUS), 'minibatc'),
    (lambda R: evaluate(R, CPUS, [BATCH]), 'data_iter comes before devices'),
    (lambda R: evaluate(R, [*BATCH[:1] * 2], CPUS), r'\(X, y\) is needed$'),
    (lambda R: evaluate(R, enumerate([BATCH]), CPUS), 'is an enumerate'),
    (lambda R: evaluate(R, zip(*BATCH), CPUS), r'X\[None\] and y\.resh'),
    (lambda R: evaluate(R, BATCH, CPUS), r': \[data_iter\]'),
    (lambda R: evaluate(R, BATCH[0], CPUS), 'data_iter is an MXNet array'),
    (lambda R: evaluate(R, (iter([]), iter([])), CPUS), 'iterators, give one'),
    (lambda R: evaluate(R, [], CPUS), 'data_iter is empty.* only once'),
    (lambda R: evaluate(R, [one_hot()], CPUS), r'y.argmax\(axis=1\)'),
]
backward, sgd = d2lmulti.backward, d2lmulti.sgd
evaluate = d2lmulti.evaluate_accuracy


def step(replicas, devices, batch=BATCH, lr=0.1):
    d2lmulti.train_batch(*batch, replicas, devices, lr)


def shards():
    return d2lmulti.split_batch(*BATCH, CPUS)


def one_hot():
    return BATCH[0], npx.one_hot(BATCH[1], 10)


@pytest.mark.parametrize('mistake, words', STEPS)
def test_a_mistake_is_refused_before_any_replica_moves(mistake, words):
    replicas = [d2lmulti.get_params(PARAMS, device) for device in CPUS]
    with pytest.raises((TypeError, ValueError), match=words):
        mistake(replicas)
    for params in replicas:
        for param, start in zip(params, PARAMS):
            assert (param.asnumpy() == start.asnumpy()).all()


# Bugs that real projects had, each as somebody wrote it


def rebinding(data):
    total = sum(array.copyto(data[0].ctx) for array in data)
    for i, array in enumerate(data):
        data[i] = total.copyto(array.ctx)  # into the list, not the replica


def averaging(data):
    d2lmulti.allreduce(data)
    for array in data:
        array /= len(data)


def without_the_remainder(X, y, devices):
    n = len(X) // len(devices) * len(devices)
    return d2lmulti.split_batch(X[:n], y[:n], devices)


def mean_of_a_shard(scores, y):
    return d2lmulti.loss(scores, y).mean()


@pytest.mark.parametrize(
    'bug',
    [
        {'allreduce': rebinding},
        {'allreduce': averaging},
        {'split': without_the_remainder},
        {'loss': mean_of_a_shard},
    ],
)
def test_a_bug_in_what_the_step_is_given_is_noticed(bug):
    with pytest.raises(AssertionError):
        assert_same_steps((95, 7), 2, **bug)


def test_a_step_for_a_constant_batch_size_is_noticed(monkeypatch):
    right = d2lmulti.training.sgd

    def sgd(params, lr, batch_size):
        right(params, lr, 95)  # also for the last 7 examples

    monkeypatch.setattr(d2lmulti.training, 'sgd', sgd)
    with pytest.raises(AssertionError):
        assert_same_steps((95, 7), 2)
