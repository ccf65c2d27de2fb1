"""What the NVIDIA driver says of itself and of the GPUs."""

import ctypes
import dataclasses
from typing import Optional, Tuple


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
