"""Import MXNet, or the stand-in for it, as these tests need it."""

import importlib.util

if importlib.util.find_spec('d2lmulti'):  # MXNet needs it on newer Pythons
    import d2lmulti  # noqa: F401

import mxnet

mxnet.npx.set_np()
