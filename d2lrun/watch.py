"""Watch the roles of a job: what happens to each, and which one has failed.

MXNet's distributed key-value store waits forever for a process that is gone,
so somebody must watch every one. Its clocks, all of `time.monotonic`, and
those around it:

    agent.HEARTBEAT_TIMEOUT  no word from an agent here, or from the first
                             node as one joins it: it is lost
    agent.LAUNCHER_TIMEOUT   no word from a launcher, here or on another node,
                             which may be paused
    STILL                    a main thread that pauses is not yet still
    ASK_AFTER, ASK_AGAIN     when one that is still is asked where it is
    Limits.startup           until all have met, started and joined
    Limits.progress          since `last_busy`: nobody does anything
    Limits.exit              since all others wait for one that has ended
    Limits.total             since `launched`, over all restarts
    job.STACKS_TIMEOUT       until all have said where they are
    SETTLE                   until roles that only serve have ended
    agent.GRACE              from SIGTERM to SIGKILL
    connection.STOOD_STILL   this process had no turn: a line says so
    logs.STALLED             a disk takes no line: the job goes on without
    rendezvous.FILE_TIMEOUT  a file system does not answer at the start
    rendezvous.ANSWER_TIMEOUT  a stranger says nothing, or too slowly
    join.STALE_AFTER         nobody is at the address in an old file

Time in which this process was stopped counts in no limit but `total`
(`extend_deadlines`). Whom a limit finds, the report corrects, if processes
are still there to ask: what each correction is for stands at its function.

    find_early_end      all wait at their end: the servers (`deaf_servers`)
    find_no_progress    who is stopped by a signal, not those that wait
    report.name_kept_alive  a program that has ended but for a thread; if
                            there is one, neither of the next two
    report.name_by_stacks   of all that are found, who is not in MXNet
    report.name_by_records  who makes other exchanges than most
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from .agent import HEARTBEAT_TIMEOUT, IDLE, LAUNCHER_TIMEOUT
from .connection import is_agent_stopped
from .events import Event
from .report import (
    Failure,
    explain_status,
    is_kept_alive,
    name_roles,
    place_of,
    waits_in_mxnet,
)
from .roles import Role

STILL = 2  # seconds; who stands still for less may just have a pause
ASK_AFTER = 10  # seconds of standing still, after which a worker is asked
ASK_AGAIN = 5  # seconds in which it should answer
SETTLE = 5  # seconds for roles that are not needed any more to end


class Limits(NamedTuple):
    """Seconds after which a job counts as failed; None: no limit.

    Progress is a new exchange, output or processor time of any role; the
    latter two of no worker whose main thread stands still in an exchange. A
    busy loop elsewhere counts as progress: only `total` ends it.
    """

    startup: float | None = 120  # until all have joined
    progress: float | None = 300  # without progress
    exit: float | None = 300  # in an exchange with a worker that has ended
    total: float | None = None  # for all


LIMITS = Limits()


class Watch:
    """What is known about a running job.

    Times are those of `time.monotonic`.
    """

    def __init__(
        self, roles: list[Role], limits: Limits, launched: float
    ) -> None:
        self.roles, self.limits = roles, limits
        self.launched = launched  # before all restarts
        self.began = self.last_look = time.monotonic()
        self.last_busy = self.began  # when any role was seen to do something
        self.remarks: list[str] = []  # what people should know, not failures

    def handle_event(self, role: Role, event: Event) -> None:
        """Write down what happened to a role."""
        now, kind = time.monotonic(), event['event']
        if kind == 'output':
            self.mark_busy(role, now)
        elif kind == 'alive':
            self.handle_sign_of_life(role, event, now)
        elif kind == 'rank':
            role.rank = event['rank']
        elif kind == 'killed':
            role.killed[event['process']] = event['signal']
        elif kind == 'stacks':
            role.stacks, role.stacks_at = event['stacks'], now
            self.remark_delay(role)
        elif kind == 'folders':
            role.library, role.mxnet = event['library'], event['mxnet']
        elif kind == 'records':
            role.records = event['records']
        elif kind == 'ended':
            role.status = event['status']
            role.ending_since = role.ending_since or now
        elif kind == 'refused':
            role.failure, role.ending_since = event['reason'], now
        elif kind == 'gone' and role.status is None:
            role.failure = role.failure or (
                'its agent is gone: is its host reachable, and was a '
                'process killed there?'
            )
            role.ending_since = role.ending_since or now

    def handle_sign_of_life(
        self, role: Role, event: Event, now: float
    ) -> None:
        """Write down what the role's processes do."""
        since = now - event['still']
        if event['still'] < STILL:
            role.still_since = None
        elif role.still_since is None or since > role.still_since + 1:
            role.still_since = since
        # At the end of a job, what moves may be a slow disk or network.
        moves = 0 <= event['still'] < STILL and any(
            other.ending_since for other in self.roles
        )
        if event['cpu'] - role.cpu > IDLE or moves:
            self.mark_busy(role, now)
        if event['exchanged']:  # also a job that waits for most of its time
            role.last_busy = self.last_busy = now
        role.cpu = event['cpu']
        role.joined |= event['joined']
        role.stopped_since = (
            (role.stopped_since or now) if event['stopped'] else None
        )
        role.ending_since = (
            (role.ending_since or now) if event['exiting'] else None
        )

    def mark_busy(self, role: Role, now: float) -> None:
        """Write down that a role does something; what other threads do while
        its main thread waits in an exchange is no progress of the job."""
        role.last_busy = now
        if not self.is_in_exchange(role):
            self.last_busy = now

    def is_in_exchange(self, role: Role) -> bool:
        """Return whether a worker's main thread stands still in MXNet."""
        return knows_place(role) and waits_in_mxnet(role)

    def waiting_since(self, role: Role) -> float:
        """Return since when a worker has waited, in an exchange or at its end
        for another thread; infinity: it does something else."""
        if self.is_in_exchange(role):
            return role.still_since or math.inf
        if knows_place(role) and is_kept_alive(role):
            return max(role.last_busy, role.still_since or math.inf)
        return math.inf

    def workers_to_ask(self) -> list[Role]:
        """Return the workers that have stood still for long, and have not
        told where."""
        limits = self.limits.exit, self.limits.progress
        patience = min([ASK_AFTER, *(limit / 2 for limit in limits if limit)])
        now = self.last_look
        found = [
            role
            for role in self.running_workers()
            if role.still_since is not None
            and now - role.still_since > patience
            and now - role.asked_at > ASK_AGAIN
            and not knows_place(role)
        ]
        found += [
            role
            for role in self.workers_waited_for()
            if now - role.asked_at > ASK_AGAIN
        ]
        for role in found:
            role.asked_at = now
        return found

    def workers_waited_for(self) -> list[Role]:
        """Return the workers for which all others have waited for long in an
        exchange, if they do something, and nobody has been told yet."""
        workers, limit = self.running_workers(), self.limits.progress
        since = map(self.waiting_since, workers)
        waiting = [moment for moment in since if moment < math.inf]
        if not waiting or not exceeds(self.last_look - max(waiting), limit):
            return []
        return [
            role
            for role in workers
            if role.still_since is None and not role.is_told
        ]

    def remark_delay(self, role: Role) -> None:
        """Say where a worker is for which all others wait. It may be right,
        such as a long evaluation, so it is no failure."""
        if role in self.workers_waited_for():
            role.is_told = True
            self.remarks.append(
                f'{role} has kept the other workers waiting for more than '
                f'{self.limits.progress} seconds; it is at {place_of(role)}. '
                'If it never comes back, only --timeout ends this job'
            )

    def extend_deadlines(self) -> None:
        """Do not count the time in which this process stood still.

        It has heard nothing meanwhile, so count as if all had spoken.
        """
        now = time.monotonic()
        still = now - self.last_look
        self.last_look = now
        if still <= 1:
            return
        for role in self.roles:
            role.last_heard = later(role.last_heard, still, now)
            role.ending_since = later(role.ending_since, still, now)
            role.stopped_since = later(role.stopped_since, still, now)
        self.last_busy += still
        self.began += still

    def is_finished(self) -> bool:
        """Return whether all roles ended well.

        Without a key-value store the scheduler and the servers wait for it:
        then it is enough that all workers ended well.
        """
        if all(role.status == 0 for role in self.roles):
            return True
        workers = [role for role in self.roles if role.kind == 'worker']
        return all(role.status == 0 for role in workers) and exceeds(
            time.monotonic() - max(map(end_of, workers)), SETTLE
        )

    def find_failure(self) -> Failure | None:
        """Return (roles, reason) of the first failure; None if all is well."""
        now = self.last_look  # later, this process may have been stopped
        failure = self.find_bad_end() or self.find_silent_agent(now)
        if self.roles[0].status != 0:  # else all passed the last barrier
            failure = (
                failure
                or self.find_early_end(now)
                or self.find_not_started(now)
                or self.find_not_joined(now)
            )
        return failure or self.find_no_progress(now) or self.find_timeout(now)

    def find_bad_end(self) -> Failure | None:
        """A role could not be started, ended badly, or lost its agent."""
        failed = [role for role in self.roles if role.failure or role.status]
        if not failed:
            return None
        first = min(failed, key=end_of)  # the others may only follow it
        reason = first.failure or explain_status(first.status or 0)
        return Failure([first], reason)

    def find_silent_agent(self, now: float) -> Failure | None:
        """An agent sends no sign of life, though nobody has stopped it."""
        for role in self.running():
            # Somebody may stop the launcher of another node for a while.
            limit = LAUNCHER_TIMEOUT if role.channel else HEARTBEAT_TIMEOUT
            if not role.last_heard or now - role.last_heard <= limit:
                continue
            if not is_agent_stopped(role):
                return Failure(
                    [role],
                    f'nothing was heard from it for {limit} seconds: is its '
                    'host cut off, or short of memory?',
                )
            if not role.stopped_since:
                role.stopped_since = role.last_heard
                self.remarks.append(explain_stopped_agent(role))
            role.last_heard = now  # once it goes on, it has time to speak
        return None

    def find_early_end(self, now: float) -> Failure | None:
        """A role ended, and workers go on without it, idle."""
        ended = [role for role in self.roles if role.ending_since]
        workers = self.running_workers()
        if not ended or not workers:
            return None
        others = [role for role in workers if not role.ending_since] or workers
        last_sign = max(*map(end_of, ended), *map(self.waiting_since, others))
        if not exceeds(now - last_sign, self.limits.exit):
            return None
        # One that is gone has not waited for the others, as a store does.
        gone = [role for role in ended if role.status is not None]
        if not gone and all(role.ending_since for role in workers):
            return self.deaf_servers()
        return Failure(
            [min(gone or ended, key=end_of)],
            f'it ended, but {name_roles(others)} waited for it in an exchange '
            f'for more than {self.limits.exit} seconds. Did it raise '
            'SystemExit, call os._exit, or take fewer steps than the other '
            'workers? If an exchange takes longer, allow more with '
            '--exit-timeout',
            is_hang=True,
            is_early_end=True,
        )

    def deaf_servers(self) -> Failure:
        """All workers wait in the exchange at their end."""
        return Failure(
            [role for role in self.running() if role.kind != 'worker'],
            'the workers have ended, but waited for it for more than '
            f'{self.limits.exit} seconds. Did a stranger tell it to stop?',
            is_hang=True,
        )

    def find_not_started(self, now: float) -> Failure | None:
        """An agent has said nothing yet."""
        absent = [role for role in self.roles if not role.last_heard]
        if not absent or not exceeds(now - self.began, self.limits.startup):
            return None
        for role in absent:
            if is_agent_stopped(role):
                return Failure([role], explain_stopped_agent(role))
        return Failure(
            absent[:1],
            f'not started after {self.limits.startup} seconds: does its host '
            'answer?',
        )

    def find_not_joined(self, now: float) -> Failure | None:
        """A role is idle, but has not connected to the scheduler."""
        absent = [
            role
            for role in self.running()
            if role is not self.roles[0]
            and not role.joined
            and exceeds(
                now - max(role.last_busy, self.began), self.limits.startup
            )
        ]
        if not absent:
            return None
        return Failure(
            sorted(absent, key=lambda role: role.kind != 'worker'),
            f'not joined {self.limits.startup} seconds after the start: does '
            'every worker create the key-value store, and can the hosts '
            'reach each other?',
            is_hang=True,
        )

    def find_no_progress(self, now: float) -> Failure | None:
        """A deadlock: all roles are idle, or one is stopped."""
        stopped = [role for role in self.roles if role.stopped_since]
        since = min(
            self.last_busy,
            *(role.stopped_since or math.inf for role in self.roles),
        )
        if not exceeds(now - since, self.limits.progress):
            return None
        if stopped:
            who = ' (its agent)' if is_agent_stopped(stopped[0]) else ''
            return Failure(
                stopped,
                f'stopped by a signal{who}: no progress for '
                f'{self.limits.progress} seconds',
            )
        return Failure(
            self.running_workers() or self.running(),
            f'no progress for {self.limits.progress} seconds: each worker '
            'stands still in an exchange, or is without output and processor '
            'time. If a step takes longer, allow more with '
            '--progress-timeout',
            is_hang=True,
        )

    def find_timeout(self, now: float) -> Failure | None:
        """The job takes too long."""
        if not exceeds(now - self.launched, self.limits.total):
            return None
        return Failure(
            self.running_workers() or self.running(),
            f'not finished after {self.limits.total} seconds: allow more '
            'with --timeout',
            is_hang=True,
        )

    def running(self) -> list[Role]:
        """Return the roles that have not ended."""
        return [role for role in self.roles if role.status is None]

    def running_workers(self) -> list[Role]:
        """Return the workers that have not ended; the others only serve."""
        return [role for role in self.running() if role.kind == 'worker']


def knows_place(role: Role) -> bool:
    """Return whether a worker stands still, and has told where since."""
    return role.still_since is not None and role.stacks_at > role.still_since


def explain_stopped_agent(role: Role) -> str:
    """Return what to do about an agent that somebody has stopped."""
    assert role.agent
    return (
        f'the agent of {role}, process {role.agent.pid} or its child, is '
        'stopped by a signal: `kill -CONT` lets it go on'
    )


def exceeds(seconds: float, limit: float | None) -> bool:
    """Return whether a limit, if there is one, has passed."""
    return limit is not None and seconds > limit


def later(moment: float | None, seconds: float, now: float) -> float | None:
    """Return a moment, if there was one, moved by seconds: to now at most."""
    return None if moment is None else min(now, moment + seconds)


def end_of(role: Role) -> float:
    """Return when the role ended or began to; infinity: not yet."""
    return math.inf if role.ending_since is None else role.ending_since
