"""Gluon with Horovod's trainer over gloo: a process for each device."""

import importlib.util
import subprocess
import sys

from . import gluon_tuned
from .base import LR
from .processes import TIME_LIMIT, part_command, results_in


def why_missing():
    """Return why this peer cannot take part, or None if it can."""
    if importlib.util.find_spec('horovod'):
        return None
    return 'run `make horovod` first'


class Trainer(gluon_tuned.Trainer):
    """One of the processes that Horovod starts."""

    def __init__(self, num_devices, start, rendezvous):
        import d2lmulti  # noqa: F401  before MXNet, which hvd imports

        # isort: split
        import horovod.mxnet as hvd

        hvd.init()
        self.hvd, self.rank = hvd, hvd.rank()
        super().__init__(num_devices, start, rendezvous)

    @classmethod
    def start(cls, trial):
        """Let Horovod run the processes."""
        size = str(trial['devices'])
        done = subprocess.run(
            [
                sys.executable,
                '-m',
                'horovod.runner.launch',
                '--gloo',
                '--network-interfaces',
                'lo',
                '-np',
                size,
                '-H',
                f'localhost:{size}',
                *part_command(trial),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIME_LIMIT,
        )
        if done.returncode:
            raise RuntimeError(done.stdout[-1000:])
        return results_in(done.stdout.splitlines())

    def make_trainer(self):
        """Return what updates the parameters of all processes."""
        return self.hvd.DistributedTrainer(
            self.net.collect_params(), 'sgd', {'learning_rate': LR}
        )

    def wait(self):
        """Wait for all processes."""
        self.make_allreduce(1)()
        self.drain()

    def make_allreduce(self, length):
        """Return a function that sums `length` numbers over processes."""
        from mxnet import np

        data = np.zeros(length)
        return lambda: self.hvd.allreduce_(
            data, average=False, name=f'{length} numbers'
        )
