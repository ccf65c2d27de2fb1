"""Real training, broken in forty ways: the launcher ends the job, names the
culprit and leaves nothing; training then resumes bit for bit."""

import argparse
import functools
import sys

import pytest

from benchmarks import faults

pytestmark = pytest.mark.timeout(300)
OPTIONS = argparse.Namespace(limit=10, total=120)


@functools.lru_cache(maxsize=None)
def undisturbed(workers):
    """Return the parameters of all workers, without a fault."""
    return faults.try_ours(OPTIONS, workers, 'pass', '').bits


@pytest.mark.long
@pytest.mark.parametrize('fault', faults.FAULTS)
def test_the_culprit_is_named_and_training_resumes_bit_for_bit(fault):
    workers, code, culprit = faults.FAULTS[fault]
    right = undisturbed(workers)
    assert right == right[:1] * workers
    found = faults.try_ours(OPTIONS, workers, code, culprit)
    named = True if culprit else '–'
    assert (found.named, found.left, found.bits) == (named, 0, right)


# The benchmark itself: `call` is when the fault comes.


@pytest.fixture
def try_alone(monkeypatch):
    """Return a function that tries a script with a fault, without a job."""
    monkeypatch.setenv('RANK', '1')

    def run(script, code, limit=60):
        trial = faults.Trial(script, 1, code)
        trial.run([sys.executable, 'train.py'], limit)
        return trial

    return run


def test_orphans_are_counted_and_only_parameters_are_compared(try_alone):
    script = """
maybe_fail()
print('launch: worker-1 ended with status 1')
print('[worker-0, rank 0] parameters', 'a' * 64)
print('[worker-1, rank 1] parameters', 'b' * 64)
"""
    orphan = try_alone(script, 'sleep_in_child(start_new_session=True)')
    assert orphan.left == 1 and orphan.bits == ['a' * 64, 'b' * 64]
    assert try_alone(script, 'pass').left == 0


def test_a_command_that_does_not_end_is_ended(try_alone):
    assert try_alone('maybe_fail()', 'time.sleep(300)', limit=1).status < 0
