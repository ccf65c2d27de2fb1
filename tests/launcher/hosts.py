"""The launcher over ssh, and over four addresses of which one is cut off.

Opt-in, as root on Linux: `make test SUITE=hosts`. Needs Debian's packages
openssh-server and iproute2. Nothing of the system's own ssh is used or
changed: each server has its own port and keys.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time

import pytest
from helpers import JOIN, STEPS, left_behind, wait_until

from d2lrun import JobFailed, Limits, launch
from d2lrun.agent import GRACE, LAUNCHER_TIMEOUT, free_port
from d2lrun.connection import SSH

pytestmark = pytest.mark.timeout(120)
LIMITS = Limits(startup=60, progress=60, exit=4, total=100)
NETWORK = '198.18.77'  # of the range that is set apart for benchmarks
CONFIG = """
Port {port}
HostKey {folder}/key
AuthorizedKeysFile {folder}/key.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
ClientAliveInterval 2
ClientAliveCountMax 3
SetEnv D2LMULTI_TEST={folder}
"""


@pytest.fixture(autouse=True, scope='session')
def tools():
    """What these tests need; sshd also wants its empty folder."""
    missing = [
        name
        for name in ('sshd', 'ssh', 'ssh-keygen', 'ip')
        if not shutil.which(name, path=os.environ['PATH'] + ':/sbin:/usr/sbin')
    ]
    assert not missing, (
        f'{missing} not found: apt-get install '
        'openssh-server openssh-client iproute2'
    )
    assert os.getuid() == 0, 'run as root: network namespaces need it'
    os.makedirs('/run/sshd', exist_ok=True)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with keys and the configuration of the ssh servers."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('D2LMULTI_TEST', str(tmp_path))
    monkeypatch.setenv('OMP_NUM_THREADS', '1')
    run('ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', 'key')
    (tmp_path / 'config').write_text(
        CONFIG.format(folder=tmp_path, port=free_port(0))
    )
    return tmp_path


@contextlib.contextmanager
def ssh_server(folder, address, *prefix):
    """Serve ssh at an address; `prefix` puts it into a namespace."""
    process = subprocess.Popen(
        [
            *prefix,
            shutil.which('sshd', path='/usr/sbin:/sbin:/usr/bin'),
            '-D',
            '-e',
            '-f',
            'config',
            '-o',
            f'ListenAddress={address}',
        ],
        cwd=folder,
        stderr=subprocess.PIPE,
        env={'PATH': os.environ['PATH']},
    )
    try:
        wait_until(lambda: answers(address, port_of(folder)))
        yield
    finally:
        process.terminate()
        process.wait(5)
        process.stderr.close()


def answers(address, port):
    with contextlib.suppress(OSError), socket.create_connection(
        (address, port), timeout=1
    ):
        return True
    return False


def port_of(folder):
    return int((folder / 'config').read_text().split()[1])


def run(*command):
    subprocess.run(command, check=True, timeout=20)


@pytest.fixture
def loopback(folder):
    """One host that is reached by ssh: this one."""
    with ssh_server(folder, '127.0.0.1'):
        yield [('127.0.0.1', 4)]


@pytest.fixture
def hosts(folder):
    """Four hosts: namespaces with an address each, on one bridge."""
    names = [f'd2lmulti-{i}' for i in range(1, 5)]
    with contextlib.ExitStack() as stack:
        stack.callback(remove, names)
        remove(names)  # of a run that was killed
        run('ip', 'link', 'add', 'd2lbridge', 'type', 'bridge')
        run('ip', 'addr', 'add', f'{NETWORK}.254/24', 'dev', 'd2lbridge')
        run('ip', 'link', 'set', 'd2lbridge', 'up')
        for i, name in enumerate(names, 1):
            run('ip', 'netns', 'add', name)
            run(
                'ip',
                'link',
                'add',
                f'd2lveth{i}',
                'type',
                'veth',
                'peer',
                'name',
                'eth0',
                'netns',
                name,
            )
            run(
                'ip', 'link', 'set', f'd2lveth{i}', 'master', 'd2lbridge', 'up'
            )
            for command in (
                ['addr', 'add', f'{NETWORK}.{i}/24', 'dev', 'eth0'],
                ['link', 'set', 'eth0', 'up'],
                ['link', 'set', 'lo', 'up'],
            ):
                run('ip', '-n', name, *command)
            stack.enter_context(
                ssh_server(
                    folder, f'{NETWORK}.{i}', 'ip', 'netns', 'exec', name
                )
            )
        yield [(f'{NETWORK}.{i}', 1) for i in range(1, 5)]


def remove(names):
    """Remove the namespaces and the bridge, as far as they exist."""
    links = [f'd2lveth{i}' for i in range(1, len(names) + 1)]
    for command in [
        *(['link', 'del', link] for link in ['d2lbridge', *links]),
        *(['netns', 'del', name] for name in names),
    ]:
        subprocess.run(['ip', *command], stderr=subprocess.DEVNULL, timeout=20)


def run_job(folder, script, hosts, workers, servers=1, on_line=None, ended=()):
    """Run a script as a job over ssh; return its lines. No process of it
    may be left. The list `ended` gets the moment of its end."""
    (folder / 'script.py').write_text(script)
    lines = []

    def keep(line):
        lines.append(line)
        if on_line:
            on_line(line)

    try:
        launch(
            [sys.executable, 'script.py'],
            workers,
            servers,
            hosts,
            LIMITS,
            log_dir=folder / 'logs',
            on_line=keep,
            ssh=f'{SSH} -p {port_of(folder)} -i {folder}/key '
            f'-o UserKnownHostsFile={folder}/known '
            '-o StrictHostKeyChecking=accept-new '
            '-o IdentitiesOnly=yes -o LogLevel=ERROR',
        )
    finally:
        ended += (time.monotonic(),)
        # A host that is cut off waits for the launcher, which may be back.
        wait_until(
            lambda: not left_behind(folder), LAUNCHER_TIMEOUT + 5 * GRACE
        )
    return lines


SUM = (
    JOIN
    + """
print('sum', step()[0], os.environ['DMLC_NODE_HOST'], flush=True)
npx.waitall()
"""
)


def test_over_ssh(folder, loopback):
    lines = run_job(folder, SUM, loopback, workers=2)
    assert (
        sorted(line.partition('] ')[2] for line in lines)
        == ['sum 2.0 127.0.0.1'] * 2
    )


def test_a_killed_worker_is_seen_over_ssh(folder, loopback):
    with pytest.raises(JobFailed, match='on 127.0.0.1: was killed by SIGK'):
        run_job(
            folder,
            JOIN
            + """
step()
if store.rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
step()
""",
            loopback,
            workers=2,
        )


def test_a_killed_launcher_leaves_nothing_on_its_hosts(folder, loopback):
    (folder / 'script.py').write_text(STEPS)
    (folder / 'hosts').write_text('127.0.0.1 2')
    process = subprocess.Popen(
        [
            sys.executable,
            '-m',
            'd2lrun',
            '--hosts',
            'hosts',
            '--ssh',
            f'{SSH} -p {port_of(folder)} -i {folder}/key -o '
            f'UserKnownHostsFile={folder}/known -o StrictHostKeyChecking='
            'accept-new',
            '--',
            sys.executable,
            'script.py',
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    for line in process.stdout:
        if 'step 5' in line:
            break
    assert len(left_behind(folder)) > 8
    process.kill()
    process.stdout.close()
    process.wait(5)
    wait_until(lambda: not left_behind(folder))


def test_over_four_addresses(folder, hosts):
    lines = run_job(folder, SUM, hosts, workers=4, servers=2)
    assert sorted(line.partition('] ')[2] for line in lines) == [
        f'sum 4.0 {name}' for name, _ in hosts
    ]


@pytest.mark.parametrize('number', [1, 3], ids=['the first', 'another'])
def test_a_host_that_is_cut_off_ends_the_job(folder, hosts, number):
    """The first has the scheduler."""
    cut, ended = [], []

    def cut_off(line):
        if line.endswith('step 20') and not cut:
            run('ip', 'link', 'set', f'd2lveth{number}', 'down')
            cut.append(time.monotonic())

    with pytest.raises(JobFailed, match=f'on {NETWORK}.{number}: '):
        run_job(folder, STEPS, hosts, 4, 2, cut_off, ended)
    print('seconds until it was said:', ended[0] - cut[0])
    assert ended[0] - cut[0] < 15


def test_a_host_that_does_not_exist_ends_the_job(folder, hosts):
    began = time.monotonic()
    with pytest.raises(JobFailed, match=f'on {NETWORK}.9: '):
        run_job(folder, STEPS, [*hosts[:1], (f'{NETWORK}.9', 1)], workers=2)
    assert time.monotonic() - began < 20
