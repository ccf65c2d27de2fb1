"""This project: the functions of the book, as a student calls them."""

from .base import LR, MXNetTrainer


class Trainer(MXNetTrainer):
    """Chapters 3 to 5: all devices in one process."""

    def __init__(self, num_devices, start, rendezvous):
        import d2lmulti

        self.book = d2lmulti
        self.devices = d2lmulti.try_devices(num_devices)
        params = [self.load(param, 0)[0] for param in start]
        self.device_params = [
            d2lmulti.get_params(params, device) for device in self.devices
        ]

    def step(self, X, y):
        """Take one step."""
        self.book.train_batch(X, y, self.device_params, self.devices, LR)

    def batches(self, X, y, batch_size):
        """Return the book's iterator over minibatches."""
        return self.book.Minibatches(X, y, batch_size, seed=0)

    def epoch(self, batches):
        """Take a step for each minibatch, as `train` does."""
        for X, y in batches:
            self.step(X, y)
            self.drain()

    def loss(self, X, y):
        """Return the mean loss on the first device."""
        scores = self.book.lenet(X, self.device_params[0])
        return float(self.book.loss(scores, y).mean())
