"""The nodes of a job that join its first one: see `rendezvous`."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
from typing import Any, Callable, Iterable, Mapping, Sequence

from .agent import (
    GRACE,
    HEARTBEAT_TIMEOUT,
    LAUNCHER_TIMEOUT,
    start_thread,
)
from .channel import Channel
from .connection import (
    agent_command,
    has_ended,
    kill_agent,
    own_folder,
    send_line,
    start_process,
)
from .events import integer_in, is_text
from .rendezvous import (
    Node,
    Place,
    explain_stale,
    greet,
    meeting_address,
    own_address,
    parse_rendezvous,
    read_note,
)
from .report import JobFailed
from .roles import (
    DEFAULTS,
    Devices,
    local_variables,
    with_this_python,
    worker_variables,
)
from .secret import find_secret

STALE_AFTER = 5  # seconds in which nobody answers at the address in a file
MAX_REASON = 10_000  # characters of why a job failed
# What a worker takes from the first node, besides what begins with DMLC_.
TAKEN = {*DEFAULTS, 'RANK', 'WORLD_SIZE'}


def join(
    node: Node,
    command: Sequence[str],
    workers: int,
    devices: Devices | None,
    env: Mapping[str, str],
    seconds: float | None,
    on_line: Callable[[str], object],
) -> None:
    """Run the workers of this node, as the first node says, to the end.

    `seconds`: how long to look for the first node. Raises JobFailed if it is
    not there, or if the job failed. No process of the job remains.
    """
    place = parse_rendezvous(node.rendezvous)
    with contextlib.ExitStack() as stack:
        members = []
        for i in range(node.workers):
            connection, job = find_first_node(place, seconds)
            own = int(devices[i]) if devices else None
            member = Member(connection, with_this_python(command), own, env)
            member.local = i, node.workers, sum((devices or [1] * i)[:i])
            stack.callback(member.end)
            member.start(node.worker_offset + i, workers, job)
            members.append(member)
        outcome = wait_for_end(members, on_line)
    if outcome:
        raise JobFailed(outcome)


def wait_for_end(
    members: list[Member], on_line: Callable[[str], object]
) -> str:
    """Return why the job failed, or a member was refused; '' if all went
    well."""
    told = False
    while all(member.thread.is_alive() for member in members):
        time.sleep(0.1)
        for member in members:
            member.check_heartbeat()
        if not told and all(member.is_welcome for member in members):
            told = True
            on_line('launch: joined; the first node prints all output')
    for member in members:
        member.thread.join(1)  # all hear it at the same time
    ended = [member for member in members if not member.thread.is_alive()]
    return next(filter(None, (member.outcome for member in ended)), '')


def find_first_node(
    place: Place, seconds: float | None
) -> tuple[socket.socket, str]:
    """Return (a connection to the first node, the job's name), as soon as it
    is there; raise JobFailed after `seconds`, or if the file is stale."""
    began, seen, answered = time.monotonic(), None, time.monotonic()
    while True:
        note = (
            read_note(place.path)
            if place.path
            else (meeting_address(place.host), place.port, find_secret())
        )
        now = time.monotonic()
        if note != seen:
            seen, answered = note, now
        if note:
            with contextlib.suppress(OSError):
                return socket.create_connection(note[:2], 2), note[2]
            if place.path and now - answered > STALE_AFTER:
                raise JobFailed(explain_stale(place.path, *note[:2]))
        if seconds is not None and now - began > seconds:
            where = place.path or f'tcp://{place.host}:{place.port}'
            raise JobFailed(
                f'no first node at {where} after {seconds} seconds: start '
                '`d2lrun` with --worker-offset 0 there, and see that the '
                'machines can reach each other'
            )
        time.sleep(0.2)


def is_order(message: Any) -> bool:
    """Return whether this says how to start a worker."""
    if not isinstance(message, dict):
        return False
    variables, ports = message.get('variables'), message.get('ports')
    return (
        isinstance(variables, dict)
        and all(map(is_text, [*variables, *variables.values()]))
        and isinstance(ports, list)
        and len(ports) == 2
        and all(map(integer_in(1, 65536), ports))
        and ports[0] < ports[1]
    )


class Member:
    """A worker of this node, which the first node commands and watches."""

    def __init__(
        self,
        connection: socket.socket,
        command: list[str],
        devices: int | None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        connection.settimeout(None)  # `check_heartbeat` sees to that
        self.channel, self.command = Channel(connection), command
        self.devices, self.env = devices, env or {}
        self.local = 0, 1, 0  # its number here, of how many, its first GPU
        here = connection.getsockname()[0]
        here = own_address() if ':' in here else here
        self.address = os.environ.get('DMLC_NODE_HOST', here)
        self.agent: subprocess.Popen[str] | None = None
        self.last_heard = self.last_look = time.monotonic()
        self.is_welcome = False
        self.outcome = 'the first node is gone, or is another program'
        self.thread = threading.Thread()

    def start(self, number: int, workers: int, job: str) -> None:
        """Ask to join."""
        hello = {
            'worker': number,
            'workers': workers,
            'devices': self.devices,
            'host': socket.gethostname()[:255],
            'at': self.address,
        }
        self.thread = start_thread(self.obey, job, hello)

    def obey(self, job: str, hello: dict[str, Any]) -> None:
        """Join, and do what the first node says, until it says that the job
        ended."""
        answer = greet(self.channel, job, hello)
        while answer and answer['is_ours'] and 'end' not in answer:
            message = self.channel.receive()
            self.last_heard = time.monotonic()
            if isinstance(message, str):
                self.is_welcome = True
                if self.agent:
                    send_line(self.agent, message)
            elif is_order(message):
                try:
                    self.start_agent(message)
                except OSError as error:  # the first node ends the job
                    refused = {'event': 'refused', 'reason': f'{error}'}
                    self.forward([json.dumps(refused) + '\n'])
            else:
                answer = message if isinstance(message, dict) else None
                break
        if answer and is_text(answer.get('end')):
            self.outcome = answer['end'][:MAX_REASON]

    def start_agent(self, order: dict[str, Any]) -> None:
        """Start the worker here, with this node's command and address."""
        rank, size, first_gpu = self.local
        variables = {
            **self.env,
            **{  # nothing else, or it could run what it likes here
                name: value
                for name, value in order['variables'].items()
                if name.startswith('DMLC_') or name in TAKEN
            },
            **worker_variables(self.devices),
            **local_variables(rank, size),
            'DMLC_NODE_HOST': self.address,
        }
        self.agent = agent = start_process(agent_command(None, ''))
        own = {
            'command': self.command,
            'folder': own_folder(),
            'variables': variables,
            'port': None,
            'ports': order['ports'],
            'first_gpu': first_gpu,
            'launcher': os.getpid(),
        }
        send_line(agent, own)
        start_thread(self.forward, agent.stdout)

    def forward(self, lines: Iterable[str]) -> None:
        """Pass on what the agent says, and that it is gone."""
        with contextlib.suppress(OSError):
            for line in lines:
                self.channel.write(line)
            self.channel.write(Channel.GONE)

    def check_heartbeat(self) -> None:
        """Give up if the first node has been silent for long, while this
        process was awake."""
        now = time.monotonic()
        self.last_look, before = now, self.last_look
        if now - before > 1:
            self.last_heard = now
        limit = LAUNCHER_TIMEOUT if self.is_welcome else HEARTBEAT_TIMEOUT
        if now - self.last_heard > limit:
            self.channel.kill()

    def end(self) -> None:
        """Leave, and leave no process behind."""
        self.channel.kill()
        if self.agent is None:
            return
        with contextlib.suppress(OSError):
            assert self.agent.stdin
            self.agent.stdin.close()
        give_up = time.monotonic() + 3 * GRACE
        while not has_ended(self.agent) and time.monotonic() < give_up:
            time.sleep(0.05)
        if not has_ended(self.agent):
            kill_agent(self.agent)
        self.agent.wait()
