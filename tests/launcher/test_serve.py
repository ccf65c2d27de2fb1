"""Servers take MXNet's optimizers, and run nothing that a stranger sends."""

import errno
import functools
import os
import pickle
import re
import socket
import subprocess
import sys
import types

import mxnet as mx
import numpy as onp
import psutil
import pytest
from helpers import (
    JOIN,
    STEPS,
    left_behind,
    run_as_another_user,
    sockets_of,
)

from d2lrun import JobFailed, Limits, optimizers, serve
from d2lrun.optimizers import Refused, Unpickler, load_optimizer
from d2lrun.secret import SECRET, find_secret

pytestmark = pytest.mark.timeout(90)
SCHEDULES = [
    None,
    mx.lr_scheduler.FactorScheduler(step=5, base_lr=0.1),
    mx.lr_scheduler.MultiFactorScheduler(step=[5, 7], factor=0.1),
    mx.lr_scheduler.PolyScheduler(max_update=9, warmup_steps=2),
    mx.lr_scheduler.CosineScheduler(max_update=9),
]
OPTIMIZERS = [
    name
    for name in mx.optimizer.__all__
    if isinstance(getattr(mx.optimizer, name, None), type)
    and issubclass(getattr(mx.optimizer, name), mx.optimizer.Optimizer)
    and name not in ('Optimizer', 'LBSGD')
]


def last_error():
    return b'MXNetError: compile with USE_DIST_KVSTORE=1 to use dist\nStack'


def test_an_mxnet_without_the_store_is_named_in_a_line():
    library = types.SimpleNamespace(MXGetLastError=last_error)
    serve.check(library, 0)
    with pytest.raises(SystemExit, match='its package for arm64 is: run'):
        serve.check(library, -1)


@pytest.mark.parametrize('protocol', [0, 2, 4])
@pytest.mark.parametrize('name', OPTIMIZERS)
def test_each_optimizer_of_mxnet_arrives_as_it_was_sent(name, protocol):
    for schedule in SCHEDULES:
        sent = getattr(mx.optimizer, name)(
            learning_rate=0.5,
            lr_scheduler=schedule,
            param_idx2name={0: 'w', 1: 'b'},
        )
        found = load_optimizer(pickle.dumps(sent, protocol), lambda: True)
        assert type(found) is type(sent)
        assert {**vars(found), 'lr_scheduler': 0} == {
            **vars(sent),
            'lr_scheduler': 0,
        }


class Command:
    """What a stranger would send: Python calls it when it loads it."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


class OwnOptimizer(mx.optimizer.SGD):
    """Not one of MXNet's."""


def holding(value):
    """Return an optimizer with something that is no plain number."""
    optimizer = mx.optimizer.SGD(learning_rate=0.1)
    optimizer.extra = value
    return optimizer


MARK = 'D2LMULTI_PICKLE_RAN'
STRANGE = [
    Command(os.putenv, MARK, '1'),
    Command(eval, f'__import__("os").environ.update({MARK}="1")'),
    Command(getattr, 'a text', 'upper'),
    Command(mx.nd.load, '/etc/passwd'),
    [Command(os.putenv, MARK, '1'), mx.optimizer.SGD()],
    holding(Command(os.putenv, MARK, '1')),
    holding(onp.float32(0.1)),
    holding(mx.optimizer.SGD),
    holding([{'a': (b'bytes',)}]),
    OwnOptimizer(),
    mx.lr_scheduler.FactorScheduler(step=5),
    7,
    None,
]


@pytest.mark.parametrize('protocol', [0, 2, 4])
@pytest.mark.parametrize(
    'strange', STRANGE, ids=lambda value: repr(value)[:30]
)
def test_what_is_no_optimizer_with_plain_numbers_is_refused(
    strange, protocol, monkeypatch
):
    monkeypatch.delenv(MARK, raising=False)
    with pytest.raises(Refused):
        load_optimizer(pickle.dumps(strange, protocol), lambda: True)
    assert MARK not in os.environ


@pytest.mark.parametrize(
    'body',
    [
        b'',
        b'no pickle',
        b'cos\nsystem\n(S"true"\ntR.',
        b'cmxnet.optimizer.optimizer\nos.system\n(S"true"\ntR.',
        b'cmxnet.optimizer.optimizer\nos\n.',
        b'cmxnet.optimizer\n__builtins__\n.',
        b'cmxnet.base\n_LIB\n.',
        b'cmxnet.optimizer.optimizer\nNDArray\n.',
        b'(' * 100_000 + b'.',
        b']' + b'\x85' * 100_000 + b'.',
    ],
)
def test_no_bytes_get_through(body):
    with pytest.raises(Refused):
        load_optimizer(body, lambda: True)


def test_a_pickle_that_is_too_long_is_refused(monkeypatch):
    body = pickle.dumps(mx.optimizer.SGD(), 0)
    assert load_optimizer(body, lambda: True)
    monkeypatch.setattr(optimizers, 'MAX_PICKLE', len(body) - 1)
    with pytest.raises(Refused, match='bytes'):
        load_optimizer(body, lambda: True)


def test_a_small_pickle_does_not_take_long():
    """A list of two lists, each of which is a list of two, and so on."""
    value = []
    for _ in range(200):
        value = [value, value]
    assert load_optimizer(pickle.dumps(holding(value), 2), lambda: True)


def test_where_mxnet_itself_serves_it_loads_with_this(monkeypatch, capsys):
    monkeypatch.setattr(pickle, 'loads', pickle.loads)
    optimizers.guard_pickle()
    sent = pickle.dumps(mx.optimizer.SGD())
    assert isinstance(pickle.loads(sent), mx.optimizer.SGD)
    with pytest.raises(Refused):
        pickle.loads(pickle.dumps(Command(os.putenv, MARK, '1')))
    assert 'd2lrun: refused a pickle: it names ' in capsys.readouterr().out


def test_a_bug_in_refusing_is_caught(monkeypatch):
    monkeypatch.setattr(Unpickler, 'find_class', pickle.Unpickler.find_class)
    with pytest.raises(AssertionError):
        test_what_is_no_optimizer_with_plain_numbers_is_refused(
            STRANGE[1], 0, monkeypatch
        )
    monkeypatch.delenv(MARK, raising=False)


OWN = """
class OwnOptimizer(mx.optimizer.SGD):
    pass
store.set_optimizer(OwnOptimizer())
"""


@pytest.mark.long
def test_a_worker_hears_that_its_optimizer_is_refused(job):
    """It would otherwise go on, and the servers would only sum."""
    with pytest.raises(JobFailed, match='let the workers update'):
        job(JOIN + OWN, mxnet=True)


# The protocol of MXNet's servers, as a program can speak it that never joined:
# the fields of a message, as protobuf has them.
MESSAGES = """
import sys, time, zmq

def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)

def field(number, value):
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(value)
"""
# Sends a pickle, or without one the request to stop.
SENDER = (
    MESSAGES
    + """
socket = zmq.Context().socket(zmq.DEALER)
socket.setsockopt(zmq.IDENTITY, b'ps09')  # almost the name of a worker
socket.connect('tcp://127.0.0.1:' + sys.argv[1])
body = bytes.fromhex(sys.argv[2])
# 8: the number of a request that the worker made. The answer to one that it
# has not made would go astray in its memory, and may end it.
command = (field(2, body) + field(4, 1) + field(7, 0) + field(8, 1)
           + field(5, 0) + field(6, 1))
terminate = field(3, field(1, 1)) + field(4, 0) + field(7, 0) + field(8, 0)
socket.send(field(1, 0) + (command if body else terminate))
time.sleep(0.5)
socket.close(100)
"""
)
TRAINS = (
    JOIN
    + """
store.set_optimizer(mx.optimizer.SGD(learning_rate=1.0))
for i in range(60):
    store.push('w', np.ones(3))
    total = np.zeros(3)
    store.pull('w', out=total)
    total.wait_to_read()
    print('step', i, flush=True)
    time.sleep(0.1)
"""
)


def send_to(role, folder, value=None):
    """Send a role of the job in a folder a pickle of the value, if there is
    one, or the request to stop, as a stranger."""
    (port,) = sockets_of(folder, DMLC_ROLE=role)
    body = b'' if value is None else pickle.dumps(value, 0)
    subprocess.run(
        [sys.executable, '-c', SENDER, f'{port}', body.hex()],
        check=True,
        timeout=20,
    )


@pytest.mark.long
def test_a_stranger_at_the_port_of_a_server_runs_nothing(
    job, tmp_path, monkeypatch
):
    """And the job goes on with the optimizer that it had."""
    pytest.importorskip('zmq')
    monkeypatch.setenv('DMLC_LOCAL', '0')

    def send(line):
        if line.endswith('step 9'):
            command = Command(os.mkdir, str(tmp_path / 'made'))
            send_to('server', tmp_path, command)

    lines = job(TRAINS, mxnet=True, workers=1, on_line=send)
    refused = [line for line in lines if 'refused a pickle: it nam' in line]
    assert refused and 'posix.mkdir' in refused[0]
    assert not (tmp_path / 'made').exists()
    assert '[worker-0, rank 0] step 59' in lines


SHOWS = TRAINS.replace("print('step', i", "print('step', i, total[0]")


@pytest.mark.long
def test_a_strangers_optimizer_spoils_the_training(job, tmp_path, monkeypatch):
    """As the table on the page on running says of jobs with ports."""
    pytest.importorskip('zmq')
    monkeypatch.setenv('DMLC_LOCAL', '0')
    optimizer = mx.optimizer.SGD(learning_rate=0.0)

    def send(line):
        if ' step 9 ' in line:
            send_to('server', tmp_path, optimizer)

    lines = job(SHOWS, mxnet=True, workers=1, on_line=send)
    found = [line.split()[-1] for line in lines if ' step ' in line]
    assert len(found) == 60
    assert len({*found[:10]}) == 10 and len({*found[-10:]}) == 1


@pytest.mark.long
@pytest.mark.parametrize('role', ['scheduler', 'server'])
def test_a_strangers_request_to_stop_ends_the_job_by_its_limits(
    job, tmp_path, monkeypatch, role
):
    pytest.importorskip('zmq')
    monkeypatch.setenv('DMLC_LOCAL', '0')

    def send(line):
        if line.endswith('step 9'):
            send_to(role, tmp_path)

    limits = Limits(startup=30, progress=8, exit=8, total=70)
    with pytest.raises(JobFailed, match='no progress|stranger|ended'):
        job(TRAINS, mxnet=True, workers=2, on_line=send, limits=limits)


# Asks the scheduler for a worker's place, as a worker does when it starts.
NEWCOMER = (
    MESSAGES
    + """
me = zmq.Context.instance().socket(zmq.ROUTER)
port = me.bind_to_random_port('tcp://127.0.0.1')
there = zmq.Context.instance().socket(zmq.DEALER)
there.setsockopt(zmq.IDENTITY, b'ps9')
there.connect('tcp://127.0.0.1:' + sys.argv[1])
node = field(1, 1) + field(3, b'127.0.0.1') + field(4, port) + field(5, 0)
there.send(field(1, 0) + field(3, field(1, 2) + field(2, node + field(10, 0)))
           + field(4, 0) + field(7, 0) + field(8, 0))
print(me.poll(4000))
"""
)
PAUSE = "print('early', flush=True)\ntime.sleep(4)\nstore = "
SLOW = JOIN.replace('store = ', PAUSE, 1)


@pytest.mark.long
@pytest.mark.parametrize('moment', ['early', 'step 9'])
def test_a_stranger_takes_no_place_but_may_keep_a_job_from_starting(
    job, tmp_path, monkeypatch, moment
):
    """One that comes before the workers is counted as one of them, so the
    launcher ends the job; one that comes later gets no answer."""
    pytest.importorskip('zmq')
    monkeypatch.setenv('DMLC_LOCAL', '0')
    told = []

    def ask(line):
        if line.endswith(moment) and not told:
            (port,) = sockets_of(tmp_path, DMLC_ROLE='scheduler')
            command = [sys.executable, '-c', NEWCOMER, f'{port}']
            told.append(subprocess.check_output(command, timeout=30))

    script = SLOW + TRAINS[len(JOIN) :].replace('store.set_opt', '# ')
    limits = Limits(startup=30, progress=8, exit=8, total=70)
    run = functools.partial(
        job, script, mxnet=True, on_line=ask, limits=limits
    )
    if moment == 'early':
        with pytest.raises(JobFailed, match='no progress|not joined'):
            run()
    else:
        assert sum(line.endswith('step 59') for line in run()) == 2
    assert told == [b'0\n']


def try_to_connect(paths):
    """Return the error at each."""
    errors = []
    for path in paths:
        with socket.socket(socket.AF_UNIX) as client:
            try:
                errors.append(client.connect(path))
            except OSError as error:
                errors.append(error.errno)
    return errors


@pytest.mark.long
def test_nobody_else_can_connect_to_a_job_of_one_machine(job, tmp_path):
    """It listens at no port, but at files that are its user's alone, also if
    the script lets others write its own."""
    modes, found = {}, []

    def look(line):
        if line.endswith('step 9') and not modes:
            paths = sockets_of(tmp_path)
            modes.update({path: os.stat(path).st_mode for path in paths})
            if os.getuid() == 0:  # else there is no other user here
                found.append(run_as_another_user(try_to_connect, paths))

    script = 'import os; os.umask(0)\n' + STEPS.replace('250', '20')
    job(script, mxnet=True, servers=2, on_line=look)
    assert len(modes) == 5 and not any(mode & 0o022 for mode in modes.values())
    assert all(re.fullmatch(r'/tmp/\d+', path) for path in modes)
    assert found in ([], [repr([errno.EACCES] * 5)])
    assert not any(map(os.path.lexists, modes))


PRIVATE = 'environ', 'mem', 'fd', 'cwd'  # of a process, in /proc


def error_of(attempt, *args):
    """Return the number of the error, 0 if there is none."""
    try:
        attempt(*args)
    except OSError as error:
        return error.errno
    return 0


def look(path):
    os.listdir(path) if os.path.isdir(path) else open(path, 'rb').close()


def connect(place):
    """Connect to a port, or to a file."""
    is_port = isinstance(place, int)
    with socket.socket(
        socket.AF_INET if is_port else socket.AF_UNIX
    ) as client:
        client.connect(('127.0.0.1', place) if is_port else place)


def act_as_stranger(processes, paths, places):
    """Return whether this user sees the processes, and the errors of looking
    at paths and of connecting to places."""
    return (
        all(map(psutil.pid_exists, processes)),
        {error_of(look, path) for path in paths},
        {error_of(connect, place) for place in places},
    )


@pytest.mark.skipif(os.getuid(), reason='needs another user')
@pytest.mark.parametrize('has_ports', [False, True])
def test_another_user_sees_a_job_and_reads_nothing_of_it(
    job, tmp_path, monkeypatch, has_ports
):
    """Without ports, that user cannot connect either."""
    if has_ports:
        monkeypatch.setenv('DMLC_LOCAL', '0')
    monkeypatch.setenv('HOME', str(tmp_path))
    monkeypatch.delenv(SECRET)
    find_secret()  # makes the file
    found = []

    def attack(line):
        if line.endswith('step 9') and not found:
            processes = left_behind(tmp_path)
            folders = {
                process.environ().get('D2LMULTI_NOTES')
                for process in processes
            } - {None, ''}
            assert len(folders) == 4
            pids = [process.pid for process in processes]
            paths = [
                *(f'/proc/{pid}/{name}' for pid in pids for name in PRIVATE),
                *folders,
                tmp_path / '.d2lrun' / 'secret',
            ]
            places = sockets_of(tmp_path)
            assert len(places) == (1 if has_ports else 4)
            found.append(
                run_as_another_user(act_as_stranger, pids, paths, places)
            )

    job(STEPS.replace('250', '90'), on_line=attack)
    can_connect = {0} if has_ports else {errno.EACCES}
    assert found == [repr((True, {errno.EACCES}, can_connect))]
