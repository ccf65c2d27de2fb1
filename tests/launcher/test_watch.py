"""The watch over a job: which role failed first, and why."""

import time

import pytest
from helpers import JOB_LIMITS, put_in_method

from d2lmulti.launcher.roles import Role
from d2lmulti.launcher.watch import Watch, explain_status


def worker(age=0, **known):
    """Return a worker, last heard of `age` seconds ago, with what is
    known."""
    role = Role('worker', 0, 'far', ['true'], {})
    vars(role).update(
        {'joined': True, 'last_heard': time.monotonic() - age, **known}
    )
    return role


def watch(*roles, limits=JOB_LIMITS, age=0, idle=0):
    """Return the watch over roles that were started `age` seconds ago, and
    were last seen busy `idle` seconds ago."""
    watch = Watch(list(roles), limits, time.monotonic() - age)
    watch.began -= age
    watch.last_busy -= idle
    return watch


@pytest.mark.parametrize(
    'known, reason',
    [
        ({}, None),
        ({'age': 100}, 'nothing was heard'),
        ({'last_heard': None, 'joined': False}, None),  # ssh may take its time
        ({'status': -15, 'ending_since': 1}, 'killed by SIGTERM'),
        ({'status': -40, 'ending_since': 1}, 'killed by signal 40'),
        ({'failure': 'no ssh', 'ending_since': 1}, 'no ssh'),
        (
            {'status': 0, 'ending_since': time.monotonic() - 100},
            'came to its end',
        ),
    ],
)
def test_what_is_known_of_a_role_decides(known, reason):
    found = watch(worker(), worker(**known)).find_failure()
    assert (found is None) if reason is None else (reason in found[1])


@pytest.mark.parametrize(
    'known, age, idle, reason',
    [
        ({}, 70, 0, None),
        ({'last_heard': None}, 70, 0, 'not started after 60 seconds'),
        ({'joined': False}, 70, 0, 'not joined 60 seconds after the start'),
        ({}, 70, 70, 'waiting for each other: no progress for 60 seconds'),
        ({}, 90, 0, 'not finished after 80 seconds'),
    ],
)
def test_each_limit_ends_the_job(known, age, idle, reason):
    roles = [worker(), worker(**known)]
    found = watch(*roles, age=age, idle=idle).find_failure()
    assert (found is None) if reason is None else (reason in found[1])
    no_limits = JOB_LIMITS._replace(startup=None, progress=None, total=None)
    assert (
        watch(*roles, limits=no_limits, age=age, idle=idle).find_failure()
        is None
    )


def test_the_first_to_fail_is_named():
    """The server ends only because the worker has."""
    now = time.monotonic()
    server = worker(kind='server', status=-6, ending_since=now - 1)
    first = worker(status=-9, ending_since=now - 2)
    assert watch(server, first).find_failure() == ([first], explain_status(-9))


@pytest.mark.parametrize('stopped, idle', [(70, 0), (50, 70)])
def test_a_stopped_role_is_named_whoever_was_busy_last(stopped, idle):
    other = worker()
    held = worker(stopped_since=time.monotonic() - stopped)
    roles, reason = watch(other, held, idle=idle).find_failure()
    assert roles == [held] and 'stopped by a signal' in reason


def test_time_in_which_nobody_listened_does_not_count():
    silent = worker(age=100)
    held_up = watch(silent, idle=100)
    assert held_up.find_failure()
    held_up.last_look -= 100
    held_up.extend_deadlines()
    assert held_up.find_failure() is None


def alive(**activity):
    return {
        'event': 'alive',
        'cpu': 0,
        'joined': False,
        'stopped': False,
        'exiting': False,
        **activity,
    }


@pytest.mark.parametrize(
    'event, is_progress',
    [
        ({'event': 'output', 'line': 'step 1'}, True),
        (alive(cpu=0.5), True),
        (alive(cpu=0.01), False),  # a process that waits looks around, too
        (alive(joined=True), False),
    ],
)
def test_output_and_processor_time_are_progress(event, is_progress):
    role = worker(joined=False)
    job = watch(role, idle=100)
    job.handle_event(role, event)
    assert (time.monotonic() - job.last_busy < 50) is is_progress
    assert (role.last_busy > 0) is is_progress
    assert role.joined is event.get('joined', False)


def test_a_role_that_goes_on_is_neither_stopped_nor_ending():
    role = worker()
    job = watch(role)
    job.handle_event(role, alive(stopped=True, exiting=True))
    since = role.stopped_since, role.ending_since
    job.handle_event(role, alive(stopped=True, exiting=True))
    assert (role.stopped_since, role.ending_since) == since != (None, None)
    job.handle_event(role, alive())
    assert role.stopped_since is role.ending_since is None


FINDER_BUGS = {
    'an early end is not seen': (
        'find_early_end',
        'self.limits.exit)',
        '1e9)',
        {'status': 0, 'ending_since': -1e6},
        'came to its end',
    ),
    'a lost host is not seen': (
        'find_silent_agent',
        '> HEARTBEAT_TIMEOUT',
        '> 1e9',
        {'last_heard': -1e6},
        'nothing was heard',
    ),
    'a bad end is taken for a good one': (
        'find_bad_end',
        'role.failure or role.status]',
        'role.failure]',
        {'status': -9, 'ending_since': 1},
        'killed by SIGKILL',
    ),
}


@pytest.mark.parametrize('bug', FINDER_BUGS)
def test_bug_in_finding_a_failure_is_caught(bug, monkeypatch):
    method, old, new, known, reason = FINDER_BUGS[bug]
    put_in_method(monkeypatch, Watch, method, old, new)
    with pytest.raises((AssertionError, TypeError)):
        test_what_is_known_of_a_role_decides(known, reason)


def test_a_bug_in_counting_lost_time_is_caught(monkeypatch):
    put_in_method(
        monkeypatch,
        Watch,
        'extend_deadlines',
        'later(role.last_heard, still, now)',
        'role.last_heard',
    )
    with pytest.raises(AssertionError):
        test_time_in_which_nobody_listened_does_not_count()
