"""Prepare the process before MXNet starts, so that CPU devices are parallel.

`import d2lmulti` calls `prepare` once, before anything imports MXNet. By
default MXNet runs two logical CPU devices no faster than one; each setting,
below and in `d2lrun.settings`, removes one reason. Chapter 1 shows the
effect. What needs no MXNet is in d2lrun: what its C library and processor
need, what finds CUDA's libraries and arm64's BLAS, and what lets MXNet run on
newer Pythons.
"""

import os
import sys
import types

from d2lrun import arm64, cuda, machine, newer_python
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
        arm64.link_blas(arm64.mxnet_folder())
        import mxnet
    except (ImportError, OSError, AttributeError) as error:
        raise ImportError(
            f'MXNet cannot be imported: {error}. To see what to do, run '
            f'{sys.executable} -m d2lrun doctor'
        ) from error
    return mxnet


def limit_engine_threads() -> None:
    """Let each CPU device's workers use one OpenMP thread from now on."""
    from mxnet import base

    machine.limit_threads(base._LIB, base.check_call)
