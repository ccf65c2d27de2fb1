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
from .report import explain_failure
from .roles import Event, Hosts, Role, make_roles
from .watch import LIMITS, Limits, Watch, exceeds

STACKS_TIMEOUT = 3  # seconds in which agents send where their threads are
# What MXNet 2 says once in each process; no variable turns it off.
NOTICE = re.compile(r'\[[\d:]+\] \S*storage\.cc:\d+: Using .* StorageManager ')


Logs = Dict[Role, IO[str]]


class JobFailed(RuntimeError):
    """A role of the job ended badly or too early, or a limit passed."""


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
) -> None:
    """Run `command` in every worker of a distributed job, to the end.

    `command`: a list of strings; a bare `python` is the one that runs this.
    `hosts`: a list of (name, slots), which are reached with `ssh` and have
    this package, Python and the current folder at the same places; by
    default, this machine. `log_dir`: for a log of each role. `on_line` gets
    each line of output. `restarts`: how often a failed job is started
    again; the command continues from a checkpoint, if it wrote one.

    Raises TypeError or ValueError for arguments that cannot work, JobFailed
    if the job failed. In every case, no process of it remains.
    """
    check_arguments(command, workers, servers, hosts, limits, restarts, port)
    new_roles = functools.partial(make_roles, command, workers, servers, hosts)
    new_roles()  # raises if it cannot
    with log_folder(log_dir) as folder:
        Job(new_roles, limits, folder, port, ssh, on_line).run(restarts)


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
    ) -> None:
        self.new_roles, self.limits, self.folder = new_roles, limits, folder
        self.port, self.ssh, self.on_line = int(port), ssh, on_line
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

        Raises JobFailed. In every case, no process of theirs remains.
        """
        roles = self.new_roles()
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
        slots = [(name, count) for name, count in hosts]
    except (TypeError, ValueError):
        slots = [(None, None)]
    if not all(isinstance(name, str) for name, _ in slots):
        raise TypeError(
            f"hosts must be a list such as [('node1', 2)], not {hosts!r}"
        )
    for name, count in slots:
        check_integer(0, **{f'the slots of {name}': count})
    total = sum(count for _, count in slots)
    if workers > total:
        raise ValueError(
            f'workers must be at most {total}, the slots of all '
            f'hosts, not {workers}: add hosts or slots'
        )
