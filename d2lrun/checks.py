"""What `launch` cannot run: an exception whose message says how to fix it."""

from __future__ import annotations

import os
import re
from typing import Any

from d2lbase.values import check_integer, counted, is_number

from .agent import PORTS
from .watch import Limits


def check_arguments(
    command: Any,
    workers: Any,
    servers: Any,
    hosts: Any,
    limits: Any,
    again: Any,
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
    check_processes(1, workers=workers, servers=servers)
    check_integer(0, restarts=again[0], rejoins=again[1], port=port)
    if port > 65535:
        raise ValueError(
            f'port must be from 0 (any free one) to 65535, not {port}'
        )
    check_limits(limits)
    if hosts is not None:
        check_hosts(hosts, workers)


def check_processes(least: int, **values: Any) -> None:
    """Raise TypeError or ValueError unless each is an integer >= `least`, and
    there are ports for so many processes."""
    check_integer(least, **values)
    for name, count in values.items():
        if count > len(PORTS):
            raise ValueError(
                f'{name} must be at most {len(PORTS)}, as each takes a port, '
                f'not {count}'
            )


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
        if not is_number(seconds):
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
        check_processes(0, **{f'the slots of {name}': count})
        check_integer(1, **{f'the devices of {name}': n for n in devices})
    total = sum(host[1] for host in slots)
    if workers > total:
        raise ValueError(
            f'workers must be at most {total}, the slots of all '
            f'hosts, not {workers}: add hosts or slots'
        )


def check_device_counts(devices: Any, workers: int, hosts: Any) -> None:
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
            'devices must have a number for each worker that is started '
            f'here: give {counted(workers, "number")}, not {list(devices)}'
        )
    if any(len(host) > 2 for host in hosts or ()):
        raise ValueError('give devices or the third column of hosts, not both')


def read_env(env: Any) -> dict[str, str]:
    """Return the variables that NAME or NAME=VALUE mean; raise TypeError or
    ValueError for anything else."""
    if isinstance(env, str) or not all(isinstance(w, str) for w in env):
        raise TypeError(f"env must be a list such as ['NAME'], not {env!r}")
    variables = {}
    for word in env:
        name, given, value = word.partition('=')
        if not re.fullmatch(r'[A-Za-z_]\w*', name):
            raise ValueError(
                f'write a variable as NAME or NAME=VALUE, not {word!r}'
            )
        if not given and name not in os.environ:
            raise ValueError(
                f'{name} is not set here: set it, or write {name}=VALUE'
            )
        variables[name] = value if given else os.environ[name]
    return variables
