"""Agents: no process of a role outlives the launcher, or its agent."""

import fcntl
import os
import signal
import subprocess
import sys
import termios
import threading
import time

import psutil
import pytest
from helpers import JOIN, STEPS, left_behind, wait_until

from d2lrun import JobFailed, agent
from d2lrun.agent import HEARTBEAT_TIMEOUT

# Of Linux; Python 3.8 has no names for them.
F_SETPIPE_SZ, F_GETPIPE_SZ = 1031, 1032

pytestmark = pytest.mark.timeout(90)


def test_children_of_a_role_end_with_it(job):
    """Also those that have left its session."""
    with pytest.raises(JobFailed, match='status 1'):
        job("""
import subprocess, sys, time
for new_session in (False, True):
    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(80)'],
                     start_new_session=new_session)
time.sleep(1)
raise ValueError
""")


def test_a_role_that_ignores_signals_is_killed(job):
    with pytest.raises(JobFailed, match='status 4'):
        job(
            JOIN
            + """
step()
if store.rank == 1:
    os._exit(4)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(80)
"""
        )


def restore_signals():
    """A process in the background may have been told to ignore them."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def command(tmp_path, monkeypatch, stand_in_path):
    """The command line, as a process, with a script that takes its time."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'script.py').write_text(STEPS.replace('250', '190'))
    process = subprocess.Popen(
        [
            sys.executable,
            '-m',
            'd2lrun',
            '--log-dir',
            'logs',
            '--',
            sys.executable,
            'script.py',
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=tmp_path,
        env={
            **os.environ,
            'D2LMULTI_TEST': str(tmp_path),
            'PYTHONPATH': stand_in_path,
        },
        preexec_fn=restore_signals,
    )
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.parametrize(
    'number, status',
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, 143),
        (signal.SIGKILL, -9),
        pytest.param(signal.SIGHUP, 129, marks=pytest.mark.long),
    ],
)
def test_when_the_launcher_is_ended_so_is_everything(
    command, tmp_path, number, status
):
    for line in command.stdout:
        if 'step 5' in line:
            break
    assert len(left_behind(tmp_path)) >= 9  # itself, four agents and roles
    command.send_signal(number)
    # Nobody ends who cannot say so: its output must be read.
    threading.Thread(target=command.stdout.read, daemon=True).start()
    assert command.wait(60) == status
    wait_until(lambda: not left_behind(tmp_path))


def is_full(pipe):
    """Return whether no step's line fits into the pipe."""
    waiting = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
    capacity = fcntl.fcntl(pipe, F_GETPIPE_SZ)
    line = len('[worker-0, rank 0] ' + 'x' * 1000 + ' step 9')
    return capacity - int.from_bytes(waiting, sys.byteorder) < line


def test_output_that_is_paged_through_does_not_end_the_job(command):
    """Nobody reads for longer than agents wait for a sign of life."""
    fcntl.fcntl(command.stdout, F_SETPIPE_SZ, 4096)  # soon full
    wait_until(lambda: is_full(command.stdout))
    time.sleep(HEARTBEAT_TIMEOUT + 1.5)
    assert command.poll() is None
    output = command.stdout.read()
    assert command.wait(30) == 0 and output.count('step 189') == 2


def wait_for_steps(command):
    """Return when the workers train."""
    for line in command.stdout:
        if 'step 5' in line:
            return


def agents_of(folder):
    """Return the processes of the agents."""
    return [
        process
        for process in left_behind(folder)
        if 'agent.py' in ' '.join(process.cmdline())
    ]


def test_a_launcher_and_agents_that_were_stopped_go_on(command, tmp_path):
    """As by Ctrl-Z; the launcher says so, and how to wake an agent."""
    wait_for_steps(command)
    agent = agents_of(tmp_path)[-1]
    command.send_signal(signal.SIGSTOP)
    agent.suspend()
    time.sleep(HEARTBEAT_TIMEOUT + 2)
    command.send_signal(signal.SIGCONT)
    lines = []
    for line in command.stdout:
        lines.append(line)
        if 'the agent of ' in line:
            assert 'is stopped by a signal: `kill -CONT`' in line
            agent.resume()
    output = ''.join(lines)
    assert command.wait(30) == 0, [
        line for line in lines if 'xxxxx' not in line
    ]
    assert 'launch: stood still for' in output
    assert 'the agent of ' in output
    assert output.count('step 189') == 2


@pytest.mark.skipif(sys.platform != 'linux', reason='Linux kills them')
def test_children_end_even_if_everybody_who_could_end_them_is_killed(
    tmp_path, monkeypatch, stand_in_path
):
    """The launcher and all agents at once; not children in other sessions.
    What they leave in shared folders, the next job removes."""
    script = tmp_path / 'script.py'
    script.write_text("""
import subprocess, time
for environment in (None, {}):
    subprocess.Popen(['/bin/sleep', '77.25'], env=environment)
time.sleep(80)
""")
    variables = {
        **os.environ,
        'D2LMULTI_TEST': str(tmp_path),
        'TMPDIR': str(tmp_path),
    }
    command = [sys.executable, '-m', 'd2lrun']
    launcher = subprocess.Popen(
        [*command, str(script)], env=variables, cwd=tmp_path
    )

    def sleepers():
        return [
            process
            for process in psutil.process_iter(['cmdline', 'status'])
            if (process.info['cmdline'] or [])[-1:] == ['77.25']
            and process.info['status'] != psutil.STATUS_ZOMBIE
        ]

    wait_until(lambda: len(sleepers()) == 4, 60)
    killed = [launcher, *agents_of(tmp_path)]
    for process in killed:
        process.send_signal(signal.SIGSTOP)  # or one would end the others
    for process in killed:
        process.kill()
    launcher.wait()
    wait_until(lambda: not sleepers() and not left_behind(tmp_path))
    sockets = [
        agent.SOCKETS / note.name.partition('-')[2]
        for note in tmp_path.glob('d2lrun-*/socket-*')
    ]
    assert all(path.exists() for path in sockets) and len(sockets) == 4
    subprocess.run([*command, 'true'], env=variables, check=True)
    assert not [*tmp_path.glob('d2lrun-*')]
    assert not any(path.exists() for path in sockets)


@pytest.mark.parametrize(
    'number, message',
    [
        (signal.SIGKILL, 'its agent is gone'),
        pytest.param(
            signal.SIGTERM, 'its agent is gone', marks=pytest.mark.long
        ),
    ],
)
def test_a_lost_agent_ends_the_job(command, tmp_path, number, message):
    wait_for_steps(command)
    agents_of(tmp_path)[-1].send_signal(number)
    sent = time.monotonic()
    assert message in command.stdout.read()
    assert command.wait(60) == 1
    assert time.monotonic() - sent < 10
    assert not left_behind(tmp_path)


@pytest.mark.skipif(sys.platform != 'linux', reason='needs flock and /proc')
def test_what_killed_agents_have_left_is_removed(tmp_path, monkeypatch):
    """By the next one; what another process may still use stays."""
    monkeypatch.setattr(agent, 'SOCKETS', tmp_path)
    monkeypatch.setattr(agent.tempfile, 'tempdir', str(tmp_path))
    ended = subprocess.Popen(['true'])
    ended.wait()
    names = {
        'dead': f'd2lrun-{ended.pid}-a',
        'locked': f'd2lrun-{ended.pid}-b',
        'alive': f'd2lrun-{os.getpid()}-c',
        'other': 'd2lrun-notes',
    }
    for number, name in enumerate(names.values(), 10_000):
        (tmp_path / name).mkdir()
        (tmp_path / name / f'socket-{number}').touch()
        (tmp_path / f'{number}').touch()
    names['link'] = f'd2lrun-{ended.pid}-d'
    (tmp_path / names['link']).symlink_to(tmp_path / names['other'])
    lock = os.open(tmp_path / names['locked'], os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    own = agent.make_folder()
    left = {path.name for path in tmp_path.iterdir()}
    os.close(lock)
    gone = {names['dead'], '10000'}
    kept = {*names.values(), '10001', '10002', '10003', os.path.basename(own)}
    assert left == kept - gone
