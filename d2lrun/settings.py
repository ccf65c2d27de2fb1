"""What a job's processes and `import d2lmulti` both set, and where files are.

The launcher gives the settings to every role, the doctor compares them, and
`d2lmulti.prepare` makes them. They are here because that package needs MXNet
and this one must not.
"""

import contextlib
import os
import pathlib
import warnings
from typing import Iterator, List, Optional

from .basics import check_integer


def count_workspaces(cores: int) -> int:
    """Return how many workspaces CPU devices share on so many cores.

    They are dealt out in turn to the operators that are queued, and two with
    the same one wait for each other. With 64, eight devices on 16 cores have
    0.5 of the speed of eight processes, with 512 they have 0.8
    (benchmarks/results/CORES.md). More cost memory, because each grows to the
    largest that was asked of it: chapter 6 measures both.
    """
    return min(max(64, 32 * cores), 512)


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
    found = []
    for name, value in SETTINGS.items():
        theirs = os.environ.get(name, value)
        more = theirs.isdecimal() and int(theirs) > int(value)
        if theirs != value and not (more and name == 'MXNET_CPU_TEMP_COPY'):
            found.append(name)
    return found


# Comes first on the PYTHONPATH of workers: Python loads what is in it.
EXIT_HOOK = pathlib.Path(__file__).with_name('exit_hook')


def cache_folder() -> pathlib.Path:
    """Return the folder for what d2lmulti downloads."""
    return (
        pathlib.Path(
            os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache'
        )
        / 'd2lmulti'
    )


@contextlib.contextmanager
def temporary_env(**variables: str) -> Iterator[None]:
    """Set environment variables until the block ends."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            if value is not None:
                os.environ[name] = value


def warn_of_settings(late: List[str], threads: str) -> None:
    """Warn of settings that cannot take effect, on the line that imports us.

    `late`: those that MXNet may have read before, because it was imported
    earlier. `threads`: OMP_NUM_THREADS; above 1 it holds for other
    libraries, but not for MXNet's devices.
    """
    if late:
        warnings.warn(
            'MXNet was imported before d2lmulti, so these settings may have '
            f'no effect: {", ".join(late)}. Two CPU devices may be no faster '
            'than one. Restart Python and import d2lmulti first.',
            stacklevel=4,
        )
    if threads != '1':
        warnings.warn(
            f'OMP_NUM_THREADS={threads} holds for other libraries, but '
            "MXNet's CPU devices use one thread each: with more, two of "
            'them hang in OpenBLAS. Unset it or set it to 1 to silence this '
            'warning.',
            stacklevel=4,
        )


def find_num_devices(num_devices: Optional[int]) -> int:
    """Return how many devices this worker has: as given, or else as
    D2LMULTI_NUM_DEVICES in the environment says, or else 1."""
    text = os.environ.get('D2LMULTI_NUM_DEVICES', '1')
    if num_devices is None and not text.isdecimal():
        raise ValueError(
            'D2LMULTI_NUM_DEVICES must be the number of devices of this '
            f'worker, not {text!r}'
        )
    num_devices = int(text) if num_devices is None else num_devices
    check_integer(1, num_devices=num_devices)
    return num_devices
