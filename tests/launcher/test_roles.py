"""Roles: the hosts that run them, and the variables that tell each its own."""

import re
import socket
import subprocess
import sys

import pytest
from helpers import JOIN

from d2lrun import launch, roles
from d2lrun.agent import free_port
from d2lrun.roles import make_roles, read_hosts, shell_lines

pytestmark = pytest.mark.timeout(90)


def test_a_host_without_address_is_named():
    with pytest.raises(ValueError, match='no-such-host.invalid'):
        launch(['python'], hosts=[('no-such-host.invalid', 2)])


@pytest.mark.parametrize(
    'command, runs',
    [
        (['python', 'python'], [sys.executable, 'python']),
        (['python3', '-c', ''], [sys.executable, '-c', '']),
        (['/usr/bin/python', 'a.py'], ['/usr/bin/python', 'a.py']),
        (('nice', 'python'), ['nice', 'python']),
    ],
)
def test_a_bare_python_is_the_one_that_runs_the_launcher(command, runs):
    roles = make_roles(command, workers=2, servers=1, hosts=None)
    assert [role.command for role in roles[2:]] == [runs] * 2


def test_a_file_of_hosts(tmp_path):
    path = tmp_path / 'hosts'
    path.write_text('node1 2\n\n# not this one\nnode2   # one slot\nbig 1 4')
    assert read_hosts(path) == [('node1', 2), ('node2', 1), ('big', 1, 4)]


@pytest.mark.parametrize(
    'content',
    ['', '# no', 'node1 two', 'node1 1 2 3', 'node1 1 -1', '-oProxy 1'],
)
def test_a_bad_file_of_hosts_is_refused(tmp_path, content):
    path = tmp_path / 'hosts'
    path.write_text(content)
    with pytest.raises(ValueError, match='hosts'):
        read_hosts(path)


def numbers_of_devices(**options):
    """Return the number that each worker finds, None without one."""
    options = {'workers': 3, 'servers': 1, 'hosts': None, **options}
    roles = make_roles(['python'], **options)
    assert not any('D2LMULTI_NUM_DEVICES' in r.variables for r in roles[:2])
    return [role.variables.get('D2LMULTI_NUM_DEVICES') for role in roles[2:]]


def test_each_worker_has_its_own_number_of_devices(monkeypatch):
    monkeypatch.setattr(socket, 'gethostbyname', lambda name: '10.0.0.1')
    assert numbers_of_devices(devices=[1, 2, 1]) == ['1', '2', '1']
    assert numbers_of_devices(hosts=[('a', 1, 4), ('b', 2)]) == [
        '4',
        None,
        None,
    ]
    assert numbers_of_devices(hosts=[('a', 1), ('b', 4, 2)]) == [
        None,
        '2',
        '2',
    ]
    assert numbers_of_devices() == [None] * 3


def test_variables_are_printed_for_each_role():
    roles = [
        dict(
            re.findall(
                r'export (DMLC_\w+)=(\S+)',
                shell_lines(i, 2, 1, '10.0.0.1', 9091),
            )
        )
        for i in range(4)
    ]
    assert [role['DMLC_ROLE'] for role in roles] == [
        'scheduler',
        'server',
        'worker',
        'worker',
    ]
    assert all(
        role['DMLC_PS_ROOT_URI'] == '10.0.0.1'
        and role['DMLC_PS_ROOT_PORT'] == '9091'
        for role in roles
    )
    everything = shell_lines(-1, 2, 1, '10.0.0.1', 9091)
    assert everything.count('DMLC_ROLE') == 4
    with pytest.raises(ValueError, match='numbered 0 to 3'):
        shell_lines(4, 2, 1, '10.0.0.1', 9091)
    with pytest.raises(ValueError, match='--port'):
        shell_lines(0, 2, 1, '10.0.0.1', 0)


@pytest.mark.parametrize(
    'mxnet', [False, pytest.param(True, marks=pytest.mark.long)]
)
def test_the_printed_variables_run_a_job(
    tmp_path, monkeypatch, stand_in_path, mxnet
):
    """As Slurm or Kubernetes start it: every process runs the same."""
    port = free_port(0)
    if not mxnet:
        monkeypatch.setenv('PYTHONPATH', stand_in_path)
    (tmp_path / 'script.py').write_text(JOIN + 'print(step())\nnpx.waitall()')
    run = f'DMLC_NODE_HOST=127.0.0.1 exec {sys.executable} script.py'
    processes = []
    for i in range(4):
        script = f'{shell_lines(i, 2, 1, "127.0.0.1", port)}\n{run}'
        processes.append(
            subprocess.Popen(
                ['sh', '-c', script],
                cwd=tmp_path,
                text=True,
                stdout=subprocess.PIPE,
            )
        )
    try:
        outputs = [process.communicate(timeout=80)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert outputs == ['', '', '[2.0, 2.0, 2.0]\n', '[2.0, 2.0, 2.0]\n']
    assert [process.returncode for process in processes] == [0] * 4


@pytest.mark.parametrize('share, is_local', [(0.4, True), (0.6, False)])
def test_names_that_a_stranger_has_taken_bring_the_ports_back(
    tmp_path, monkeypatch, share, is_local
):
    """Even if they are those of one worker alone."""
    monkeypatch.setattr(roles, 'SOCKETS', tmp_path)
    monkeypatch.delenv('DMLC_LOCAL', raising=False)
    found = roles.make_roles(['true'], 16, 1, None)
    first, end = found[-1].ports
    for number in range(first, first + int(share * (end - first))):
        (tmp_path / f'{number}').touch()
    roles.let_meet_at_files(found)
    assert all(('DMLC_LOCAL' in own.variables) is is_local for own in found)
