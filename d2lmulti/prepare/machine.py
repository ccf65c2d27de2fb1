"""What MXNet needs of a machine and of its process, before it starts there."""

import ctypes
import os
import pathlib
import sys
import threading
import warnings
from typing import Any, Dict, Optional

from .mxnet_settings import MAX_CPU_DEVICES, SETTINGS, folders_of

# glibc's malloc: (number of the option, value, environment variable).
# Otherwise every activation goes back to the system when it is freed, and
# its pages must be mapped and zeroed again in the next step.
MALLOC = [
    (-4, 0, 'MALLOC_MMAP_MAX_'),  # never from mmap
    (-1, 2**31 - 1, 'MALLOC_TRIM_THRESHOLD_'),  # keep what was freed
    # One heap for all threads. Those of a Jupyter kernel have theirs before it
    # can be set here: there the variable does it (tools/setup/install.sh).
    (-8, 1, 'MALLOC_ARENA_MAX'),
]
NOT_LIMITED = (
    "MXNet's threads cannot be limited here, so two CPU devices may hang: "
    'unset OMP_NUM_THREADS, and import d2lmulti before anything else.'
)


def is_stand_in() -> bool:
    """Return whether `import mxnet` gives numpy_mxnet, the stand-in for MXNet
    on NumPy. Does not import it."""
    return any(
        (folder / 'convolutions.py').exists() for folder in folders_of('mxnet')
    )


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
    """Return the environment for a process that uses MXNet without d2lmulti:
    none of our settings is in it."""
    return {k: v for k, v in os.environ.items() if k not in SETTINGS}


def limit_engine_threads() -> None:
    """Let each CPU device's workers use one OpenMP thread from now on.

    MXNet's OpenBLAS takes the number from the thread that calls it, and when
    two devices multiply matrices with more than one, both spin and never
    return. A worker's number can only be set by the worker itself, so each
    gets a task that does it. Tasks of one device wait for each other: none of
    its workers can take two.
    """
    from mxnet.base import _LIB, check_call

    openmp = load_openmp()
    if not openmp:
        return warnings.warn(NOT_LIMITED, stacklevel=4)
    workers = int(os.environ.get('MXNET_CPU_WORKER_NTHREADS', 1))
    barriers = [threading.Barrier(workers) for _ in range(MAX_CPU_DEVICES)]

    def limit(run_context: Any, device: Optional[int]) -> None:
        openmp.omp_set_num_threads(1)
        barriers[device or 0].wait(10)  # ctypes passes 0 as None

    task = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(limit)
    for device in range(MAX_CPU_DEVICES):
        for _ in range(workers):
            check_call(push_task(_LIB, task, device))
    check_call(_LIB.MXNDArrayWaitAll())  # `task` must live so long


def push_task(library: Any, task: Any, device: int) -> int:
    """Give a CPU device a task `task(run_context, device)`."""
    cpu = (ctypes.c_int * 2)(1, device)  # MXNet's number for CPUs, and which
    # It reads no variables, writes none, and has no properties or priority.
    rest = *[None, 0] * 3, b'limit_engine_threads', False
    given = ctypes.c_void_p(device)
    return library.MXEnginePushSync(task, given, None, cpu, *rest)
