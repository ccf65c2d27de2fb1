"""`mx.runtime`: which features this build has: none."""

from .base import missing


class Features:
    """The features of MXNet's builds, such as CUDA."""

    def is_enabled(self, name: str) -> bool:
        """Return False."""
        return False


__getattr__ = missing('mxnet.runtime')
