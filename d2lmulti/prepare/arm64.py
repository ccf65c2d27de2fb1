"""What MXNet's package for Linux on arm64 needs: BLAS and LAPACK.

It was built with Arm Performance Libraries, which no package index has, and
does not start without them. OpenBLAS has the same functions, and SciPy's
package brings it. MXNet looks for what it needs in its own folder first, so
links there, with the names that it asks for, are enough; no file changes.

Nothing here imports MXNet, because this is needed before MXNet is imported,
or when it cannot be.
"""

import ctypes
import importlib.util
import os
import pathlib
import platform
import sys
from typing import Optional

# BLAS and LAPACK; functions that the C library and libm have, too, twice.
NEEDED = ['libarmpl_lp64_mp.so', 'libamath.so', 'libastring.so']
OPENBLAS = 'scipy.libs/libopenblasp-*.so'
PACKAGE = 'scipy<1.14'  # later ones give the functions other names


def mxnet_folder() -> Optional[pathlib.Path]:
    """Return the folder of MXNet if it is Linux's for arm64, else None."""
    if (sys.platform, platform.machine()) != ('linux', 'aarch64'):
        return None
    spec = importlib.util.find_spec('mxnet')
    folders = spec.submodule_search_locations if spec else None
    return pathlib.Path(folders[0]) if folders else None


def link_blas(folder: Optional[pathlib.Path]) -> None:
    """Let the MXNet in a folder, as `mxnet_folder` returns it, start.

    Do nothing for None, or where MXNet finds all that it needs. Raises
    ImportError that says what to do, if there is no OpenBLAS that fits, or
    the folder cannot be written.
    """
    if folder is None or not lacks_blas(folder):
        return
    openblas = find_openblas(folder)
    if openblas is None:
        raise ImportError(
            'its package for arm64 needs OpenBLAS, and there is none. '
            f'Install one, with Python 3.9 to 3.12: {sys.executable} -m pip '
            f"install '{PACKAGE}'"
        )
    try:
        for name in NEEDED:
            put_link(openblas, folder / name)
        for other in openblas.parent.glob('libgfortran-*'):  # which it needs
            put_link(other, folder / other.name)
    except OSError as error:
        raise ImportError(
            f'its package for arm64 needs links to {openblas.name}: {error}. '
            'Do this once as the user who installed it: '
            f"{sys.executable} -c 'import d2lmulti'"
        ) from error


def lacks_blas(folder: pathlib.Path) -> bool:
    """Return whether MXNet does not start because one of `NEEDED` is
    missing. Where it starts, it is loaded now, and `import mxnet` is as
    fast as without."""
    try:
        ctypes.CDLL(str(folder / 'libmxnet.so'))
    except OSError as error:
        return any(name in str(error) for name in NEEDED)
    return False


def find_openblas(folder: pathlib.Path) -> Optional[pathlib.Path]:
    """Return the OpenBLAS beside MXNet, None if there is none that fits."""
    return next(iter(sorted(folder.parent.glob(OPENBLAS))), None)


def put_link(target: pathlib.Path, link: pathlib.Path) -> None:
    """Let `link` point to `target`, unless it leads to a file already.

    Another process may do the same: each puts a whole one there.
    """
    if link.exists():  # not if it is a link to what is gone
        return
    path = os.path.relpath(target, link.parent)
    part = link.with_name(f'{link.name}.{os.getpid()}')
    os.symlink(path, part)
    os.replace(part, link)
