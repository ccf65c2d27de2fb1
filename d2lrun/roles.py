"""The roles of a job: on which hosts they run, and with which variables."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import os
import pathlib
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
from typing import (
    Any,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Tuple,
    Union,
)

from d2lbase.mxnet_settings import SETTINGS

from .agent import PORTS, SOCKETS
from .channel import Channel

# Comes first on the PYTHONPATH of workers: Python loads what is in it.
EXIT_HOOK = pathlib.Path(__file__).with_name('exit_hook')
DEFAULTS = {
    **SETTINGS,
    # An array of so many numbers is split over the servers.
    'MXNET_KVSTORE_BIGARRAY_BOUND': '10000',
}
# What the scheduler and the servers run.
SERVE = [sys.executable, str(pathlib.Path(__file__).with_name('serve.py'))]
TAIL = 15  # lines of a log that are shown when its role fails

# Names and slots, and maybe how many devices each worker has there.
Hosts = Sequence[Union[Tuple[str, int], Tuple[str, int, int]]]
Devices = Sequence[int]  # how many each worker has


def field(factory: Callable[[], Any]) -> Any:
    """Return a field of a dataclass that starts with what `factory` makes."""
    return dataclasses.field(default_factory=factory)


@dataclasses.dataclass(eq=False)
class Role:
    """One process of the job, and what is known about it.

    Times are those of `time.monotonic`.
    """

    kind: str  # 'scheduler', 'server' or 'worker'
    number: int
    host: str | None  # None: this machine
    command: list[str]
    variables: dict[str, str]  # of the environment
    devices: int | None = None  # how many it has; None: its own choice
    first_gpu: int = 0  # the number of its first GPU on its host
    ports: tuple[int, int] | None = None  # its own port is one of this range
    channel: Channel | None = None  # to another node, started by hand
    # The process that runs it.
    agent: subprocess.Popen[str] | Channel | None = None
    listener: threading.Thread | None = None  # the one that hears it
    last_heard: float | None = None  # when its agent last said something
    joined: bool = False  # the scheduler
    cpu: float = 0  # seconds used
    last_busy: float = 0  # when it was last seen to compute
    stopped_since: float | None = None  # by SIGSTOP
    still_since: float | None = None  # when its main thread last moved
    ending_since: float | None = None  # when it ended or began to
    status: int | None = None  # how it ended: as subprocess.Popen says
    failure: str | None = None  # why it could not be started or watched
    rank: int | None = None  # that MXNet gave it
    killed: dict[int, int] = field(dict)  # children of its: process, signal
    stacks: list[str] = field(list)  # where its threads are
    stacks_at: float = 0  # when it said so
    # How the paths of files begin whose lines are not the script's; MXNet's.
    library: list[str] = field(list)
    mxnet: list[str] = field(list)
    records: str | None = None  # its last exchanges, a line each
    asked_at: float = 0  # when it was asked
    is_told: bool = False  # that all others wait for it
    tail: collections.deque[str] = field(
        lambda: collections.deque(maxlen=TAIL)
    )

    @property
    def name(self) -> str:
        """The name of the log."""
        if self.kind == 'scheduler':
            return self.kind
        return f'{self.kind}-{self.number}'

    @property
    def prefix(self) -> str:
        """What stands before each line of its output."""
        return self.name + ('' if self.rank is None else f', rank {self.rank}')

    def __str__(self) -> str:
        rank = '' if self.rank is None else f' (rank {self.rank})'
        return f'{self.name}{rank} on {self.host or "this machine"}'


def anew(role: Role, variables: Mapping[str, str]) -> Role:
    """Return a role like another one, of which nothing is known yet."""
    return Role(
        role.kind,
        role.number,
        role.host,
        role.command,
        {**role.variables, **variables},
        role.devices,
        role.first_gpu,
        role.ports,
    )


def read_hosts(path: str | os.PathLike[str]) -> Hosts:
    """Return (name, slots) or (name, slots, devices) for each line of a file:
    `name [slots [devices]]`.

    Raises OSError if it cannot be read, ValueError for a line that is
    something else, and if there is none.
    """
    hosts: list[Any] = []
    for number, line in enumerate(
        pathlib.Path(path).read_text(errors='replace').splitlines(), 1
    ):
        name, *counts = line.partition('#')[0].split() or ['']
        if not name:
            continue
        if (
            len(counts) > 2
            or not ''.join(counts or '1').isdecimal()
            or name.startswith('-')
        ):
            raise ValueError(
                f'{path}, line {number}: {line!r:.60} is not a host; write '
                'name and slots, "node1 2", or with devices, "node1 2 4"'
            )
        hosts.append((name, *(int(count) for count in counts or ['1'])))
    if not hosts:
        raise ValueError(
            f'{path} names no host: write one per line, with its slots, '
            'such as "node1 2"'
        )
    return hosts


def parse_hosts(text: str) -> Hosts:
    """Return (name, slots) or (name, slots, devices) for each host in a text
    such as `node1:2,node2:2` or `node1:1:4`; a text that names a file is
    read from there.

    Raises OSError if it cannot be read, ValueError for anything else.
    """
    if os.path.exists(text) or re.fullmatch('[^:,]+', text):
        return read_hosts(text)
    hosts: list[Any] = []
    for word in text.split(','):
        if not re.fullmatch(r'[^-:\s][^:\s]*(:\d+){0,2}', word):
            raise ValueError(
                f'{word!r} in the hosts {text!r} is not a host; write name '
                'and slots, node1:2, or with devices, node1:2:4, or the name '
                'of a file that exists'
            )
        name, *counts = word.split(':')
        hosts.append((name, *(int(count) for count in counts or ['1'])))
    return hosts


def make_roles(
    command: Sequence[str],
    workers: int,
    servers: int,
    hosts: Hosts | None,
    devices: Devices | None = None,
    env: Mapping[str, str] | None = None,
) -> list[Role]:
    """Return the roles: the scheduler, the servers, the workers, of which the
    first have so many `devices`, and all see the variables in `env`.

    Raises ValueError for a host that the others cannot reach.
    """
    slots: Sequence[tuple[str | None, int]]
    slots = [(host[0], host[1]) for host in hosts or ()] or [(None, workers)]
    numbers = devices or devices_of_hosts(hosts or ())
    addresses = find_addresses(name for name, _ in slots)
    root = addresses[slots[0][0]]
    roles: list[Role] = []
    for kind, number, host in place_roles(workers, servers, slots):
        variables = role_variables(len(roles), workers, servers, root)
        variables['DMLC_NODE_HOST'] = addresses[host]
        runs, own = SERVE, None
        if kind == 'worker':
            own = numbers[number] if number < len(numbers) else None
            variables = {**(env or {}), **variables, **worker_variables(own)}
            runs = with_this_python(command)
        roles.append(Role(kind, number, host, runs, variables, own))
    number_workers(roles[1 + servers :])
    return roles


def let_meet_at_files(roles: Sequence[Role]) -> None:
    """Let roles that all run here connect through files, which no other user
    can open, where there can be any, and most names are free. DMLC_LOCAL=0 in
    the environment: no."""
    if any(role.host or role.channel for role in roles):
        return
    with contextlib.suppress(OSError):  # no such folder, or without sockets
        names = os.listdir(SOCKETS)
        taken = {int(n) for n in names if n.isascii() and n.isdecimal()}
        for role in roles:  # another user may have made them
            choices = range(*role.ports) if role.ports else PORTS
            if 2 * len(taken.intersection(choices)) > len(choices):
                return
        with tempfile.TemporaryDirectory(dir=SOCKETS) as folder:
            with socket.socket(socket.AF_UNIX) as probe:
                probe.bind(f'{folder}/socket')
        for role in roles:
            role.variables['DMLC_LOCAL'] = os.environ.get('DMLC_LOCAL', '1')


def number_workers(workers: Sequence[Role]) -> None:
    """Give the workers of a job torchrun's variables, and the ports and GPUs
    that go with them.

    MXNet gives the ranks by address, the last one first as a text, and on one
    address by port, so each worker has a range of ports in order.
    """
    size = max(1, len(PORTS) // len(workers))
    for role in workers:
        first = PORTS.start + role.number * size
        role.ports = first, first + size
        local = [other for other in workers if other.host == role.host]
        rank = local.index(role)
        role.first_gpu = sum(other.devices or 1 for other in local[:rank])
        role.variables.update(local_variables(rank, len(local)))
    plan_ranks(workers)


def local_variables(rank: int, size: int) -> dict[str, str]:
    """Return what a worker knows about its place on its host."""
    return {'LOCAL_RANK': str(rank), 'LOCAL_WORLD_SIZE': str(size)}


def plan_ranks(workers: Sequence[Role]) -> None:
    """Set the ranks that MXNet will give, by the workers' addresses."""
    by_rank = sorted(
        workers,
        key=lambda role: role.variables['DMLC_NODE_HOST'],
        reverse=True,  # those of one address stay in order
    )
    for rank, role in enumerate(by_rank):
        role.variables['RANK'] = str(rank)
        role.variables['WORLD_SIZE'] = str(len(workers))


def devices_of_hosts(hosts: Hosts) -> list[int | None]:
    """Return how many devices each worker has, by the third column; None
    where there is none."""
    return [
        host[2] if len(host) > 2 else None
        for host in hosts
        for _ in range(host[1])
    ]


def path_with_hook() -> str:
    """Return a PYTHONPATH on which the hook comes first."""
    path = [str(EXIT_HOOK), os.environ.get('PYTHONPATH')]
    return os.pathsep.join(filter(None, path))


def worker_variables(devices: int | None) -> dict[str, str]:
    """Return the variables of a worker that depend on where it runs."""
    variables = {'PYTHONPATH': path_with_hook()}
    if devices:
        variables['D2LMULTI_NUM_DEVICES'] = str(devices)
    return variables


def with_this_python(command: Sequence[str]) -> list[str]:
    """Return the command; a bare `python` is the one that runs this code,
    whichever PATH finds first."""
    program, *arguments = command
    if program in ('python', 'python3'):
        program = sys.executable
    return [program, *arguments]


def place_roles(
    workers: int, servers: int, slots: Sequence[tuple[str | None, int]]
) -> Iterator[tuple[str, int, str | None]]:
    """Yield (kind, number, host) for each role.

    A worker takes a slot; servers take the hosts in turn.
    """
    names = [name for name, _ in slots]
    places = [name for name, count in slots for _ in range(count)]
    yield 'scheduler', 0, names[0]
    for i in range(servers):
        yield 'server', i, names[i % len(names)]
    for i in range(workers):
        yield 'worker', i, places[i]


def find_addresses(hosts: Iterable[str | None]) -> dict[str | None, str]:
    """Return the address of each host; None is this machine.

    Raises ValueError for a host that has none, or that only this machine
    can reach while there are others.
    """
    addresses = {host: find_address(host) for host in hosts}
    if len(addresses) > 1:
        for host, address in addresses.items():
            check_reachable(host, address)
    return addresses


def find_address(host: str | None) -> str:
    """Return the address of a host; ValueError if it has none."""
    try:
        return socket.gethostbyname(host) if host else '127.0.0.1'
    except (OSError, UnicodeError) as error:  # a name may be too long
        raise ValueError(
            f'the host {host!r} has no address ({error}): write a name that '
            'this machine knows, or the address itself'
        ) from None


def check_reachable(host: str | None, address: str) -> None:
    """Raise ValueError for an address that only this machine can reach."""
    if address.startswith('127.'):
        raise ValueError(
            f'the host {host!r} is {address} here, where the others cannot '
            'reach it: write its address in the network'
        )


def role_variables(
    index: int, workers: int, servers: int, root: str, port: int = 0
) -> dict[str, str]:
    """Return the environment variables of role `index`: 0 is the scheduler,
    then come the servers, then the workers. `root`, `port`: the scheduler's.
    """
    kind = 'worker'
    if index <= servers:
        kind = 'server' if index else 'scheduler'
    return {
        'DMLC_ROLE': kind,
        'DMLC_PS_ROOT_URI': root,
        'DMLC_PS_ROOT_PORT': str(port),
        'DMLC_NUM_SERVER': str(servers),
        'DMLC_NUM_WORKER': str(workers),
        **{
            name: os.environ.get(name, value)
            for name, value in DEFAULTS.items()
        },
    }


def shell_lines(
    index: int, workers: int, servers: int, root: str, port: int
) -> str:
    """Return shell commands that set the variables of a role; -1: of all.

    Raises ValueError if there is no such role, no port, or no address.
    """
    address = find_address(root)
    if root not in (address, 'localhost'):
        check_reachable(root, address)
    if not 0 < port < 65536:
        raise ValueError(
            'give the scheduler a --port from 1 to 65535 that is free on its '
            'host'
        )
    total = 1 + servers + workers
    if not -1 <= index < total:
        raise ValueError(
            f'there is no role {index}: {total} roles are numbered 0 to '
            f'{total - 1}'
        )
    if index == -1:
        return '\n'.join(
            f'# role {i}\n{export_lines(i, workers, servers, address, port)}'
            for i in range(total)
        )
    return export_lines(index, workers, servers, address, port)


def export_lines(
    index: int, workers: int, servers: int, address: str, port: int
) -> str:
    """Return the shell commands for one role that exists."""
    variables = role_variables(index, workers, servers, address, port)
    lines = [
        f'export {name}={shlex.quote(value)}'
        for name, value in variables.items()
    ]
    if variables['DMLC_ROLE'] != 'scheduler':  # servers: see optimizers.py
        lines.append(
            f'export PYTHONPATH={shlex.quote(str(EXIT_HOOK))}'
            '${PYTHONPATH:+:$PYTHONPATH}'
        )
    return '\n'.join(lines)
