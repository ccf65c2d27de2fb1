"""Start a scheduler, servers and workers, here or on other hosts, and end
all of them as soon as one fails.

Each role runs under an agent (`agent.py`), which says what happens to it and
leaves no process behind, even when this process is killed.
"""

from __future__ import annotations

import contextlib
import functools
import numbers
import os
import pathlib
import queue
import re
import shutil
import tempfile
import time
from typing import IO, Any, Callable, Dict, Iterator, Sequence

from .connection import SSH, end_roles, pinging, poll, send, start_agent
from .join import join
from .rendezvous import Meeting, Node, check_node, open_meeting
from .report import JobFailed, explain_failure, plural
from .roles import Devices, Event, Hosts, Role, make_roles
from .watch import LIMITS, Limits, Watch, exceeds

STACKS_TIMEOUT = 3  # seconds in which agents send where their threads are
# What MXNet 2 says once in each process; no variable turns it off.
NOTICE = re.compile(r'\[[\d:]+\] \S*storage\.cc:\d+: Using .* StorageManager ')


Logs = Dict[Role, IO[str]]


def launch(
    command: Sequence[str],
    workers: int = 2,
    servers: int = 1,
    hosts: Hosts | None = None,
    limits: Limits = LIMITS,
    log_dir: str | os.PathLike[str] | None = None,
    restarts: int = 0,
    port: int = 0,
    ssh: str = SSH,
    on_line: Callable[[str], object] = print,
    devices: Devices | None = None,
    node: Node | None = None,
) -> None:
    """Run `command` in every worker of a distributed job, to the end.

    `command`: strings; a bare `python` is the one that runs this. `hosts`:
    (name, slots[, devices]), reached with `ssh`, with Python, this package
    and the current folder at the same places; None: this machine. `devices`:
    how many each worker has (D2LMULTI_NUM_DEVICES). `node`: see `Node`.
    `log_dir`: for a log of each role. `on_line` gets each line of output.
    `restarts`: how often a failed job is started again; the command goes on
    from a checkpoint, if it wrote one. Raises TypeError or ValueError for
    arguments that cannot work, JobFailed if the job failed. In every case,
    no process of it remains."""
    roles = command, workers, servers, hosts, devices
    run_job(node, roles, limits, log_dir, restarts, port, ssh, on_line)


def run_job(
    node: Node | None,
    roles: tuple[Sequence[str], int, int, Hosts | None, Devices | None],
    limits: Limits,
    log_dir: str | os.PathLike[str] | None,
    restarts: int,
    port: int,
    ssh: str,
    on_line: Callable[[str], object],
) -> None:
    """Run the job that the arguments of `launch` describe."""
    command, workers, servers, hosts, devices = roles
    check_arguments(command, workers, servers, hosts, limits, restarts, port)
    check_node(node, workers, hosts)
    check_devices(devices, node.workers if node else workers, hosts)
    if node and node.first_worker:
        return join(node, command, workers, devices, limits.startup, on_line)
    new_roles = functools.partial(make_roles, *roles)
    new_roles()  # raises if it cannot
    with contextlib.ExitStack() as stack:
        meeting = node and stack.enter_context(open_meeting(node, workers))
        folder = stack.enter_context(log_folder(log_dir))
        job = Job(new_roles, limits, folder, port, ssh, on_line, meeting)
        job.run(restarts)


@contextlib.contextmanager
def log_folder(
    log_dir: str | os.PathLike[str] | None,
) -> Iterator[pathlib.Path]:
    """Make the folder of the logs; one that nobody asked for is removed
    again, unless an error names its logs."""
    folder = pathlib.Path(log_dir or tempfile.mkdtemp(prefix='d2lmulti-'))
    folder.mkdir(parents=True, exist_ok=True)
    yield folder
    if log_dir is None:
        shutil.rmtree(folder, ignore_errors=True)


class Job:
    """A job that can be run more than once."""

    def __init__(
        self,
        new_roles: Callable[[], list[Role]],
        limits: Limits,
        folder: pathlib.Path,
        port: int,
        ssh: str,
        on_line: Callable[[str], object],
        meeting: Meeting | None = None,
    ) -> None:
        self.new_roles, self.limits, self.folder = new_roles, limits, folder
        self.port, self.ssh, self.on_line = int(port), ssh, on_line
        self.meeting = meeting  # with the nodes that are started by hand
        self.launched = time.monotonic()

    def run(self, restarts: int) -> None:
        """Run the job, again if it fails; raise the last JobFailed."""
        for attempt in range(restarts + 1):
            try:
                return self.run_once()
            except JobFailed as error:
                if attempt == restarts or exceeds(
                    time.monotonic() - self.launched, self.limits.total
                ):
                    raise
                self.on_line(f'launch: {error}')
                self.on_line(
                    f'launch: restarting ({attempt + 1} of {restarts})'
                )

    def run_once(self) -> None:
        """Start the roles and watch them; return when all ended well.

        Raises JobFailed. In every case, no process of theirs remains."""
        roles = self.new_roles()
        if self.meeting:
            self.meeting.assign(roles, self.limits.startup)
        events: queue.Queue[tuple[Role, Event]] = queue.Queue(10_000)
        with contextlib.ExitStack() as stack:
            logs = {
                role: stack.enter_context(self.open_log(role))
                for role in roles
            }
            stack.callback(end_roles, roles, events)
            stack.enter_context(pinging(roles))
            watch = Watch(roles, self.limits, self.launched)
            start_agent(roles[0], events, self.port, self.ssh)
            while not watch.is_finished():
                for role, event in poll(events, seconds=0.2):
                    self.handle_event(watch, role, event, logs)
                    if event['event'] == 'started' and role is roles[0]:
                        self.start_others(roles[1:], event['port'], events)
                watch.extend_deadlines()
                failure = watch.find_failure()
                if failure and failure.is_hang:
                    self.collect_stacks(watch, events, logs)
                if failure:
                    raise JobFailed(
                        explain_failure(failure, roles, self.folder)
                    )

    def handle_event(
        self, watch: Watch, role: Role, event: Event, logs: Logs
    ) -> None:
        """Let the watch know, and write what is for people to read."""
        watch.handle_event(role, event)
        if event['event'] == 'output':
            self.write(role, event['line'], logs[role])
        elif event['event'] == 'rank' and role.devices:
            have = plural(role.devices, 'device')
            self.on_line(f'launch: {role.name} has rank {role.rank}, {have}')
        elif event['event'] == 'stacks':
            print(*event['stacks'], sep='\n', file=logs[role], flush=True)

    def collect_stacks(
        self,
        watch: Watch,
        events: queue.Queue[tuple[Role, Event]],
        logs: Logs,
    ) -> None:
        """Ask the workers that still run where their threads are."""
        asked = watch.running_workers()
        for role in asked:
            send(role, 'stacks')
        give_up = time.monotonic() + STACKS_TIMEOUT
        while time.monotonic() < give_up and not all(
            role.stacks or role.status is not None for role in asked
        ):
            for role, event in poll(events, seconds=0.1):
                self.handle_event(watch, role, event, logs)

    def open_log(self, role: Role) -> IO[str]:
        """Open the role's log; that of an earlier attempt goes on."""
        path = self.folder / f'{role.name}.log'
        return open(path, 'a', encoding='utf-8')

    def start_others(
        self,
        roles: list[Role],
        port: int,
        events: queue.Queue[tuple[Role, Event]],
    ) -> None:
        """Start the roles that connect to the scheduler's port."""
        for role in roles:
            role.variables['DMLC_PS_ROOT_PORT'] = str(port)
            start_agent(role, events, None, self.ssh)

    def write(self, role: Role, line: str, log: IO[str]) -> None:
        """Write a line of output into the role's log, and pass it on."""
        print(line, file=log, flush=True)
        if not NOTICE.match(line):
            role.tail.append(line)
            self.on_line(f'[{role.prefix}] {line}')


def check_arguments(
    command: Any,
    workers: Any,
    servers: Any,
    hosts: Any,
    limits: Any,
    restarts: Any,
    port: Any,
) -> None:
    """Raise TypeError or ValueError for arguments that cannot work."""
    if not isinstance(command, (list, tuple)) or not all(
        isinstance(word, str) for word in command
    ):
        raise TypeError(
            "command must be a list such as ['python', "
            f"'train.py'], not {command!r}"
        )
    if not command:
        raise ValueError(
            "command must name a program, such as ['python', 'train.py']"
        )
    check_integer(1, workers=workers, servers=servers)
    check_integer(0, restarts=restarts, port=port)
    if port > 65535:
        raise ValueError(f'port must be 0 (any free one) to 65535, not {port}')
    check_limits(limits)
    if hosts is not None:
        check_hosts(hosts, workers)


# As in `checks.py`, which imports MXNet: this module starts without it.
def check_integer(least: int, **values: Any) -> None:
    """Raise TypeError or ValueError unless each is an integer >= `least`."""
    for name, value in values.items():
        if not isinstance(value, numbers.Integral) or isinstance(value, bool):
            raise TypeError(f'{name} must be an integer, not {value!r}')
        if value < least:
            raise ValueError(f'{name} must be at least {least}, not {value}')


def check_limits(limits: Any) -> None:
    """Raise TypeError or ValueError unless each limit is above 0 or None."""
    if not isinstance(limits, Limits):
        raise TypeError(
            'limits must be like Limits(startup=60, total=600), '
            f'not {limits!r}'
        )
    for name, seconds in limits._asdict().items():
        if seconds is None:
            continue
        if not isinstance(seconds, numbers.Real) or isinstance(seconds, bool):
            raise TypeError(
                f'the limit {name} must be a number of seconds, '
                f'not {seconds!r}'
            )
        if not float(seconds) > 0:  # nor is NaN
            raise ValueError(
                f'the limit {name} must be above 0 seconds, not {seconds}'
            )


def check_hosts(hosts: Any, workers: int) -> None:
    """Raise TypeError or ValueError unless the hosts have enough slots."""
    try:
        slots = [(name, count, *devices) for name, count, *devices in hosts]
    except (TypeError, ValueError):
        slots = [(None, None)]
    if not all(isinstance(host[0], str) and len(host) < 4 for host in slots):
        raise TypeError(
            f"hosts must be a list such as [('node1', 2)], not {hosts!r}"
        )
    for name, count, *devices in slots:
        check_integer(0, **{f'the slots of {name}': count})
        check_integer(1, **{f'the devices of {name}': n for n in devices})
    total = sum(host[1] for host in slots)
    if workers > total:
        raise ValueError(
            f'workers must be at most {total}, the slots of all '
            f'hosts, not {workers}: add hosts or slots'
        )


def check_devices(devices: Any, workers: int, hosts: Any) -> None:
    """Raise TypeError or ValueError unless each worker has a device."""
    if devices is None:
        return
    if not isinstance(devices, (list, tuple)):
        raise TypeError(
            'devices must be a list such as [1, 2, 1], a number for each '
            f'worker, not {devices!r}'
        )
    for i, number in enumerate(devices):
        check_integer(1, **{f'devices[{i}]': number})
    if len(devices) != workers:
        raise ValueError(
            'devices must be a number for each worker that is started here, '
            f'{workers}, not {list(devices)}'
        )
    if any(len(host) > 2 for host in hosts or ()):
        raise ValueError('give devices or the third column of hosts, not both')
