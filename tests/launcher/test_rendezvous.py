"""Nodes that are started by hand: they meet, at an address or a file, run one
job, and whatever fails on one of them ends it on all."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from unittest import mock

import numpy as onp
import pytest
from helpers import (
    JOB_LIMITS,
    JOIN,
    STEPS,
    left_behind,
    wait_until,
)

from d2lrun import JobFailed, Node, join, launch, rendezvous
from d2lrun.agent import free_port
from d2lrun.channel import Channel
from d2lrun.join import find_first_node
from d2lrun.rendezvous import (
    Rendezvous,
    announced,
    greet,
    own_address,
    parse_rendezvous,
    read_note,
)

pytestmark = pytest.mark.timeout(90)
SUM = JOIN + (
    "print('sum', step(), store.rank, os.environ['D2LMULTI_NUM_DEVICES'])\n"
    'npx.waitall()'
)


@pytest.fixture
def nodes(tmp_path, monkeypatch, stand_in_path):
    """Return a function that starts a node for each dictionary of options,
    and returns the lines of each, or the error. Afterwards no process of the
    job may be left."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('D2LMULTI_TEST', str(tmp_path))
    monkeypatch.setenv('DMLC_NODE_HOST', '127.0.0.1')
    monkeypatch.setenv('PYTHONPATH', stand_in_path)

    def run_node(results, i, **options):
        lines = []
        try:
            launch(
                ['python', 'script.py'],
                **{
                    'on_line': lines.append,
                    'limits': JOB_LIMITS,
                    'log_dir': tmp_path / 'log',
                    **options,
                },
            )
            results[i] = lines
        except (JobFailed, ValueError) as error:
            results[i] = error

    def run(script, *options):
        (tmp_path / 'script.py').write_text(script)
        results = [None] * len(options)
        threads = [
            threading.Thread(target=run_node, args=[results, i], kwargs=own)
            for i, own in enumerate(options)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert left_behind(tmp_path) == []
        return results

    return run


@pytest.fixture(params=['tcp', 'file'])
def url(request, tmp_path):
    """Return a place where nodes can meet."""
    if request.param == 'file':
        return f'file://{tmp_path}/meet'
    return f'tcp://127.0.0.1:{free_port(0)}'


@pytest.fixture
def file_url(tmp_path):
    return f'file://{tmp_path}/meet'


def test_two_nodes_run_one_job(nodes, url, tmp_path):
    first, second = nodes(
        SUM,
        {'workers': 3, 'node': Node(url), 'devices': [4]},
        {'workers': 3, 'node': Node(url, 1, workers=2), 'devices': [1, 2]},
    )
    assert second == ['launch: joined; the first node prints all output']
    found = {}
    for line in first:
        told = re.match(
            r'launch: worker-(.) has rank (.), (.) devices?$', line
        )
        if told:
            found[told[1]] = told.groups()[1:]
    assert {worker: devices for worker, (_, devices) in found.items()} == {
        '0': '4',
        '1': '1',
        '2': '2',
    }
    assert sorted(line for line in first if 'sum' in line) == sorted(
        f'[worker-{worker}, rank {rank}] sum [3.0, 3.0, 3.0] {rank} {devices}'
        for worker, (rank, devices) in found.items()
    )
    assert not (tmp_path / 'meet').exists()  # another job may meet there


def test_a_node_uses_its_own_command_and_folder(tmp_path, stand_in_path):
    """As on two machines: each is started in a separate process."""
    port, processes = free_port(0), []
    for i, name in enumerate(('here', 'there')):
        folder = tmp_path / name
        folder.mkdir()
        (folder / 'script.py').write_text(
            JOIN + 'print(os.path.basename(os.getcwd()), sys.argv[1], step())'
        )
        command = (
            f'-m d2lrun --rendezvous tcp://127.0.0.1:{port} '
            f'--worker-offset {i} -- python script.py {name}'
        )
        processes.append(
            subprocess.Popen(
                [sys.executable, *command.split()],
                cwd=folder,
                env={
                    **os.environ,
                    'PYTHONPATH': stand_in_path,
                    'D2LMULTI_TEST': str(tmp_path),
                },
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    for name in ('here', 'there'):
        assert f'{name} {name} [2.0, 2.0, 2.0]' in outputs[0]
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize('number', [0, 1])
def test_a_worker_that_fails_ends_the_job_on_all_nodes(nodes, url, number):
    first, second = nodes(
        JOIN
        + f"""
step()
if os.environ['D2LMULTI_NUM_DEVICES'] == '{number + 1}':
    sys.exit(3)
step()
""",
        {'node': Node(url), 'devices': [1]},
        {'node': Node(url, 1), 'devices': [2]},
    )
    assert isinstance(first, JobFailed) and isinstance(second, JobFailed)
    reason = str(first).splitlines()[0]
    assert re.match(rf'worker-{number} \(rank .\) on .* status 3$', reason)
    assert str(second) == f'{reason} (see the first node)'


@pytest.mark.parametrize('victim', [0, 1])
def test_a_node_that_dies_ends_the_job(
    nodes, tmp_path, file_url, stand_in_path, victim
):
    """Its launcher is killed while the job runs; here, it is a process."""
    (tmp_path / 'script.py').write_text(STEPS)
    command = (
        f'-m d2lrun --rendezvous {file_url} --worker-offset {victim} '
        '-- python script.py'
    )
    process = subprocess.Popen(
        [sys.executable, *command.split()],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        env={**os.environ, 'D2LMULTI_TEST': ''},
    )

    def kill():
        with contextlib.suppress(AssertionError):
            wait_until(lambda: left_behind(tmp_path, DMLC_ROLE='worker'), 30)
            time.sleep(0.5)
        os.kill(process.pid, signal.SIGKILL)

    threading.Thread(target=kill).start()
    (result,) = nodes(STEPS, {'node': Node(file_url, 1 - victim)})
    process.wait(10)
    reason = 'the first node is gone' if victim == 0 else 'its agent is gone'
    assert isinstance(result, JobFailed) and reason in str(result)
    assert (tmp_path / 'meet').exists() is (victim == 0)  # nobody could
    wait_until(lambda: not left_behind(''))


def test_a_node_that_cannot_start_its_worker_says_why(nodes, url, monkeypatch):
    def start_nothing(command):
        raise OSError('no more processes')

    monkeypatch.setattr(join, 'start_process', start_nothing)
    first, second = nodes(SUM, {'node': Node(url)}, {'node': Node(url, 1)})
    reason = str(first).splitlines()[0]
    assert re.fullmatch(r'worker-1 on \S+: no more processes', reason)
    assert str(second) == f'{reason} (see the first node)'


def test_a_job_over_two_nodes_starts_again(nodes, url):
    first, second = nodes(
        JOIN
        + """
if store.rank == 0 and not os.path.exists('tried'):
    open('tried', 'w').close()
    raise KeyError
print('sum', step())
""",
        {'node': Node(url), 'restarts': 1},
        {'node': Node(url, 1)},
    )
    assert sum('sum [2.0' in line for line in first) == 2
    assert any('restarting (1 of 1)' in line for line in first)
    assert isinstance(second, list)


# Who does not come, and who should not


SOON = JOB_LIMITS._replace(startup=1)


def test_a_node_that_does_not_come_is_named(nodes, url, tmp_path):
    (first,) = nodes(
        SUM, {'workers': 4, 'node': Node(url, 0, 2), 'limits': SOON}
    )
    assert re.match(
        r'not joined after 1 seconds: workers \[2, 3\]. Start .*'
        '--worker-offset 2$',
        str(first),
    )
    assert not (tmp_path / 'meet').exists()


def test_a_first_node_that_does_not_come_is_named(nodes, url):
    (second,) = nodes(SUM, {'node': Node(url, 1), 'limits': SOON})
    assert isinstance(second, JobFailed)
    place = url.replace('file://', '')
    assert f'no first node at {place} after 1 seconds: start' in str(second)


@contextlib.contextmanager
def rendezvous_at(url, here=1, workers=2):
    """The first node of a job that waits for the others."""
    with rendezvous.open_rendezvous(Node(url, 0, here), workers) as place:
        yield place


@pytest.mark.parametrize(
    'options, reason',
    [
        ({'workers': 3, 'node': 1}, 'has --workers 2, this one 3: give all'),
        ({'workers': 2, 'node': 1}, 'worker 1 has joined already, from'),
    ],
)
def test_a_node_that_does_not_fit_is_refused(nodes, url, options, reason):
    """And the one that has joined stays."""
    with rendezvous_at(url) as place:
        joined = Guest(url, worker=1, workers=2)
        wait_until(lambda: place.has_joined(1))
        options = {**options, 'node': Node(url, options['node'])}
        (refused,) = nodes(SUM, options)
        assert isinstance(refused, JobFailed) and reason in str(refused)
        assert place.has_joined(1)
        joined.close()
        wait_until(lambda: not place.has_joined(1))


class Guest:
    """Asks to join, as a worker of another node does."""

    def __init__(self, url, **words):
        connection, job = find_first_node(parse_rendezvous(url), 5)
        connection.settimeout(10)
        self.channel = Channel(connection)
        self.answer = greet(self.channel, job, words)
        self.close = self.channel.kill

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


def test_a_number_is_given_once(tmp_path):
    url = f'file://{tmp_path}/meet'
    with rendezvous_at(url) as place, Guest(url, worker=1, workers=2) as first:
        assert first.answer['is_ours'] and 'end' not in first.answer
        wait_until(lambda: place.has_joined(1))
        with Guest(url, worker=1, workers=2) as second:
            assert 'worker 1 has joined already' in second.answer.get(
                'end', ''
            )


def test_a_node_that_left_may_come_again(url):
    with rendezvous_at(url) as place:
        for _ in range(2):
            with Guest(url, worker=1, workers=2):
                wait_until(lambda: place.has_joined(1))
            wait_until(lambda: not place.has_joined(1))


@pytest.mark.parametrize(
    'words',
    [b'', b'GET / HTTP/1.1\n', b'[]\n', b'"ping"\n', b'{}\n', b'\xff\n'],
)
def test_strangers_do_not_disturb(url, words):
    with rendezvous_at(url) as place:
        stranger, _ = find_first_node(parse_rendezvous(url), 5)
        stranger.sendall(words)
        with Guest(url, worker=1, workers=2):
            wait_until(lambda: place.has_joined(1))
        stranger.close()


def test_a_node_joins_as_soon_as_there_are_threads_again(monkeypatch):
    place = parse_rendezvous(f'tcp://127.0.0.1:{free_port(0)}')
    url = f'tcp://{place.host}:{place.port}'
    start = threading.Thread.start

    def fail_once(thread):
        monkeypatch.setattr(threading.Thread, 'start', start)
        raise RuntimeError("can't start new thread")

    with rendezvous_at(url) as first:
        monkeypatch.setattr(threading.Thread, 'start', fail_once)
        with socket.create_connection((place.host, place.port), 5) as early:
            assert early.recv(1) == b''  # turned away
        with Guest(url, worker=1, workers=2):
            wait_until(lambda: first.has_joined(1))


@pytest.mark.parametrize('words', [b'SSH-2.0\n', b'[]\n', b'', b'{"a": 1}\n'])
def test_another_program_at_the_address_is_noticed(nodes, monkeypatch, words):
    monkeypatch.setattr(join, 'HEARTBEAT_TIMEOUT', 1)
    with socket.create_server(('127.0.0.1', 0)) as server:

        def serve():
            connection = server.accept()[0]
            connection.sendall(words)
            time.sleep(2)

        threading.Thread(target=serve, daemon=True).start()
        url = f'tcp://127.0.0.1:{server.getsockname()[1]}'
        (result,) = nodes(SUM, {'node': Node(url, 1)})
    assert 'the first node is gone, or is another program' in str(result)


def test_two_jobs_do_not_meet_at_one_place(nodes, url):
    with rendezvous_at(url):
        (other,) = nodes(SUM, {'node': Node(url)})
        assert isinstance(other, ValueError)
        what = 'in use by another job' if 'file' in url else 'cannot be used'
        assert what in str(other)


def has_ipv6():
    with contextlib.suppress(OSError):
        socket.create_server(('::1', 0), family=socket.AF_INET6).close()
        return True
    return False


@pytest.mark.skipif(not has_ipv6(), reason='needs IPv6')
def test_nodes_meet_at_an_address_of_ipv6(nodes):
    url = f'tcp://[::1]:{free_port(0)}'
    options = [{'node': Node(url, i), 'devices': [1]} for i in range(2)]
    results = nodes(SUM, *options)
    assert isinstance(results[0], list), results
    lines = '\n'.join(results[0])
    assert lines.count('sum [2.0, 2.0, 2.0]') == 2, results


def leave_stale(path, port):
    """Write the file of a job that is dead."""
    note = {'address': ['127.0.0.1', port], 'job': 'dead'}
    path.write_text(json.dumps(note))
    path.chmod(0o600)
    return note


@pytest.mark.parametrize('port_is_in_use', [False, True])
def test_a_first_node_refuses_a_stale_file(
    nodes, file_url, tmp_path, port_is_in_use
):
    """Also if the port now belongs to another job."""
    tcp = f'tcp://127.0.0.1:{free_port(0)}'
    with rendezvous_at(tcp) if port_is_in_use else contextlib.nullcontext():
        note = leave_stale(tmp_path / 'meet', parse_rendezvous(tcp).port)
        (result,) = nodes(SUM, {'node': Node(file_url)})
    assert isinstance(result, ValueError)
    assert 'left over from a job that is dead' in str(result)
    assert 'Delete it' in str(result)
    assert json.loads((tmp_path / 'meet').read_text()) == note  # untouched


@pytest.mark.timeout(30)
def test_a_stranger_at_the_address_cannot_delay_the_answer(monkeypatch):
    """It sends a byte now and then, so that no single wait is long."""
    monkeypatch.setattr(rendezvous, 'ANSWER_TIMEOUT', 1)
    with socket.create_server(('127.0.0.1', 0)) as server:

        def drip():
            guest, _ = server.accept()
            with guest, contextlib.suppress(OSError):
                while True:
                    guest.sendall(b' ')
                    time.sleep(0.3)

        threading.Thread(target=drip, daemon=True).start()
        port = server.getsockname()[1]
        assert not rendezvous.is_alive('127.0.0.1', port, 'of a dead job')


def test_another_node_refuses_a_stale_file(
    nodes, file_url, tmp_path, monkeypatch
):
    monkeypatch.setattr(join, 'STALE_AFTER', 1)
    leave_stale(tmp_path / 'meet', free_port(0))
    (result,) = nodes(SUM, {'node': Node(file_url, 1)})
    assert isinstance(result, JobFailed)
    assert 'left over from a job that is dead' in str(result)


def test_a_node_does_not_join_another_job(tmp_path):
    """Its file is stale, but the port has been given to another job."""
    tcp = f'tcp://127.0.0.1:{free_port(0)}'
    with rendezvous_at(tcp):
        leave_stale(tmp_path / 'meet', parse_rendezvous(tcp).port)
        with Guest(f'file://{tmp_path}/meet', worker=1, workers=2) as node:
            assert 'another job meets here' in node.answer.get('end', '')
            assert not node.answer['is_ours']


@pytest.mark.parametrize('worker_offset', [0, 1])
def test_a_file_of_another_kind_is_refused(
    nodes, file_url, tmp_path, worker_offset
):
    (tmp_path / 'meet').write_text('my notes')
    (tmp_path / 'meet').chmod(0o600)
    (result,) = nodes(SUM, {'node': Node(file_url, worker_offset)})
    assert isinstance(result, ValueError)
    assert 'is not a rendezvous file' in str(result)
    assert (tmp_path / 'meet').read_text() == 'my notes'


def test_the_file_appears_whole_and_once(tmp_path):
    """Of several first nodes at once, one gets it; nobody reads a part."""
    path, winners, seen, start = tmp_path / 'meet', [], [], threading.Event()

    def announce(i):
        start.wait()
        with contextlib.suppress(ValueError):
            with announced(path, ('127.0.0.1', 9), f'job{i}'):
                winners.append(f'job{i}')
                time.sleep(0.5)

    def read():
        while not seen:
            seen.extend(filter(None, [read_note(path)]))

    works = [threading.Thread(target=announce, args=[i]) for i in range(8)]
    works.append(threading.Thread(target=read))
    for work in works:
        work.start()
    start.set()
    for work in works:
        work.join(20)
    assert len(winners) == 1 and seen[0][2] == winners[0]
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_another_job_has_put_there_stays(tmp_path):
    path = tmp_path / 'meet'
    with announced(path, ('127.0.0.1', 9), 'ours'):
        leave_stale(path, 9)
    assert read_note(path)[2] == 'dead'


def test_the_address_in_a_file_is_ours(monkeypatch):
    monkeypatch.delenv('DMLC_NODE_HOST', raising=False)
    with socket.create_server((own_address(), 0)):
        pass
    monkeypatch.setenv('DMLC_NODE_HOST', 'localhost')
    assert own_address() == '127.0.0.1'


@pytest.mark.parametrize(
    'options, error, message',
    [
        ({'node': 'tcp://a:1'}, TypeError, 'node must be like Node'),
        ({'node': Node('tcp://a')}, ValueError, 'must be tcp://host:port'),
        ({'node': Node('tcp://:80')}, ValueError, 'must be tcp://host:port'),
        ({'node': Node('tcp://[::1')}, ValueError, 'must be tcp://host:port'),
        ({'node': Node(f'tcp://{"a" * 99}:1')}, ValueError, 'has no address'),
        ({'node': Node('tcp://a:port')}, ValueError, 'must be tcp://host:'),
        ({'node': Node('tcp://a:99999')}, ValueError, 'must be tcp://host:'),
        ({'node': Node('a:80')}, ValueError, 'must be tcp://host:port'),
        ({'node': Node('file://meet')}, ValueError, 'file:///path in a fold'),
        ({'node': Node('file:///')}, ValueError, 'file:///path in a folder'),
        ({'node': Node(80)}, ValueError, 'must be tcp://host:port'),
        ({'node': Node('file:///no/a')}, ValueError, 'does not exist: make'),
        (
            {'node': Node('tcp://a:1', -1)},
            ValueError,
            'worker_offset .* least',
        ),
        ({'node': Node('tcp://a:1', 0, 0)}, ValueError, 'workers of node'),
        ({'node': Node('tcp://a:1', '1')}, TypeError, 'worker_offset of node'),
        (
            {'node': Node('tcp://a:1', 2)},
            ValueError,
            'a job of 2 workers, numbered from 0, cannot',
        ),
        ({'node': Node('tcp://a:1', 0, 3)}, ValueError, '3 workers from numb'),
        (
            {'node': Node('tcp://192.0.2.1:80')},
            ValueError,
            'must be an address of this machine',
        ),
        (
            {'node': Node('tcp://a:1'), 'hosts': [('a', 2)]},
            ValueError,
            'not both',
        ),
        (
            {'node': Node('tcp://a:1'), 'devices': [1, 1]},
            ValueError,
            'each worker that is started here: give 1',
        ),
    ],
)
def test_a_node_that_cannot_work_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        launch(['true'], limits=SOON, **options)


def test_a_file_that_replaces_another_is_noticed(tmp_path, monkeypatch):
    def replace(path, content):
        part = path.with_name('part')
        part.touch(0o600)
        part.write_text(content)
        part.replace(path)
        return True

    monkeypatch.setattr(rendezvous, 'write_new', replace)
    with pytest.raises(AssertionError):
        test_the_file_appears_whole_and_once(tmp_path)


def test_a_secret_that_any_node_has_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(rendezvous, 'is_proof', lambda *arguments: True)
    with pytest.raises(AssertionError):
        test_a_node_does_not_join_another_job(tmp_path)


def test_a_number_that_is_given_twice_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(Rendezvous, 'has_joined', lambda self, number: False)
    with pytest.raises(AssertionError):
        test_a_number_is_given_once(tmp_path)


def test_a_first_node_sets_no_other_variables_of_a_node(monkeypatch):
    """Or it could make the node's command run what it likes."""
    monkeypatch.setattr(join, 'start_process', mock.Mock())
    monkeypatch.setattr(join, 'start_thread', lambda *args: None)
    orders = []
    monkeypatch.setattr(
        join, 'send_line', lambda _, order: orders.append(order)
    )
    with socket.create_server(('127.0.0.1', 0)) as server:
        connection = socket.create_connection(server.getsockname())
        member = join.Member(connection, ['python', 'own.py'], 2)
        variables = {'DMLC_ROLE': 'worker', 'LD_PRELOAD': 'x', 'PATH': 'x'}
        member.start_agent(
            {'variables': variables, 'command': ['rm'], 'ports': [1, 9]}
        )
        connection.close()
    (order,) = orders
    assert order['command'] == ['python', 'own.py']
    assert (
        order['variables']
        .pop('PYTHONPATH')
        .split(os.pathsep)[0]
        .endswith('exit_hook')
    )
    assert order['variables'] == {
        'DMLC_ROLE': 'worker',
        'D2LMULTI_NUM_DEVICES': '2',
        'DMLC_NODE_HOST': '127.0.0.1',
        'LOCAL_RANK': '0',
        'LOCAL_WORLD_SIZE': '1',
    }


def test_integers_of_numpy_are_integers(tmp_path, capfd):
    zero, one = onp.int64(0), onp.int64(1)
    launch(
        [sys.executable, '-c', 'print("ran")'],
        workers=one,
        servers=one,
        devices=[one],
        node=Node(f'file://{tmp_path}/meet', zero, one),
        limits=JOB_LIMITS,
    )
    assert 'ran' in capfd.readouterr().out
