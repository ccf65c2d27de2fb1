"""What MXNet needs of a machine and of its process, before it starts there."""

import ctypes
import os
import pathlib
import sys
from typing import Dict, Optional

from .settings import EXIT_HOOK, SETTINGS

# glibc's malloc: (number of the option, value, environment variable).
# Otherwise every activation goes back to the system when it is freed, and
# its pages must be mapped and zeroed again in the next step.
MALLOC = [
    (-4, 0, 'MALLOC_MMAP_MAX_'),  # never from mmap
    (-1, 2**31 - 1, 'MALLOC_TRIM_THRESHOLD_'),  # keep what was freed
    (-8, 1, 'MALLOC_ARENA_MAX'),  # one heap for all threads
]


def tune_malloc() -> None:
    """Tell glibc's malloc to reuse freed memory; elsewhere, do nothing."""
    if sys.platform != 'linux':
        return
    mallopt = getattr(ctypes.CDLL(None), 'mallopt', None)  # musl has none
    for option, value, variable in MALLOC:
        if mallopt and variable not in os.environ:
            mallopt(option, value)


def openblas_avx2_env() -> Dict[str, str]:
    """Return the variable that lets MXNet's OpenBLAS use AVX2, if need be.

    MXNet brings an OpenBLAS of 2020. On a processor that is newer it falls
    back to kernels for SSE3, which take 2.5 times as long.
    """
    cpuinfo = pathlib.Path('/proc/cpuinfo')
    avx2 = cpuinfo.exists() and ' avx2 ' in cpuinfo.read_text()
    if 'OPENBLAS_CORETYPE' in os.environ or not avx2:
        return {}
    return {'OPENBLAS_CORETYPE': 'Haswell'}


def load_openmp() -> Optional[ctypes.CDLL]:
    """Return the OpenMP library that MXNet uses, or None where it is not
    GNU's."""
    try:
        return ctypes.CDLL('libgomp.so.1')
    except OSError:
        return None


def openmp_threads() -> Optional[int]:
    """Return the number of threads that OpenMP gives to a new thread.

    It is read when the library is loaded, maybe by another package and
    before `prepare`. None where it cannot be known.
    """
    openmp = load_openmp()
    return openmp.omp_get_max_threads() if openmp else None


def unprepared_env() -> Dict[str, str]:
    """Return the environment for a process that uses MXNet without d2lmulti.

    None of our settings is in it. With the launcher's hook on the path,
    `import mxnet` works there on newer Pythons too (see `newer_python`).
    """
    path = [str(EXIT_HOOK), os.environ.get('PYTHONPATH')]
    return {
        **{k: v for k, v in os.environ.items() if k not in SETTINGS},
        'PYTHONPATH': os.pathsep.join(filter(None, path)),
    }
