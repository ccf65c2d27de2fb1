"""Start a scheduler, servers and workers, here or on other hosts, and end
all of them as soon as one fails.

Each role runs under an agent (`agent.py`), which says what happens to it and
leaves no process behind, even when this process is killed.
"""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import re
import sys
import time
from typing import Callable, Sequence

from d2lbase.files import claim_folder
from d2lbase.values import counted

from .checks import check_arguments, check_device_counts, read_env
from .connection import SSH, end_roles, pinging, poll, send, start_agent
from .events import Event
from .join import join
from .logs import Logs
from .rendezvous import Node, Rendezvous, check_node, open_rendezvous
from .report import Failure, JobFailed, explain_failure, explain_status
from .roles import (
    Devices,
    Hosts,
    Role,
    anew,
    let_meet_at_files,
    make_roles,
)
from .watch import LIMITS, Limits, Watch, exceeds

STACKS_TIMEOUT = 3  # seconds in which agents send where their threads are
# What MXNet 2 says once in each process; no variable turns it off.
NOTICE = re.compile(r'\[[\d:]+\] \S*storage\.cc:\d+: Using .* StorageManager ')


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
    env: Sequence[str] = (),
    on_error: Callable[[str], object] | None = None,
    rejoins: int = 0,
) -> None:
    """Run `command` in every worker of a distributed job, to the end.
    `command`: strings; a bare `python` is this one. `hosts`: (name, slots[,
    devices]), reached with `ssh`, with Python, this package and this folder
    at the same places; None: this machine. `devices`: how many each worker
    has. `node`: see `Node`. `env`: NAME or NAME=VALUE for all. `log_dir`: for
    a log of each role. `on_line` gets lines of output, `on_error` of stderr
    (sys.stderr, unless only `on_line` is given). `restarts`: how often a
    failed job starts again; `rejoins`: a worker without a store. Raises
    TypeError, ValueError, OSError, or JobFailed. No process remains."""
    on_error = on_error or (print_error if on_line is print else on_line)
    again = restarts, rejoins
    check_arguments(command, workers, servers, hosts, limits, again, port)
    check_node(node, workers, hosts)
    check_device_counts(devices, node.workers if node else workers, hosts)
    variables = read_env(env)
    if node and node.worker_offset:
        runs = command, workers, devices, variables
        return join(node, *runs, limits.startup, on_line)
    new_roles = functools.partial(
        make_roles, command, workers, servers, hosts, devices, variables
    )
    new_roles()  # raises if it cannot
    with contextlib.ExitStack() as stack:
        rendezvous = node and stack.enter_context(
            open_rendezvous(node, workers, on_line)
        )
        logs = Logs(log_dir)
        stack.callback(logs.close)
        logs.open()
        records = {**os.environ, **variables}.get('D2LRUN_RECORDS')
        claim_records(records, log_dir, stack)
        job = Job(new_roles, limits, logs, port, ssh, on_line, on_error)
        job.rendezvous, job.rejoins = rendezvous, rejoins
        job.run(restarts)


def print_error(line: str) -> None:
    """Print to what is stderr now; a notebook changes it."""
    print(line, file=sys.stderr, flush=True)


def claim_records(
    folder: str | None,
    log_dir: str | os.PathLike[str] | None,
    stack: contextlib.ExitStack,
) -> None:
    """Take a folder for the workers' records until the stack is left, if it
    is not claimed with the logs; ValueError if another job has it."""
    if not folder or (log_dir and is_same_folder(folder, log_dir)):
        return
    try:
        stack.callback(os.close, claim_folder(folder))
    except BlockingIOError:
        raise ValueError(
            f'{folder} has the records of another job, which runs: give each '
            'job its own D2LRUN_RECORDS'
        ) from None
    except OSError:  # the workers say so, and train without
        pass


def is_same_folder(*folders: str | os.PathLike[str]) -> bool:
    """Return whether these are names of one folder."""
    with contextlib.suppress(OSError):
        return os.path.samefile(*folders)
    return False


class Job:
    """A job that can be run more than once."""

    def __init__(
        self,
        new_roles: Callable[[], list[Role]],
        limits: Limits,
        logs: Logs,
        port: int,
        ssh: str,
        on_line: Callable[[str], object],
        on_error: Callable[[str], object],
    ) -> None:
        self.new_roles, self.limits, self.logs = new_roles, limits, logs
        self.port, self.ssh = int(port), ssh
        self.on_line, self.on_error = on_line, on_error
        self.rendezvous: Rendezvous | None = None  # with other nodes
        self.rejoins = 0  # how often a worker may start again alone
        self.launched = time.monotonic()
        self.stops: list[float] = []  # seconds in which this process stood

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
        """Start the roles and watch them; return when all ended well. Raises
        JobFailed. In every case, no process of theirs remains."""
        roles = self.new_roles()
        if self.rendezvous:
            self.rendezvous.assign(roles, self.limits.startup)
        let_meet_at_files(roles)
        events: queue.Queue[tuple[Role, Event]] = queue.Queue(10_000)
        lost: list[Role] = []  # those in whose place another one started
        with contextlib.ExitStack() as stack:
            self.logs.begin(role.name for role in roles)
            stack.callback(end_roles, roles, events)
            stack.callback(end_roles, lost, events)
            stack.callback(self.tell_stops)
            stack.enter_context(pinging(roles, self.stops))
            watch = Watch(roles, self.limits, self.launched)
            start_agent(roles[0], events, self.port, self.ssh)
            while not watch.is_finished():
                for role, event in poll(events, seconds=0.2):
                    self.handle_event(watch, role, event)
                    if event['event'] == 'started' and role is roles[0]:
                        self.start_others(roles[1:], event['port'], events)
                watch.extend_deadlines()
                for role in watch.workers_to_ask():
                    send(role, 'stacks')
                self.tell_remarks(watch)
                failure = watch.find_failure()
                if failure:
                    self.handle_failure(failure, watch, lost, events)

    def handle_failure(
        self,
        failure: Failure,
        watch: Watch,
        lost: list[Role],
        events: queue.Queue[tuple[Role, Event]],
    ) -> None:
        """Start a lost worker again, or raise JobFailed."""
        if len(lost) < self.rejoins and can_rejoin(failure):
            lost += failure.roles
            return self.start_again(watch.roles, lost, events)
        if failure.is_hang:
            self.collect_stacks(watch, events)
        folder = self.logs.folder
        raise JobFailed(explain_failure(failure, watch.roles, folder))

    def start_again(
        self,
        roles: list[Role],
        lost: list[Role],
        events: queue.Queue[tuple[Role, Event]],
    ) -> None:
        """Start another worker in the place of the one lost last."""
        old, count = lost[-1], len(lost)
        new = anew(old, {'D2LRUN_REJOINS': str(count)})
        roles[roles.index(old)] = new
        self.on_line(
            f'launch: {old} {explain_status(old.status or 0)}: starting it '
            f'again ({count} of {self.rejoins})'
        )
        start_agent(new, events, None, self.ssh)

    def tell_stops(self) -> None:
        """Say for how long this process has stood still."""
        while self.stops:
            self.on_line(
                f'launch: stood still for {self.stops.pop():.0f} '
                'seconds: stopped by Ctrl-Z or a signal, or without a turn '
                'on a busy machine. The job goes on if its processes live'
            )

    def tell_remarks(self, watch: Watch) -> None:
        """Say what is strange, but no failure."""
        self.tell_stops()
        while watch.remarks:
            self.on_line(f'launch: {watch.remarks.pop(0)}')
        problem = self.logs.find_problem()
        if problem:
            self.on_line(f'launch: {problem}')

    def handle_event(self, watch: Watch, role: Role, event: Event) -> None:
        """Let the watch know, and write what is for people to read."""
        watch.handle_event(role, event)
        if event['event'] == 'output':
            self.write(role, event['line'], event['stream'] == 'stderr')
        elif event['event'] == 'rank' and role.devices:
            have = counted(role.devices, 'device')
            self.on_line(f'launch: {role.name} has rank {role.rank}, {have}')

    def collect_stacks(
        self, watch: Watch, events: queue.Queue[tuple[Role, Event]]
    ) -> None:
        """Ask the workers that still run where their threads are."""
        asked = watch.running_workers()
        for role in asked:
            role.stacks = []
            send(role, 'stacks')
        give_up = time.monotonic() + STACKS_TIMEOUT
        while time.monotonic() < give_up and not all(
            role.stacks or role.status is not None for role in asked
        ):
            for role, event in poll(events, seconds=0.1):
                self.handle_event(watch, role, event)
        for role in asked:
            self.logs.write(role.name, role.stacks)

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

    def write(self, role: Role, line: str, is_error: bool) -> None:
        """Write a line of output into the role's log, and pass it on."""
        self.logs.write(role.name, [line])
        if not NOTICE.match(line):
            role.tail.append(line)
            on_line = self.on_error if is_error else self.on_line
            on_line(f'[{role.prefix}] {line}')


def can_rejoin(failure: Failure) -> bool:
    """Return whether a worker has ended badly that nobody waits for in MXNet,
    and that this process can start again."""
    (role, *others) = failure.roles
    return (
        not others
        and role.kind == 'worker'
        and bool(role.status)
        and role.rank is None
        and not role.channel
    )
