"""Jobs: whatever happens to a role, the job ends soon, says why, and leaves
no process behind."""

import contextlib
import functools
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

import pytest
from helpers import (
    JOB_LIMITS,
    JOIN,
    STEPS,
    left_behind,
    sockets_of,
    wait_until,
)

from d2lbase.values import check_integer
from d2lmulti import checks
from d2lmulti.prepare import runtime
from d2lrun import JobFailed, agent, launch, logs, roles, serve

pytestmark = pytest.mark.timeout(90)


def long(*values):
    """A case of which another one shows almost the same."""
    return pytest.param(*values, marks=pytest.mark.long)


@pytest.mark.parametrize('mxnet', [False, long(True)])
def test_a_job_ends_well_and_keeps_a_log_of_each_role(job, tmp_path, mxnet):
    lines = job(
        JOIN + 'print("sum", step(), store.rank)\nnpx.waitall()',
        mxnet=mxnet,
        workers=3,
        servers=2,
    )
    assert sorted(lines) == [
        f'[worker-{rank}, rank {rank}] sum [3.0, 3.0, 3.0] {rank}'
        for rank in range(3)
    ]
    assert {path.name for path in (tmp_path / 'logs').iterdir()} == {
        'scheduler.log',
        'server-0.log',
        'server-1.log',
        'worker-0.log',
        'worker-1.log',
        'worker-2.log',
    }
    assert 'sum' in (tmp_path / 'logs' / 'worker-0.log').read_text()


@pytest.mark.parametrize('mxnet', [False, long(True)])
def test_torchruns_variables_are_true_from_the_start(job, mxnet):
    """RANK is MXNet's rank; a port that is taken meanwhile would change it."""
    names = 'RANK', 'WORLD_SIZE', 'LOCAL_RANK', 'LOCAL_WORLD_SIZE'
    lines = job(
        f"""
import os
before = [os.environ[name] for name in {names}]
"""
        + JOIN
        + f"""
assert before == [os.environ[name] for name in {names}]
print(store.rank, *before, step()[0], flush=True)
""",
        mxnet=mxnet,
        workers=3,
    )
    assert sorted(lines) == [
        f'[worker-{i}, rank {i}] {i} {i} 3 {i} 3 3.0' for i in range(3)
    ]


def test_a_rank_that_is_not_the_planned_one_changes_the_variable(job):
    lines = job(
        """
import os
os.environ['PORT'] = str(50_000 - int(os.environ['PORT']))
"""
        + JOIN
        + "step(); print('RANK', os.environ['RANK'], store.rank, flush=True)"
    )
    told = [line for line in lines if 'as planned, so RANK has chan' in line]
    assert len(told) == 2
    assert {line.partition('] ')[2] for line in lines if 'RANK ' in line} >= {
        'RANK 0 0',
        'RANK 1 1',
    }


GPUS = """
import os
import mxnet as mx
print(os.environ['LOCAL_RANK'], os.environ.get('CUDA_VISIBLE_DEVICES'),
      mx.gpu(0), mx.gpu(1),
      mx.gpu(0).device_id - len(os.sched_getaffinity(0)), flush=True)
"""


def test_each_worker_takes_the_gpu_of_its_local_rank(
    job, monkeypatch, tmp_path
):
    """With the driver of a stand-in that has two; no worker loses one."""
    play = pathlib.Path(__file__).parents[1] / 'notebooks' / 'two_gpus'
    monkeypatch.setenv('PYTHONPATH', str(play))
    monkeypatch.setenv('CUDA_VISIBLE_DEVICES', '0,1')
    lines = job(GPUS, mxnet=True)
    assert sorted(lines) == [
        '[worker-0] 0 0,1 gpu(0) gpu(1) 0',
        '[worker-1] 1 1,0 gpu(0) gpu(1) 1',
    ]


def test_stderr_stays_stderr(job, capsys):
    errors = []
    script = 'import sys; print(1); print(2, file=sys.stderr)'
    lines = job(script, on_error=errors.append, workers=1)
    assert (lines, errors) == (['[worker-0] 1'], ['[worker-0] 2'])
    launch([sys.executable, '-c', script], workers=1)
    out, err = capsys.readouterr()
    assert (out, err) == ('[worker-0] 1\n', '[worker-0] 2\n')


def test_without_log_dir_nothing_remains(tmp_path, monkeypatch):
    """Also if the job fails; then the message has the last lines."""
    monkeypatch.setattr(tempfile, 'tempdir', None)
    monkeypatch.setenv('TMPDIR', str(tmp_path))
    with pytest.raises(JobFailed) as caught:
        launch([sys.executable, '-c', 'print(1); raise KeyError'], workers=1)
    assert list(tmp_path.iterdir()) == []
    lines = str(caught.value).splitlines()
    assert lines[1] == 'last lines of worker-0:' and '    1' in lines


def test_the_launcher_needs_no_temporary_folder(job, monkeypatch):
    """Where the disk is full, ranks are not known, but it trains."""
    monkeypatch.setenv('TMPDIR', '/dev/null')
    monkeypatch.setattr(agent, 'make_folder', lambda: '')
    lines = job(JOIN + "print('sum', *step())")
    assert sum('] sum 2.0' in line for line in lines) == 2


LIMIT_FILES = """
import resource, signal, sys
from d2lrun.__main__ import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
sys.exit(main(sys.argv[1:]))
"""


def test_a_disk_that_is_full_takes_the_logs_alone(tmp_path, stand_in_path):
    """Here, no file may be longer than 5,000 bytes."""
    (tmp_path / 'script.py').write_text(STEPS.replace('250', '20'))
    command = [sys.executable, '-c', LIMIT_FILES, '--log-dir', 'logs']
    result = subprocess.run(
        [*command, 'script.py'],
        cwd=tmp_path,
        text=True,
        timeout=60,
        capture_output=True,
        env={**os.environ, 'PYTHONPATH': stand_in_path},
    )
    assert result.returncode == 0, result.stdout
    assert result.stdout.count('step 19\n') == 2
    (told,) = [
        line for line in result.stdout.splitlines() if 'launch: ' in line
    ]
    assert re.match(
        'launch: no logs in logs: logs/worker-.* cannot be written .*Make '
        'room .* --log-dir',
        told,
    )


def test_a_disk_that_does_not_answer_takes_the_logs_alone(
    job, tmp_path, monkeypatch
):
    """Here, a log is a pipe from which nobody reads."""
    monkeypatch.setattr(logs, 'STALLED', 0.5)
    (tmp_path / 'logs').mkdir()
    os.mkfifo(tmp_path / 'logs' / 'scheduler.log')
    lines = job(JOIN + "time.sleep(2); print('sum', *step())")
    assert sum('] sum 2.0' in line for line in lines) == 2
    (told,) = [line for line in lines if 'launch: ' in line]
    assert f'the disk of {tmp_path}/logs has not answered for 0.5' in told
    os.close(os.open(tmp_path / 'logs' / 'scheduler.log', os.O_RDWR))


def test_a_folder_for_logs_that_is_removed_meanwhile_is_named(job):
    """The files are still open: whatever is written there is lost."""
    remove = "import shutil; shutil.rmtree('logs', True)\n"
    script = JOIN + remove + "step(); print('on'); time.sleep(1)"
    lines = job(script)
    assert sum(line.endswith('] on') for line in lines) == 2
    (told,) = [line for line in lines if 'launch: ' in line]
    assert re.match(
        'launch: no logs in .*it has been removed.*--log-dir', told
    )


def test_a_folder_for_logs_that_cannot_be_made_is_named():
    with pytest.raises(OSError, match='no logs in /sys/no: .*--log-dir'):
        launch(['true'], log_dir='/sys/no')  # refused to root, too


def test_two_jobs_do_not_mix_their_logs(tmp_path):
    other = logs.Logs(tmp_path)
    other.open()
    with pytest.raises(ValueError, match='logs of another job, which runs'):
        launch(['true'], log_dir=tmp_path)
    other.close()
    launch(['true'], log_dir=tmp_path)


def test_two_jobs_in_one_folder_do_not_meet(tmp_path, stand_in_path):
    (tmp_path / 'script.py').write_text(JOIN + "print('sum', *step())")
    jobs = [
        subprocess.Popen(
            [sys.executable, '-m', 'd2lrun', '--log-dir', f'{i}', 'script.py'],
            cwd=tmp_path,
            text=True,
            stdout=subprocess.PIPE,
            env={**os.environ, 'PYTHONPATH': stand_in_path},
        )
        for i in range(2)
    ]
    outputs = [job.communicate(timeout=60)[0] for job in jobs]
    assert [output.count('sum 2.0 2.0 2.0') for output in outputs] == [2, 2]


def test_variables_are_passed_to_all_workers(job, ssh, monkeypatch):
    monkeypatch.setenv('OF_MINE', 'one')
    lines = job(
        'import os; print(os.environ["OF_MINE"], os.environ["OTHER"], '
        'os.environ["DMLC_ROLE"], "D2LRUN_SECRET" in os.environ)',
        hosts=[('one', 1), ('two', 1)],
        ssh=ssh,
        env=['OF_MINE', 'OTHER=a=b', 'DMLC_ROLE=server'],
    )
    assert [line.partition('] ')[2] for line in lines] == [
        'one a=b worker False'
    ] * 2


JUMPS = """
import random, time
real = time.time
time.time = lambda: real() + random.choice([-1e8, 0, 1e8])
"""


def test_a_clock_that_jumps_ends_no_job(tmp_path, stand_in_path):
    """Each look at the time of day is years off, in all processes."""
    folder = tmp_path / 'clock'
    folder.mkdir()
    (folder / 'sitecustomize.py').write_text(JUMPS)
    (tmp_path / 'script.py').write_text(
        'import time; assert abs(time.time() - time.time()) < 1e9\n'
        + JOIN
        + "time.sleep(2); print('sum', *step())"
    )
    path = os.pathsep.join([str(folder), stand_in_path])
    result = subprocess.run(
        [sys.executable, '-m', 'd2lrun', '--timeout', '60', 'script.py'],
        cwd=tmp_path,
        text=True,
        timeout=60,
        capture_output=True,
        env={**os.environ, 'PYTHONPATH': path},
    )
    assert result.stdout.count('sum 2.0 2.0 2.0') == 2, result.stderr


def test_sixteen_workers(job):
    lines = job(JOIN + "print('sum', *step())", workers=16, servers=2)
    assert sum('sum 16.0 16.0 16.0' in line for line in lines) == 16


SHORT = JOB_LIMITS._replace(exit=1, progress=3)
POLL = """
import threading
def poll():
    while True:
        end = time.monotonic() + 0.05
        while time.monotonic() < end:
            pass
        print('polling', flush=True)
        time.sleep(0.3)
threading.Thread(target=poll, daemon=True).start()
"""
AT_THE_END = {
    'sleeps': 'time.sleep(4)',
    'waits for a program': "os.system('sleep 4')",
    'writes slowly': """
for _ in range(40):
    time.sleep(0.1)
    open('model', 'a').write('x')""",
    'is followed by a thread that works': """
import threading
threading.Thread(target=lambda: [time.sleep(0.5) for _ in range(8)]).start()
""",
}


@pytest.mark.parametrize('what', AT_THE_END)
def test_who_works_outside_of_an_exchange_at_the_end_is_not_killed(job, what):
    """The others wait in the store for longer than the limit."""
    limits = SHORT._replace(progress=60)
    if 'thread' in what:
        limits = limits._replace(exit=30)
    script = (
        JOIN
        + f"""
step()
if store.rank == 0:
    {AT_THE_END[what].replace(chr(10), chr(10) + '    ')}
    print('worked', flush=True)
"""
    )
    lines = job(script, limits=limits)
    assert lines == ['[worker-0, rank 0] worked']


@pytest.mark.parametrize('mxnet', [False, long(True)])
def test_a_deadlock_beside_threads_that_poll_is_found(job, mxnet):
    """Worker 1 waits for worker 0 in a barrier; worker 0 waits for what
    worker 1 should push."""
    with pytest.raises(JobFailed) as caught:
        job(
            f"""{JOIN}{POLL}
step()
if store.rank == 1:
    store._barrier()
step()
""",
            limits=SHORT._replace(exit=60),
            mxnet=mxnet,
        )
    head = str(caught.value).splitlines()[0]
    assert 'waiting in MXNet: no progress for 3 seconds' in head


def test_the_rank_of_each_number_of_devices_is_printed(job):
    """A number belongs to a process, not to the rank that it will have."""
    lines = job(
        JOIN
        + """
print('has', store.rank, os.environ['D2LMULTI_NUM_DEVICES'], flush=True)
step()
""",
        workers=3,
        devices=[1, 2, 4],
    )
    for i, text in enumerate(('1 device', '2 devices', '4 devices')):
        (told,) = [line for line in lines if f'launch: worker-{i} ' in line]
        rank = re.match(f'launch: worker-. has rank (.), {text}$', told)[1]
        assert f'[worker-{i}, rank {rank}] has {rank} {text[0]}' in lines


WORKER_FAULTS = {
    'raises': ('raise KeyError("oh no")', 'ended with status 1'),
    'exits with 3': ('sys.exit(3)', 'ended with status 3'),
    'exits with a message': ('sys.exit("too bad")', 'ended with status 1'),
    'exits as in a shell': ('exit(3)', 'ended with status 3'),
    'raises SystemExit': ('raise SystemExit(3)', 'it ended, but'),
    'leaves without a word': ('os._exit(0)', 'it ended, but'),
    'leaves with a status': ('os._exit(4)', 'ended with status 4'),
    'shows errors in its own way': (
        'sys.excepthook = lambda *error: None; raise KeyError',
        'ended with status 1',
    ),
    'is interrupted': ('raise KeyboardInterrupt', 'killed by SIGINT'),
    'is terminated': (
        'os.kill(os.getpid(), signal.SIGTERM)',
        'killed by SIGTERM',
    ),
    'is killed': ('os.kill(os.getpid(), signal.SIGKILL)', 'killed by SIGKILL'),
    'crashes': ('os.abort()', 'killed by SIGABRT'),
    'takes fewer steps': ('pass', 'it ended, but'),
}


# The others meet the real MXNet in the long tests.
MXNET_FAULTS = ('takes fewer steps',)
LONG_FAULTS = ('raises SystemExit', 'leaves with a status', 'is terminated')


@pytest.mark.parametrize(
    'fault, mxnet',
    [
        long(fault, False)
        if fault in LONG_FAULTS
        else (fault, fault in MXNET_FAULTS)
        for fault in WORKER_FAULTS
    ]
    + [long(f, True) for f in WORKER_FAULTS if f not in MXNET_FAULTS],
)
def test_a_fault_of_a_worker_ends_the_job(job, fault, mxnet):
    """The script knows nothing of this package."""
    statement, reason = WORKER_FAULTS[fault]
    began = []

    def on_line(line):
        if line.endswith('now'):
            began.append(time.monotonic())

    with pytest.raises(JobFailed, match=reason) as caught:
        job(
            JOIN
            + f"""
for i in range(6):
    step()
if store.rank == 1:
    print('now', flush=True)
    {statement}
else:
    for i in range(6):
        step()
""",
            mxnet=mxnet,
            on_line=on_line,
        )
    assert time.monotonic() - began[0] < 10
    message = str(caught.value)
    assert re.match(r'worker-[01] \(rank 1\) on this machine: ', message)
    assert message.splitlines()[0].count('(rank 1)') == 1
    assert 'now' in message


TEE = """
class Tee:
    def write(self, text):
        return sys.__stdout__.write(text)
sys.stdout = Tee()
"""


@pytest.mark.parametrize(
    'replace, mxnet',
    [
        ('sys.stdout = None', False),
        ('sys.stdout.close()', False),
        ('sys.stderr.close()', False),
        (TEE, False),
        long('sys.stdout.close()', True),
        long(TEE, True),
    ],
)
def test_a_replaced_output_does_not_hide_the_status(job, replace, mxnet):
    """And what is still in a buffer is printed."""
    with pytest.raises(JobFailed, match='ended with status 3') as caught:
        job(
            JOIN
            + f"""
step()
if store.rank == 1:
    sys.stderr.write('now\\n')
    {replace.replace(chr(10), chr(10) + '    ')}
    if sys.stdout and 'Tee' in repr(sys.stdout):
        print('in the buffer')
    sys.exit(3)
step()
""",
            mxnet=mxnet,
        )
    assert ('in the buffer' in str(caught.value)) is (replace == TEE)
    assert 'atexit' not in str(caught.value)  # where MXNet would abort


@pytest.mark.parametrize('mxnet', [False, long(True)])
@pytest.mark.parametrize(
    'statement, reason',
    [('sys.exit(0)', 'ended, but'), ('1 / 0', 'ended with an error, but')],
)
def test_who_is_kept_alive_by_a_thread_is_named(job, statement, reason, mxnet):
    """The other one waits at its end, or for a step."""
    with pytest.raises(JobFailed) as caught:
        job(
            JOIN
            + f"""
import threading
step()
if store.rank == 1:
    print('now', flush=True)
    threading.Thread(target=time.sleep, args=[80]).start()
    {statement}
if {statement != 'sys.exit(0)'}:
    step()
""",
            mxnet=mxnet,
        )
    assert re.match(
        rf'worker-[01] \(rank 1\) on this machine: its program has {reason}'
        ' a thread that is not a daemon keeps it alive. End that thread',
        str(caught.value),
    )


@pytest.mark.parametrize('mxnet', [False, long(True)])
@pytest.mark.parametrize(
    'statement, status',
    [
        ('sys.exit(3)', 3),
        ('raise SystemExit(3)', 3),
        ('1 / 0', 1),
        ('pass', 0),
    ],
)
def test_a_forked_child_frees_no_store(job, statement, status, mxnet):
    """It would wait for the other workers, and its parent for it."""
    lines = job(
        JOIN
        + f"""
step()
child = os.fork()
if child == 0:
    {statement}
else:
    status = os.WEXITSTATUS(os.waitpid(child, 0)[1])
    print('child', status, step(), flush=True)
""",
        mxnet=mxnet,
    )
    assert sum(f'child {status} [2.0' in line for line in lines) == 2


@pytest.mark.parametrize(
    'statement, reason',
    [
        ('sys.exit(3)', 'ended with status 3'),
        long('raise SystemExit(3)', 'it ended, but'),
        long('return', 'it ended, but'),
    ],
)
def test_a_store_in_a_function_hides_nothing(job, statement, reason):
    """When the function ends, the store is freed, and that is where MXNet
    waits."""
    began = []

    def on_line(line):
        if line.endswith('now'):
            began.append(time.monotonic())

    with pytest.raises(JobFailed, match=f'worker-.*{reason}'):
        job(
            f"""
import sys
import mxnet as mx
from mxnet import np

def main():
    store = mx.kv.create('dist_sync')
    store.init('w', np.zeros(3))
    for i in range(9):
        if i == 5 and store.rank == 1:
            print('now', flush=True)
            {statement}
        store.push('w', np.ones(3))
        store.pull('w', out=np.zeros(3))
        mx.npx.waitall()

main()
""",
            mxnet=True,
            on_line=on_line,
        )
    assert time.monotonic() - began[0] < 10


HEALTHY = {
    'makes no store': """
import argparse
argparse.ArgumentParser().parse_args(['--help'])
""",
    'exits with 0 while the store is alive': JOIN
    + """
step()
sys.exit() if store.rank else sys.exit(0)
""",
    'exits with 0 in a function': """
import sys
import mxnet as mx

def main():
    store = mx.kv.create('dist_sync')
    if store.rank:
        exit()
    sys.exit(False)

main()
""",
    'ends in an untidy way': JOIN
    + """
import atexit, threading
atexit.register(lambda: 1 / 0)
def fail():
    raise SystemExit(3)
for work in (fail, lambda: 1 / 0, lambda: time.sleep(2)):
    threading.Thread(target=work).start()
threading.Thread(target=lambda: time.sleep(80), daemon=True).start()
step()
if os.fork() == 0:
    time.sleep(80)
""",
    'goes on after the store': """
import time
import mxnet as mx

def main():
    store = mx.kv.create('dist_sync')

main()
time.sleep(5)
""",
    'catches what ends others, and is slow to end': JOIN
    + """
import threading
try:
    sys.exit(2)
except SystemExit as error:
    assert error.code == 2
threading.Thread(target=sys.exit, args=[3]).start()
try:
    1 / 0
except ZeroDivisionError:
    sys.excepthook(*sys.exc_info())
step()
for i in range(5 * (store.rank == 0)):
    time.sleep(1)
    print('is slow to end', i, flush=True)
""",
    'has children': JOIN
    + """
import subprocess
if os.fork() == 0:
    sys.exit(0)
child = subprocess.Popen(
    [sys.executable, '-c', '''import time
print(flush=True)
for _ in range(90):  # a signal just before a long sleep is seen after it
    time.sleep(0.1)'''],
    stdout=subprocess.PIPE)
child.stdout.readline()
child.send_signal(signal.SIGINT)
assert child.wait(5) == -signal.SIGINT
for _ in range(5):
    os.system('true &')
assert sys.stdin.read() == ''
time.sleep(5)
orphans = [line for line in os.popen('ps -eo stat,args')
           if line.startswith('Z') and 'true' in line]
assert not orphans, orphans
step()
""",
}


MXNET_HEALTHY = ('exits with 0 while the store is alive',)


@pytest.mark.parametrize(
    'what, mxnet',
    [(what, what in MXNET_HEALTHY) for what in HEALTHY]
    + [long(what, True) for what in HEALTHY if what not in MXNET_HEALTHY],
)
def test_an_unusual_job_is_left_alone(start_unusual, what, mxnet):
    for case in HEALTHY:  # the first test starts them all, for they wait
        start_unusual(case, case in MXNET_HEALTHY)
    process, folder = start_unusual(what, mxnet)
    status = process.wait(60)
    assert status == 0, (folder / 'output').read_text()
    assert left_behind(folder) == []


@pytest.fixture(scope='module')
def start_unusual(tmp_path_factory, stand_in_path):
    """Return a function that starts an unusual job, unless it has, and gives
    its process and folder."""
    processes = []

    @functools.lru_cache(maxsize=None)
    def start(what, mxnet):
        folder = tmp_path_factory.mktemp('unusual')
        (folder / 'script.py').write_text(HEALTHY[what])
        env = {**os.environ, 'D2LMULTI_TEST': str(folder)}
        if not mxnet:
            env['PYTHONPATH'] = stand_in_path
        launcher = '-m d2lrun --exit-timeout 3 --timeout 60 --'
        with open(folder / 'output', 'w') as output:
            process = subprocess.Popen(
                [sys.executable, *launcher.split(), sys.executable]
                + ['script.py'],
                cwd=folder,
                env=env,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        processes.append(process)
        return process, folder

    yield start
    for process in processes:
        process.terminate()
        process.wait()


@pytest.mark.long  # chapter 19 does the same
def test_servers_apply_the_optimizer_that_a_worker_sends(job):
    """They begin without MXNet's Python part, which has optimizers."""
    lines = job(
        """
import mxnet as mx
from mxnet import np, npx
npx.set_np()
store = mx.kv.create('dist_sync')
store.init('w', np.zeros(3))
store.set_optimizer(mx.optimizer.SGD(learning_rate=1.0, momentum=0.5))
w = np.zeros(3)
for i in range(3):
    store.push('w', -np.ones(3))
    store.pull('w', out=w)
    w.wait_to_read()  # or its next push could count as the other worker's
print('w', w.tolist(), flush=True)
npx.waitall()
""",
        mxnet=True,
        servers=2,
    )
    assert sum('w [8.5, 8.5, 8.5]' in line for line in lines) == 2


def test_a_server_hides_no_module_of_a_worker(monkeypatch):
    """An optimizer may be in a module `watch`, as one of ours is."""
    monkeypatch.setattr(sys, 'path', [str(serve.HERE), 'of the worker'])
    assert (serve.HERE / 'watch.py').exists()
    serve.leave_folder()
    assert sys.path == ['of the worker']


def test_a_worker_that_fails_before_it_joins_ends_the_job(job):
    with pytest.raises(JobFailed, match='status 1(?s:.)*no_such_module'):
        job('import no_such_module')


@pytest.mark.parametrize(
    'kind, when, mxnet',
    [
        ('scheduler', 'early', True),  # while it is still importing MXNet
        ('server', 'early', True),
        ('worker', 'early', True),
        ('scheduler', 'in training', False),
        ('server', 'in training', False),
        ('worker', 'in training', False),
        long('scheduler', 'in training', True),
        long('server', 'in training', True),
        long('worker', 'in training', True),
    ],
)
def test_a_killed_role_ends_the_job(job, tmp_path, kind, when, mxnet):
    killed = []

    def kill():
        roles = left_behind(tmp_path, DMLC_ROLE=kind)
        main = [
            p
            for p in roles
            if p.parent().pid not in {role.pid for role in roles}
        ]
        main[0].kill()
        killed.append(time.monotonic())

    def on_line(line):
        if line.endswith('step 9') and not killed:
            kill()

    if when == 'early':

        def soon():
            wait_until(lambda: left_behind(tmp_path, DMLC_ROLE=kind))
            time.sleep(0.3)
            kill()

        threading.Thread(target=soon).start()
    with pytest.raises(JobFailed, match=f'{kind}.*killed by SIGKILL'):
        job(STEPS, mxnet=mxnet, on_line=on_line)
    assert time.monotonic() - killed[0] < 10


def test_a_stopped_worker_ends_the_job_after_the_progress_limit(job):
    with pytest.raises(JobFailed, match='stopped by a signal: no progress'):
        job(
            JOIN
            + """
for i in range(100):
    step()
    if i == 5 and store.rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
""",
            limits=JOB_LIMITS._replace(progress=3),
        )


def test_workers_that_compute_in_silence_are_progress(job):
    lines = job(
        JOIN
        + """
end = time.time() + 4.5 * (store.rank == 0)
while time.time() < end:
    sum(range(10000))
    time.sleep(0.0001)
step()
print('done', flush=True)
npx.waitall()
""",
        limits=JOB_LIMITS._replace(progress=3),
    )
    assert sum('] done' in line for line in lines) == 2


def test_a_worker_that_never_joins_ends_the_job(job):
    with pytest.raises(JobFailed, match='not joined 8 seconds'):
        job(
            'import time; time.sleep(60)',
            limits=JOB_LIMITS._replace(startup=8),
        )


def test_a_job_that_takes_too_long_is_ended(job):
    with pytest.raises(JobFailed, match='not finished after 2 seconds') as e:
        job(STEPS, limits=JOB_LIMITS._replace(total=2))
    assert 'server' not in str(e.value) and 'scheduler' not in str(e.value)


def test_a_worker_that_sleeps_is_named_with_what_it_lost(job, tmp_path):
    """The other one waits in the store. One of the killed children has a
    parent that takes its status, one has not."""
    lines = []
    with pytest.raises(JobFailed) as caught:
        job(
            JOIN
            + """
import subprocess

def nap():
    time.sleep(80)

step()
if store.rank == 1:
    for wait in (False, True):
        child = subprocess.Popen(['sleep', '80'])
        print('child', child.pid, flush=True)
        child.kill()
        if wait:
            child.wait()
    nap()
step()
""",
            on_line=lines.append,
            limits=JOB_LIMITS._replace(progress=3),
        )
    head, *rest = str(caught.value).splitlines()
    assert re.match(
        r'worker-[01] \(rank 1\) on this machine: keeping the other workers '
        r'waiting: no progress for 3 seconds',
        head,
    )
    for line in lines:
        name, rank, pid = re.match(r'\[(.*), (.*)\] child (.*)', line).groups()
        assert (
            f'{name} ({rank}) on this machine: its child process {pid} was '
            'killed by SIGKILL (by the OOM killer, if memory ran out)'
        ) in rest
    stack = rest.index(f'main thread of {name}, innermost call first:')
    assert 'script.py' in rest[stack + 1] and 'in nap' in rest[stack + 1]
    assert len(lines) == 2 and 'child' in rest[stack + 4]
    assert ' in nap' in (tmp_path / 'logs' / f'{name}.log').read_text()


def test_a_taken_port_is_named(job, monkeypatch):
    monkeypatch.setenv('DMLC_LOCAL', '0')
    with socket.socket() as taken:
        taken.bind(('', 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(JobFailed, match=f'port {port} is taken'):
            job(STEPS, port=port)


def test_a_file_that_stands_where_a_socket_should_is_named_and_stays(job):
    port = random.SystemRandom().randrange(40_000, 65_536)  # of no job
    path = pathlib.Path(f'/tmp/{port}')
    path.write_text('mine')
    try:
        with pytest.raises(JobFailed, match=f'as {path} exists: choose'):
            job(STEPS, port=port)
        assert path.read_text() == 'mine'
    finally:
        path.unlink()


@pytest.mark.parametrize('signal', [None, 'SIGKILL'])
def test_no_socket_of_a_job_remains(job, tmp_path, signal):
    sockets = set()

    def on_line(line):
        if 'step' in line:  # a worker may end before its last line is read
            sockets.update(sockets_of(tmp_path))
        if signal and line.endswith('step 9'):
            for kind in ('scheduler', 'server', 'worker'):
                for role in left_behind(tmp_path, DMLC_ROLE=kind):
                    role.kill()

    with contextlib.suppress(JobFailed):
        job(STEPS.replace('250', '30'), on_line=on_line)
    assert len(sockets) == 4
    assert all(re.fullmatch(r'/tmp/\d+', path) for path in sockets)
    assert not any(map(os.path.lexists, sockets))


@pytest.mark.parametrize('why', ['asked to', 'no folder'])
def test_where_files_cannot_be_met_at_there_are_ports(
    job, tmp_path, monkeypatch, why
):
    if why == 'asked to':
        monkeypatch.setenv('DMLC_LOCAL', '0')
    else:
        monkeypatch.setattr(roles, 'SOCKETS', tmp_path / 'missing')
    sockets = set()

    def on_line(line):
        if line.endswith('step 9'):
            sockets.update(sockets_of(tmp_path))

    job(STEPS.replace('250', '30'), on_line=on_line)
    assert sockets and all(isinstance(port, int) for port in sockets)


def test_a_command_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(JobFailed, match='no-such-command.*cannot be started'):
        launch(['no-such-command'], log_dir=tmp_path, limits=JOB_LIMITS)


def test_a_failed_job_starts_again_if_asked_to(job, tmp_path):
    script = (
        JOIN
        + """
if store.rank == 0 and not os.path.exists('tried'):
    open('tried', 'w').close()
    raise KeyError
print('sum', step(), flush=True)
npx.waitall()
"""
    )
    lines = job(script, restarts=1)
    assert sum('sum' in line for line in lines) == 2
    assert any('restarting (1 of 1)' in line for line in lines)


FAKE_SSH = """
echo "$1" >> {folder}/reached
[ "$1" = cut-off ] && {{ echo "ssh: connect to $1: No route" >&2; exit 255; }}
shift
exec env -i PATH="$PATH" D2LMULTI_TEST={folder} sh -c "cd / && $*"
"""


@pytest.fixture
def ssh(tmp_path, monkeypatch):
    """An ssh that reaches this machine, with nothing of our environment."""
    path = tmp_path / 'fake ssh'
    path.write_text(FAKE_SSH.format(folder=tmp_path))
    monkeypatch.setattr(socket, 'gethostbyname', lambda name: '0.0.0.0')
    return f"sh '{path}'"


def test_hosts_are_reached_by_ssh_and_get_what_they_need(
    job, ssh, tmp_path, monkeypatch
):
    monkeypatch.setenv('PS_VERBOSE', '0')
    lines = job(
        JOIN
        + """
print(step(), os.environ['PS_VERBOSE'], os.getcwd(), flush=True)
npx.waitall()""",
        workers=3,
        hosts=[('one', 2), ('two', 1)],
        ssh=ssh,
    )
    assert [line.partition('] ')[2] for line in lines] == [
        f'[3.0, 3.0, 3.0] 0 {tmp_path}'
    ] * 3
    reached = (tmp_path / 'reached').read_text().split()
    assert sorted(reached) == ['one'] * 4 + ['two']


def test_a_host_that_cannot_be_reached_is_named(job, ssh):
    with pytest.raises(JobFailed, match='on cut-off(?s:.)*No route'):
        job(STEPS, hosts=[('one', 1), ('cut-off', 1)], ssh=ssh)


def test_output_of_any_kind_arrives(tmp_path):
    script = tmp_path / 'script.py'
    script.write_text(r"""
import sys
sys.stdout.buffer.write(b'\xff not text\n')
print('a bar 1\ra bar 2')
print('x' * 200_000)
print('no end of line', end='')
raise SystemExit(5)
""")
    lines = []
    with pytest.raises(JobFailed, match='status 5'):
        launch(
            [sys.executable, str(script)],
            workers=1,
            limits=JOB_LIMITS,
            on_line=lines.append,
            log_dir=tmp_path / 'logs',
        )
    text = [
        line.partition('] ')[2]
        for line in lines
        if line.startswith('[worker-0]')
    ]
    assert text[:3] == [
        '\N{REPLACEMENT CHARACTER} not text',
        'a bar 1',
        'a bar 2',
    ]
    assert text[-1] == 'no end of line'
    assert ''.join(text[3:-1]) == 'x' * 200_000


@pytest.mark.parametrize(
    'options, error, message',
    [
        ({'workers': 0}, ValueError, 'workers must be at least 1, not 0'),
        ({'servers': 0}, ValueError, 'servers must be at least 1, not 0'),
        ({'workers': 1.5}, TypeError, 'workers must be an integer, not 1.5'),
        ({'restarts': -1}, ValueError, 'restarts'),
        ({'restarts': True}, TypeError, 'restarts'),
        ({'port': 70_000}, ValueError, 'port'),
        ({'port': '80'}, TypeError, 'port'),
        ({'limits': JOB_LIMITS._replace(exit=0)}, ValueError, 'limit exit'),
        (
            {'limits': JOB_LIMITS._replace(exit=float('nan'))},
            ValueError,
            'limit exit',
        ),
        ({'limits': JOB_LIMITS._replace(exit='4')}, TypeError, 'limit exit'),
        ({'limits': 60}, TypeError, 'limits must be like Limits'),
        ({'hosts': [('a', 1)]}, ValueError, 'workers must be at most 1'),
        ({'hosts': []}, ValueError, 'workers must be at most 0'),
        ({'hosts': [('a', -1)]}, ValueError, 'slots of a must be at least 0'),
        ({'hosts': ['a', 'b']}, TypeError, 'hosts must be a list'),
        ({'hosts': [('a', '2')]}, TypeError, 'slots of a must be an integer'),
        ({'devices': 2}, TypeError, r'devices must be a list such as \[1, 2'),
        (
            {'devices': [1]},
            ValueError,
            r'number for each worker .* 2 numbers, not \[',
        ),
        ({'devices': []}, ValueError, 'devices must have a number for each'),
        ({'devices': [1, 0]}, ValueError, r'devices\[1\] must be at least 1'),
        ({'devices': [1, 1.5]}, TypeError, r'devices\[1\] must be an integ'),
        ({'devices': '1,2'}, TypeError, 'devices must be a list'),
        ({'hosts': [('a', 2, 0)]}, ValueError, 'devices of a must be at lea'),
        ({'hosts': [('a', 2, 1, 1)]}, TypeError, 'hosts must be a list'),
        (
            {'hosts': [('a', 2, 1)], 'devices': [1, 1]},
            ValueError,
            'not both',
        ),
        ({'command': 'python x.py'}, TypeError, 'must be a list'),
        ({'command': ['python', 3]}, TypeError, 'must be a list'),
        ({'command': []}, ValueError, 'must name a program'),
    ],
)
def test_what_cannot_work_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        launch(**{'command': ['true'], **options})


@pytest.mark.parametrize(
    'options',
    [{'workers': 3}, {'servers': 3}, {'hosts': [('localhost', 3)]}],
)
def test_more_processes_than_ports_are_refused(monkeypatch, options):
    # An error costs little.
    monkeypatch.setattr('d2lrun.checks.PORTS', range(2))
    with pytest.raises(ValueError, match='must be at most 2, as each takes'):
        launch(['true'], **options)


@pytest.mark.parametrize('value', [0, -1, 1.5, '2', None, True])
def test_a_number_is_refused_as_everywhere_in_the_package(value):
    """Both packages check integers with one function."""
    assert checks.check_integer is check_integer
    with pytest.raises((TypeError, ValueError), match='workers must be'):
        launch(['true'], workers=value)


def test_the_command_does_not_wait_for_mxnet():
    command = '-m d2lrun --print-env 1 --port 9091'
    result = subprocess.run(
        [sys.executable, '-X', 'importtime', *command.split()],
        timeout=30,
        text=True,
        capture_output=True,
        env={
            name: value
            for name, value in os.environ.items()
            if name not in runtime.SETTINGS
        },
    )
    assert 'DMLC_ROLE=server' in result.stdout
    for name, value in runtime.SETTINGS.items():  # which MXNet's import sets
        assert f'{name}={value}\n' in result.stdout
    assert 'd2lrun.roles' in result.stderr
    assert not re.search(r'\| +mxnet\b', result.stderr)
