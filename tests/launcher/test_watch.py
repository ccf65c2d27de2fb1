"""The watch over a job: which role failed first, and why."""

import json
import re
import time
import types

import pytest
from helpers import JOB_LIMITS

from d2lrun import watch as watching
from d2lrun.report import explain_failure, explain_status
from d2lrun.roles import Role
from d2lrun.watch import Failure, Watch


def worker(age=0, **known):
    """Return a worker, last heard of `age` seconds ago, with what is
    known."""
    role = Role('worker', 0, 'far', ['true'], {})
    vars(role).update(
        {
            'joined': True,
            'last_heard': time.monotonic() - age,
            'library': ['/x/mxnet/', '/lib/'],
            'mxnet': ['/x/mxnet/'],
            **known,
        }
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
    ],
)
def test_what_is_known_of_a_role_decides(known, reason):
    found = watch(worker(), worker(**known)).find_failure()
    assert (found is None) if reason is None else (reason in found.reason)


@pytest.mark.parametrize(
    'known, age, idle, reason',
    [
        ({}, 70, 0, None),
        ({'last_heard': None}, 70, 0, 'not started after 60 seconds'),
        ({'joined': False}, 70, 0, 'not joined 60 seconds after the start'),
        ({}, 70, 70, 'no progress for 60 seconds'),
        ({}, 90, 0, 'not finished after 80 seconds'),
    ],
)
def test_each_limit_ends_the_job(known, age, idle, reason):
    roles = [worker(), worker(**known)]
    found = watch(*roles, age=age, idle=idle).find_failure()
    assert (found is None) if reason is None else (reason in found.reason)
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
    failure = Failure([first], explain_status(-9))
    assert watch(server, first).find_failure() == failure


@pytest.mark.parametrize('stopped, idle', [(70, 0), (50, 70)])
def test_a_stopped_role_is_named_whoever_was_busy_last(stopped, idle):
    other = worker()
    held = worker(stopped_since=time.monotonic() - stopped)
    found = watch(other, held, idle=idle).find_failure()
    assert found.roles == [held] and 'stopped by a signal' in found.reason


def test_a_stopped_agent_is_not_lost(monkeypatch):
    """Until the progress limit; nor is a worker blamed for one that was
    stopped before its first word."""
    monkeypatch.setattr(watching, 'is_agent_stopped', lambda role: True)
    held = worker(age=20, agent=types.SimpleNamespace(pid=7))
    job = watch(worker(), held)
    assert job.find_failure() is None
    held.last_heard -= 20
    assert job.find_failure() is None
    assert len(job.remarks) == 1 and 'process 7' in job.remarks[0]
    monkeypatch.setattr(watching, 'is_agent_stopped', lambda role: False)
    assert job.find_failure() is None  # it will speak soon
    monkeypatch.setattr(watching, 'is_agent_stopped', lambda role: True)
    held.stopped_since -= 100
    found = job.find_failure()
    assert found.roles == [held] and 'a signal (its agent)' in found.reason
    held.last_heard = held.stopped_since = None
    found = watch(worker(), held, age=70).find_failure()
    assert found.roles == [held] and 'is stopped by a signal' in found.reason


@pytest.mark.parametrize('age, idle', [(70, 70), (90, 0)])
def test_a_hang_is_no_fault_of_who_only_serves(age, idle):
    """Without progress, and at the end of the time."""
    roles = [worker(kind=kind) for kind in ('scheduler', 'server')]
    roles += [worker(), worker(number=1)]
    found = watch(*roles, age=age, idle=idle).find_failure()
    assert found.roles == roles[2:] and found.is_hang


@pytest.mark.parametrize('status, culprit', [(0, 2), (None, 1)])
def test_who_has_ended_is_not_said_to_continue(status, culprit):
    """Worker 1 waits at its end for worker 2, unless that is gone, having
    waited for nobody."""
    ago = time.monotonic() - 100
    server, *workers = [
        worker(kind='server'),
        worker(number=1, ending_since=ago - 1),
        worker(number=2, ending_since=ago, status=status),
        waiting(number=3, rank=7),
    ]
    found = watch(server, *workers).find_failure()
    assert found.roles == [workers[culprit - 1]]
    waited = found.reason.partition('but ')[2].partition(' waited')[0]
    assert waited == 'worker-3 (rank 7) on far'


def test_servers_that_do_not_answer_at_the_end_are_named():
    """All workers wait there, so none of them is the one who is missing."""
    ago = time.monotonic() - 100
    roles = [worker(kind='scheduler'), worker(kind='server')]
    roles += [waiting(number=i, ending_since=ago) for i in range(2)]
    found = watch(*roles).find_failure()
    assert found.roles == roles[:2] and 'stranger' in found.reason


def waiting(place=None, age=100, **known):
    """Return a worker that has stood still in an exchange, or elsewhere, for
    `age` seconds, and has told so."""
    known.setdefault('still_since', time.monotonic() - age)
    known.setdefault('stacks_at', time.monotonic())
    return worker(stacks=stacks(*(place or IN_STORE)), **known)


KEPT_ALIVE = ('/lib/threading.py", line 1583 in _shutdown\n  File "/lib/x.py',)


@pytest.mark.parametrize(
    'other, is_failure',
    [
        (lambda: waiting(), True),
        (lambda: waiting(KEPT_ALIVE), True),
        (lambda: waiting(last_busy=time.monotonic()), True),  # a thread polls
        (lambda: waiting([ASLEEP]), False),  # it sleeps, writes or computes
        (lambda: waiting(age=2), False),  # not for long enough
        (lambda: waiting(still_since=None, stacks_at=1), False),  # it moves
        (lambda: waiting(stacks_at=1), False),  # where was it then?
        (lambda: waiting(KEPT_ALIVE, last_busy=time.monotonic()), False),
        (lambda: worker(), False),  # it has not told
    ],
)
def test_only_who_waits_in_an_exchange_waits_for_who_has_ended(
    other, is_failure
):
    """At the end of a job, a worker may compute, write or sleep for long."""
    gone = worker(number=1, status=0, ending_since=time.monotonic() - 200)
    other = other()
    scheduler = worker(kind='scheduler')
    found = watch(scheduler, gone, other).find_failure()
    assert (found is not None) is is_failure
    if found:
        assert found.roles == [gone] and f'but {other} waited' in found.reason


@pytest.mark.parametrize(
    'others, is_failure',
    [
        ([lambda: waiting()], True),
        ([lambda: worker(last_busy=time.monotonic())], False),
        ([lambda: waiting([ASLEEP], last_busy=time.monotonic())], False),
    ],
)
def test_a_thread_that_polls_hides_no_deadlock(others, is_failure):
    """It uses processor time, and prints."""
    polls = waiting()
    others = [make() for make in others]
    job = watch(polls, *others, age=70, idle=70)
    for busy in job.roles:
        if busy.last_busy:
            job.mark_busy(busy, busy.last_busy)
    job.handle_event(polls, alive(cpu=0.5, still=100))
    job.handle_event(polls, {'event': 'output', 'line': 'still here'})
    found = job.find_failure()
    assert (found is not None) is is_failure
    assert not found or 'no progress for 60 seconds' in found.reason


def test_a_thread_that_hides_a_deadlock_is_noticed(monkeypatch):
    def mark_busy(self, role, now):
        role.last_busy = self.last_busy = now  # also amid an exchange

    monkeypatch.setattr(Watch, 'mark_busy', mark_busy)
    with pytest.raises(AssertionError):
        test_a_thread_that_polls_hides_no_deadlock([waiting], True)


def test_who_stands_still_is_asked_where_once():
    still, moves = waiting(stacks_at=0), worker()
    job = watch(still, moves, waiting(age=1, stacks_at=0), waiting(age=50))
    assert job.workers_to_ask() == [still]
    assert job.workers_to_ask() == []
    job.handle_event(still, {'event': 'stacks', 'stacks': ['']})
    still.asked_at = 0
    assert job.workers_to_ask() == []


def assert_a_delay_is_told(others, known, is_told):
    """Of a worker that does something, at a limit of 60 seconds."""
    busy = worker(number=7)
    vars(busy).update(known)
    job = watch(*others, busy)
    assert (busy in job.workers_to_ask()) is is_told
    for _ in range(2):
        job.handle_event(busy, {'event': 'stacks', 'stacks': stacks(ASLEEP)})
        assert len(job.remarks) == is_told
    assert all('worker-7' in remark for remark in job.remarks)
    assert all('it is at train.py:5. If' in remark for remark in job.remarks)
    assert job.find_failure() is None
    assert job.workers_to_ask() == []


DELAYS = {
    'all others wait': ([70, 80], {}, True),
    'not yet for long': ([70, 50], {}, False),
    'nobody waits': ([], {}, False),
    'it has ended': ([70], {'status': 0}, False),
}


@pytest.mark.parametrize('case', DELAYS)
def test_a_worker_that_all_others_wait_for_is_told_once(case):
    ages, known, is_told = DELAYS[case]
    others = [waiting(age=age) for age in ages]
    assert_a_delay_is_told(others, known, is_told)


def test_standing_still_begins_again_after_each_motion():
    role = worker()
    job = watch(role)
    for seconds, stands in ((0.5, False), (30, True), (31, True), (0, False)):
        job.handle_event(role, alive(still=seconds))
        assert (role.still_since is not None) is stands
    job.handle_event(role, alive(still=30))
    first = role.still_since
    job.handle_event(role, alive(still=5))  # it has moved between two looks
    assert role.still_since > first + 20


def test_what_moves_at_the_end_of_a_job_is_progress():
    """A slow disk or network needs hardly any processor time."""
    slow = worker()
    for other, is_progress in ((worker(), False), (worker(status=0), True)):
        other.ending_since = time.monotonic() if other.status == 0 else None
        job = watch(slow, other, idle=100)
        job.handle_event(slow, alive(still=0.5))
        assert (time.monotonic() - job.last_busy < 50) is is_progress


def stacks(*frames):
    """Return what faulthandler writes of a process with two threads."""
    return [
        'Thread 0x00007f01 (most recent call first):\n'
        '  File "/x/loader.py", line 1 in load\n\n'
        'Current thread 0x00007f02 (most recent call first):\n'
        + ''.join(f'  File "{frame}", line 5 in f\n' for frame in frames)
    ]


ASLEEP = '/x/train.py'
IN_ENGINE = '/x/mxnet/ndarray.py', ASLEEP
IN_STORE = '/lib/socket.py', '/x/mxnet/kvstore/kvstore.py', ASLEEP
IN_NAMESAKE = '/home/mxnet/train.py', '/x/mxnet-work/train.py'
IN_OTHER_STORE = ASLEEP, '/home/mxnet/kvstore/train.py', '/x/mxnet/io.py'
FIRST, SECOND = 'worker-0 (rank 5) on far', 'worker-1 on far'
IN_LOADER = '/lib/queue.py', '/x/mxnet/gluon/data/dataloader.py', ASLEEP


@pytest.mark.parametrize(
    'places, head',
    [
        ([[ASLEEP], IN_ENGINE], f'{FIRST}: keeping the other workers'),
        ([IN_STORE, [ASLEEP]], f'{SECOND}: keeping the other workers'),
        ([IN_STORE, IN_LOADER], f'{SECOND}: keeping the other workers'),
        ([IN_STORE, IN_ENGINE], f'{FIRST}, {SECOND}: waiting in MXNet: no'),
        ([[ASLEEP], [ASLEEP]], f'{FIRST}, {SECOND}: no progress'),
        ([None, [ASLEEP]], f'{FIRST}, {SECOND}: no progress'),
        ([IN_NAMESAKE, IN_ENGINE], f'{FIRST}: keeping the other workers'),
        ([IN_OTHER_STORE, IN_STORE], f'{FIRST}: keeping the other workers'),
    ],
)
def test_who_keeps_the_others_waiting_is_named(tmp_path, places, head):
    roles = [worker(rank=5), worker(number=1)]
    for role, frames in zip(roles, places):
        role.stacks = stacks(*frames) if frames else []
    failure = Failure(roles, 'no progress', is_hang=True)
    assert explain_failure(failure, roles, tmp_path).startswith(head)


def with_records(role, names):
    """Let a role have records of exchanges with these names."""
    role.records = '\n'.join(
        json.dumps(
            [i, name, '(3,)', 'float32', f'a.py:{i}', float(i), None]
            + [names[:i].count(name)]
        )
        for i, name in enumerate(names)
    )
    return role


def assert_head(calls, ended, early, head):
    """Ranks 0 to 2 made these exchanges; check the message's first line."""
    roles = [worker(number=i, rank=i) for i in range(3)]
    for role, names in zip(roles, calls):
        with_records(role, names)
        if role.rank in ended:
            role.ending_since = 1
        else:
            role.stacks = stacks(*IN_ENGINE)
    named = roles[ended[0] :][:1] if early else roles
    failure = Failure(named, 'it stands', True, early)
    line = explain_failure(failure, roles, None).splitlines()[0]
    assert re.sub(r' \(rank .\) on far', '', line).startswith(head)


HEADS = {  # exchanges of each rank, who has ended, is it an early end?
    'another exchange': (('ab', 'aa', 'ab'), [], False, 'worker-1: unlike '),
    'one is ahead, or two are late': (
        ('aba', 'ab', 'ab'),
        [],
        False,
        'worker-0, worker-1, worker-2: waiting in MXNet: it',
    ),
    'one is late': (('aba', 'ab', 'aba'), [], False, 'worker-1: unlike the'),
    'all alike': (('ab',) * 3, [], False, 'worker-0, worker-1, worker-2: wai'),
    'one exchange more': (
        ('ab', 'aba', 'ab'),
        [0, 2],
        True,
        'worker-1: waiting in an exchange that most',
    ),
    'one exchange less': (('aba', 'ab', 'aba'), [1], True, 'worker-1: it st'),
}


@pytest.mark.parametrize('case', HEADS)
def test_the_first_line_names_who_is_out_of_step(case):
    assert_head(*HEADS[case])


SHUTDOWN = '/lib/threading.py", line 1583 in _shutdown\n  File "/lib/x.py'
KEPT = 'its program has ended, but a thread that is not a daemon keeps it'


@pytest.mark.parametrize(
    'known, other, early, head',
    [
        ({}, IN_STORE, False, f'{FIRST}: {KEPT} alive: no progress'),
        ({}, IN_STORE, True, f'{FIRST}: {KEPT} alive. End that thread'),
        ({}, [ASLEEP], False, f'{FIRST}, {SECOND}: no progress'),
        (
            {'ending_since': 1},
            [ASLEEP],
            False,
            f'{FIRST}: {KEPT.replace("ended", "ended with an error")} alive',
        ),
    ],
)
def test_who_is_kept_alive_by_a_thread_is_named(
    tmp_path, known, other, early, head
):
    kept, waiting = worker(rank=5, **known), worker(number=1)
    kept.stacks, waiting.stacks = stacks(SHUTDOWN), stacks(*other)
    roles = [waiting] if early else [kept, waiting]
    failure = Failure(roles, 'no progress', True, early)
    message = explain_failure(failure, [kept, waiting], tmp_path)
    assert message.startswith(head)


def test_who_left_is_named_though_another_trains_in_a_thread(tmp_path):
    trains, gone = worker(rank=5), worker(number=1, status=0, ending_since=1)
    trains.stacks = stacks(SHUTDOWN)
    failure = Failure([gone], 'it ended', True, True)
    message = explain_failure(failure, [trains, gone], tmp_path)
    assert message.startswith(f'{SECOND}: it ended')
    gone.status = None
    trains.stacks[0] = trains.stacks[0].replace('/x/loader', '/x/mxnet/loader')
    message = explain_failure(failure, [trains, gone], tmp_path)
    assert message.startswith(f'{SECOND}: it ended')


def test_the_message_shows_stacks_logs_and_killed_children(tmp_path):
    """The main thread first; no child that was ended on purpose."""
    busy, waiting = worker(), worker(number=1, killed={7: 9, 8: 15, 9: 11})
    busy.tail.append('epoch 3')
    busy.stacks, waiting.stacks = stacks(ASLEEP), stacks(*IN_ENGINE)
    failure = Failure([busy], 'no progress', is_hang=True)
    lines = explain_failure(failure, [busy, waiting], tmp_path).splitlines()
    assert lines[1:] == [
        f'worker-1 on far: its child process 7 {explain_status(-9)}',
        'worker-1 on far: its child process 9 was killed by SIGSEGV',
        'main thread of worker-0, innermost call first:',
        '    File "/x/train.py", line 5 in f',
        'another thread of worker-0, innermost call first:',
        '    File "/x/loader.py", line 1 in load',
        f'last lines of {tmp_path}/worker-0.log:',
        '    epoch 3',
        'main thread of worker-1, innermost call first:',
        '    File "/x/mxnet/ndarray.py", line 5 in f',
        '    File "/x/train.py", line 5 in f',
        'another thread of worker-1, innermost call first:',
        '    File "/x/loader.py", line 1 in load',
        f'last lines of {tmp_path}/worker-1.log:',
        '    (empty)',
    ]


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
        'still': -1,
        'exchanged': False,
        **activity,
    }


@pytest.mark.parametrize(
    'event, is_progress',
    [
        ({'event': 'output', 'line': 'step 1'}, True),
        (alive(cpu=0.5), True),
        (alive(cpu=0.01), False),  # a process that waits looks around, too
        (alive(joined=True), False),
        (alive(exchanged=True), True),
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
