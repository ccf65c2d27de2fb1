"""Folders in which one job at a time may write."""

import errno
import fcntl
import os
from typing import Union


def claim_folder(folder: Union[str, 'os.PathLike[str]']) -> int:
    """Make a folder and return its descriptor: until that is closed, no
    other process can claim it.

    Raises BlockingIOError if one has, OSError if nothing can be written there.
    """
    os.makedirs(folder, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        reason = os.strerror(errno.EACCES)
        raise PermissionError(errno.EACCES, reason, str(folder))
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:  # this file system has no locks
        pass
    return descriptor
