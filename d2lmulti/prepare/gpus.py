"""Which GPUs MXNet can use, and why it cannot use the others.

A GPU counts when a small convolution on it comes out right: MXNet may see
one for which it has no machine code, or whose memory is taken.
"""

import functools
import os
import warnings
from typing import List, Optional, Tuple

import mxnet as mx
from mxnet import np, npx

GPU_FAULTS = {  # what MXNet says, and what it means
    'no kernel image': 'MXNet has no machine code for this kind of GPU',
    'out of memory': 'its memory is taken, perhaps by another program',
    'driver version is insufficient': 'the NVIDIA driver is too old',
    'not supported in the installed': 'the NVIDIA driver is too old',
}


def find_gpus() -> Tuple[List[mx.Context], List[str]]:
    """Return the GPUs to use, and a list of what is wrong with others.

    With `D2LMULTI_DEVICES=cpu` in the environment no GPU is looked for;
    with `gpu` one has to work. Where there are GPUs but none works, a
    warning says why CPU devices are used.

    Raises ValueError if `D2LMULTI_DEVICES` has another value, or is `gpu`
    and no GPU works.
    """
    wanted = os.environ.get('D2LMULTI_DEVICES') or 'any'
    if wanted not in ('any', 'cpu', 'gpu'):
        raise ValueError(f"D2LMULTI_DEVICES is '{wanted}': cpu or gpu")
    gpus, faults = ([], []) if wanted == 'cpu' else try_gpus()
    if not gpus and wanted == 'gpu':
        raise ValueError(
            'D2LMULTI_DEVICES=gpu, but '
            + ('; '.join(faults) or "this is MXNet's CPU build")
        )
    if not gpus and faults:
        warn_once('; '.join(faults) + ': using CPU devices')
    return gpus, faults


def try_gpus() -> Tuple[List[mx.Context], List[str]]:
    """Return the GPUs that work, and a list of what is wrong with others."""
    if not mx.runtime.Features().is_enabled('CUDA'):
        return [], []  # MXNet's CPU build
    try:
        count = mx.context.num_gpus()
    except mx.MXNetError as error:
        return [], [explain_error(error)]
    if not count:
        return [], ['no NVIDIA GPU is seen, or its driver does not run']
    faults = {i: gpu_fault(i) for i in range(count)}
    return (
        [mx.gpu(i) for i, fault in faults.items() if fault is None],
        [f'gpu({i}): {fault}' for i, fault in faults.items() if fault],
    )


@functools.lru_cache(None)
def gpu_fault(i: int) -> Optional[str]:
    """Return why `gpu(i)` cannot be used, or None if it can."""
    try:
        X = np.ones((1, 1, 4, 4), ctx=mx.gpu(i))
        W = np.ones((1, 1, 3, 3), ctx=mx.gpu(i))
        Y = npx.convolution(X, W, kernel=(3, 3), num_filter=1, no_bias=True)
        if (Y.asnumpy() == 9).all():
            return None
        return 'a small convolution on it comes out wrong'
    except mx.MXNetError as error:
        return explain_error(error)


@functools.lru_cache(None)
def warn_once(line: str) -> None:
    """Show the line as a warning, once in a process.

    It points at the line that called `try_devices`.
    """
    warnings.warn(line, stacklevel=4)


def explain_error(error: Exception) -> str:
    """Return in a line what an error of MXNet means for GPUs."""
    lines = str(error).strip().splitlines() or ['unknown']
    return next(
        (fault for text, fault in GPU_FAULTS.items() if text in str(error)),
        lines[-1],
    )
