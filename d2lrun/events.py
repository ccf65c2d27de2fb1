"""What the agents say about their roles, checked before it is used.

A line is JSON from an agent, or something else: what ssh says, or Python
about the agent. On another node it may come from anyone who has the secret.
"""

from __future__ import annotations

import contextlib
import json
import math
from typing import Any, Callable, Dict, Iterator

Event = Dict[str, Any]
MAX_EVENT = 1 << 22  # characters of a line; stacks are the longest


def integer_in(least: int, most: int) -> Callable[[Any], bool]:
    """Return a check of an integer, which no bool is."""
    return lambda value: type(value) is int and least <= value <= most


def is_seconds(value: Any) -> bool:
    """Return whether this is a finite number."""
    return type(value) in (int, float) and math.isfinite(value)


def is_text(value: Any) -> bool:
    """Return whether this is a text."""
    return isinstance(value, str)


def is_flag(value: Any) -> bool:
    """Return whether this is True or False."""
    return isinstance(value, bool)


def is_texts(value: Any) -> bool:
    """Return whether this is a list of texts."""
    return isinstance(value, list) and all(map(is_text, value))


def is_starts(value: Any) -> bool:
    """Return whether this is a list of texts, none of them empty."""
    return is_texts(value) and all(value)


def is_status(value: Any) -> bool:
    """Return whether this is how a process ended; None: it was ended."""
    return value is None or integer_in(-255, 255)(value)


FIELDS: dict[str, dict[str, Callable[[Any], bool]]] = {
    'started': {'port': integer_in(0, 65535)},
    'refused': {'reason': is_text},
    'output': {'line': is_text, 'stream': {'stdout', 'stderr'}.__contains__},
    'rank': {'rank': integer_in(0, 1 << 30)},
    'killed': {
        'process': integer_in(0, 1 << 40),
        'signal': integer_in(1, 255),
    },
    'stacks': {'stacks': is_texts},
    'folders': {'library': is_starts, 'mxnet': is_starts},
    'records': {'records': is_text},
    'alive': {
        'cpu': is_seconds,
        'joined': is_flag,
        'stopped': is_flag,
        'exiting': is_flag,
        'still': is_seconds,
        'exchanged': is_flag,
    },
    'ended': {'status': is_status},
}


def parse_event(line: str) -> Event:
    """Return the event that a line holds; anything else is output."""
    with contextlib.suppress(ValueError, TypeError, RecursionError):
        event = json.loads(line)
        fields = FIELDS[event['event']] if is_event(event) else {}
        if fields and all(
            name in event and is_right(event[name])
            for name, is_right in fields.items()
        ):
            return event
    return {'event': 'output', 'line': line.rstrip('\n'), 'stream': 'stdout'}


def is_event(event: Any) -> bool:
    """Return whether this says which event it is."""
    return (
        isinstance(event, dict)
        and isinstance(event.get('event'), str)
        and event['event'] in FIELDS
    )


def read_lines(file: Any) -> Iterator[str]:
    """Yield the lines of a text file, until it ends or one is too long."""
    for line in iter(lambda: file.readline(MAX_EVENT), ''):
        yield line
        if len(line) == MAX_EVENT:
            return
