"""Who may take part in a job, and what is done with words from outside."""

import contextlib
import gc
import json
import os
import pathlib
import random
import socket
import stat
import sys
import tempfile
import threading
import time

import pytest
from helpers import run_as_another_user, wait_until
from test_rendezvous import Guest

from d2lrun import Node, channel, join, launch, rendezvous
from d2lrun.agent import free_port
from d2lrun.events import FIELDS, MAX_EVENT, parse_event, read_lines
from d2lrun.rendezvous import (
    PROTOCOL,
    announced,
    parse_rendezvous,
    prove,
    read_note,
)
from d2lrun.secret import SECRET, find_secret

pytestmark = pytest.mark.timeout(60)
GOOD = {
    'version': PROTOCOL,
    'worker': 1,
    'workers': 2,
    'devices': None,
    'host': 'far',
    'at': '10.0.0.7',
    'challenge': 'a',
    'proof': 'b',
}


@pytest.fixture
def place(monkeypatch):
    """A first node that waits for a worker, and the lines that it prints."""
    lines = []
    node = Node(f'tcp://127.0.0.1:{free_port(0)}')
    with rendezvous.open_rendezvous(node, 2, lines.append) as place:
        place.url, place.lines = node.rendezvous, lines
        place.port = parse_rendezvous(place.url).port
        yield place


def say(port, words):
    """Connect, say something, and return all that is answered; who is let
    in hears a ping each second."""
    answer = b''
    with socket.create_connection(('127.0.0.1', port), 10) as connection:
        with contextlib.suppress(OSError):  # closed before all is read
            connection.sendall(words)
            connection.shutdown(socket.SHUT_WR)
            while b'ping' not in answer:
                part = connection.recv(999)
                answer += part
                if not part:
                    break
    return answer


def assert_turned_away(place, words, reason):
    """A stranger gets no slot; the job has one line, and goes on."""
    answer = say(place.port, words)
    assert answer.count(b'\n') <= 2 and place.job.encode() not in answer
    wait_until(lambda: place.lines)
    (line,) = place.lines
    assert line.startswith('launch: turned away 127.0.0.1 at the rendezvous')
    assert reason in line and not place.channels
    with Guest(place.url, worker=1, workers=2) as guest:
        assert guest.answer['is_ours']
        wait_until(lambda: place.has_joined(1))


@pytest.mark.parametrize(
    'words',
    [
        b'',
        b'GET / HTTP/1.1\r\n\r\n',
        b'\x16\x03\x01\x02\x00\x01\x00',
        b'{"event":"alive"}\n',
        b'[]\n',
        b'1e999\n',
        b'[' * 4000 + b'\n',
        b'x' * 100_000,
        json.dumps({**GOOD, 'worker': '1'}).encode() + b'\n',
        json.dumps({**GOOD, 'worker': True}).encode() + b'\n',
        json.dumps({**GOOD, 'worker': 1e400}).encode() + b'\n',
        json.dumps({**GOOD, 'devices': -1}).encode() + b'\n',
        json.dumps({**GOOD, 'host': ['a']}).encode() + b'\n',
        json.dumps({**GOOD, 'host': 'a' * 999}).encode() + b'\n',
        json.dumps({**GOOD, 'proof': '\ud800'}).encode() + b'\n',
        json.dumps({**GOOD, 'challenge': '\ud800'}).encode() + b'\n',
        json.dumps({**GOOD, 'host': '\x1b[2J'}).encode() + b'\n',
        json.dumps({**GOOD, 'more': 1}).encode() + b'\n',
        json.dumps({'worker': 1, 'workers': 2}).encode() + b'\n',
        json.dumps(GOOD).encode() + b'\nand more',
    ],
    ids=lambda words: repr(words[:20]),
)
def test_who_does_not_speak_as_a_node_gets_no_slot(place, words):
    assert_turned_away(place, words, 'it does not speak as a node does')


def test_who_does_not_have_the_secret_gets_no_slot(place):
    words = json.dumps(GOOD).encode() + b'\n'
    assert_turned_away(place, words, 'it does not have the secret')


def test_a_recorded_hello_is_of_no_use(place):
    """What a node has said cannot be said again: each time, the first node
    asks for another proof."""
    hello = {**GOOD, 'proof': prove(place.job, 'join', 'x' * 32, 'a')}
    words = json.dumps(hello).encode() + b'\n'
    assert_turned_away(place, words, 'it does not have the secret')


def test_a_node_with_another_secret_says_what_to_do(place, monkeypatch):
    monkeypatch.setenv(SECRET, 'another')
    with Guest(place.url, worker=1, workers=2) as guest:
        assert not guest.answer['is_ours']
        assert 'all nodes the same secret' in guest.answer['end']


def test_a_first_node_without_the_secret_commands_nobody(monkeypatch):
    """A stranger listens where the first node should."""
    started = []
    monkeypatch.setattr(join, 'start_process', started.append)
    monkeypatch.setattr(join, 'HEARTBEAT_TIMEOUT', 1)
    with socket.create_server(('127.0.0.1', 0)) as server:
        member = join.Member(
            socket.create_connection(server.getsockname()), ['true'], None
        )
        stranger = server.accept()[0]
        member.start(1, 2, find_secret())
        first = {'challenge': 'a', 'version': PROTOCOL}
        order = {'variables': {'DMLC_ROLE': 'worker'}, 'ports': [1, 9]}
        for words in (first, {'proof': 'b'}, order):
            stranger.sendall(json.dumps(words).encode() + b'\n')
        member.thread.join(10)
        assert not member.thread.is_alive() and not started
        stranger.close()


def test_who_is_slow_or_one_of_many_does_not_keep_others_out(
    place, monkeypatch
):
    """They hold a place for a moment, and nothing else."""
    monkeypatch.setattr(rendezvous, 'ANSWER_TIMEOUT', 0.5)
    crowd = [
        socket.create_connection(('127.0.0.1', place.port), 10)
        for _ in range(rendezvous.MAX_VISITORS + 20)
    ]
    began = time.monotonic()
    while time.monotonic() < began + 1:
        for visitor in crowd[:5]:
            try:
                visitor.sendall(b' ')
            except OSError:
                break
        time.sleep(0.1)
    with Guest(place.url, worker=1, workers=2) as guest:
        assert guest.answer['is_ours']
    for visitor in crowd:
        visitor.close()
    wait_until(lambda: len(place.lines) == rendezvous.MAX_STRANGERS)
    assert place.lines[-1].endswith('no more of them are reported')


def test_a_crowd_that_is_silent_keeps_nobody_out(place):
    """Who is new takes the place of who has been silent for longest."""
    with contextlib.ExitStack() as stack:
        for _ in range(2 * rendezvous.MAX_VISITORS):
            visitor = socket.create_connection(('127.0.0.1', place.port), 10)
            stack.enter_context(visitor)
        guest = stack.enter_context(Guest(place.url, worker=1, workers=2))
        assert guest.answer['is_ours']


def mutated(rng, hello):
    """Return a hello with a few bytes or fields that are others."""
    hello = dict(hello)
    if rng.random() < 0.5:
        value = rng.choice(
            [None, -1, 1 << 70, 1e300, '', '\ud800', 'x' * 5000, [], {}, True]
        )
        hello[rng.choice([*hello, 'more'])] = value
    data = bytearray(json.dumps(hello).encode())
    for _ in range(rng.randrange(4)):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data) + b'\n' * rng.randrange(3)


def count_blocks():
    """Return how many blocks of memory Python has taken for objects."""
    gc.collect()
    return sys.getallocatedblocks()


def assert_fuzz_does_no_harm(place, count, capfd):
    """No traceback, ten lines, and no descriptors, threads, visitors or
    memory that stay."""
    rng = random.Random(1)
    before = len(os.listdir('/proc/self/fd')), threading.active_count()
    for number in range(count):
        if number == count // 2:  # all caches are filled
            blocks = count_blocks()
        words = rng.choice(
            [rng.getrandbits(8 * 60).to_bytes(60, 'big'), mutated(rng, GOOD)]
        )
        say(place.port, words)
    wait_until(lambda: not place.visitors)
    wait_until(
        lambda: (
            len(os.listdir('/proc/self/fd')) <= before[0]
            and threading.active_count() <= before[1]
        )
    )
    # A message that left one object behind would leave a block.
    assert count_blocks() - blocks < count / 4
    assert 'Traceback' not in capfd.readouterr().err
    assert len(place.lines) == min(count, rendezvous.MAX_STRANGERS)
    assert not place.channels
    with Guest(place.url, worker=1, workers=2) as guest:
        assert guest.answer['is_ours']


@pytest.mark.skipif(sys.platform != 'linux', reason='needs /proc')
@pytest.mark.parametrize(
    'count',
    [
        2000,
        pytest.param(
            100_000, marks=[pytest.mark.long, pytest.mark.timeout(3600)]
        ),
    ],
)
def test_random_and_mutated_words_do_no_harm(place, count, capfd):
    assert_fuzz_does_no_harm(place, count, capfd)


def test_a_check_that_lets_any_text_in_is_noticed(place, capfd, monkeypatch):
    monkeypatch.setattr(
        rendezvous, 'is_proof', lambda *words: bool(words[0].encode())
    )
    is_text = {
        name: lambda v: isinstance(v, str) for name in ('proof', 'host')
    }
    monkeypatch.setattr(rendezvous, 'HELLO', {**rendezvous.HELLO, **is_text})
    with pytest.raises(AssertionError):
        assert_fuzz_does_no_harm(place, 300, capfd)


@pytest.mark.skipif(sys.platform != 'linux', reason='needs /proc')
def test_a_message_that_is_kept_is_noticed(place, capfd, monkeypatch):
    kept = []
    receive = channel.Channel.receive_soon

    def keep(*args):
        kept.append(object())
        return receive(*args)

    monkeypatch.setattr(channel.Channel, 'receive_soon', keep)
    with pytest.raises(AssertionError, match='count_blocks'):
        assert_fuzz_does_no_harm(place, 2000, capfd)


def test_another_version_is_named(place):
    hello = {**GOOD, 'version': PROTOCOL + 1}
    with socket.create_connection(('127.0.0.1', place.port), 10) as client:
        words = client.makefile('rw')
        challenge = json.loads(words.readline())['challenge']
        hello['proof'] = prove(place.job, 'join', challenge, 'a')
        words.write(json.dumps(hello) + '\n')
        words.flush()
        assert 'different versions' in json.loads(words.readline())['end']
    ours, theirs = socket.socketpair()
    theirs.sendall(b'{"challenge": "a", "version": 1}\n')
    answer = rendezvous.greet(channel.Channel(ours), place.job, {})
    assert 'different versions' in answer['end'] and not answer['is_ours']


# Files


def test_the_rendezvous_file_is_for_this_user_alone(tmp_path):
    before = os.umask(0)
    try:
        with announced(tmp_path / 'meet', ('127.0.0.1', 9), 'the secret'):
            mode = (tmp_path / 'meet').stat().st_mode
    finally:
        os.umask(before)
    assert stat.S_IMODE(mode) == 0o600


@pytest.mark.skipif(os.getuid(), reason='needs another user')
def test_another_user_sees_the_rendezvous_file_and_cannot_read_it():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = pathlib.Path(folder, 'meet')
        with announced(path, ('127.0.0.1', 9), 'the secret'):
            assert run_as_another_user(os.listdir, folder) == "['meet']"
            told = run_as_another_user(path.read_text)
            assert told.startswith('PermissionError')
            told = run_as_another_user(path.unlink)
            assert told.startswith('PermissionError')


def test_a_secret_is_made_once_and_for_this_user_alone(tmp_path, monkeypatch):
    monkeypatch.delenv(SECRET)
    monkeypatch.setenv('HOME', str(tmp_path))
    secret = find_secret()
    assert find_secret() == secret and len(secret) == 32
    path = tmp_path / '.d2lrun' / 'secret'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert list(path.parent.iterdir()) == [path]
    path.chmod(0o640)
    with pytest.raises(ValueError, match='others may read .*chmod 600'):
        find_secret()


def test_without_a_home_the_variable_is_named(monkeypatch):
    monkeypatch.delenv(SECRET)
    monkeypatch.setenv('HOME', '/dev/null')
    with pytest.raises(ValueError, match=f'set {SECRET}, to the same'):
        find_secret()


@pytest.mark.parametrize('offset', [0, 1])
def test_a_file_system_that_does_not_answer_is_named(
    tmp_path, monkeypatch, offset
):
    monkeypatch.setattr(rendezvous, 'FILE_TIMEOUT', 0.5)
    monkeypatch.setattr(rendezvous, 'read_start', lambda path: time.sleep(3))
    (tmp_path / 'meet').write_text('')
    with pytest.raises(ValueError, match='meet has not answered for 0.5'):
        launch(['true'], node=Node(f'file://{tmp_path}/meet', offset))


def as_another_user(path):
    if os.getuid():
        pytest.skip('only root can give a file away')
    os.chown(path, 65534, 65534)


def as_a_pipe(path):
    path.unlink()
    os.mkfifo(path)


def as_a_link(path):
    path.rename(path.with_name('other'))
    path.symlink_to(path.with_name('other'))


@pytest.mark.parametrize('offset', [0, 1])
@pytest.mark.parametrize(
    'change, why',
    [
        (as_another_user, 'it is a file of user 65534'),
        (lambda path: path.chmod(0o604), 'others may open it'),
        (lambda path: path.chmod(0o660), 'others may open it'),
        (lambda path: path.parent.chmod(0o777), 'anyone may replace it'),
        (as_a_pipe, 'it is not a file'),
        (as_a_link, 'cannot be used .Too many levels'),
    ],
)
def test_a_file_that_a_stranger_may_have_made_is_refused(
    tmp_path, change, why, offset
):
    path = tmp_path / 'own' / 'meet'
    path.parent.mkdir()
    note = {'address': ['127.0.0.1', free_port(0)], 'job': 'the stranger'}
    path.write_text(json.dumps(note))
    path.chmod(0o600)
    assert read_note(path)[2] == 'the stranger'
    change(path)
    with pytest.raises(ValueError, match=why):
        launch(['true'], node=Node(f'file://{path}', offset))


def test_a_folder_that_anyone_may_write_gets_no_file(tmp_path):
    tmp_path.chmod(0o777)
    with pytest.raises(ValueError, match='anyone may replace it'):
        launch(['true'], node=Node(f'file://{tmp_path}/meet'))
    tmp_path.chmod(0o1777)  # as /tmp
    with announced(tmp_path / 'meet', ('127.0.0.1', 9), 'ours'):
        assert read_note(tmp_path / 'meet')[2] == 'ours'


@pytest.mark.parametrize('folder', ['/sys', '/proc/self'])
def test_a_folder_that_cannot_be_written_is_named(folder):
    """Not even by root."""
    with pytest.raises(ValueError, match=f'{folder}/meet|folder of'):
        launch(['true'], node=Node(f'file://{folder}/meet'))


def test_a_full_disk_at_the_rendezvous_is_named(tmp_path, monkeypatch):
    def write_new(path, text):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(rendezvous, 'write_new', write_new)
    with pytest.raises(ValueError) as caught:
        launch(['true'], node=Node(f'file://{tmp_path}/meet'))
    assert f'{tmp_path}/meet cannot be used (No space left' in str(
        caught.value
    )
    assert 'make room' in str(caught.value)


# What agents say


@pytest.mark.parametrize(
    'line',
    [
        '{"event":"alive"}',
        '{"event":"gone"}',
        '{"event":["output"]}',
        '{"event":"output","line":7,"stream":"stdout"}',
        '{"event":"output","line":"a","stream":"other"}',
        '{"event":"output","line":"a","stream":["stdout"]}',
        '{"event":"started","port":"80"}',
        '{"event":"started","port":99999}',
        '{"event":"rank","rank":1.5}',
        '{"event":"rank","rank":true}',
        '{"event":"killed","process":1}',
        '{"event":"stacks","stacks":"abc"}',
        '{"event":"stacks","stacks":[1]}',
        '{"event":"folders","library":["/a/"],"mxnet":[""]}',
        '{"event":"ended","status":"0"}',
        '{"event":"alive","cpu":NaN,"joined":true,"stopped":false,'
        '"exiting":false,"still":0}',
        '[]',
        '7',
        '[' * 100_000,
        'ssh: connect to host: No route',
    ],
    ids=lambda line: line[:60],
)
def test_what_is_no_event_is_output(line):
    assert parse_event(line + '\n') == {
        'event': 'output',
        'line': line,
        'stream': 'stdout',
    }


def test_each_event_of_an_agent_is_one():
    activity = dict(cpu=1, joined=True, stopped=False, exiting=False)
    activity.update(still=-1, exchanged=False)
    events = [
        {'event': 'started', 'port': 9091},
        {'event': 'refused', 'reason': 'no'},
        {'event': 'output', 'line': 'a', 'stream': 'stderr'},
        {'event': 'rank', 'rank': 0},
        {'event': 'killed', 'process': 7, 'signal': 9},
        {'event': 'stacks', 'stacks': ['a']},
        {'event': 'folders', 'library': ['/a/'], 'mxnet': []},
        {'event': 'records', 'records': '[0]\n'},
        {'event': 'alive', **activity},
        {'event': 'ended', 'status': None},
        {'event': 'ended', 'status': -9},
    ]
    assert {event['event'] for event in events} == set(FIELDS)
    for event in events:
        assert parse_event(json.dumps(event)) == event


def test_a_line_without_an_end_ends_the_conversation(tmp_path, monkeypatch):
    path = pathlib.Path(tmp_path / 'words')
    path.write_text('one\n' + 'x' * (MAX_EVENT + 5))
    with open(path) as file:
        lines = list(read_lines(file))
    assert lines[0] == 'one\n' and len(lines) == 2
    assert len(lines[1]) == MAX_EVENT
    assert channel.MAX_HELLO < MAX_EVENT


def test_a_secret_that_is_not_asked_for_is_noticed(place, monkeypatch):
    monkeypatch.setattr(rendezvous, 'is_proof', lambda *arguments: True)
    with pytest.raises(AssertionError):
        test_who_does_not_have_the_secret_gets_no_slot(place)
