"""The four causes of a missing speedup: each is named where it holds."""

import time

import pytest

import d2lmulti
from d2lmulti import causes
from d2lmulti.causes import (
    contention_finding,
    exchange_finding,
    input_finding,
    seconds_to_load,
    size_finding,
)

TWO = d2lmulti.try_devices(2)


@pytest.mark.parametrize(
    'finding, cause',
    [
        (input_finding(load=0.03, step=0.01, batch_size=32), 'input'),
        (
            contention_finding(slowdown=2.0, devices=TWO, load_average=0.1),
            'devices share',
        ),
        (
            exchange_finding(exchange=0.05, step=0.1, batch_size=1024),
            'synchronization',
        ),
        (size_finding(fixed=0.005, step=0.01, batch_size=16), 'step'),
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
        exchange_finding(exchange=0.001, step=0.1, batch_size=1024),
        size_finding(fixed=0.005, step=0.05, batch_size=256),
    ],
)
def test_a_cause_that_does_not_hold_is_not_blamed(finding):
    assert not finding.found
    assert str(finding).startswith('no:  ')
    assert finding.fix not in str(finding)


@pytest.mark.slow
def test_a_loader_with_a_pause_is_found_out():
    data = d2lmulti.read_fashion_mnist()
    images, labels = data[0][:100], data[1][:100]

    def with_pause():
        for batch in d2lmulti.Minibatches(images, labels, 2):
            time.sleep(0.1)
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
    assert seconds_to_load(batches) == (2.0, 10)  # of 10, 10 and 5 examples
    assert batches.epoch == 1


MEASURED = {  # what each measurement gives on a machine without a fault
    'seconds_to_load': (0.001, 64),
    'contention': 1.0,
    'allreduce_seconds': 0.001,
}
STEPS = {2: 0.001, 64: 0.02, 1024: 0.3}  # seconds by minibatch


@pytest.mark.parametrize(
    'fault, cause',
    [
        ({}, None),
        ({'seconds_to_load': (0.02, 64)}, 'the input is too slow'),
        ({'contention': 1.9}, 'the devices share something'),
        ({'allreduce_seconds': 0.1}, 'the synchronization is too large'),
        (
            {'step_seconds': {2: 0.01, 64: 0.02, 1024: 0.3}},
            'the step is too small',
        ),
    ],
)
def test_each_measurement_leads_to_its_own_cause(fault, cause, monkeypatch):
    for name, value in {**MEASURED, 'step_seconds': STEPS, **fault}.items():
        monkeypatch.setattr(
            causes,
            name,
            (lambda n, devices, table=value: table[n])
            if name == 'step_seconds'
            else lambda *_, value=value: value,
        )
    findings = d2lmulti.find_causes(None, TWO)
    assert [finding.cause for finding in findings if finding.found] == (
        [cause] if cause else []
    )


def test_a_setting_of_the_user_is_named(monkeypatch):
    monkeypatch.setenv('MXNET_CPU_TEMP_COPY', '1')
    finding = contention_finding(slowdown=2.0, devices=TWO, load_average=0.1)
    assert 'Unset MXNET_CPU_TEMP_COPY' in str(finding)


def test_bad_input_to_the_causes_is_refused():
    with pytest.raises(ValueError, match='data_iter is empty'):
        d2lmulti.find_causes([], TWO)
    with pytest.raises(ValueError, match='give at least 2 devices'):
        d2lmulti.find_causes([], TWO[:1])
