"""This project on numpy_mxnet, which stands in where MXNet has no package."""

from . import ours


class Trainer(ours.Trainer):
    """The same functions in an environment without MXNet."""

    package = 'numpy_mxnet'
