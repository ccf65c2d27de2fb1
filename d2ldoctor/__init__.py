"""Examine the installation: `python -m d2ldoctor`.

It does not import `d2lmulti`, which imports MXNet, which may be what is
broken. The modules of `d2lmulti/prepare` are found as the doctor's own, too:
those that it takes from there import nothing of ours.
"""

import importlib
import pathlib

__path__.append(str(pathlib.Path(__file__).parents[1] / 'd2lmulti/prepare'))

arm64 = importlib.import_module('.arm64', __name__)
cuda = importlib.import_module('.cuda', __name__)
mxnet_settings = importlib.import_module('.mxnet_settings', __name__)
