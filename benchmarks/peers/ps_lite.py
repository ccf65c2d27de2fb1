"""Chapter 19: workers and servers over MXNet's ps-lite, one message a step."""

import os

from . import ours
from .base import LR
from .processes import TIME_LIMIT, part_command, results_in


class Loaded:
    """Minibatches of which this worker's part is there already."""

    def __init__(self, X, y):
        self.X, self.y = X, y

    def load(self, rows):
        """Return the part."""
        return self.X, self.y


class Trainer(ours.Trainer):
    """A worker of a job that the launcher starts."""

    def __init__(self, num_devices, start, rendezvous):
        super().__init__(num_devices, start, rendezvous)
        from mxnet import kv

        self.store = kv.create('dist_sync')
        self.rank, self.size = self.store.rank, self.store.num_workers
        self.allreduce = self.join(self.device_params[0])

    def join(self, params):
        """Return what sums the gradients of a step."""
        from d2lmulti.cluster import cluster_allreduce

        return cluster_allreduce(params, self.store)

    @classmethod
    def start(cls, trial):
        """Let the launcher run all workers and servers."""
        from d2lrun import Limits, launch

        os.environ.setdefault('DMLC_LOCAL', '0')  # ports, as the others have
        lines = []
        launch(
            part_command(trial),
            trial['devices'],
            trial['servers'],
            on_line=lines.append,
            limits=Limits(60, 60, 5, TIME_LIMIT),
        )
        return results_in(lines)

    def step(self, X, y):
        """Take one step on all workers, as `train_on_cluster` does."""
        from d2lmulti.cluster import cluster_step

        cluster_step(
            range(self.size * len(X)),
            Loaded(X, y),
            self.device_params,
            self.devices,
            LR,
            self.store,
            self.allreduce,
        )

    def wait(self):
        """Wait for all workers."""
        self.store._barrier()

    def make_allreduce(self, length):
        """Return a function that pushes `length` numbers and pulls them."""
        from mxnet import np

        buffer, key = np.ones(length), f'{length} numbers'
        self.store.init(key, buffer)

        def push_and_pull():
            self.store.push(key, buffer)
            self.store.pull(key, out=buffer)

        return push_and_pull
