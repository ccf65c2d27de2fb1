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
import json
import os
import pathlib
import socket
import threading
import urllib.parse
import uuid
from typing import Any, Iterator, NamedTuple

from .agent import start_thread
from .channel import Channel
from .connection import send_line
from .report import JobFailed, plural
from .roles import Role, find_address

ANSWER_TIMEOUT = 5  # seconds for the first words of a connection


class Node(NamedTuple):
    """This machine, in a job whose nodes are started by hand.

    Every node runs `launch` with the same `rendezvous` and number of workers;
    the first node, with worker 0, also runs the scheduler and the servers,
    and has the limits, the logs and the restarts of the whole job.
    """

    rendezvous: str  # tcp://host:port of the first node, or file:///path
    first_worker: int = 0  # the number of the first worker that runs here
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
            "node must be like Node('tcp://10.0.0.1:9091', first_worker=2), "
            f'not {node!r}'
        )
    parse_rendezvous(node.rendezvous)
    for name, least in (('first_worker', 0), ('workers', 1)):
        value = getattr(node, name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f'{name} of node must be an integer, not {value}')
        if value < least:
            raise ValueError(f'{name} of node must be at least {least}')
    if node.first_worker + node.workers > workers:
        raise ValueError(
            f'{plural(node.workers, "worker")} from number '
            f'{node.first_worker} on are too many for a job of {workers}, '
            'which are numbered from 0: workers counts those of all nodes'
        )
    if hosts is not None:
        raise ValueError(
            'give hosts, which are reached with ssh, or a rendezvous, to '
            'which each node comes by itself, not both'
        )


def parse_rendezvous(url: Any) -> Place:
    """Return the place that a URL names; ValueError if it names none."""
    parts = urllib.parse.urlsplit(str(url))
    with contextlib.suppress(ValueError):  # a port that is not a number
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
def open_meeting(node: Node, workers: int) -> Iterator[Meeting]:
    """Wait for the other nodes in the background; tell them the outcome.

    Raises ValueError if the place is not here, or is taken.
    """
    place = parse_rendezvous(node.rendezvous)
    job = uuid.uuid4().hex if place.path else ''
    with listen_at(place) as listener, contextlib.ExitStack() as stack:
        host = find_address(place.host) if place.host else own_address()
        meeting = Meeting(host, job, node.workers, workers)
        stack.callback(meeting.done.set)
        start_thread(meeting.admit_all, listener)
        start_thread(meeting.ping_all)
        if place.path:
            address = host, listener.getsockname()[1]
            stack.enter_context(announced(place.path, address, job))
        try:
            yield meeting
        except BaseException as error:
            reason = f'the first node was ended by {type(error).__name__}'
            if isinstance(error, JobFailed):
                head = str(error).splitlines()[0]
                reason = f'{head} (see the first node)'
            meeting.end(reason)
            raise
        meeting.end('')


@contextlib.contextmanager
def listen_at(place: Place) -> Iterator[socket.socket]:
    """Listen at the place; ValueError if that is impossible here."""
    address = find_address(place.host) if place.host else ''
    try:
        listener = socket.create_server((address, place.port))
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

    Raises ValueError if there is a file or no folder.
    """
    if not path.parent.is_dir():
        raise ValueError(f'the folder of {path} does not exist: make it')
    part = path.with_name(f'{path.name}.{job}')
    part.write_text(json.dumps({'address': address, 'job': job}))
    try:
        os.link(part, path)  # unlike a rename, it replaces no file
    except FileExistsError:
        raise ValueError(explain_file(path)) from None
    finally:
        part.unlink()
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):  # if it is still ours
            if (read_note(path) or [''])[-1] == job:
                path.unlink()


def read_note(path: pathlib.Path) -> tuple[str, int, str] | None:
    """Return (host, port, job) from a rendezvous file, None if there is none.

    Raises ValueError for another kind of file.
    """
    try:
        note = json.loads(path.read_text())
        host, port = note['address']
        return str(host), int(port), str(note['job'])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        raise ValueError(
            f'{path} is not a rendezvous file: name one that does not exist '
            'yet'
        ) from None


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
    """Return whether the first node of the job answers at the address."""
    with contextlib.suppress(OSError), socket.create_connection(
        (host, port), ANSWER_TIMEOUT
    ) as connection:
        channel = Channel(connection)
        send_line(channel, {'job': job})
        answer = channel.receive()
        return isinstance(answer, dict) and answer.get('job') == job
    return False


class Meeting:
    """The workers of other nodes that have joined."""

    def __init__(self, host: str, job: str, here: int, workers: int) -> None:
        self.host, self.job = host, job
        self.here, self.workers = here, workers  # on this node, on all
        self.channels: dict[int, Channel] = {}
        self.changed, self.done = threading.Condition(), threading.Event()

    def admit_all(self, listener: socket.socket) -> None:
        """Talk to everyone who connects, each in a separate thread."""
        with contextlib.suppress(OSError):  # it has been closed
            while True:
                channel = Channel(listener.accept()[0])
                start_thread(self.admit, channel)

    def admit(self, channel: Channel) -> None:
        """Take in a worker, or tell it why not."""
        channel.connection.settimeout(ANSWER_TIMEOUT)
        hello = channel.receive()
        if not isinstance(hello, dict):
            return channel.kill()  # a stranger
        with self.changed:
            refusal = self.find_refusal(hello)
            if not refusal:
                channel.connection.settimeout(None)
                channel.host = str(hello.get('host'))
                channel.devices = hello.get('devices')
                self.channels[hello['worker']] = channel
                self.changed.notify_all()
        if refusal:
            send_line(channel, {'end': refusal, 'job': self.job})
            channel.kill()

    def find_refusal(self, hello: dict[str, Any]) -> str | None:
        """Return why a worker cannot join; None: it can."""
        number: Any = hello.get('worker')
        workers = hello.get('workers')
        if hello.get('job') != self.job:
            return 'another job meets here: give each job its own rendezvous'
        if workers != self.workers:
            return (
                f'the first node has --workers {self.workers}, this one '
                f'{workers}: give all nodes the same number, that of all '
                'workers'
            )
        if number not in range(self.here, self.workers):
            return (
                f'worker {number} runs on the first node, as the workers 0 '
                f'to {self.here - 1}: give a --first-worker from {self.here} '
                'on'
            )
        if self.has_joined(number):
            return (
                f'worker {number} has joined already, from '
                f'{self.channels[number].host}: give each node its own '
                '--first-worker, and each job its own rendezvous'
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
                    f'--rendezvous and --first-worker {absent[0]}'
                )
            for number, role in away.items():
                role.channel = channel = self.channels[number]
                role.host, role.devices = channel.host, channel.devices
        for role in roles:
            role.variables['DMLC_PS_ROOT_URI'] = self.host
            role.variables['DMLC_NODE_HOST'] = self.host

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
