"""Let no pickle that reaches a server run code: only MXNet's optimizers pass.

Servers ask nobody who they are: anybody who reaches their port can send a
pickle, and an unpickler does what a pickle says. This one makes optimizers
and learning rate schedules of MXNet, and of Python's types numbers, texts,
lists, tuples, sets and dictionaries.
"""

from __future__ import annotations

import io
import pickle
import re
import sys
from typing import Any, Callable

MAX_PICKLE = 1 << 24  # bytes
PLAIN = (type(None), bool, int, float, str)
CONTAINERS = (list, tuple, set, frozenset, dict)
# Python 2's names, too: MXNet pickles with protocol 0.
HELPERS = {
    ('copy_reg', '_reconstructor'),
    ('copyreg', '_reconstructor'),
    ('__builtin__', 'object'),
    ('builtins', 'object'),
    ('__builtin__', 'set'),
    ('builtins', 'set'),
}
MODULES = re.compile(r'mxnet\.(optimizer(\.\w+)?|lr_scheduler)')


class Refused(Exception):
    """Something in a pickle is not allowed."""


class Unpickler(pickle.Unpickler):
    """Finds MXNet's optimizers and schedules, and nothing else."""

    def __init__(self, body: bytes, load: Callable[[], Any]) -> None:
        super().__init__(io.BytesIO(body))
        self.load_mxnet = load

    def find_class(self, module: str, name: str) -> Any:
        """Return what a pickle may name; raise Refused for the rest."""
        if (module, name) in HELPERS:
            return super().find_class(module, name)
        if MODULES.fullmatch(module) and name.isidentifier():
            found = getattr(sys.modules.get(module), name, None)
            if found is None and self.load_mxnet():
                found = getattr(sys.modules.get(module), name, None)
            if is_allowed(found):
                return found
        raise Refused(f'it names {module}.{name}')


def is_allowed(found: Any) -> bool:
    """Return whether this is an optimizer or a schedule of MXNet's."""
    mxnet = sys.modules['mxnet']
    bases = mxnet.optimizer.Optimizer, mxnet.lr_scheduler.LRScheduler
    return (
        isinstance(found, type)
        and issubclass(found, bases)
        and found.__module__.split('.')[0] == 'mxnet'
    )


def load_optimizer(body: bytes, load: Callable[[], Any]) -> Any:
    """Return the optimizer in a pickle; `load` imports MXNet if it is needed.

    Raises Refused for anything else.
    """
    if len(body) > MAX_PICKLE:
        raise Refused(f'it has {len(body)} bytes')
    try:
        optimizer = Unpickler(body, load).load()
    except Refused:
        raise
    except Exception as error:  # it may hold anything
        raise Refused(f'it cannot be read ({type(error).__name__})') from None
    mxnet = sys.modules.get('mxnet')
    if mxnet is None or not isinstance(optimizer, mxnet.optimizer.Optimizer):
        raise Refused('it is no optimizer')
    check_plain([vars(optimizer)], mxnet.lr_scheduler.LRScheduler)
    return optimizer


def guard_pickle() -> None:
    """Let `import mxnet` serve with this, where MXNet itself serves."""

    def load_mxnet() -> bool:
        return 'mxnet' in sys.modules  # it is what asks

    def loads(body: bytes) -> Any:
        try:
            return load_optimizer(body, load_mxnet)
        except Refused as error:
            print(f'd2lrun: refused a pickle: {error}', flush=True)
            raise

    pickle.loads = loads  # type: ignore


def check_optimizer(optimizer: Any) -> None:
    """Raise TypeError for an optimizer that the servers would refuse."""
    try:
        load_optimizer(pickle.dumps(optimizer, 0), lambda: True)
    except Refused as error:
        raise TypeError(
            f'the servers of d2lrun do not take this optimizer: {error}. '
            "They take MXNet's own, with plain numbers: write float(lr) for "
            "a number of NumPy's; with another optimizer, let the workers "
            'update (update_on_kvstore=False)'
        ) from None


def check_plain(values: list[Any], schedule: type) -> None:
    """Raise Refused unless all that the values hold is plain; each object is
    looked at once, or a small pickle could take very long."""
    seen = set()
    while values:
        value = values.pop()
        if isinstance(value, PLAIN) or id(value) in seen:
            continue
        seen.add(id(value))
        if type(value) is dict:
            values += [*value.keys(), *value.values()]
        elif type(value) in CONTAINERS:
            values += value
        elif isinstance(value, schedule):
            values.append(vars(value))
        else:
            raise Refused(f'it holds a {type(value).__name__}')
