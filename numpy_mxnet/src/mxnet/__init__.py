"""A stand-in for MXNet, on NumPy alone, where MXNet has no package.

`engine` has the queues and threads of devices, `array` arrays that hold a
future of their value, `autograd` the way back; `np` and `npx` are tables of
operators. Read them in this order.
"""

import os
import sys

# A device has one thread: a matrix product must not take the others' cores.
# Apple's BLAS reads this when it is loaded, the others are told below.
os.environ.setdefault('VECLIB_MAXIMUM_THREADS', '1')

from threadpoolctl import threadpool_limits

from . import (
    autograd,
    base,
    context,
    engine,
    gluon,
    nd,
    np,
    npx,
    operator,
    profiler,
    random,
    runtime,
    util,
)
from .base import MXNetError
from .context import Context, cpu, current_context, gpu, num_gpus

STAND_IN = True  # how to tell: MXNet itself has no such name
__version__ = '1.9.1+numpy'
__all__ = [
    'Context',
    'MXNetError',
    'STAND_IN',
    'autograd',
    'base',
    'context',
    'cpu',
    'current_context',
    'engine',
    'gluon',
    'gpu',
    'nd',
    'np',
    'npx',
    'num_gpus',
    'operator',
    'profiler',
    'random',
    'runtime',
    'util',
]

threadpool_limits(1, 'blas')

numpy, numpy_extension = np, npx  # the long names
sys.modules.update({'mxnet.numpy': np, 'mxnet.numpy_extension': npx})

__getattr__ = base.missing('mxnet')
