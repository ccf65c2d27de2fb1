"""Let MXNet 1.9.1 run on Python from 3.12 on and on NumPy from 1.24 on.

MXNet looks up names that newer NumPys have removed, most of them while it is
being imported, and the module `distutils`, which Python 3.12 removed. After
`install`, `import mxnet` finds them:

- NumPy has the names, and `distutils` is there, until MXNet is imported.
- Then both are as before, for you and for every other package. Only MXNet's
  modules keep the names: as `numpy` they hold a copy of the module that has
  them too.

From NumPy 2 on, MXNet also writes NumPy's numbers as it needs them.

What is there is never replaced, so on Python 3.11 with NumPy 1.23 nothing
changes, except that MXNet imports SciPy's statistics when it uses them, not
before. `import mxnet` before `import d2lmulti` fails where MXNet itself does;
a script that uses MXNet without d2lmulti calls `install` first.
"""

import contextlib
import importlib
import importlib.machinery
import importlib.util
import re
import sys
import types
import warnings
from typing import Any, Callable, Dict, Iterator, Optional, Sequence, Tuple

CONSTANTS = {  # found by MXNet in NumPy: what NumPy 1.23 had there
    'Inf': float('inf'),
    'NAN': float('nan'),
    'NINF': float('-inf'),
    'NZERO': -0.0,
    'NaN': float('nan'),
    'PINF': float('inf'),
    'PZERO': 0.0,
    'bool': bool,
    'compat': types.SimpleNamespace(basestring=str),
    'int': int,
}
RENAMED = {  # functions that have another name now
    'alltrue': 'all',
    'product': 'prod',
    'round_': 'round',
    'sometrue': 'any',
    'trapz': 'trapezoid',
}
FINANCIAL = ['mirr', 'npv', 'pmt', 'ppmt', 'pv', 'rate']  # gone for good


def install() -> None:
    """Let the first `import mxnet` from now on find what it needs."""
    if 'mxnet' not in sys.modules:
        sys.meta_path.insert(0, Finder())


class Finder:
    """Finds MXNet, and has it loaded with the names that it needs."""

    def find_spec(
        self,
        name: str,
        path: Optional[Sequence[str]] = None,
        target: Optional[types.ModuleType] = None,
    ) -> Optional[importlib.machinery.ModuleSpec]:
        """Return MXNet's spec, and leave the import system again."""
        if name != 'mxnet':
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def load_with_names(module: types.ModuleType) -> None:
            with numpy_names(), distutils(), scipy_stats_later():
                load(module)
            write_plain_numbers()

        spec.loader.exec_module = load_with_names  # type: ignore
        return spec


@contextlib.contextmanager
def numpy_names() -> Iterator[None]:
    """Set the names that NumPy lacks until the block ends, and leave them to
    the modules of MXNet that were imported in it."""
    numpy = importlib.import_module('numpy')
    names = missing_names(numpy)
    vars(numpy).update(names)
    try:
        yield
    finally:
        for name in names:
            delattr(numpy, name)
    if names:
        give_to_mxnet(numpy, names)


def missing_names(numpy: Any) -> Dict[str, Any]:
    """Return what MXNet looks up and this NumPy lacks."""
    names = dict(CONSTANTS)
    names['in1d'] = lambda a, *args: numpy.isin(a, *args).reshape(-1)
    names['msort'] = lambda a: numpy.sort(a, axis=0)
    names.update((old, renamed(numpy, new)) for old, new in RENAMED.items())
    names.update((name, no_longer(numpy, name)) for name in FINANCIAL)
    with warnings.catch_warnings():  # of names that are there, but deprecated
        warnings.simplefilter('ignore')
        return {
            name: value
            for name, value in names.items()
            if not hasattr(numpy, name)
        }


def renamed(numpy: Any, name: str) -> Callable[..., Any]:
    """Return a function that calls NumPy's `name`. It is not that function:
    MXNet would register its own for both, and the second would win."""
    return lambda *args, **kwargs: getattr(numpy, name)(*args, **kwargs)


def no_longer(numpy: Any, name: str) -> Callable[..., Any]:
    """Return a function that raises RuntimeError, as NumPy 1.20's does."""

    def function(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError(
            f'NumPy {numpy.__version__} has no {name}, which mxnet.np.{name} '
            'would call; numpy-financial has it'
        )

    return function


def give_to_mxnet(numpy: types.ModuleType, names: Dict[str, Any]) -> None:
    """Let MXNet's modules hold a copy of NumPy's module with the names."""
    copy = types.ModuleType('numpy')
    vars(copy).update(vars(numpy), **names)
    for path, module in list(sys.modules.items()):
        if path.split('.')[0] == 'mxnet':
            for name, value in list(vars(module).items()):
                if value is numpy:
                    setattr(module, name, copy)


def write_plain_numbers() -> None:
    """Let MXNet write NumPy's numbers into the text of its operators'
    parameters as NumPy 1 did, (2, 3), not (np.int64(2), np.int64(3))."""
    numpy: Any = importlib.import_module('numpy')

    def text(value: Any) -> str:
        written = str(value)
        if 'np.' not in written:
            return written
        with numpy.printoptions(legacy='1.25'):
            return str(value)

    if repr(numpy.int64(2)) != '2':  # from NumPy 2 on
        for name in ('mxnet._ctypes.ndarray', 'mxnet._ctypes.symbol'):
            if name in sys.modules:  # tests have an MXNet without them
                vars(sys.modules[name])['str'] = text


@contextlib.contextmanager
def distutils() -> Iterator[None]:
    """Provide `distutils.version` until the block ends, if Python does not
    and setuptools has not."""
    if sys.version_info < (3, 12) or 'distutils' in sys.modules:
        yield
        return
    package = types.ModuleType('distutils')
    version: Any = types.ModuleType('distutils.version')
    # MXNet asks only whether NumPy is at least as new as 1.6, 1.15 and 1.17.
    version.LooseVersion = version.StrictVersion = version_numbers
    modules = {'distutils': package, 'distutils.version': version}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]


@contextlib.contextmanager
def scipy_stats_later() -> Iterator[None]:
    """Until the block ends, let an import of `scipy.stats` wait for its first
    use: MXNet hardly ever uses it, and it takes a fifth of MXNet's import."""
    name = 'scipy.stats'
    if name in sys.modules or importlib.util.find_spec('scipy') is None:
        yield
        return
    later = types.ModuleType(name)
    vars(later)['__getattr__'] = lambda attribute: getattr(
        importlib.import_module(name), attribute
    )
    sys.modules[name] = later
    try:
        yield
    finally:
        if sys.modules.get(name) is later:
            del sys.modules[name]
        vars(sys.modules.get('scipy', later)).pop('stats', None)


def version_numbers(version: str) -> Tuple[int, ...]:
    """Return (1, 26) for '1.26.4'."""
    return tuple(map(int, re.findall(r'\d+', version)[:2]))
