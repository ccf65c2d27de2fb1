"""Start the agents of a job, hear what they say, and end them.

Every event goes into one queue, as (role, event).
"""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import queue
import shlex
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Iterator

import psutil

from .agent import GRACE, HEARTBEAT_TIMEOUT, is_stopped, start_thread
from .channel import Channel
from .events import Event, parse_event, read_lines
from .roles import Role

if TYPE_CHECKING:  # Python 3.8 knows no queue.Queue[...]
    Events = queue.Queue[tuple[Role, Event]]

AGENT = pathlib.Path(__file__).with_name('agent.py')
SSH = (
    'ssh -o BatchMode=yes -o ConnectTimeout=5 -o ControlPath=none '
    '-o ServerAliveInterval=2 -o ServerAliveCountMax=3'
)
STOOD_STILL = 4  # seconds without a turn that are worth a word
# What the roles on other hosts see of this environment.
PASSED_ON = ('D2LMULTI_', 'DMLC_', 'MXNET_', 'OMP_', 'PS_', 'PYTHON')


def start_agent(
    role: Role, events: Events, port: int | None, ssh: str
) -> None:
    """Start the role under an agent, whose events go into the queue.

    `port`: for the scheduler; None: the role's variables have it.
    """
    agent: subprocess.Popen[str] | Channel
    order: dict[str, Any]
    order = {'variables': role.variables, 'port': port, 'ports': role.ports}
    if role.channel:  # the other node fills in the rest
        agent, role.channel.is_running = role.channel, True
    else:
        agent = start_process(agent_command(role.host, ssh))
        order = {
            **order,
            'command': role.command,
            'folder': own_folder(),
            'variables': {**passed_on(role.host), **role.variables},
            'first_gpu': role.first_gpu,
            'launcher': None if role.host else os.getpid(),
        }
    send_line(agent, order)
    role.agent = agent  # not before, or a ping could be its first line
    role.listener = start_thread(listen, role, events)


def own_folder() -> str:
    """Return the current folder; raise OSError if it is not there."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise OSError(
            'the current folder does not exist any more: change to another'
        ) from None


def start_process(command: list[str]) -> subprocess.Popen[str]:
    """Start the process of an agent, here or through ssh."""
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors='replace',
        start_new_session=True,  # Ctrl-C is for this process alone
    )


def agent_command(host: str | None, ssh: str) -> list[str]:
    """Return the command that starts an agent, here or on a host."""
    command = [sys.executable, str(AGENT)]
    return [*shlex.split(ssh), host, shlex.join(command)] if host else command


def passed_on(host: str | None) -> dict[str, str]:
    """Return what a host should get of this environment; here it has all."""
    return {
        name: value
        for name, value in os.environ.items()
        if host and name.startswith(PASSED_ON)
    }


def send(role: Role, message: str) -> None:
    """Send a message to the role's agent, if there is one."""
    if role.agent:
        send_line(role.agent, message)


def send_line(agent: subprocess.Popen[str] | Channel, message: object) -> None:
    """Send a message as a line; if the agent is gone, `listen` tells why."""
    assert agent.stdin
    with contextlib.suppress(OSError, ValueError):
        agent.stdin.write(json.dumps(message, default=int) + '\n')
        agent.stdin.flush()


def listen(role: Role, events: Events) -> None:
    """Put what the role's agent says into the queue, until it is gone."""
    assert role.agent and role.agent.stdout
    lines = role.channel or read_lines(role.agent.stdout)
    for line in lines:
        event = parse_event(line)
        if role.last_heard or event['event'] != 'output':
            role.last_heard = time.monotonic()
        events.put((role, event))
    role.agent.stdout.close()
    events.put((role, {'event': 'gone'}))


def is_agent_stopped(role: Role) -> bool:
    """Return whether the role's agent, on this machine, is stopped by a
    signal; False if it is elsewhere."""
    if role.host or not role.agent or not role.agent.pid:
        return False
    with contextlib.suppress(psutil.Error):
        agent = psutil.Process(role.agent.pid)
        return any(
            is_stopped(process.pid) for process in [agent, *agent.children()]
        )
    return False


@contextlib.contextmanager
def pinging(roles: list[Role], stops: list[float]) -> Iterator[None]:
    """Tell all agents each second that this process is there; `stops` gets
    for how many seconds it has stood still.

    In a thread: if you page through the output, the main one is stopped.
    """
    done = threading.Event()

    def ping() -> None:
        before, is_over = time.monotonic(), False
        while not is_over:
            is_over = done.wait(1)
            before, still = time.monotonic(), time.monotonic() - before
            if still > STOOD_STILL:
                stops.append(still)
            for role in roles if not is_over else ():
                send(role, 'ping')

    thread = start_thread(ping)
    try:
        yield
    finally:
        done.set()
        thread.join(1)


def poll(events: Events, seconds: float) -> Iterator[tuple[Role, Event]]:
    """Yield the (role, event) that are there; wait `seconds` for one."""
    with contextlib.suppress(queue.Empty):
        yield events.get(timeout=seconds)
        for _ in range(1000):  # or a talkative role would never let us go
            yield events.get_nowait()


def end_roles(roles: list[Role], events: Events) -> None:
    """End every role; return when all their agents have ended."""
    agents = {role: role.agent for role in roles if role.agent}
    for role, agent in agents.items():
        send(role, 'stop')
        with contextlib.suppress(OSError):
            assert agent.stdin
            agent.stdin.close()
    now = time.monotonic()
    # Who has been silent for long will not answer now.
    answering = [
        agent
        for role, agent in agents.items()
        if now - (role.last_heard or now) <= HEARTBEAT_TIMEOUT / 2
    ]
    drain(events, 3 * GRACE, lambda: all(map(has_ended, answering)))
    for agent in agents.values():
        if not has_ended(agent):
            kill_agent(agent)
        agent.wait()
    listeners = [role.listener for role in agents if role.listener]
    drain(
        events, 1, lambda: not any(map(threading.Thread.is_alive, listeners))
    )


def drain(events: Events, seconds: float, done: Callable[[], bool]) -> None:
    """Throw events away until `done()`, but for no more than `seconds`.

    Agents cannot end while nobody takes their last words.
    """
    give_up = time.monotonic() + seconds
    while not done() and time.monotonic() < give_up:
        for _ in poll(events, seconds=0.1):
            pass


def has_ended(agent: subprocess.Popen[str] | Channel) -> bool:
    """Return whether the agent's process has ended."""
    return agent.poll() is not None


def kill_agent(agent: subprocess.Popen[str] | Channel) -> None:
    """End an agent that does not answer. Below ours are its processes; that
    of a cut-off host or of another node ends them itself."""
    with contextlib.suppress(psutil.Error):
        if agent.pid:
            for process in psutil.Process(agent.pid).children(recursive=True):
                process.kill()
    agent.kill()
