"""What MXNet needs of a machine's C library and processor before it starts."""

import ctypes
import os
import pathlib
import sys
from typing import Dict

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
