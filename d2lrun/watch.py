"""Watch the roles of a job: what happens to each, and which one has failed.

MXNet's distributed key-value store waits forever for a process that is gone,
so somebody must watch every one.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from .agent import HEARTBEAT_TIMEOUT
from .report import Failure, explain_status, name_roles
from .roles import Event, Role

IDLE = 0.02  # seconds of processor time in a second that are no progress


class Limits(NamedTuple):
    """Seconds after which a job counts as failed; None: no limit.

    Progress is output or processor time of any role. So a busy loop counts
    as progress: only `total` ends it.
    """

    startup: float | None = 120  # until all have joined
    progress: float | None = 300  # without progress
    exit: float | None = 5  # from the first end to the last
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

    def handle_event(self, role: Role, event: Event) -> None:
        """Write down what happened to a role."""
        now, kind = time.monotonic(), event['event']
        if kind == 'output':
            self.last_busy = role.last_busy = now
        elif kind == 'alive':
            self.handle_sign_of_life(role, event, now)
        elif kind == 'rank':
            role.rank = event['rank']
        elif kind == 'killed':
            role.killed[event['process']] = event['signal']
        elif kind == 'stacks':
            role.stacks = event['stacks']
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
        if event['cpu'] - role.cpu > IDLE:
            self.last_busy = role.last_busy = now
        role.cpu = event['cpu']
        role.joined |= event['joined']
        role.stopped_since = (
            (role.stopped_since or now) if event['stopped'] else None
        )
        role.ending_since = (
            (role.ending_since or now) if event['exiting'] else None
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
            time.monotonic() - max(map(end_of, workers)), self.limits.exit
        )

    def find_failure(self) -> Failure | None:
        """Return (roles, reason) of the first failure; None if all is well."""
        now = time.monotonic()
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
        """An agent sends no sign of life."""
        for role in self.roles:
            if (
                role.status is None
                and role.last_heard
                and now - role.last_heard > HEARTBEAT_TIMEOUT
            ):
                return Failure(
                    [role],
                    f'nothing was heard from it for {HEARTBEAT_TIMEOUT} '
                    'seconds: is its host cut off, or short of memory?',
                )
        return None

    def find_early_end(self, now: float) -> Failure | None:
        """A role ended, and workers go on without it, idle."""
        ended = [role for role in self.roles if role.ending_since]
        workers = self.running_workers()
        if not ended or not workers:
            return None
        last_sign = max(
            *map(end_of, ended), *(role.last_busy for role in workers)
        )
        if not exceeds(now - last_sign, self.limits.exit):
            return None
        # One that is gone has not waited for the others, as a store does.
        gone = [role for role in ended if role.status is not None]
        others = [role for role in workers if not role.ending_since]
        return Failure(
            [min(gone or ended, key=end_of)],
            f'it ended, but {name_roles(others or workers)} continued for '
            f'more than {self.limits.exit} seconds. Did it raise SystemExit, '
            'call os._exit, or take fewer steps than the other workers? If '
            'it was only fast, allow more with --exit-timeout',
            is_hang=True,
            is_early_end=True,
        )

    def find_not_started(self, now: float) -> Failure | None:
        """An agent has said nothing yet."""
        absent = [role for role in self.roles if not role.last_heard]
        if not absent or not exceeds(now - self.began, self.limits.startup):
            return None
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
        """All roles are idle, or one is stopped."""
        stopped = [role for role in self.roles if role.stopped_since]
        since = min(
            self.last_busy,
            *(role.stopped_since or math.inf for role in self.roles),
        )
        if not exceeds(now - since, self.limits.progress):
            return None
        if stopped:
            return Failure(
                stopped,
                'stopped by a signal: no progress for '
                f'{self.limits.progress} seconds',
            )
        return Failure(
            self.running_workers() or self.running(),
            f'no progress for {self.limits.progress} seconds: no output, and '
            'no processor time in any role. If a step takes longer, allow '
            'more with --progress-timeout',
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


def exceeds(seconds: float, limit: float | None) -> bool:
    """Return whether a limit, if there is one, has passed."""
    return limit is not None and seconds > limit


def later(moment: float | None, seconds: float, now: float) -> float | None:
    """Return a moment, if there was one, moved by seconds: to now at most."""
    return None if moment is None else min(now, moment + seconds)


def end_of(role: Role) -> float:
    """Return when the role ended or began to; infinity: not yet."""
    return math.inf if role.ending_since is None else role.ending_since
