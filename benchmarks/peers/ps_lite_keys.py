"""Chapter 19 before its one message: an array for each parameter, which is
sent as soon as the backward pass has its gradient."""

from . import ps_lite
from .base import LR


class Trainer(ps_lite.Trainer):
    """A worker that pushes and pulls each gradient by itself."""

    def join(self, params):
        """Return what sums the gradients of a step."""
        from d2lmulti.cluster.cluster import KVStoreAllreduce

        return KVStoreAllreduce(self.store, params)

    def step(self, X, y):
        """Take one step on all workers."""
        self.book.train_batch(
            X,
            y,
            self.device_params,
            self.devices,
            LR / self.size,
            allreduce=self.allreduce,
        )
