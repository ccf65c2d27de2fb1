"""The CUDA libraries that MXNet's GPU build needs.

Nothing here imports MXNet, because this is needed before MXNet is imported,
or when it cannot be.
"""

import ctypes
import functools
import os
import subprocess
import sys
from importlib import metadata
from typing import Optional, Tuple

from .mxnet_settings import folders_of

GPU_BUILD = 'mxnet-cu112'
MXNET_LIBRARIES = {  # and the packages that bring them, in order of loading
    'libcudart.so.11.0': 'nvidia-cuda-runtime-cu11',
    'libnvrtc.so.11.2': 'nvidia-cuda-nvrtc-cu11',
    'libcublasLt.so.11': 'nvidia-cublas-cu11',
    'libcublas.so.11': 'nvidia-cublas-cu11',
    'libcufft.so.10': 'nvidia-cufft-cu11',
    'libcurand.so.10': 'nvidia-curand-cu11',
    'libcusolver.so.11': 'nvidia-cusolver-cu11',
    'libcudnn.so.8': 'nvidia-cudnn-cu11',
    'libnccl.so.2': 'nvidia-nccl-cu11',
    'libnvToolsExt.so.1': 'nvidia-nvtx-cu11',
}
MIN_RUNTIME, MIN_CUDNN = 11020, 8100  # CUDA 11.2 and cuDNN 8.1: the build
MIN_DRIVER = 11000  # drivers since 450.80 run every CUDA 11


def version_of(package: str) -> Optional[str]:
    """Return the version of an installed package, or None."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def find_library(name: str) -> Optional[str]:
    """Return the path of a library that came from PyPI, or None."""
    for folder in folders_of('nvidia'):
        for path in folder.glob(f'*/lib/{name}'):
            return str(path)
    return None


def loads(name: str) -> bool:
    """Return whether the loader finds and loads a library by its name."""
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


# In a separate process: libraries that do not fit cannot be unloaded.
PROBE = f"""
import ctypes
libraries = {{name: ctypes.CDLL(name) for name in {list(MXNET_LIBRARIES)}}}
runtime = ctypes.c_int()
libraries['libcudart.so.11.0'].cudaRuntimeGetVersion(ctypes.byref(runtime))
print(runtime.value, libraries['libcudnn.so.8'].cudnnGetVersion())
"""


@functools.lru_cache(None)
def user_versions() -> Optional[Tuple[int, int]]:
    """Return the versions (CUDA runtime, cuDNN) of the user's own libraries.

    They are those on the loader's path (`LD_LIBRARY_PATH`, ldconfig), as the
    libraries give them: 11080 is 11.8. None unless all are there.
    """
    try:
        probe = subprocess.run(
            [sys.executable, '-S', '-c', PROBE],
            stdout=subprocess.PIPE,
            text=True,
            timeout=60,
            stderr=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return None
    if not probe.stdout:
        return None
    runtime, cudnn = map(int, probe.stdout.split())
    return runtime, cudnn


def user_libraries_fit() -> bool:
    """Return whether MXNet's GPU build can use the user's own libraries."""
    versions = user_versions()
    return (
        versions is not None
        and versions[0] >= MIN_RUNTIME
        and versions[1] >= MIN_CUDNN
    )


def load_libraries() -> None:
    """Load the CUDA libraries for MXNet's GPU build; else, do nothing.

    The user's own are used if all are there and new enough, otherwise those
    from PyPI: MXNet then finds them by name, without `LD_LIBRARY_PATH`.
    """
    if not version_of(GPU_BUILD) or user_libraries_fit():
        return
    # MXNet was built with cuDNN 8.1 and would warn of every later one.
    os.environ.setdefault('MXNET_CUDNN_LIB_CHECKING', '0')
    for path in map(find_library, MXNET_LIBRARIES):
        if path:  # what is missing is named by MXNet, and by the doctor
            ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
