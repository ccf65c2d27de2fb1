"""Let the launcher see how a worker ends; Python loads this by itself.

A worker that uses MXNet's distributed key-value store and then raises an
error, or calls sys.exit(3), does not end: when the store is freed, it waits
for the others in a barrier, and its status is never seen. The launcher puts
this folder first on PYTHONPATH of the workers.
"""

from __future__ import annotations

import atexit
import importlib.machinery
import importlib.util
import multiprocessing
import os
import sys
import threading
import types
from typing import Any, Sequence

HERE = os.path.dirname(os.path.abspath(__file__))
KVSTORE = 'mxnet.kvstore.kvstore'
SYSTEM_EXIT_CODE = vars(SystemExit)['code']  # its descriptor


def load_hidden() -> None:
    """Load the sitecustomize that this one hides, if there is one."""
    path = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
    spec = importlib.machinery.PathFinder.find_spec('sitecustomize', path)
    if spec and spec.loader:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


class Mark:
    """A file that holds this process's number while it may wait for the
    others at its end."""

    def __init__(self) -> None:
        self.path, self.owner = os.environ.get('D2LMULTI_EXITING'), os.getpid()

    def set(self) -> None:
        """Say that this process may wait."""
        self.write(str(self.owner))

    def remove(self) -> None:
        """Say that it goes on."""
        self.write('')

    def write(self, text: str) -> None:
        """Write the file, but not in a forked child."""
        if self.path and os.getpid() == self.owner:
            with open(self.path, 'w') as file:
                file.write(text)


class Exit(SystemExit):
    """What our `sys.exit` raises: it knows whether it ended the program."""

    outcome: Outcome
    frame: types.FrameType

    def get_code(self) -> Any:
        """Return the code, and note it if nobody has caught the exit: then
        the interpreter asks, and not from a frame of Python."""
        code = SYSTEM_EXIT_CODE.__get__(self)
        if sys._getframe().f_back is None:
            self.outcome.status = (
                0
                if code is None
                else code & 0xFF
                if isinstance(code, int)
                else 1
            )
            self.outcome.kept = self  # and the stores in its frames
        return code

    code = property(get_code, SYSTEM_EXIT_CODE.__set__)  # type: ignore


class Outcome:
    """The status that the program asked for, with which it really ends."""

    def __init__(self, mark: Mark) -> None:
        self.mark, self.status = mark, 0
        self.kept: Exit | None = None
        self.original_excepthook = sys.excepthook

    def install(self) -> None:
        """Put the methods below into the interpreter."""
        sys.exit, sys.excepthook = self.exit, self.excepthook
        atexit.register(self.at_exit)  # the first one there runs last

    def exit(self, status: Any = None) -> Any:
        """Take the place of `sys.exit`."""
        if threading.current_thread() is not threading.main_thread():
            raise SystemExit(status)
        error = Exit(status)
        error.outcome, error.frame = self, sys._getframe(1)
        raise error

    def excepthook(self, *error: Any) -> None:
        """Note that the program ends with an error."""
        self.original_excepthook(*error)
        if sys._getframe().f_back is None:
            self.status = 1
            self.mark.set()

    def at_exit(self) -> None:
        """End at once with a bad status, before a store is freed."""
        if (
            'mxnet' not in sys.modules
            or multiprocessing.parent_process()
            or os.getpid() != self.mark.owner
        ):
            return
        if self.status:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(self.status)
        self.mark.set()


class StoreFinder:
    """Finds the module of MXNet's stores, and marks their end in it."""

    def __init__(self, mark: Mark) -> None:
        self.mark = mark

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None = None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the module's spec, and leave the import system again."""
        if name != KVSTORE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def load_and_mark(module: types.ModuleType) -> None:
            load(module)
            mark_freed_stores(module, self.mark)

        spec.loader.exec_module = load_and_mark  # type: ignore
        return spec


def mark_freed_stores(module: Any, mark: Mark) -> None:
    """Set the mark while MXNet frees a store, whenever that is."""
    free, is_finalizing = module.KVStore.__del__, sys.is_finalizing

    def marked_free(store: object) -> None:
        if is_finalizing():  # `at_exit` has set it, and files are gone
            return free(store)
        mark.set()
        free(store)
        mark.remove()

    module.KVStore.__del__ = marked_free


load_hidden()
if os.environ.get('DMLC_ROLE') == 'worker':
    mark = Mark()
    Outcome(mark).install()
    sys.meta_path.insert(0, StoreFinder(mark))
