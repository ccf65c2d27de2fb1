"""Prepare the process before MXNet starts, so that CPU devices are parallel.

`import d2lmulti` calls `prepare` once, before anything imports MXNet. As it
comes, MXNet runs two logical CPU devices no faster than one; each setting
below removes one reason. Chapter 1 shows the effect.
"""
import ctypes
import os
import sys
import warnings

# A variable that the user has set stays as it is.
SETTINGS = {
    # One thread per operator: the devices are the parallelism. With two,
    # devices fight for the cores, and MXNet's OpenBLAS hangs for good when
    # two devices multiply matrices at once.
    'OMP_NUM_THREADS': '1',
    # CPU devices share one pool of workspaces (4 as it comes), and operators
    # that were given the same one wait for each other.
    'MXNET_CPU_TEMP_COPY': '64',
    # One operator per unit of work: a long unit on one device keeps another
    # device waiting for its result.
    'MXNET_EXEC_BULK_EXEC_TRAIN': '0',
    'MXNET_EXEC_BULK_EXEC_INFERENCE': '0',
}

# glibc's malloc: (number of the option, value, environment variable).
# Otherwise every activation goes back to the system when it is freed, and
# its pages must be mapped and zeroed again in the next step.
MALLOC = [
    (-4, 0, 'MALLOC_MMAP_MAX_'),                 # never from mmap
    (-1, 2 ** 31 - 1, 'MALLOC_TRIM_THRESHOLD_'),  # keep what was freed
    (-8, 1, 'MALLOC_ARENA_MAX'),                 # one heap for all threads
]


def prepare():
    """Set what is not set yet, then import MXNet with NumPy semantics.

    Warns where a setting cannot hold: MXNet was imported earlier and may
    have read it already, or `OMP_NUM_THREADS` is above 1, in which case
    MXNet is loaded with 1 and other programs keep the user's value.
    """
    threads = os.environ.get('OMP_NUM_THREADS', '1')
    unset = [name for name in SETTINGS if name not in os.environ]
    os.environ.update({name: SETTINGS[name] for name in unset})
    keep_freed_memory()
    if 'mxnet' in sys.modules:
        too_late = unset + ['OMP_NUM_THREADS'] * (threads != '1')
        if too_late:
            warnings.warn(
                'MXNet was imported before d2lmulti, so these settings may '
                f'come too late: {", ".join(too_late)}. Two CPU devices may '
                'be no faster than one, or hang. Restart Python and import '
                'd2lmulti first.', stacklevel=3)
    elif threads != '1':
        warnings.warn(
            f'OMP_NUM_THREADS={threads} holds for other programs, but MXNet '
            'is loaded with 1: with more, two CPU devices hang in OpenBLAS. '
            'Unset it or set it to 1 to silence this warning.', stacklevel=3)
        os.environ['OMP_NUM_THREADS'] = '1'
    try:
        import mxnet
    finally:
        os.environ['OMP_NUM_THREADS'] = threads
    mxnet.npx.set_np()


def keep_freed_memory():
    """Tell glibc's malloc to reuse freed memory; elsewhere, do nothing."""
    if sys.platform != 'linux':
        return
    mallopt = getattr(ctypes.CDLL(None), 'mallopt', None)  # musl has none
    for option, value, variable in MALLOC:
        if mallopt and variable not in os.environ:
            mallopt(option, value)
