"""The doctor's checks of Python, the packages and the machine."""

import dataclasses
import importlib.util
import os
import pathlib
import re
import shlex
import sys
from importlib import metadata
from typing import Iterator, Optional

from . import cuda
from .mxnet_settings import cache_folder, slowing_settings

GREEN, YELLOW, RED = 'green', 'yellow', 'red'
PYTHON = sys.executable
PACKAGES = ['d2l', 'matplotlib', 'tqdm']  # beside NumPy and MXNet


@dataclasses.dataclass(frozen=True)
class Check:
    """What was found; each line of `fix` is a command that fixes it (the
    first that fits), or says what to do."""

    name: str
    status: str
    found: str
    fix: str = ''


# The commands: with the versions that d2lmulti and d2l were installed with.


def pinned(package: str) -> str:
    """Return the package with the version that is needed: 'd2l==1.0.3'."""
    for owner in ('d2lmulti', 'd2l'):
        try:
            requirements = metadata.requires(owner) or []
        except metadata.PackageNotFoundError:
            continue
        for requirement in requirements:
            pin = re.match(
                rf'{re.escape(package)} ?\(?==([\w.]+)', requirement
            )
            if pin:
                return f'{package}=={pin[1]}'
    return package


def pip(*commands: str) -> str:
    """Return a line that runs pip; .venv may have come without it."""
    python = shlex.quote(PYTHON)
    first = '' if cuda.version_of('pip') else f'{python} -m ensurepip; '
    return first + '; '.join(
        f'{python} -m pip {command}' for command in commands
    )


# Python and the packages


def diagnose_python() -> Check:
    """Python must be 3.8 to 3.14."""
    version = sys.version_info[:3]
    found = '.'.join(map(str, version))
    if (3, 8) <= version[:2] <= (3, 14):
        return Check('Python', GREEN, found)
    return Check(
        'Python',
        RED,
        f'{found}: d2lmulti runs on 3.8 to 3.14',
        'make env PYTHON=python3.11   # after `uv python install 3.11`, if '
        'there is none\n'
        'conda env create -f environment.yml   # its head says how',
    )


def diagnose_path() -> Iterator[Check]:
    """What lies in PYTHONPATH comes before the packages and Python's own."""
    if os.environ.get('PYTHONPATH'):
        yield Check(
            'PYTHONPATH',
            YELLOW,
            f'{os.environ["PYTHONPATH"]}: modules there replace others',
            'unset PYTHONPATH',
        )


def diagnose_files() -> Iterator[Check]:
    """So does a file in the folder where Python runs: of a clone, ours."""
    root = pathlib.Path(str(cuda.__file__)).parents[2]
    chapters = root / 'notebooks'
    files = [*root.glob('*.py'), *chapters.glob('*.py')]
    for path in sorted(files) if chapters.is_dir() else ():
        spec = importlib.util.find_spec(path.stem)
        if spec and spec.origin != str(path):
            yield Check(
                path.name,
                YELLOW,
                f'{path} replaces the module {path.stem}',
                shlex.join(['mv', str(path), f'{path.parent}/my_{path.name}']),
            )


def diagnose_numpy() -> Check:
    """NumPy must be there; `newer_python` lets MXNet run on any version."""
    version = cuda.version_of('numpy')
    if version is None:
        return Check('NumPy', RED, 'is not installed', pip('install numpy'))
    return Check('NumPy', GREEN, version)


def diagnose_packages() -> Iterator[Check]:
    """Yield a check for d2l, and for each other package that is missing."""
    for name in PACKAGES:
        version = cuda.version_of(name)
        if version is None:
            yield Check(
                name,
                RED,
                'is not installed',
                pip(
                    f'install --no-deps {pinned(name)}'
                    if name == 'd2l'
                    else f'install {pinned(name)}'
                ),
            )
        elif name == 'd2l':
            yield Check(name, GREEN, version)


def diagnose_kernel() -> Check:
    """Jupyter must run the notebooks with this Python."""
    fix = pip('install ipykernel jupyterlab')
    try:
        kernelspec = importlib.import_module('jupyter_client.kernelspec')
    except ImportError:
        return Check(
            'Jupyter kernel',
            YELLOW,
            'Jupyter is not installed: training runs, notebooks do not',
            fix,
        )
    try:
        manager = kernelspec.KernelSpecManager()
        command = manager.get_kernel_spec('python3').argv[0]
    except kernelspec.NoSuchKernel:
        return Check('Jupyter kernel', YELLOW, 'there is none for Python', fix)
    if os.path.basename(command) == command or os.path.samefile(
        command, PYTHON
    ):
        return Check('Jupyter kernel', GREEN, 'python3 runs this Python')
    return Check(
        'Jupyter kernel',
        YELLOW,
        f'python3 runs {command}, not this Python',
        f'{PYTHON} -m ipykernel install --sys-prefix',
    )


# The machine


def diagnose_threads() -> Check:
    """The user may have set what slows CPU devices down."""
    changed = slowing_settings()
    if changed:
        found = ', '.join(f'{name}={os.environ[name]}' for name in changed)
        return Check(
            'threads',
            YELLOW,
            f'{found}: several CPU devices may not be faster',
            f'unset {" ".join(changed)}',
        )
    return Check(
        'threads',
        GREEN,
        f'{os.cpu_count()} cores; one thread for each operator',
    )


def free_memory() -> Optional[int]:
    """Return how many bytes of memory are free, or None if unknown."""
    path = pathlib.Path('/proc/meminfo')  # of Linux
    text = path.read_text() if path.exists() else ''
    line = re.search(r'^MemAvailable: +(\d+) kB', text, re.MULTILINE)
    return int(line[1]) * 1024 if line else None


def diagnose_memory() -> Iterator[Check]:
    """Training takes about 700 MB; yield nothing if unknown."""
    free = free_memory()
    if free is None:
        return
    found = f'{free / 2**30:.1f} GiB free'
    fix = 'ps aux --sort=-rss | head   # close what uses a lot of memory'
    if free < 0.5 * 2**30:
        yield Check(
            'memory', RED, f'{found}: training needs about 0.7 GiB', fix
        )
    elif free < 1.5 * 2**30:
        yield Check(
            'memory', YELLOW, f'{found}: enough for small minibatches', fix
        )
    else:
        yield Check('memory', GREEN, found)


def diagnose_cache() -> Check:
    """The cache is needed for the full data set only."""
    folder = cache_folder()
    existing = next(
        path for path in (folder, *folder.parents) if path.exists()
    )
    if existing.is_dir() and os.access(existing, os.W_OK | os.X_OK):
        return Check('cache', GREEN, str(folder))
    return Check(
        'cache',
        YELLOW,
        f'{existing} cannot be written, so the full data '
        'set cannot be kept; the bundled part needs no cache',
        'export XDG_CACHE_HOME=$HOME/d2lmulti-cache   # any folder of yours',
    )
