"""Start jobs of several processes, and examine the installation.

Nothing here imports MXNet or d2lmulti: a job starts seconds earlier without
them, and the doctor is needed when they cannot be imported.
"""

import importlib
from typing import Any

__all__ = ['JobFailed', 'Limits', 'Node', 'launch']
HOMES = {
    'JobFailed': 'report',
    'Limits': 'watch',
    'Node': 'rendezvous',
    'launch': 'job',
}


def __getattr__(name: str) -> Any:
    """Import what starts jobs when it is used: it needs psutil, which the
    doctor must not."""
    if name not in HOMES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(importlib.import_module(f'.{HOMES[name]}', __name__), name)
