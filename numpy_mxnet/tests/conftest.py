"""Import MXNet, or the stand-in for it, as these tests need it.

With NO_THREADS=1 the stand-in starts no thread, as in a browser.
"""

import importlib.util
import os
import threading

if importlib.util.find_spec('d2lmulti'):  # MXNet needs it on newer Pythons
    import d2lmulti  # noqa: F401

import mxnet


def start(thread, start=threading.Thread.start):
    """Start a thread, but none of the stand-in's."""
    if thread.name.startswith('mxnet '):
        raise RuntimeError("can't start new thread")
    start(thread)


if os.environ.get('NO_THREADS') == '1':
    threading.Thread.start = start  # type: ignore[method-assign]

mxnet.npx.set_np()
