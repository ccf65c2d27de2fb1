"""Prepare the process before MXNet starts, so that CPU devices are parallel.

`import d2lmulti` calls `prepare` once, before anything imports MXNet. By
default MXNet runs two logical CPU devices no faster than one; each setting,
below and in `d2lrun.settings`, removes one reason. Chapter 1 shows the
effect. What needs no MXNet is in d2lrun: what its C library and processor
need, what loads CUDA's libraries, and what lets MXNet run on newer Pythons.
"""

import ctypes
import os
import sys
import threading
import types
import warnings
from typing import Any, Callable, Optional

from d2lrun import cuda, machine, newer_python
from d2lrun.machine import unprepared_env  # noqa: F401  for chapter 1
from d2lrun.settings import SETTINGS, temporary_env, warn_of_settings
from d2lrun.signals import uninterrupted  # noqa: F401  for the steps


def prepare() -> None:
    """Set what is not set yet, then import MXNet with NumPy semantics.

    Warns where a setting cannot take effect (see `warn_of_settings`).
    """
    early = 'mxnet' in sys.modules
    unset = [name for name in SETTINGS if name not in os.environ]
    os.environ.update({name: SETTINGS[name] for name in unset})
    # GPUs since Ampere would round the factors of float32 products to 11
    # bits (TF32), and no gradient would be right to six digits.
    os.environ.setdefault('NVIDIA_TF32_OVERRIDE', '0')
    machine.tune_malloc()
    threads = os.environ['OMP_NUM_THREADS']
    import numpy  # noqa: F401  its own OpenBLAS chooses for itself

    with temporary_env(OMP_NUM_THREADS='1', **machine.openblas_avx2_env()):
        import_mxnet().npx.set_np()
    if early or threads != '1' or machine.openmp_threads() != 1:
        limit_engine_threads()
        # MXNet ends its workers before a fork; both sides start new ones.
        os.register_at_fork(
            after_in_parent=limit_engine_threads,
            after_in_child=limit_engine_threads,
        )
    warn_of_settings(unset if early else [], threads)


def import_mxnet() -> types.ModuleType:
    """Import MXNet, in its GPU build with the CUDA libraries from PyPI.

    Raises ImportError that names the command that helps, whatever went
    wrong.
    """
    cuda.load_libraries()
    newer_python.install()
    try:
        import mxnet
    except (ImportError, OSError, AttributeError) as error:
        raise ImportError(
            f'MXNet cannot be imported: {error}. To see what to do, run '
            f'{sys.executable} -m d2lrun doctor'
        ) from error
    return mxnet


def limit_engine_threads(num_devices: int = 64) -> None:
    """Let each CPU device's workers use one OpenMP thread from now on.

    MXNet's OpenBLAS takes the number from the thread that calls it, and
    when two devices multiply matrices with more than one, both spin and
    never return. A worker's number can only be set by the worker itself, so
    each gets a task that does it. Tasks of one device wait for each other:
    none of its workers can take two.
    """
    openmp = machine.load_openmp()
    if not openmp:
        warnings.warn(
            "MXNet's threads cannot be limited here, so two CPU "
            'devices may hang: unset OMP_NUM_THREADS, and import '
            'd2lmulti before anything else.',
            stacklevel=4,
        )
        return
    workers = int(os.environ.get('MXNET_CPU_WORKER_NTHREADS', 1))
    barriers = [threading.Barrier(workers) for _ in range(num_devices)]

    def limit(run_context: Any, device: Optional[int]) -> None:
        openmp.omp_set_num_threads(1)
        barriers[device or 0].wait(10)  # ctypes passes 0 as None

    run_on_workers(limit, num_devices, workers)


def run_on_workers(
    work: Callable[[Any, Optional[int]], None], num_devices: int, workers: int
) -> None:
    """Give each CPU device `workers` tasks `work(run_context, device)`;
    return when all have ended."""
    from mxnet import base

    push = base._LIB.MXEnginePushSync
    # It reads no variables, writes none, and has no properties or priority.
    rest = *[None, 0] * 3, b'limit_engine_threads', False
    task = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(work)
    for i in range(num_devices):
        cpu = (ctypes.c_int * 2)(1, i)  # MXNet's number for CPUs, and which
        for _ in range(workers):
            base.check_call(push(task, ctypes.c_void_p(i), None, cpu, *rest))
    base.check_call(base._LIB.MXNDArrayWaitAll())  # `task` must live so long
