"""Let the launcher see how a worker ends; Python loads this by itself.

A worker that uses MXNet's distributed key-value store and then raises an
error, or calls sys.exit(3), does not end: at exit it waits for the others in
a barrier, and its status is never seen. `launch.py` puts this folder first
on PYTHONPATH of the workers.
"""
import atexit
import importlib.machinery
import importlib.util
import multiprocessing
import os
import pathlib
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def load_hidden():
    """Load the sitecustomize that this one hides, if there is one."""
    path = [folder for folder in sys.path if os.path.abspath(folder) != HERE]
    spec = importlib.machinery.PathFinder.find_spec('sitecustomize', path)
    if spec:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def install():
    """Replace what Python calls when a program ends."""
    outcome = {'status': 0}
    exit, excepthook = sys.exit, sys.excepthook

    def noting_exit(status=None):
        outcome['status'] = (
            0 if status is None else
            status & 0xff if isinstance(status, int) else 1)
        exit(status)

    def ending_excepthook(*error):
        excepthook(*error)
        outcome['status'] = 1

    def at_exit():  # the first one to be registered runs as the last
        if 'mxnet' not in sys.modules or multiprocessing.parent_process():
            return
        if outcome['status']:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(outcome['status'])
        if 'D2LMULTI_EXITING' in os.environ:
            pathlib.Path(os.environ['D2LMULTI_EXITING']).write_text(
                str(os.getpid()))

    sys.exit, sys.excepthook = noting_exit, ending_excepthook
    atexit.register(at_exit)


load_hidden()
if os.environ.get('DMLC_ROLE') == 'worker':
    install()
