"""Be the scheduler or a server of a job, as `import mxnet` would be.

The launcher starts this file as a script. It uses MXNet's library alone,
which loads in a tenth of a second; MXNet's Python part, which takes two, is
imported only when a worker sends an optimizer for the server to apply.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
import pathlib
import sys
import types
from typing import Any

HERE = pathlib.Path(__file__).parent
CONTROLLER = ctypes.CFUNCTYPE(
    None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p
)
NO_DIST = 'USE_DIST_KVSTORE=1'  # what MXNet says where it has none
NO_STORE = (
    'this MXNet was built without the key-value store between processes, as '
    'its package for arm64 is: run such jobs on x86-64'
)


def main() -> None:
    """Serve until the workers have ended."""
    leave_folder()
    os.umask(0o077)  # for MXNet's socket, if that is a file
    library = load_library()
    if library is None:
        load_own('d2lrun', 'optimizers').guard_pickle()
        import_plain_mxnet()  # serves, and ends there
        return
    store = ctypes.c_void_p()
    check(library, library.MXKVStoreCreate(b'dist', ctypes.byref(store)))

    def control(command: int, body: bytes, _: object) -> None:
        if command == 0:
            set_optimizer(store, body)

    controller = CONTROLLER(control)
    check(library, library.MXKVStoreRunServer(store, controller, None))
    sys.stdout.flush()
    os._exit(0)  # the job is over, and MXNet's own end may crash


def leave_folder() -> None:
    """Look for modules elsewhere: Python has put the folder of this file
    first, where ours would hide a worker's of the same name."""
    sys.path[:] = [path for path in sys.path if path != str(HERE)]


def load_library() -> ctypes.CDLL | None:
    """Return MXNet's library; None if only MXNet itself can load it."""
    if 'MXNET_LIBRARY_PATH' in os.environ:
        return None
    spec = importlib.util.find_spec('mxnet')
    for folder in spec and spec.submodule_search_locations or ():
        try:
            return ctypes.CDLL(str(pathlib.Path(folder) / 'libmxnet.so'))
        except OSError:  # elsewhere, or it needs others
            continue
    return None


def load_own(package: str, name: str) -> Any:
    """Return a module of ours; its package may not be installed here."""
    path = HERE.parent / package / f'{name}.py'
    spec: Any = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def import_plain_mxnet() -> types.ModuleType:
    """Import MXNet as d2lmulti does, on newer Pythons too, without it."""
    load_own('d2lbase', 'newer_python').install()
    return importlib.import_module('mxnet')


def check(library: ctypes.CDLL, status: int) -> None:
    """Raise RuntimeError unless a call of the library went well; end in one
    line where MXNet has no such store."""
    if status:
        library.MXGetLastError.restype = ctypes.c_char_p
        error = library.MXGetLastError().decode()
        if NO_DIST in error:
            raise SystemExit(NO_STORE)
        raise RuntimeError(error)


def set_optimizer(store: ctypes.c_void_p, body: bytes) -> None:
    """Let the server apply the pickled optimizer that a worker has sent; a
    stranger, whom nothing here can tell from one, gets nothing else run."""
    optimizers = load_own('d2lrun', 'optimizers')
    try:
        optimizer = optimizers.load_optimizer(body, import_as_worker)
    except optimizers.Refused as error:
        print(f'd2lrun: refused a pickle: {error}', flush=True)
        return
    kvstore = import_as_worker().kvstore.KVStore(store)
    kvstore.set_optimizer(optimizer)
    kept.append(kvstore)


def import_as_worker() -> types.ModuleType:
    """Import MXNet; as a server, that would serve, and not return."""
    role = os.environ['DMLC_ROLE']
    os.environ['DMLC_ROLE'] = 'worker'
    try:
        return import_plain_mxnet()
    finally:
        os.environ['DMLC_ROLE'] = role


kept: list[object] = []  # MXNet's objects for the store, which would free it

if __name__ == '__main__':
    main()
