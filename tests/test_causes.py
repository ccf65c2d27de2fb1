"""The four causes of a missing speedup: each is named where it holds."""
import time

import pytest

import d2lmulti
from d2lmulti.train import (exchange_finding, input_finding,
                            seconds_to_load, sharing_finding, size_finding)

TWO = d2lmulti.try_devices(2)


@pytest.mark.parametrize('finding, cause', [
    (input_finding(load=0.03, step=0.01, batch_size=32), 'input'),
    (sharing_finding(slowdown=2.0, devices=TWO), 'devices share'),
    (exchange_finding(exchange=0.05, step=0.1, batch_size=1024),
     'synchronization'),
    (size_finding(here=1.2, batch_size=64, there=1.9, large=1024), 'step')])
def test_a_cause_that_holds_is_named_with_its_cure(finding, cause):
    assert finding.found
    assert str(finding).startswith('YES: the ' + cause)
    assert finding.cure in str(finding)


@pytest.mark.parametrize('finding', [
    input_finding(load=0.0005, step=0.04, batch_size=256),
    sharing_finding(slowdown=1.05, devices=TWO),
    exchange_finding(exchange=0.001, step=0.1, batch_size=1024),
    size_finding(here=1.8, batch_size=256, there=1.9, large=1024)])
def test_a_cause_that_does_not_hold_is_not_blamed(finding):
    assert not finding.found
    assert str(finding).startswith('no:  ')
    assert finding.cure not in str(finding)


def test_a_loader_with_a_pause_is_found_out():
    data = d2lmulti.read_fashion_mnist()
    images, labels = data[0][:100], data[1][:100]

    def with_pause():
        for batch in d2lmulti.Minibatches(images, labels, 2):
            time.sleep(0.1)
            yield batch

    findings = d2lmulti.find_causes(with_pause(), TWO)
    assert [finding.cause for finding in findings if finding.found][0] == \
        'the input is too slow'


def test_loading_counts_what_a_short_epoch_has():
    data = d2lmulti.read_fashion_mnist()
    batches = d2lmulti.Minibatches(data[0][:30], data[1][:30], 10)
    assert 0 < seconds_to_load(batches) < 10
    assert batches.epoch == 1


def test_bad_input_to_the_causes_is_refused():
    with pytest.raises(ValueError, match='data_iter is empty'):
        d2lmulti.find_causes([], TWO)
    with pytest.raises(ValueError, match='at least two devices'):
        d2lmulti.find_causes([], TWO[:1])
