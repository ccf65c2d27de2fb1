"""Examine the installation: `python -m d2ldoctor`.

It does not import `d2lmulti`, which imports MXNet, which may be what is
broken. The modules of `d2lmulti/prepare` are found as the doctor's own, too:
those that it takes from there import nothing else of ours. An installed doctor
lies beside `d2lmulti`, and that of the repository in a folder further down.
"""

import importlib
import pathlib

PREPARE = [p / 'd2lmulti/prepare' for p in pathlib.Path(__file__).parents]
__path__.append(str(next(path for path in PREPARE if path.is_dir())))

cuda = importlib.import_module('.cuda', __name__)
mxnet_settings = importlib.import_module('.mxnet_settings', __name__)
