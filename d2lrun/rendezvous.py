"""Let the nodes of a job be started by hand, with one command on each.

The launcher of the first node runs the whole job and watches it, as if it had
reached the others over ssh. Each worker of another node has a connection to
it, the `Channel`, through which it commands and hears the worker's agent. So
whatever fails, on whichever node, ends the job everywhere.

The nodes meet at an address, or at a file that holds the address. Here is the
first node's side; that of the others is in `join`.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import pathlib
import socket
import stat
import threading
import urllib.parse
from typing import Any, Callable, Iterator, NamedTuple

from d2lbase import files
from d2lbase.values import check_integer, counted

from .agent import start_thread
from .channel import MAX_HELLO, Channel
from .connection import send_line
from .events import integer_in
from .report import JobFailed
from .roles import Role, find_address, plan_ranks
from .secret import (
    SECRET,
    find_secret,
    is_proof,
    new_challenge,
    prove,
    write_new,
)

ANSWER_TIMEOUT = 5  # seconds for the first words of a connection
FILE_TIMEOUT = 10  # seconds for a file system to answer
MAX_VISITORS = 64  # connections at a time that are silent
MAX_STRANGERS = 10  # of whom a line tells
PROTOCOL = 2  # of what nodes say to each other
ANOTHER_JOB = (
    'another job meets here, or this node has another secret: give each job '
    'its own rendezvous, and all nodes the same secret: ~/.d2lrun/secret of '
    f'the first one, or the variable {SECRET}'
)


OTHER_VERSION = (
    'the nodes have d2lrun of different versions: install the same on all'
)


class Node(NamedTuple):
    """This machine, in a job whose nodes are started by hand.

    Every node runs `launch` with the same `rendezvous` and number of workers;
    the first node, with worker 0, also runs the scheduler and the servers,
    and has the limits, the logs and the restarts of the whole job.
    """

    rendezvous: str  # tcp://host:port of the first node, or file:///path
    worker_offset: int = 0  # how many workers run on the nodes before
    workers: int = 1  # how many run here


class Place(NamedTuple):
    """Where the nodes meet: an address, or a file that will hold it."""

    host: str = ''
    port: int = 0
    path: pathlib.Path | None = None


def check_node(node: Any, workers: int, hosts: Any) -> None:
    """Raise TypeError or ValueError for a node that cannot work."""
    if node is None:
        return
    if not isinstance(node, Node):
        raise TypeError(
            "node must be like Node('tcp://10.0.0.1:9091', worker_offset=2), "
            f'not {node!r}'
        )
    parse_rendezvous(node.rendezvous)
    for name, least in (('worker_offset', 0), ('workers', 1)):
        value = getattr(node, name)
        check_integer(least, **{f'{name} of node': value})
    if node.worker_offset + node.workers > workers:
        raise ValueError(
            f'a job of {counted(workers, "worker")}, numbered from 0, cannot '
            f'have {counted(node.workers, "worker")} from number '
            f'{node.worker_offset} on: workers counts those of all nodes'
        )
    if hosts is not None:
        raise ValueError(
            'give hosts, which are reached with ssh, or a rendezvous, to '
            'which each node comes by itself, not both'
        )


def parse_rendezvous(url: Any) -> Place:
    """Return the place that a URL names; ValueError if it names none."""
    with contextlib.suppress(ValueError):  # a port that is no number
        parts = urllib.parse.urlsplit(str(url))
        if parts.scheme == 'tcp' and parts.hostname and parts.port:
            return Place(parts.hostname, parts.port)
        path = urllib.parse.unquote(parts.path)
        if parts.scheme == 'file' and not parts.netloc and path[1:]:
            return Place(path=pathlib.Path(path))
    raise ValueError(
        'the rendezvous must be tcp://host:port of the first node, or '
        f'file:///path in a folder that all nodes share, not {url!r}'
    )


@contextlib.contextmanager
def open_rendezvous(
    node: Node, workers: int, on_line: Callable[[str], object] = print
) -> Iterator[Rendezvous]:
    """Wait for the other nodes in the background; tell them the outcome.
    `on_line` hears of strangers.

    Raises ValueError if the place is not here, or is taken.
    """
    place = parse_rendezvous(node.rendezvous)
    job = new_challenge() if place.path else find_secret()
    with listen_at(place) as listener, contextlib.ExitStack() as stack:
        # MXNet's own connections are of IPv4.
        is_ipv4 = place.host and ':' not in place.host
        host = find_address(place.host) if is_ipv4 else own_address()
        rendezvous = Rendezvous(host, job, node.workers, workers, on_line)
        stack.callback(rendezvous.done.set)
        start_thread(rendezvous.admit_all, listener)
        start_thread(rendezvous.ping_all)
        if place.path:
            address = host, listener.getsockname()[1]
            stack.enter_context(announced(place.path, address, job))
        try:
            yield rendezvous
        except BaseException as error:
            reason = f'the first node was ended by {type(error).__name__}'
            if isinstance(error, JobFailed):
                head = str(error).splitlines()[0]
                reason = f'{head} (see the first node)'
            rendezvous.end(reason)
            raise
        rendezvous.end('')


@contextlib.contextmanager
def listen_at(place: Place) -> Iterator[socket.socket]:
    """Listen at the place; ValueError if that is impossible here."""
    address = meeting_address(place.host) if place.host else ''
    family = socket.AF_INET6 if ':' in address else socket.AF_INET
    try:
        listener = socket.create_server((address, place.port), family=family)
    except OSError as error:
        raise ValueError(
            f'tcp://{place.host}:{place.port} cannot be used here '
            f'({error.strerror}): it must be an address of this machine, the '
            'one with worker 0, and a port that no other job or program uses'
        ) from None
    with listener:
        yield listener
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)  # `accept` returns


def meeting_address(host: str) -> str:
    """Return the address of a host, or of IPv6 as it stands; ValueError if it
    has none."""
    return host if ':' in host else find_address(host)


def own_address() -> str:
    """Return the address at which other machines reach this one: that of
    DMLC_NODE_HOST, or else of the interface with the default route."""
    named = os.environ.get('DMLC_NODE_HOST')
    if named:
        return find_address(named)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(('192.0.2.1', 9))  # for documentation; sends nothing
        except OSError:  # no network
            return '127.0.0.1'
        return str(probe.getsockname()[0])


@contextlib.contextmanager
def announced(
    path: pathlib.Path, address: tuple[str, int], job: str
) -> Iterator[None]:
    """Write the address into a new file, which appears whole; remove it.

    Only this user can read it: it holds the secret of the job. Raises
    ValueError if there is a file or no folder, or if it cannot be written.
    """
    note = json.dumps({'address': address, 'job': job})
    if not in_time(path, path.parent.is_dir):
        raise ValueError(f'the folder of {path} does not exist: make it')
    in_time(path, functools.partial(check_folder, path))
    if not in_time(path, functools.partial(write_new, path, note)):
        raise ValueError(explain_file(path))
    try:
        yield
    finally:
        with contextlib.suppress(ValueError, OSError):  # if it is still ours
            if (read_note(path) or [''])[-1] == job:
                in_time(path, path.unlink)


def in_time(path: pathlib.Path, work: Callable[[], Any]) -> Any:
    """Return what `work` does with a path; ValueError if its file system
    refuses, or does not answer."""
    remedy = 'name a file in another folder, or use tcp://host:port'
    try:
        return files.answer_within(path, work, FILE_TIMEOUT)
    except TimeoutError:
        raise ValueError(
            f'the file system of {path} has not answered for {FILE_TIMEOUT} '
            f'seconds: {remedy}'
        ) from None
    except OSError as error:
        raise ValueError(
            f'{path} cannot be used ({error.strerror}): make room or get '
            f'permission there, {remedy}'
        ) from None


def read_note(path: pathlib.Path) -> tuple[str, int, str] | None:
    """Return (host, port, job) from a rendezvous file, None if there is none.

    Raises ValueError for another kind of file, or one that cannot be read.
    """
    try:
        text = in_time(path, functools.partial(read_start, path))
        if text is None:
            return None
        note = json.loads(text)
        host, port = note['address']
        return str(host), int(port), str(note['job'])
    except (json.JSONDecodeError, KeyError, TypeError, RecursionError):
        raise ValueError(
            f'{path} is not a rendezvous file: name one that does not exist '
            'yet'
        ) from None


def read_start(path: pathlib.Path) -> str | None:
    """Return what a short file holds, and the beginning of a long one; None
    without a file. Raises ValueError for one that a stranger may have made."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    with open(descriptor, encoding='utf-8', errors='replace') as file:
        check_owner(path, os.fstat(descriptor))
        return file.read(MAX_HELLO)


def check_owner(path: pathlib.Path, found: os.stat_result) -> None:
    """Raise ValueError unless a rendezvous file is this user's alone: who
    makes it first would command all nodes."""
    if not stat.S_ISREG(found.st_mode):
        why = 'it is not a file'
    elif found.st_uid != os.getuid():
        why = f'it is a file of user {found.st_uid}'
    elif found.st_mode & 0o077:
        why = 'others may open it, and it holds a secret'
    else:
        return check_folder(path)
    raise ValueError(distrust(path, why))


def check_folder(path: pathlib.Path) -> None:
    """Raise ValueError if anyone may replace a file in its folder."""
    mode = path.parent.stat().st_mode
    if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise ValueError(distrust(path, 'anyone may replace it in its folder'))


def distrust(path: pathlib.Path, why: str) -> str:
    """Return why a file cannot be trusted, and what to do."""
    return (
        f'{path} is not used as a rendezvous: {why}. Name a file that does '
        'not exist yet, in a folder of yours'
    )


def explain_file(path: pathlib.Path) -> str:
    """Return why a rendezvous file that exists is in the way."""
    note = read_note(path)
    if note is None:
        return f'{path} was there a moment ago: start again'
    host, port, job = note
    if is_alive(host, port, job):
        return (
            f'{path} is in use by another job, whose first node is {host}: '
            'wait for its end, or name another file on all nodes'
        )
    return explain_stale(path, host, port)


def explain_stale(path: pathlib.Path, host: str, port: int) -> str:
    """Return what to do about the file of a job that is dead."""
    return (
        f'{path} is left over from a job that is dead: nobody answers for it '
        f'at {host}, port {port}. Delete it, then start all nodes again'
    )


def is_alive(host: str, port: int, job: str) -> bool:
    """Return whether the first node of the job answers at the address, in
    time: a stranger there may send a byte now and then."""

    def ask() -> bool:
        with socket.create_connection((host, port), ANSWER_TIMEOUT) as there:
            answer = greet(Channel(there), job, {})
            return answer is not None and answer['is_ours']

    with contextlib.suppress(OSError):
        return bool(files.answer_within(host, ask, ANSWER_TIMEOUT))
    return False


def greet(
    channel: Channel, job: str, words: dict[str, Any]
) -> dict[str, Any] | None:
    """Say hello to the first node of a job; return its answer, None if this
    is another program, or a node that does not have the job's secret."""
    theirs, ours = channel.receive(), new_challenge()
    if not isinstance(theirs, dict) or not is_short(theirs.get('challenge')):
        return None
    if theirs.get('version') != PROTOCOL:
        return {'is_ours': False, 'end': OTHER_VERSION}
    nonces = theirs['challenge'], ours
    hello = {'challenge': ours, 'proof': prove(job, 'join', *nonces)}
    send_line(channel, {'version': PROTOCOL, **NOBODY, **words, **hello})
    answer = channel.receive()
    if not isinstance(answer, dict) or not is_short(answer.get('proof')):
        return None
    is_ours = is_proof(answer['proof'], job, 'admit', *nonces)
    return {**answer, 'is_ours': is_ours}


def is_short(value: Any) -> bool:
    """Return whether this is a text that is not long, and that can be sent
    and printed."""
    return isinstance(value, str) and len(value) < 256 and value.isprintable()


# What a worker says first; this one is nobody, who asks who is there.
NOBODY = {'worker': -1, 'workers': 0, 'devices': None, 'host': '', 'at': ''}
HELLO = {
    'version': integer_in(0, 1 << 20),
    'worker': integer_in(-1, 1 << 20),
    'workers': integer_in(0, 1 << 20),
    'devices': lambda value: value is None or integer_in(1, 1 << 20)(value),
    'host': is_short,
    'at': is_short,  # its address
    'challenge': is_short,
    'proof': is_short,
}


def is_hello(hello: Any) -> bool:
    """Return whether this is what a worker says first."""
    return (
        isinstance(hello, dict)
        and hello.keys() == HELLO.keys()
        and all(is_right(hello[name]) for name, is_right in HELLO.items())
    )


class Rendezvous:
    """The workers of other nodes that have joined."""

    def __init__(
        self,
        host: str,
        job: str,
        here: int,
        workers: int,
        on_line: Callable[[str], object] = print,
    ) -> None:
        self.host, self.job, self.on_line = host, job, on_line
        self.here, self.workers = here, workers  # on this node, on all
        self.channels: dict[int, Channel] = {}
        self.changed, self.done = threading.Condition(), threading.Event()
        self.strangers = 0
        self.visitors: list[Channel] = []  # who have not said who they are

    def admit_all(self, listener: socket.socket) -> None:
        """Talk to everyone who connects, each in a separate thread."""
        while not self.done.is_set():
            try:
                connection, address = listener.accept()
            except OSError:  # it has been closed, or there are too many files
                self.done.wait(0.1)
                continue
            self.visitors.append(Channel(connection))
            try:
                start_thread(self.admit, self.visitors[-1], address[0])
            except OSError:  # there are too many threads
                self.visitors.pop().kill()
                self.done.wait(0.1)
            for channel in self.visitors[:-MAX_VISITORS]:  # a flood of them
                channel.kill()  # who has been silent for longest

    def admit(self, channel: Channel, address: str) -> None:
        """Take in a worker, or tell it why not."""
        ours = new_challenge()
        send_line(channel, {'challenge': ours, 'version': PROTOCOL})
        hello = channel.receive_soon(ANSWER_TIMEOUT)
        self.visitors.remove(channel)
        if not is_hello(hello):
            self.tell_of_stranger(address, 'it does not speak as a node does')
            return channel.free()
        nonces = ours, hello['challenge']
        proof = {'proof': prove(self.job, 'admit', *nonces)}
        if not is_proof(hello['proof'], self.job, 'join', *nonces):
            self.tell_of_stranger(address, 'it does not have the secret')
            proof['proof'], refusal = '', ANOTHER_JOB
        else:
            refusal = self.find_refusal(hello) or ''
            if hello['version'] != PROTOCOL:
                refusal = OTHER_VERSION
        channel.connection.settimeout(None)
        send_line(channel, {'end': refusal, **proof} if refusal else proof)
        if refusal or not self.take_in(hello, channel):
            channel.free()

    def take_in(self, hello: dict[str, Any], channel: Channel) -> bool:
        """Let a worker join, unless another one just did."""
        with self.changed:
            if self.find_refusal(hello):
                return False
            channel.host, channel.devices = hello['host'], hello['devices']
            channel.address = hello['at']
            self.channels[hello['worker']] = channel
            self.changed.notify_all()
        return True

    def tell_of_stranger(self, address: str, why: str) -> None:
        """Write a line about somebody who was turned away."""
        self.strangers += 1
        if self.strangers <= MAX_STRANGERS:
            more = '; no more of them are reported'
            self.on_line(
                f'launch: turned away {address} at the rendezvous: {why}'
                f'{more if self.strangers == MAX_STRANGERS else ""}'
            )

    def find_refusal(self, hello: dict[str, Any]) -> str | None:
        """Return why a worker cannot join; None: it can."""
        number, workers = hello['worker'], hello['workers']
        if workers != self.workers:
            return (
                f'the first node has --workers {self.workers}, this one '
                f'{workers}: give all nodes the same number, that of all '
                'workers'
            )
        if number not in range(self.here, self.workers):
            return (
                f'worker {number} runs on the first node, as the workers 0 '
                f'to {self.here - 1}: give a --worker-offset from {self.here} '
                'on'
            )
        if self.has_joined(number):
            return (
                f'worker {number} has joined already, from '
                f'{self.channels[number].host}: give each node its own '
                '--worker-offset, and each job its own rendezvous'
            )
        return None

    def has_joined(self, number: int) -> bool:
        """Return whether a worker is there, and its node too."""
        channel = self.channels.get(number)
        if channel and not channel.is_running and not channel.is_lost:
            channel.is_lost = is_closed(channel.connection)
        return channel is not None and not channel.is_lost

    def ping_all(self) -> None:
        """Tell all nodes each second that this one is there."""
        while not self.done.wait(1):
            for channel in list(self.channels.values()):
                send_line(channel, 'ping')

    def assign(self, roles: list[Role], seconds: float | None) -> None:
        """Connect the roles of other nodes, when all have joined.

        Raises JobFailed if some have not after `seconds`; None: no limit.
        """
        away = {
            role.number: role
            for role in roles
            if role.kind == 'worker' and role.number >= self.here
        }
        with self.changed:
            if not self.changed.wait_for(
                lambda: all(map(self.has_joined, away)), seconds
            ):
                absent = [n for n in away if not self.has_joined(n)]
                raise JobFailed(
                    f'not joined after {seconds} seconds: workers {absent}. '
                    'Start `d2lrun` on their nodes too, with the same '
                    f'--rendezvous and --worker-offset {absent[0]}'
                )
            for number, role in away.items():
                role.channel = channel = self.channels[number]
                role.host, role.devices = channel.host, channel.devices
        self.tell_places(roles)

    def tell_places(self, roles: list[Role]) -> None:
        """Set the variables that depend on where the nodes are."""
        for role in roles:
            address = role.channel.address if role.channel else self.host
            role.variables['DMLC_PS_ROOT_URI'] = self.host
            role.variables['DMLC_NODE_HOST'] = address
            if role.kind == 'worker' and not role.channel:
                role.variables['LOCAL_WORLD_SIZE'] = str(self.here)
        plan_ranks([role for role in roles if role.kind == 'worker'])

    def end(self, outcome: str) -> None:
        """Tell all nodes why the job failed; '' if it ended well."""
        for channel in self.channels.values():
            send_line(channel, {'end': outcome})


def is_closed(connection: socket.socket) -> bool:
    """Return whether the other side has closed an idle connection."""
    try:
        flags = socket.MSG_PEEK | socket.MSG_DONTWAIT
        return connection.recv(1, flags) == b''
    except BlockingIOError:
        return False
    except OSError:
        return True
