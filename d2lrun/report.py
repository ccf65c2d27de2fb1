"""Say which role of a job failed, and show what is known about it."""

from __future__ import annotations

import pathlib
import re
import signal
from typing import Any, Iterable, NamedTuple

from .records import (
    describe_call,
    explain,
    judge,
    parse_records,
)
from .roles import Role

SHOWN = 3  # roles whose stacks and logs a message shows
FRAMES = (8, 3, 3)  # at most: of the main thread, of two others
# What ends a child by mistake; SIGTERM ends one that is no longer needed.
CRASHES = ('SIGKILL', 'SIGSEGV', 'SIGBUS', 'SIGABRT', 'SIGILL', 'SIGFPE')


class JobFailed(RuntimeError):
    """A role of the job ended badly or too early, or a limit passed."""


class Failure(NamedTuple):
    """Which roles failed, and why."""

    roles: list[Role]
    reason: str
    is_hang: bool = False  # processes are still there: where are they?
    is_early_end: bool = False  # the reason fits only this role


def explain_failure(
    failure: Failure, roles: list[Role], folder: pathlib.Path | None
) -> str:
    """Return the message for a failure: the reason, children that were
    killed, stacks of a hang, and the last lines of the logs, which are in
    `folder` if there is one."""
    if failure.is_hang:
        failure = name_kept_alive(failure, roles) or name_by_records(
            name_by_stacks(failure), roles
        )
    lines = [
        f'{name_roles(failure.roles)}: {failure.reason}',
        *killed_children(roles),
        *(
            compare_exchanges(roles)
            if failure.is_hang
            else last_exchanges(failure.roles)
        ),
    ]
    shown = list(failure.roles)
    if failure.is_hang:  # the others tell what they wait for
        shown += [role for role in roles if role.stacks and role not in shown]
    for role in shown[:SHOWN]:
        lines += stack_lines(role)
        log = f'{folder / role.name}.log' if folder else f'{role.name}'
        lines.append(f'last lines of {log}:')
        lines += [f'    {line}' for line in role.tail] or ['    (empty)']
    return '\n'.join(lines)


def name_kept_alive(failure: Failure, roles: list[Role]) -> Failure | None:
    """Return the hang with a worker that only a thread keeps alive, if it
    made an error, or all others wait; None if there is none."""
    if failure.is_early_end and failure.roles[0].status is not None:
        return None
    kept = [role for role in roles if is_kept_alive(role)]
    failed = [role for role in kept if role.ending_since]
    others = [role for role in roles if role.stacks and role not in kept]
    if not kept or not (failed or all(map(waits_in_mxnet, others))):
        return None
    reason = (
        f'its program has ended{" with an error" if failed else ""}, but a '
        'thread that is not a daemon keeps it alive'
    )
    if failure.is_early_end:
        reason += (
            '. End that thread, or make it a daemon; if it is only slow, '
            'allow more with --exit-timeout'
        )
    else:
        reason += f': {failure.reason}'
    return failure._replace(roles=(failed or kept)[:1], reason=reason)


def is_kept_alive(role: Role) -> bool:
    """Return whether the main thread of a process of the role has ended the
    program, and waits for other threads, which do not wait in MXNet."""
    shutdown = re.compile(r'[/\\]threading\.py.* in _shutdown$', re.MULTILINE)
    return any(
        shutdown.search(main_thread_in(stack))
        and not any(
            path.startswith((*role.mxnet,)) for path, _ in places_in(stack)
        )
        for stack in role.stacks
    )


def name_by_stacks(failure: Failure) -> Failure:
    """Return the hang with the workers that keep the others waiting, if
    the stacks tell: also those that wait in the exchange at their end."""
    if not all(role.stacks for role in failure.roles):
        return failure
    busy = [role for role in failure.roles if not waits_in_mxnet(role)]
    if not busy:
        who, what = failure.roles, 'waiting in MXNet'
    elif len(busy) < len(failure.roles):
        who, what = busy, 'keeping the other workers waiting'
    else:
        return failure
    return failure._replace(roles=who, reason=f'{what}: {failure.reason}')


def name_by_records(failure: Failure, roles: list[Role]) -> Failure:
    """Return the hang with the workers that are out of step by their
    records, if these tell, and if it names others too, or others alone:
    those that ended as they should, before one that makes an exchange too
    many."""
    records, places = records_of(roles)
    names = judge(records, places)[1] if len(records) > 1 else []
    if not names:
        return failure
    culprits = [role for role in roles if role.prefix in names]
    if failure.is_early_end and not {*failure.roles} & {*culprits}:
        return failure._replace(
            roles=culprits,
            reason='waiting in an exchange that most workers do not make: '
            'they have ended. Does it take more steps than they do?',
        )
    if failure.is_early_end or not {*culprits} < {*failure.roles}:
        return failure
    return failure._replace(
        roles=culprits, reason=f'unlike the other workers: {failure.reason}'
    )


def waits_in_mxnet(role: Role) -> bool:
    """Return whether the main thread of a process of the role waits for the
    engine or the key-value store, and so maybe for other workers."""
    for stack in role.stacks:
        places = places_in(main_thread_in(stack))
        stores = [f'{start}kvstore{start[-1]}' for start in role.mxnet]
        if places and (
            places[0][0].startswith((*role.mxnet,))
            or any(path.startswith((*stores,)) for path, _ in places)
        ):
            return True
    return False


def places_in(stack: str) -> list[tuple[str, str]]:
    """Return the file and the line of each frame, as in the stack."""
    return re.findall(r'^ *File "(.*)", line (\d+)', stack, re.MULTILINE)


def threads_in(stack: str) -> list[list[str]]:
    """Return the frames of each thread, innermost first, of what
    `faulthandler` wrote; it writes the main thread last, we return it first.
    """
    threads = re.split(r'^.*[Tt]hread 0x.*$', stack, flags=re.MULTILINE)
    frames = [re.findall(r'File .*', thread) for thread in threads]
    return [thread for thread in reversed(frames) if thread]


def main_thread_in(stack: str) -> str:
    """Return the frames of the main thread, a line each."""
    return '\n'.join(sum(threads_in(stack)[:1], []))


def stack_lines(role: Role) -> list[str]:
    """Return where the role's threads are, in lines."""
    lines: list[str] = []
    for stack in role.stacks:
        for thread, count in zip(threads_in(stack), FRAMES):
            kind = 'another thread' if lines else 'main thread'
            lines += [
                f'{kind} of {role.name}, innermost call first:',
                *(f'    {frame}' for frame in thread[:count]),
            ]
    return lines


def compare_exchanges(roles: Iterable[Role]) -> list[str]:
    """Return which workers are out of step in which exchange, by their
    records; nothing without at least two of them."""
    records, places = records_of(roles)
    if len(records) < 2:
        return []
    return [
        *explain(records, places),
        *(
            f'{role.prefix}: its records are missing'
            for role in roles
            if role.kind == 'worker' and role.records is None
        ),
    ]


def records_of(roles: Iterable[Role]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the records of each worker that has some, by rank, and where
    each is."""
    workers = [role for role in roles if role.records is not None]
    workers.sort(key=lambda role: (role.rank is None, role.rank))
    return (
        {role.prefix: read_records(role) for role in workers},
        {role.prefix: place_of(role) for role in workers},
    )


def last_exchanges(roles: Iterable[Role]) -> list[str]:
    """Return the last exchange of each worker that has recorded one."""
    return [
        f'its last: {describe_call(max(records, key=lambda own: own.begun))}'
        for records in map(read_records, roles)
        if records
    ]


def read_records(role: Role) -> Any:
    """Return the records of a role, oldest first."""
    return parse_records((role.records or '').encode())


def place_of(role: Role) -> str:
    """Return in which line of the script a worker is, and up to two lines
    that called it; or how it ended."""
    if role.status:
        return explain_status(role.status)
    if role.ending_since:
        return 'ended'
    lines: list[str] = []
    for stack in role.stacks:
        for path, line in places_in(main_thread_in(stack)):
            if not path.startswith(('<', *role.library)):
                lines.append(f'{pathlib.PurePath(path).name}:{line}')
            elif lines:
                break
        if lines:
            break
    return ', from '.join(lines[:3]) or 'unknown'


def killed_children(roles: Iterable[Role]) -> list[str]:
    """Return a line for each child process that was killed."""
    return [
        f'{role}: its child process {process} {explain_status(-number)}'
        for role in roles
        for process, number in role.killed.items()
        if signal_name(number) in CRASHES
    ]


def explain_status(status: int) -> str:
    """Return in words how a process ended badly."""
    if status > 0:
        return f'ended with status {status}'
    name = signal_name(-status)
    return f'was killed by {name}' + (
        ' (by the OOM killer, if memory ran out)' if name == 'SIGKILL' else ''
    )


def signal_name(number: int) -> str:
    """Return the name of a signal, also of one that has none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f'signal {number}'


def name_roles(roles: Iterable[Role]) -> str:
    """Return the roles and their hosts in words."""
    return ', '.join(map(str, roles))
