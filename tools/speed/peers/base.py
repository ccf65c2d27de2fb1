"""What all peers share, and what those on MXNet share."""

import numpy

from .processes import take_part

LR = 0.01


def minibatches(X, y, batch_size):
    """Yield shuffled minibatches of NumPy arrays."""
    order = numpy.random.RandomState(0).permutation(len(X))
    for start in range(0, len(X), batch_size):
        rows = order[start : start + batch_size]
        yield X[rows], y[rows]


class BaseTrainer:
    """A peer that trains in the process of its trial."""

    package = 'mxnet'  # whose version the results name

    @classmethod
    def start(cls, trial):
        """Run all processes of the trial; return the result of each."""
        return [take_part(trial)]

    def batches(self, X, y, batch_size):
        """Return an iterable over a shuffled set of images."""
        return minibatches(X, y, batch_size)

    def epoch(self, batches):
        """Take a step for each of `batches`."""
        for batch in batches:
            self.step(*self.load(*batch))
            self.drain()


class MXNetTrainer(BaseTrainer):
    """A peer on MXNet."""

    def load(self, X, y):
        """Return a minibatch as MXNet arrays."""
        from mxnet import np

        return np.array(X, dtype='float32'), np.array(y, dtype='int32')

    def drain(self):
        """Wait for the engine."""
        from mxnet import npx

        npx.waitall()
