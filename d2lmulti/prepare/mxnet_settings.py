"""MXNet's variables, and where packages and downloaded files are.

`import d2lmulti` sets the variables before MXNet starts, and the doctor
compares them.
"""

import importlib.machinery
import os
import pathlib
from typing import List

MAX_CPU_DEVICES = 64  # that work side by side: each has a workspace


def count_workspaces(cores: int) -> int:
    """Return how many workspaces CPU devices share on so many cores.

    They are dealt out in turn to the operators that are queued, and two with
    the same one wait for each other. With 64, eight devices on 16 cores have
    0.5 of the speed of eight processes, with 512 they have 0.8
    (tools/speed/results/CORES.md). More cost memory, because each grows to the
    largest that was asked of it: chapter 6 measures both.
    """
    return min(max(MAX_CPU_DEVICES, 32 * cores), 512)


# A variable that the user has set stays as it is.
SETTINGS = {
    # One thread per operator: the devices are the parallelism. With two,
    # devices fight for the cores.
    'OMP_NUM_THREADS': '1',
    # By default there are 4, so that two devices hardly ever work at once.
    'MXNET_CPU_TEMP_COPY': str(count_workspaces(os.cpu_count() or 1)),
    # One operator per unit of work: a long unit on one device keeps another
    # device waiting for its result.
    'MXNET_EXEC_BULK_EXEC_TRAIN': '0',
    'MXNET_EXEC_BULK_EXEC_INFERENCE': '0',
}


def slowing_settings() -> List[str]:
    """Return the names of those that the user has set so that CPU devices
    may wait for each other: to other values, but not to more workspaces."""
    slowing = []
    for name, value in SETTINGS.items():
        theirs = os.environ.get(name, value)
        more = theirs.isdecimal() and int(theirs) > int(value)
        if theirs != value and not (more and name == 'MXNET_CPU_TEMP_COPY'):
            slowing.append(name)
    return slowing


def folders_of(package: str) -> List[pathlib.Path]:
    """Return the folders of an installed package, without importing it."""
    spec = importlib.machinery.PathFinder.find_spec(package)
    return [*map(pathlib.Path, spec and spec.submodule_search_locations or [])]


def cache_folder() -> pathlib.Path:
    """Return the folder for what d2lmulti downloads."""
    return (
        pathlib.Path(
            os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache'
        )
        / 'd2lmulti'
    )
