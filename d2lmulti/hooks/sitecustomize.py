"""Let the launcher see how a worker ends; Python loads this by itself.

A worker that uses MXNet's distributed key-value store and then raises an
error, or calls sys.exit(3), does not end: when the store is freed, it waits
for the others in a barrier, and its status is never seen. `launch.py` puts
this folder first on PYTHONPATH of the workers.
"""
import atexit
import importlib.machinery
import importlib.util
import multiprocessing
import os
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))


def load_hidden():
    """Load the sitecustomize that this one hides, if there is one."""
    path = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
    spec = importlib.machinery.PathFinder.find_spec('sitecustomize', path)
    if spec:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


class Mark:
    """A file that holds this process's number while it may wait for the
    others at its end."""
    def __init__(self):
        self.path, self.owner = os.environ.get('D2LMULTI_EXITING'), os.getpid()

    def set(self):
        if self.path and os.getpid() == self.owner:  # not in a forked child
            with open(self.path, 'w') as file:
                file.write(str(self.owner))

    def remove(self):
        if self.path and os.getpid() == self.owner:
            open(self.path, 'w').close()


def note_outcome(mark):
    """End at exit with the status that the program asked for, at once."""
    outcome = {'status': 0}
    excepthook = sys.excepthook

    class Exit(SystemExit):
        """Only the interpreter asks for the code from no Python frame: then
        nobody has caught it."""
        def ask(self):
            code = SystemExit.code.__get__(self)
            if sys._getframe().f_back is None:
                outcome['status'] = (
                    0 if code is None else
                    code & 0xff if isinstance(code, int) else 1)
                outcome['kept'] = self  # and the stores in its frames
            return code

        code = property(ask, SystemExit.code.__set__)

    def noting_exit(status=None):
        if threading.current_thread() is not threading.main_thread():
            raise SystemExit(status)
        error = Exit(status)
        error.frame = sys._getframe(1)
        raise error

    def noting_excepthook(*error):
        excepthook(*error)
        if sys._getframe().f_back is None:
            outcome['status'] = 1
            mark.set()

    def at_exit():  # the first one to be registered runs as the last
        if 'mxnet' not in sys.modules or multiprocessing.parent_process() or \
                os.getpid() != mark.owner:
            return
        if outcome['status']:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(outcome['status'])
        mark.set()

    sys.exit, sys.excepthook = noting_exit, noting_excepthook
    atexit.register(at_exit)


def mark_freed_stores(mark):
    """Set the mark while MXNet frees a store, whenever that is."""
    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            if name != 'mxnet.kvstore.kvstore':
                return None
            sys.meta_path.remove(Finder)
            spec = importlib.machinery.PathFinder.find_spec(name, path)
            load = spec.loader.exec_module

            def load_and_wrap(module):
                load(module)
                free, ending = module.KVStore.__del__, sys.is_finalizing

                def marked_free(store):
                    if ending():  # `at_exit` has marked it, and files are gone
                        return free(store)
                    mark.set()
                    free(store)
                    mark.remove()

                module.KVStore.__del__ = marked_free

            spec.loader.exec_module = load_and_wrap
            return spec

    sys.meta_path.insert(0, Finder)


load_hidden()
if os.environ.get('DMLC_ROLE') == 'worker':
    mark = Mark()
    note_outcome(mark)
    mark_freed_stores(mark)
