"""Prepare the process before MXNet starts, so that CPU devices are parallel.

`import d2lmulti` calls `prepare` once, before anything imports MXNet. By
default MXNet runs two logical CPU devices no faster than one; each setting,
below, in `machine` and in `mxnet_settings`, removes one reason. Chapter 1
shows the effect.
"""

import contextlib
import os
import sys
import types
import warnings
from typing import Iterator, List

from . import cuda, machine, newer_python
from .mxnet_settings import SETTINGS


def prepare() -> None:
    """Set what is not set yet, then import MXNet with NumPy semantics.

    Warns where a setting cannot take effect (see `warn_of_settings`).
    """
    if machine.is_stand_in():  # it needs no settings, and has no library
        machine.tune_malloc()
        import mxnet

        mxnet.npx.set_np()
        return
    early = 'mxnet' in sys.modules
    unset = [name for name in SETTINGS if name not in os.environ]
    os.environ.update({name: SETTINGS[name] for name in unset})
    # GPUs since Ampere would round the factors of float32 products to 11
    # bits (TF32), and no gradient would be right to six digits.
    os.environ.setdefault('NVIDIA_TF32_OVERRIDE', '0')
    machine.tune_malloc()
    threads = os.environ['OMP_NUM_THREADS']
    with naming_the_doctor('NumPy'):
        import numpy  # noqa: F401  its own OpenBLAS chooses for itself

    with temporary_env(OMP_NUM_THREADS='1', **machine.openblas_avx2_env()):
        import_mxnet().npx.set_np()
    if early or threads != '1' or machine.openmp_threads() != 1:
        machine.limit_engine_threads()
        # MXNet ends its workers before a fork; both sides start new ones.
        os.register_at_fork(
            after_in_parent=machine.limit_engine_threads,
            after_in_child=machine.limit_engine_threads,
        )
    warn_of_settings(unset if early else [], threads)


def import_mxnet() -> types.ModuleType:
    """Import MXNet, in its GPU build with the CUDA libraries from PyPI."""
    cuda.load_libraries()
    newer_python.install()
    with naming_the_doctor('MXNet'):
        import mxnet
    return mxnet


@contextlib.contextmanager
def naming_the_doctor(package: str) -> Iterator[None]:
    """Raise ImportError that names the command that helps, whatever went
    wrong until the block ends: another file may have the package's name."""
    try:
        yield
    except Exception as error:
        raise ImportError(
            f'{package} cannot be imported: {error}. To see what to do, run '
            f'{sys.executable} -m d2ldoctor'
        ) from error


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
