"""Gluon's Trainer with the settings of this project."""

from . import gluon


class Trainer(gluon.Trainer):
    """Gluon in a process that d2lmulti has prepared."""

    def __init__(self, num_devices, start, rendezvous):
        import d2lmulti  # noqa: F401  it prepares the process

        super().__init__(num_devices, start, rendezvous)
