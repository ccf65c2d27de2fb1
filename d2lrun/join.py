"""The nodes of a job that join its first one: see `rendezvous`."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
import time
from typing import Any, Callable, Sequence

from .agent import GRACE, HEARTBEAT_TIMEOUT, start_thread
from .channel import Channel
from .connection import (
    agent_command,
    has_ended,
    kill_agent,
    send_line,
    start_process,
)
from .rendezvous import (
    Node,
    Place,
    explain_stale,
    parse_rendezvous,
    read_note,
)
from .report import JobFailed
from .roles import (
    DEFAULTS,
    Devices,
    find_address,
    with_this_python,
    worker_variables,
)

STALE_AFTER = 5  # seconds in which nobody answers at the address in a file


def join(
    node: Node,
    command: Sequence[str],
    workers: int,
    devices: Devices | None,
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
            member = Member(connection, with_this_python(command), own)
            stack.callback(member.end)
            member.start(node.first_worker + i, workers, job)
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
            else (find_address(place.host), place.port, '')
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
                '`d2lrun` with --first-worker 0 there, and see that the '
                'machines can reach each other'
            )
        time.sleep(0.2)


class Member:
    """A worker of this node, which the first node commands and watches."""

    def __init__(
        self,
        connection: socket.socket,
        command: list[str],
        devices: int | None,
    ) -> None:
        connection.settimeout(None)  # `check_heartbeat` sees to that
        self.channel, self.command = Channel(connection), command
        self.devices = devices
        self.agent: subprocess.Popen[str] | None = None
        self.last_heard, self.is_welcome = time.monotonic(), False
        self.outcome = 'the first node is gone, or is another program'
        self.thread = threading.Thread(target=self.obey, daemon=True)

    def start(self, number: int, workers: int, job: str) -> None:
        """Ask to join."""
        hello = {
            'worker': number,
            'workers': workers,
            'job': job,
            'devices': self.devices,
            'host': socket.gethostname(),
        }
        send_line(self.channel, hello)
        self.thread.start()

    def obey(self) -> None:
        """Do what the first node says, until it says that the job ended."""
        while True:
            message = self.channel.receive()
            self.last_heard = time.monotonic()
            if isinstance(message, str):
                self.is_welcome = True
                if self.agent:
                    send_line(self.agent, message)
            elif isinstance(message, dict) and 'variables' in message:
                self.start_agent(message)
            else:
                if isinstance(message, dict) and 'end' in message:
                    self.outcome = str(message['end'])
                return

    def start_agent(self, order: dict[str, Any]) -> None:
        """Start the worker here, with this node's command and address."""
        here = self.channel.connection.getsockname()[0]
        order['variables'] = {
            **{  # nothing else, or it could run what it likes here
                name: value
                for name, value in order['variables'].items()
                if name.startswith('DMLC_') or name in DEFAULTS
            },
            **worker_variables(self.devices),
            'DMLC_NODE_HOST': os.environ.get('DMLC_NODE_HOST', here),
        }
        order.update(command=self.command, folder=os.getcwd())
        self.agent = agent = start_process(agent_command(None, ''))
        send_line(agent, order)
        start_thread(self.forward, agent)

    def forward(self, agent: subprocess.Popen[str]) -> None:
        """Pass on what the agent says, and that it is gone."""
        with contextlib.suppress(OSError):
            assert agent.stdout
            for line in agent.stdout:
                self.channel.write(line)
            self.channel.write(Channel.GONE)

    def check_heartbeat(self) -> None:
        """Give up if the first node has been silent for long."""
        if time.monotonic() - self.last_heard > HEARTBEAT_TIMEOUT:
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
