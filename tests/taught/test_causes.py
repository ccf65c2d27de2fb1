"""The five causes of a missing speedup: each is named where it holds."""

import contextlib
import io
import os
import time

import mxnet as mx
import numpy as onp
import pytest
from helpers import minibatch, needs_mxnet, replicas_on
from mxnet import autograd, base, gluon, np, npx

import d2lmulti
from d2lmulti import causes, step_times
from d2lmulti.causes import record_waits, seconds_to_load
from d2lmulti.findings import (
    balance_finding,
    contention_finding,
    exchange_finding,
    input_finding,
    python_finding,
    rest_finding,
    size_finding,
    wait_finding,
)
from d2lmulti.profiler import Operator
from d2lmulti.step_times import StepTimes, time_devices, time_python

TWO = d2lmulti.try_devices(2)


@pytest.mark.parametrize(
    'finding, cause',
    [
        (input_finding(load=0.03, step=0.01, batch_size=32), 'input'),
        (
            contention_finding(slowdown=2.0, devices=TWO, load_average=0.1),
            'devices compete',
        ),
        (
            wait_finding(step=0.1, waited=0.05, line='float(loss)'),
            'step waits',
        ),
        (
            balance_finding(0.1, StepTimes({'cpu(0)': 0.09, 'cpu(1)': 0}, 0)),
            'devices have unequal work',
        ),
        (exchange_finding(step=0.1, exchange=0.05), 'synchronization'),
        (size_finding(fixed=0.005, step=0.01, batch_size=16), 'step is'),
    ],
)
def test_a_cause_that_holds_is_named_with_its_fix(finding, cause):
    assert finding.found
    assert str(finding).startswith('YES: the ' + cause)
    assert finding.fix in str(finding)


@pytest.mark.parametrize(
    'finding',
    [
        input_finding(load=0.0005, step=0.04, batch_size=256),
        contention_finding(slowdown=1.05, devices=TWO, load_average=0.1),
        wait_finding(step=0.1, waited=0.001, line='float(loss)'),
        wait_finding(step=0.1, waited=0, line=''),
        python_finding(0.1, 0.001, ''),
        balance_finding(0.1, StepTimes({'cpu(0)': 0.09, 'cpu(1)': 0.08}, 0)),
        exchange_finding(step=0.1, exchange=0.001),
        rest_finding(0.05, 0.1, 0.02, 0.02),
        size_finding(fixed=0.005, step=0.05, batch_size=256),
    ],
)
def test_a_cause_that_does_not_hold_is_not_blamed(finding):
    assert not finding.found
    assert str(finding).startswith('no:  ')
    assert finding.fix not in str(finding)


@pytest.fixture
def no_contention(monkeypatch):
    """Measures no LeNet: other tests see what that is for."""
    monkeypatch.setattr(d2lmulti.causes, 'contention', lambda *args: 1.0)


@pytest.mark.slow
def test_a_loader_with_a_pause_is_found_out(no_contention):
    data = d2lmulti.read_fashion_mnist()
    images, labels = data[0][:100], data[1][:100]
    replicas = replicas_on(TWO)
    as_long_as_a_step = d2lmulti.devices.median_seconds(
        lambda: d2lmulti.train_batch(*minibatch(2), replicas, TWO, 0.001)
    )

    def with_pause():
        for batch in d2lmulti.Minibatches(images, labels, 2):
            time.sleep(as_long_as_a_step)
            yield batch

    findings = d2lmulti.find_causes(with_pause(), TWO)
    assert [finding.cause for finding in findings if finding.found][
        0
    ] == 'the input is too slow'


def test_loading_is_divided_by_the_minibatches_there_are(monkeypatch):
    clock = iter([0.0, 6.0])
    monkeypatch.setattr(causes.time, 'perf_counter', lambda: next(clock))
    data = d2lmulti.read_fashion_mnist()
    batches = d2lmulti.Minibatches(data[0][:25], data[1][:25], 10)
    seconds, (X, y) = seconds_to_load(batches)  # of 10, 10 and 5 examples
    assert seconds == 2.0
    assert len(X) == len(y) == 10
    assert batches.epoch == 1


def test_up_to_twenty_minibatches_are_loaded_between_two_waits(monkeypatch):
    events, clock, taken = [], iter([10.0, 14.0] * 2), []

    def look():
        events.append('clock')
        return next(clock)

    def load():
        for i in range(40):
            taken.append(i)
            yield np.zeros(7 if i == 3 else 2), np.zeros(i)

    monkeypatch.setattr(causes.time, 'perf_counter', look)
    monkeypatch.setattr(causes.npx, 'waitall', lambda: events.append('wait'))
    seconds, (X, y) = seconds_to_load(load())
    assert (seconds, len(X), len(y), len(taken)) == (0.2, 7, 3, 20)
    assert events == ['wait', 'clock'] * 2
    with pytest.raises(ValueError, match='minibatches to load'):
        seconds_to_load([])


def test_contention_is_all_devices_against_one(monkeypatch):
    """The same work on each; the medians are those of a slow clock."""
    three, medians = d2lmulti.try_devices(3), iter([2.0, 3.0] * 2)
    seen = []

    def median(work):
        seen.append([])
        work()
        return next(medians)

    def net(X, params):
        seen[-1].append((X.ctx, X.shape, params))

    monkeypatch.setattr(causes, 'median_seconds', median)
    assert causes.contention(three, np.ones((4, 5)), net, [1, 2, 3]) == 1.5
    all_three = [(d, (4, 5), i) for d, i in zip(three, (1, 2, 3))]
    assert seen == [all_three[:1], all_three]
    seen.clear()
    assert causes.contention(three, net=net) == 1.5
    assert [len(devices) for devices in seen] == [1, 3]
    for device, (ctx, shape, params) in zip(three, seen[1]):
        assert ctx == device and shape == (256, 1, 28, 28)
        assert len(params) == 8 and params[0].ctx == device


class Library:
    """MXNet's, on which an operator takes no time, and a wait its seconds."""

    def __init__(self):
        self.now = 100.0

    def MXImperativeInvokeEx(self):
        return 0

    def MXNDArrayWaitToRead(self, seconds):
        self.now += seconds
        return 0


def test_waits_before_nine_tenths_are_queued_count_with_their_line(
    monkeypatch,
):
    """The engine's last work counts for the step, not what came before."""
    library, drained = Library(), iter([50.0, 0.5] * 3)

    def drain():
        library.now += next(drained)

    monkeypatch.setattr(causes.base, '_LIB', library)
    monkeypatch.setattr(causes.time, 'perf_counter', lambda: library.now)
    monkeypatch.setattr(causes.npx, 'waitall', drain)

    def step():
        for i in range(10):
            library.MXImperativeInvokeEx()
            if i in (1, 7):
                library.MXNDArrayWaitToRead(1.0)
            if i == 4:
                library.MXNDArrayWaitToRead(3.0)
            if i in (8, 9):  # when nine of ten are queued, and all
                library.MXNDArrayWaitToRead(8.0)

    waits = record_waits(step)
    assert waits == (21.5, 5.0, 'library.MXNDArrayWaitToRead(3.0)')
    assert record_waits(lambda: None) == (0.5, 0, '')
    names = {'library': library}  # of code without a file
    source = """def look():
    library.MXNDArrayWaitToRead(2.0)
    library.MXImperativeInvokeEx()"""
    exec(source, names)
    assert record_waits(names['look']) == (2.5, 2.0, 'look')


@pytest.mark.parametrize('own', [True, False])
def test_lenets_step_is_measured_unless_there_is_another(own, monkeypatch):
    steps, medians = [], iter([0.5, 4.0])

    def median(work):
        work()
        return next(medians)

    monkeypatch.setattr(causes, 'contention', lambda *_: 1.25)
    monkeypatch.setattr(causes, 'median_seconds', median)
    monkeypatch.setattr(causes, 'train_batch', lambda *how: steps.append(how))
    times = StepTimes({'cpu(0)': 2.0, 'cpu(1)': 2.0}, 0.1)
    monkeypatch.setattr(
        causes, 'time_devices', lambda step, _: step() or times
    )
    monkeypatch.setattr(causes, 'time_python', lambda step: step() or (0, ''))
    monkeypatch.setattr(causes.os, 'getloadavg', lambda: (3.5, 0.0, 0.0))
    given = replicas_on(TWO) if own else None
    batch = minibatch(8)
    findings = d2lmulti.find_causes([batch], TWO, causes.train_batch, given)
    assert [len(X) for X, *_ in steps] == [2, 8, 8, 8, 8]
    for X, y, params, devices, lr in steps:
        assert params is given or not own
        assert [each[0].ctx for each in params] == devices == TWO
        assert lr == 0.001 and len(y) == len(X)
    assert 'load average 3.5' in str(findings[1])


# The measurements: a machine without a fault, then one fault at a time.
MEASURED = {
    'seconds_to_load': (0.001, minibatch(64)),
    'contention': 1.0,
    'record_waits': (0.02, 0, ''),
    'time_python': (0.0001, ''),
    'time_devices': StepTimes({'cpu(0)': 0.018, 'cpu(1)': 0.018}, 0.0005),
}
SECONDS = [0.001, 0.02]  # one image per device, a minibatch


@pytest.mark.parametrize(
    'fault, seconds, cause',
    [
        ({}, SECONDS, None),
        (
            {'seconds_to_load': (0.02, minibatch(64))},
            SECONDS,
            'the input is too slow',
        ),
        ({'contention': 1.9}, SECONDS, 'the devices compete for a resource'),
        (
            {'record_waits': (0.02, 0.01, 'print(loss)')},
            SECONDS,
            'the step waits for a result',
        ),
        (
            {'time_python': (0.01, 'gc.collect()')},
            SECONDS,
            'Python is too slow',
        ),
        (
            {'time_devices': StepTimes({'a': 0.018, 'b': 0.002}, 0.0005)},
            SECONDS,
            'the devices have unequal work',
        ),
        (
            {'time_devices': StepTimes({'a': 0.01, 'b': 0.01}, 0.009)},
            SECONDS,
            'the synchronization is too large',
        ),
        ({}, [0.01, 0.02], 'the step is too small'),
        (
            {'time_devices': StepTimes({'a': 0.01, 'b': 0.01}, 0.0005)},
            SECONDS,
            'something else',
        ),
    ],
)
def test_each_measurement_leads_to_its_own_cause(
    fault, seconds, cause, monkeypatch
):
    for name, value in {**MEASURED, **fault}.items():
        monkeypatch.setattr(causes, name, lambda *_, value=value: value)
    seconds = iter(seconds)
    monkeypatch.setattr(causes, 'median_seconds', lambda work: next(seconds))
    findings = d2lmulti.find_causes([], TWO)
    assert len(findings) == 8
    assert [finding.cause for finding in findings if finding.found] == (
        [cause] if cause else []
    )
    assert 'to load 64 images' in str(findings[0])
    assert 'minibatches of 64' in str(findings[6])


def of_two(*work):
    """Return operators (device, name, start, end) of a step."""
    return [Operator(*each) for each in work]


def test_the_profile_tells_each_devices_work_from_the_exchange(monkeypatch):
    """In milliseconds; the least of three steps counts."""
    quick = of_two(
        ('cpu(0)', 'Convolution', 0, 40),
        ('cpu(0)', '_backward_Convolution', 30, 90),
        ('cpu(1)', 'Convolution', 0, 10),
        ('cpu(1)', 'CopyCPU2CPU', 90, 95),
        ('cpu(0)', '_npi_add', 93, 99),
    )
    slow = of_two(('cpu(0)', 'x', 0, 900), ('cpu(1)', 'CopyCPU2CPU', 0, 900))
    slow += of_two(('cpu(1)', 'x', 0, 900))
    runs = iter([slow, quick, slow])
    monkeypatch.setattr(step_times, 'profile', lambda step: next(runs))
    times = time_devices(None, TWO)
    assert times.busy == pytest.approx({'cpu(0)': 0.09, 'cpu(1)': 0.01})
    assert (times.exchange, times.mean) == pytest.approx((0.009, 0.05))
    assert times.uneven == pytest.approx(0.04)
    many = [mx.cpu(i) for i in range(64)]  # more than the profiler knows
    assert set(time_devices(None, many).busy.values()) == {0}


def test_the_line_that_computes_in_python_is_found():
    def step():
        a = np.ones(3)
        time.sleep(0.1)
        return a + a

    seconds, line = time_python(step)
    assert seconds > 0 and line == 'time.sleep(0.1)'
    assert time_python(npx.waitall) == (0, '')


# Hidden synchronization: steps that look at a number, and when


def step_of(loss_of_device=None, gradient_of_device=None, end=None):
    """Return a step `step(X, y)` on two devices. It calls the first after
    each device's forward pass, the second after its backward pass, and
    `end(losses)` when everything is queued."""
    replicas = replicas_on(TWO)

    def step(X, y):
        losses = []
        shards = d2lmulti.split_batch(X, y, TWO)
        for X_shard, y_shard, params in zip(*shards, replicas):
            with autograd.record():
                scores = d2lmulti.lenet(X_shard, params)
                losses.append(d2lmulti.loss(scores, y_shard).sum())
            loss_of_device and loss_of_device(losses[-1])
            losses[-1].backward()
            gradient_of_device and gradient_of_device(params[0].grad)
        d2lmulti.allreduce_gradients(replicas)
        for params in replicas:
            d2lmulti.sgd(params, 0.001, len(X))
        return end and end(losses)

    return step


def print_unseen(loss):
    with contextlib.redirect_stdout(io.StringIO()):
        print('loss', loss)


def overwrite_from_numpy(grad):
    numbers = onp.zeros(grad.shape, 'float32')
    grad[:] = numbers  # only when the backward pass has written it


def waits_of(step, num_images=256):
    """Return the fraction of a step that Python waits, and in which line."""
    X, y = minibatch(num_images)
    step(X, y)
    seconds, waited, line = record_waits(lambda: step(X, y))
    return waited / seconds, line


@pytest.mark.parametrize('num_images', [2, 32, 256])
def test_a_step_that_looks_at_nothing_waits_for_nothing(num_images):
    assert waits_of(step_of(), num_images) == (0, '')
    replicas = replicas_on(TWO)
    ours = lambda X, y: d2lmulti.train_batch(X, y, replicas, TWO, 0.1)
    assert waits_of(ours, num_images) == (0, '')


@pytest.mark.parametrize(
    'looks, line',
    [
        (dict(loss_of_device=lambda loss: float(loss)), 'float(loss)'),
        (dict(loss_of_device=lambda loss: loss.item()), 'loss.item()'),
        (dict(loss_of_device=print_unseen), "print('loss', loss)"),
        (dict(loss_of_device=lambda loss: loss.wait_to_read()), 'wait_to_'),
        (dict(gradient_of_device=lambda grad: grad.asnumpy()), 'asnumpy()'),
        (dict(gradient_of_device=lambda grad: npx.waitall()), 'waitall()'),
        (
            dict(gradient_of_device=lambda g: npx.save(os.devnull, g)),
            'npx.save(',
        ),
        pytest.param(
            dict(gradient_of_device=overwrite_from_numpy),
            'grad[:] = numbers',
            marks=needs_mxnet,  # the stand-in copies numbers and goes on
        ),
    ],
)
def test_a_wait_between_the_devices_is_found_with_its_line(looks, line):
    fraction, place = waits_of(step_of(**looks))
    assert fraction > 0  # how much depends on what else runs
    assert line in place


@pytest.mark.parametrize(
    'end',
    [
        lambda losses: float(losses[0]),
        lambda losses: sum(float(loss.mean()) for loss in losses),
        lambda losses: npx.waitall(),
    ],
)
def test_a_wait_when_all_work_is_queued_does_not_count(end):
    assert waits_of(step_of(end=end)) == (0, '')


@needs_mxnet
def test_waits_are_found_in_a_step_with_gluon():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(20, 5), gluon.nn.Conv2D(20, 5), gluon.nn.Dense(9))
    net.initialize(ctx=TWO)
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), 'sgd')

    def step(X, y, look=False):
        for shard in gluon.utils.split_and_load(X, TWO):
            with autograd.record():
                loss = net(shard).sum()
            loss.backward()
            look and float(loss)
        trainer.step(len(X))

    assert waits_of(step) == (0, '')
    fraction, line = waits_of(lambda X, y: step(X, y, look=True))
    assert fraction > 0.2
    assert 'float(loss)' in line


def test_after_the_record_the_library_is_as_before():
    before = base._LIB.MXNDArrayWaitAll
    with pytest.raises(ZeroDivisionError):
        record_waits(lambda: 1 / 0)
    assert base._LIB.MXNDArrayWaitAll == before
    assert record_waits(lambda: None)[1:] == (0, '')  # not even a call


@pytest.mark.slow
def test_only_the_steps_own_waits_are_blamed_on_it(no_contention):
    data_iter = [minibatch(64)]
    blamed = [
        [f.found for f in d2lmulti.find_causes(data_iter, TWO, step)][2]
        for step in (
            step_of(),
            step_of(gradient_of_device=lambda grad: grad.asnumpy()),
        )
    ]
    assert blamed == [False, True]


def test_the_readers_own_step_and_parameters_are_measured(no_contention):
    X, y = np.zeros((8, 3)), np.zeros(8)  # nothing that LeNet could take
    sizes = []
    large = [d2lmulti.get_params([np.ones(5_000_000)], c) for c in TWO]

    def step(X, y):
        sizes.append(len(X))
        d2lmulti.allreduce_gradients(large)

    findings = d2lmulti.find_causes([(X, y)], TWO, step, large)
    assert set(sizes) == {2, 8}
    assert findings[5].cause == 'the synchronization is too large'
    assert findings[5].found


def test_the_readers_own_network_competes_with_itself():
    """A deep one may take turns where LeNet does not."""
    X, y, seen = np.zeros((8, 3)), np.zeros(8), set()
    params = [d2lmulti.get_params([np.ones((3, 2))], c) for c in TWO]

    def net(X, params):
        seen.add((X.ctx, params[0].ctx, X.shape))
        return np.dot(X, params[0])

    step = lambda X, y: np.zeros(1) + 1
    findings = d2lmulti.find_causes([(X, y)], TWO, step, params, net)
    assert seen == {(device, device, X.shape) for device in TWO}
    assert not any('LeNet' in finding.measured for finding in findings)
    deep = contention_finding(2.0, TWO, 0.1, of_lenet=False)
    assert 'if the network is deep' in str(deep)
    with pytest.raises(ValueError, match='pass device_params'):
        d2lmulti.find_causes([(X, y)], TWO, step, net=net)


@pytest.mark.parametrize(
    'data_iter, devices, words',
    [
        (minibatch(4), TWO, r'a single|: \[data_iter\]'),
        ((iter([]), iter([])), TWO, 'of iterators, give one'),
        ([minibatch(4)], 2, r'try_devices\(2\)'),
        ([minibatch(4)], TWO[:1], 'at least 2 devices'),
        (TWO, [minibatch(4)], 'data_iter is a list of devices'),
    ],
)
def test_what_is_no_iterator_or_no_two_devices(data_iter, devices, words):
    with pytest.raises((TypeError, ValueError), match=words):
        d2lmulti.find_causes(data_iter, devices)


@pytest.mark.parametrize('step', [None, replicas_on(TWO)])
def test_a_step_that_was_called_or_forgotten_is_refused(step):
    with pytest.raises(TypeError, match=r'step\(X, y\).* do not call it'):
        d2lmulti.find_causes([minibatch(4)], TWO, step)


def test_parameters_on_other_devices_are_refused():
    with pytest.raises(ValueError, match='get_params'):
        d2lmulti.find_causes(
            [minibatch(4)],
            TWO,
            device_params=replicas_on([mx.cpu(0), mx.cpu(2)]),
        )


def test_a_setting_of_the_user_is_named(monkeypatch):
    monkeypatch.setenv('MXNET_CPU_TEMP_COPY', '1')
    finding = contention_finding(slowdown=2.0, devices=TWO, load_average=0.1)
    assert 'Unset MXNET_CPU_TEMP_COPY' in str(finding)
    monkeypatch.setenv('MXNET_CPU_TEMP_COPY', '512')  # for deep networks
    finding = contention_finding(slowdown=2.0, devices=TWO, load_average=0.1)
    assert 'Unset' not in str(finding)
