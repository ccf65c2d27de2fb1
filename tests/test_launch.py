"""The launcher: whatever happens to a role, the job ends soon, says why, and
leaves no process behind."""
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import psutil
import pytest

from d2lmulti import launch as launcher
from d2lmulti import runtime
from d2lmulti.agent import CONTACT, free_port
from d2lmulti.launch import (JobFailed, Limits, Role, ending, judge, launch,
                             read_hosts, shell_lines)

pytestmark = pytest.mark.timeout(90)

LIMITS = Limits(startup=60, progress=60, exit=4, total=80)
JOIN = '''
import os, signal, sys, time
import mxnet as mx
from mxnet import np, npx
npx.set_np()
store = mx.kv.create('dist_sync')
store.init('w', np.zeros(3))

def step():
    store.push('w', np.ones(3))
    total = np.zeros(3)
    store.pull('w', out=total)
    return total.tolist()

'''
STEPS = JOIN + '''
for i in range(400):
    step()
    print('x' * 1000, 'step', i, flush=True)
    time.sleep(0.05)
'''


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Return a function that runs a script as a job, and gives its lines.

    Afterwards no process of it may be left.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('D2LMULTI_TEST', str(tmp_path))
    monkeypatch.setenv('OMP_NUM_THREADS', '1')

    def run(script, *, show=lambda line: None, limits=LIMITS, **options):
        (tmp_path / 'script.py').write_text(script)
        lines = []

        def note(line):
            lines.append(line)
            show(line)

        try:
            launch([sys.executable, 'script.py'], show=note, limits=limits,
                   log_dir=tmp_path / 'logs', **options)
        finally:
            assert left_behind(tmp_path) == []
        return lines

    return run


def left_behind(mark, **variables):
    """Return the processes whose environment holds the mark (and more)."""
    found = []
    for process in psutil.process_iter():
        try:
            environment = process.environ()
        except psutil.Error:
            continue
        if process.pid != os.getpid() and \
                environment.get('D2LMULTI_TEST') == str(mark) and \
                all(environment.get(k) == v for k, v in variables.items()):
            found.append(process)
    return found


def wait_until(condition, seconds=10):
    """Wait for a condition; fail if it does not come true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f'not true in {seconds} seconds'
        time.sleep(0.05)


def test_a_job_ends_well_and_keeps_a_log_of_each_role(job, tmp_path):
    lines = job(JOIN + 'print("sum", step(), store.rank)\nnpx.waitall()',
                workers=3, servers=2)
    assert sorted(line.partition('] ')[2] for line in lines) == [
        f'sum [3.0, 3.0, 3.0] {rank}' for rank in range(3)]
    assert {path.name for path in (tmp_path / 'logs').iterdir()} == {
        'scheduler.log', 'server-0.log', 'server-1.log', 'worker-0.log',
        'worker-1.log', 'worker-2.log'}
    assert 'sum' in (tmp_path / 'logs' / 'worker-0.log').read_text()


WORKER_FAULTS = {
    'raises': ('raise KeyError("oh no")', 'ended with status 1'),
    'exits with 3': ('sys.exit(3)', 'ended with status 3'),
    'exits with a message': ('sys.exit("too bad")', 'ended with status 1'),
    'raises SystemExit': ('raise SystemExit(3)', 'came to its end'),
    'leaves without a word': ('os._exit(0)', 'came to its end'),
    'is killed': ('os.kill(os.getpid(), signal.SIGKILL)',
                  'killed by SIGKILL'),
    'crashes': ('os.abort()', 'killed by SIGABRT'),
    'takes fewer steps': ('pass', 'came to its end'),
}


@pytest.mark.parametrize('fault', WORKER_FAULTS)
def test_a_fault_of_a_worker_ends_the_job(job, fault):
    """The script knows nothing of this package."""
    statement, reason = WORKER_FAULTS[fault]
    began = []

    def show(line):
        if line.endswith('now'):
            began.append(time.monotonic())

    with pytest.raises(JobFailed, match=reason) as caught:
        job(JOIN + f'''
for i in range(6):
    step()
if store.rank == 1:
    print('now', flush=True)
    {statement}
else:
    for i in range(6):
        step()
''', show=show)
    assert time.monotonic() - began[0] < 10
    assert re.search(r'worker-[01] on this machine', str(caught.value))
    assert 'worker-' in str(caught.value) and 'now' in str(caught.value)


@pytest.mark.parametrize('statement, reason', [
    ('sys.exit(3)', 'ended with status 3'),
    ('raise SystemExit(3)', 'came to its end'),
    ('return', 'came to its end')])
def test_a_store_in_a_function_hides_nothing(job, statement, reason):
    """When the function ends, the store is freed, and that is where MXNet
    waits."""
    began = []

    def show(line):
        if line.endswith('now'):
            began.append(time.monotonic())

    with pytest.raises(JobFailed, match=f'worker-.*{reason}'):
        job(f'''
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
''', show=show)
    assert time.monotonic() - began[0] < 10


HEALTHY = {
    'makes no store': '''
import argparse
argparse.ArgumentParser().parse_args(['--help'])
''',
    'goes on after the store': '''
import time
import mxnet as mx

def main():
    store = mx.kv.create('dist_sync')

main()
time.sleep(6)
''',
    'is slow to end': JOIN + '''
step()
for i in range(6 * (store.rank == 0)):
    time.sleep(1)
    print(i, flush=True)
''',
    'catches what ends others': JOIN + '''
import subprocess, threading
try:
    sys.exit(2)
except SystemExit as error:
    assert error.code == 2
threading.Thread(target=sys.exit, args=[1]).start()
try:
    1 / 0
except ZeroDivisionError:
    sys.excepthook(*sys.exc_info())
step()
''',
    'has children': JOIN + '''
import subprocess
if os.fork() == 0:
    sys.exit(0)
child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(9)'])
time.sleep(0.5)
child.send_signal(signal.SIGINT)
assert child.wait(5) == -signal.SIGINT
for _ in range(5):
    os.system('true &')
assert sys.stdin.read() == ''
time.sleep(6)
orphans = [line for line in os.popen('ps -eo stat,args')
           if line.startswith('Z') and 'true' in line]
assert not orphans, orphans
step()
''',
}


@pytest.mark.parametrize('what', HEALTHY)
def test_an_unusual_job_is_left_alone(job, what):
    job(HEALTHY[what])


def test_a_worker_that_fails_before_it_joins_ends_the_job(job):
    with pytest.raises(JobFailed, match='status 1(?s:.)*no_such_module'):
        job('import no_such_module')


@pytest.mark.parametrize('kind', ['scheduler', 'server', 'worker'])
@pytest.mark.parametrize('when', ['early', 'in training'])
def test_a_killed_role_ends_the_job(job, tmp_path, kind, when):
    killed = []

    def kill():
        roles = left_behind(tmp_path, DMLC_ROLE=kind)
        main = [p for p in roles if p.parent().pid not in
                {role.pid for role in roles}]
        main[0].kill()
        killed.append(time.monotonic())

    def show(line):
        if line.endswith('step 9') and not killed:
            kill()

    if when == 'early':
        def soon():
            wait_until(lambda: left_behind(tmp_path, DMLC_ROLE=kind))
            time.sleep(0.3)
            kill()
        threading.Thread(target=soon).start()
    with pytest.raises(JobFailed, match=f'{kind}.*killed by SIGKILL'):
        job(STEPS, show=show)
    assert time.monotonic() - killed[0] < 10


def test_a_stopped_worker_ends_the_job_after_the_progress_limit(job):
    with pytest.raises(JobFailed, match='stopped by a signal: no progress'):
        job(JOIN + '''
for i in range(100):
    step()
    if i == 5 and store.rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
''', limits=LIMITS._replace(progress=4))


def test_workers_that_compute_in_silence_are_progress(job):
    lines = job(JOIN + '''
end = time.time() + 6
while time.time() < end:
    sum(range(10000))
step()
print('done', flush=True)
npx.waitall()
''', limits=LIMITS._replace(progress=3))
    assert len(lines) == 2


def test_a_worker_that_never_joins_ends_the_job(job):
    with pytest.raises(JobFailed, match='not joined 6 seconds'):
        job('import time; time.sleep(60)', limits=LIMITS._replace(startup=6))


def test_a_job_that_takes_too_long_is_ended(job):
    with pytest.raises(JobFailed, match='not finished after 6 seconds'):
        job(STEPS, limits=LIMITS._replace(total=6))


def test_a_taken_port_is_named(job):
    with socket.socket() as taken:
        taken.bind(('', 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(JobFailed, match=f'port {port} is taken'):
            job(STEPS, port=port)


def test_a_command_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(JobFailed, match='no-such-command.*cannot be started'):
        launch(['no-such-command'], log_dir=tmp_path, limits=LIMITS)


def test_children_of_a_role_end_with_it(job):
    """Also those that have left its session."""
    with pytest.raises(JobFailed, match='status 1'):
        job('''
import subprocess, sys, time
for new_session in (False, True):
    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(80)'],
                     start_new_session=new_session)
time.sleep(1)
raise ValueError
''')


def test_a_failed_job_starts_again_if_asked_to(job, tmp_path):
    script = JOIN + '''
if store.rank == 0 and not os.path.exists('tried'):
    open('tried', 'w').close()
    raise KeyError
print('sum', step(), flush=True)
npx.waitall()
'''
    lines = job(script, restarts=1)
    assert sum('sum' in line for line in lines) == 2
    assert any('starting again (1 of 1)' in line for line in lines)


FAKE_SSH = '''
echo "$1" >> {folder}/reached
[ "$1" = cut-off ] && {{ echo "ssh: connect to $1: No route" >&2; exit 255; }}
shift
exec env -i PATH="$PATH" D2LMULTI_TEST={folder} sh -c "cd / && $*"
'''


@pytest.fixture
def ssh(tmp_path, monkeypatch):
    """An ssh that reaches this machine, with nothing of our environment."""
    path = tmp_path / 'fake ssh'
    path.write_text(FAKE_SSH.format(folder=tmp_path))
    monkeypatch.setattr(launcher.socket, 'gethostbyname',
                        lambda name: '0.0.0.0')
    return f"sh '{path}'"


def test_hosts_are_reached_by_ssh_and_get_what_they_need(
        job, ssh, tmp_path, monkeypatch):
    monkeypatch.setenv('PS_VERBOSE', '0')
    lines = job(JOIN + '''
print(step(), os.environ['PS_VERBOSE'], os.getcwd(), flush=True)
npx.waitall()''', workers=3, hosts=[('one', 2), ('two', 1)], ssh=ssh)
    assert [line.partition('] ')[2] for line in lines] == [
        f'[3.0, 3.0, 3.0] 0 {tmp_path}'] * 3
    reached = (tmp_path / 'reached').read_text().split()
    assert sorted(reached) == ['one'] * 4 + ['two']


def test_a_host_that_cannot_be_reached_is_named(job, ssh):
    with pytest.raises(JobFailed, match='on cut-off(?s:.)*No route'):
        job(STEPS, hosts=[('one', 1), ('cut-off', 1)], ssh=ssh)


def test_a_host_without_address_is_named():
    with pytest.raises(ValueError, match='no-such-host.invalid'):
        launch(['python'], hosts=[('no-such-host.invalid', 2)])


def heed_signals():
    """A process in the background may have been told to ignore them."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def command(tmp_path, monkeypatch):
    """The command line, as a process, with a script that takes its time."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'script.py').write_text(STEPS)
    process = subprocess.Popen(
        [sys.executable, '-m', 'd2lmulti', 'launch', '--log-dir', 'logs',
         '--', sys.executable, 'script.py'], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, cwd=tmp_path,
        env={**os.environ, 'D2LMULTI_TEST': str(tmp_path)},
        preexec_fn=heed_signals)
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.parametrize('number, status', [
    (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129),
    (signal.SIGKILL, -9)])
def test_when_the_launcher_is_ended_so_is_everything(
        command, tmp_path, number, status):
    for line in command.stdout:
        if 'step 5' in line:
            break
    assert len(left_behind(tmp_path)) >= 9  # itself, four agents and roles
    command.send_signal(number)
    # Nobody ends who cannot say so: its output must be read.
    threading.Thread(target=command.stdout.read, daemon=True).start()
    assert command.wait(10) == status
    wait_until(lambda: not left_behind(tmp_path))


def test_output_that_is_paged_through_does_not_end_the_job(command):
    """Nobody reads for longer than agents wait for a sign of life."""
    time.sleep(CONTACT + 8)
    assert command.poll() is None
    output = command.stdout.read()
    assert command.wait(30) == 0 and output.count('step 399') == 2


@pytest.mark.parametrize('number, message', [
    (signal.SIGKILL, 'its agent is gone'),
    (signal.SIGTERM, 'its agent is gone'),
    (signal.SIGSTOP, f'nothing was heard of it for {CONTACT} seconds')])
def test_a_lost_agent_ends_the_job(command, tmp_path, number, message):
    for line in command.stdout:
        if 'step 5' in line:
            break
    agents = [process for process in left_behind(tmp_path)
              if 'agent.py' in ' '.join(process.cmdline())]
    agents[-1].send_signal(number)
    sent = time.monotonic()
    assert message in command.stdout.read()
    assert command.wait(10) == 1
    assert time.monotonic() - sent < 10
    assert not left_behind(tmp_path)


def test_a_role_that_ignores_signals_is_killed(job):
    with pytest.raises(JobFailed, match='status 4'):
        job(JOIN + '''
step()
if store.rank == 1:
    os._exit(4)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(80)
''')


@pytest.mark.parametrize('options, error, message', [
    ({'workers': 0}, ValueError, 'workers must be a whole number'),
    ({'servers': 0}, ValueError, 'servers must be a whole number'),
    ({'workers': 1.5}, ValueError, 'workers must be a whole number'),
    ({'restarts': -1}, ValueError, 'restarts'),
    ({'port': 70_000}, ValueError, 'port'),
    ({'limits': LIMITS._replace(exit=0)}, ValueError, 'limit exit'),
    ({'hosts': [('a', 1)]}, ValueError, 'only 1 slots'),
    ({'command': 'python x.py'}, TypeError, 'must be a list'),
    ({'command': []}, TypeError, 'must be a list'),
])
def test_what_cannot_work_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        launch(**{'command': ['true'], **options})


def test_a_file_of_hosts(tmp_path):
    path = tmp_path / 'hosts'
    path.write_text('node1 2\n\n# not this one\nnode2   # one slot\n')
    assert read_hosts(path) == [('node1', 2), ('node2', 1)]


@pytest.mark.parametrize('content', [
    '', '# nothing', 'node1 two', 'node1 1 2', 'node1 -1', '-oProxy 1'])
def test_a_bad_file_of_hosts_is_refused(tmp_path, content):
    path = tmp_path / 'hosts'
    path.write_text(content)
    with pytest.raises(ValueError, match='hosts'):
        read_hosts(path)


def test_variables_are_printed_for_each_role():
    roles = [dict(re.findall(r'export (DMLC_\w+)=(\S+)',
                             shell_lines(i, 2, 1, '10.0.0.1', 9091)))
             for i in range(4)]
    assert [role['DMLC_ROLE'] for role in roles] == [
        'scheduler', 'server', 'worker', 'worker']
    assert all(role['DMLC_PS_ROOT_URI'] == '10.0.0.1' and
               role['DMLC_PS_ROOT_PORT'] == '9091' for role in roles)
    everything = shell_lines(-1, 2, 1, '10.0.0.1', 9091)
    assert everything.count('DMLC_ROLE') == 4
    with pytest.raises(ValueError, match='numbered 0 to 3'):
        shell_lines(4, 2, 1, '10.0.0.1', 9091)
    with pytest.raises(ValueError, match='--port'):
        shell_lines(0, 2, 1, '10.0.0.1', 0)


def test_the_command_does_not_wait_for_mxnet():
    result = subprocess.run(
        [sys.executable, '-X', 'importtime', '-m', 'd2lmulti', 'launch',
         '--print-env', '1', '--port', '9091'], timeout=30, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={name: value for name, value in os.environ.items()
             if name not in runtime.SETTINGS})
    assert 'DMLC_ROLE=server' in result.stdout
    for name, value in runtime.SETTINGS.items():  # which MXNet's import sets
        assert f'{name}={value}\n' in result.stdout
    assert 'd2lmulti' in result.stderr and 'mxnet' not in result.stderr


def test_the_printed_variables_run_a_job(tmp_path):
    """As Slurm or Kubernetes start it: every process runs the same."""
    port = free_port(0)
    (tmp_path / 'script.py').write_text(
        JOIN + 'print(step())\nnpx.waitall()')
    processes = [subprocess.Popen(
        ['sh', '-c', shell_lines(i, 2, 1, '127.0.0.1', port) +
         f'\nDMLC_NODE_HOST=127.0.0.1 exec {sys.executable} script.py'],
        cwd=tmp_path, text=True, stdout=subprocess.PIPE) for i in range(4)]
    try:
        outputs = [process.communicate(timeout=40)[0]
                   for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert outputs == ['', '', '[2.0, 2.0, 2.0]\n', '[2.0, 2.0, 2.0]\n']
    assert [process.returncode for process in processes] == [0] * 4


def worker(age=0, **known):
    """Return a worker, last heard of `age` seconds ago, with what is
    known."""
    role = Role('worker', 0, 'far', ['true'], {})
    vars(role).update({'joined': True, 'heard': time.monotonic() - age,
                       **known})
    return role


@pytest.mark.parametrize('known, reason', [
    ({}, None),
    ({'age': 100}, 'nothing was heard'),
    ({'heard': None, 'joined': False}, None),  # ssh may take its time
    ({'status': -15, 'ending': 1}, 'killed by SIGTERM'),
    ({'status': -40, 'ending': 1}, 'killed by signal 40'),
    ({'failure': 'no ssh', 'ending': 1}, 'no ssh'),
    ({'status': 0, 'ending': time.monotonic() - 100}, 'came to its end'),
])
def test_what_is_known_of_a_role_decides(known, reason):
    now = time.monotonic()
    found = judge([worker(), worker(**known)], now, now, now + 100, LIMITS)
    assert (found is None) if reason is None else (reason in found[1])


def test_the_first_to_fail_is_named():
    """The server ends only because the worker has."""
    now = time.monotonic()
    server = worker(kind='server', status=-6, ending=now - 1)
    first = worker(status=-9, ending=now - 2)
    assert judge([server, first], now, now, now + 100, LIMITS) == (
        [first], ending(-9))


@pytest.mark.parametrize('stopped, busy', [(70, 0), (50, 70)])
def test_a_stopped_role_is_named_whoever_was_busy_last(stopped, busy):
    now = time.monotonic()
    other, held = worker(), worker(stopped=now - stopped)
    roles, reason = judge([other, held], now - 100, now - busy, now + 100,
                          LIMITS)
    assert roles == [held] and 'stopped by a signal' in reason


def test_output_of_any_kind_arrives(tmp_path):
    script = tmp_path / 'script.py'
    script.write_text(r'''
import sys
sys.stdout.buffer.write(b'\xff not text\n')
print('a bar 1\ra bar 2')
print('x' * 200_000)
print('no end of line', end='')
raise SystemExit(5)
''')
    lines = []
    with pytest.raises(JobFailed, match='status 5'):
        launch([sys.executable, str(script)], workers=1, limits=LIMITS,
               show=lines.append, log_dir=tmp_path / 'logs')
    text = [line.partition('] ')[2] for line in lines
            if line.startswith('[worker-0]')]
    assert text[:3] == ['\N{REPLACEMENT CHARACTER} not text', 'a bar 1',
                        'a bar 2']
    assert text[-1] == 'no end of line'
    assert ''.join(text[3:-1]) == 'x' * 200_000
