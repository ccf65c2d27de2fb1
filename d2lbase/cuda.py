"""What MXNet's GPU build needs: CUDA libraries, a driver, a fitting GPU.

Nothing here imports MXNet, because this is needed before MXNet is imported,
or when it cannot be.
"""

import ctypes
import dataclasses
import functools
import glob
import importlib.util
import os
import subprocess
import sys
from importlib import metadata
from typing import Optional, Tuple

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
    spec = importlib.util.find_spec('nvidia')
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        for path in glob.glob(os.path.join(folder, '*', 'lib', name)):
            return path
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


@dataclasses.dataclass(frozen=True)
class Gpu:
    """A GPU as the driver describes it; `capability` is like (8, 6)."""

    name: str
    capability: Tuple[int, int]
    memory: int  # in bytes

    @property
    def has_code(self) -> bool:
        """Whether MXNet's build has machine code for it.

        It holds code for 5.0, 6.0, 7.0, 8.0 and 8.6, and code also runs on
        later GPUs of the same first number.
        """
        return 5 <= self.capability[0] <= 8


@dataclasses.dataclass(frozen=True)
class Driver:
    """What the driver says; `version` is the newest CUDA that it runs."""

    version: int  # 11040 is 11.4
    gpus: Tuple[Gpu, ...]
    error: int  # of cuInit: 0, or 100 if there is no GPU


def ask_driver() -> Optional[Driver]:
    """Return what the NVIDIA driver says, None if there is none."""
    try:
        cuda = ctypes.CDLL('libcuda.so.1')
    except OSError:
        return None
    version, count = ctypes.c_int(), ctypes.c_int()
    error = cuda.cuInit(0)
    cuda.cuDriverGetVersion(ctypes.byref(version))
    if not error:
        cuda.cuDeviceGetCount(ctypes.byref(count))
    gpus = tuple(describe_gpu(cuda, i) for i in range(count.value))
    return Driver(version.value, gpus, error)


def describe_gpu(cuda: ctypes.CDLL, i: int) -> Gpu:
    """Return the `Gpu` with number i."""
    device, memory = ctypes.c_int(), ctypes.c_size_t()
    major, minor = ctypes.c_int(), ctypes.c_int()
    name = ctypes.create_string_buffer(100)
    cuda.cuDeviceGet(ctypes.byref(device), i)
    cuda.cuDeviceGetName(name, len(name), device)
    cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    for value, attribute in ((major, 75), (minor, 76)):
        cuda.cuDeviceGetAttribute(ctypes.byref(value), attribute, device)
    return Gpu(
        name.value.decode(errors='replace'),
        (major.value, minor.value),
        memory.value,
    )


GPU_FAULTS = {  # what MXNet says, and what it means
    'no kernel image': 'MXNet has no machine code for this kind of GPU',
    'out of memory': 'its memory is taken, perhaps by another program',
    'driver version is insufficient': 'the NVIDIA driver is too old',
    'not supported in the installed': 'the NVIDIA driver is too old',
}


def explain_error(error: Exception) -> str:
    """Return in a line what an error of MXNet means for GPUs."""
    lines = str(error).strip().splitlines() or ['unknown']
    return next(
        (fault for text, fault in GPU_FAULTS.items() if text in str(error)),
        lines[-1],
    )
