"""D2L's section on multiple GPUs, with the functions of its package."""

import importlib.util
import os
import pathlib
from unittest import mock

from .base import LR, MXNetTrainer

NETWORK = pathlib.Path(__file__).parents[3] / 'd2lmulti' / 'one_file.py'


def load_network():
    """Return the book's network, from the file that needs no package around
    it: that one would prepare the process. The settings of the file, too, are
    taken back."""
    spec = importlib.util.spec_from_file_location('network', NETWORK)
    network = importlib.util.module_from_spec(spec)
    with mock.patch.dict(os.environ):
        spec.loader.exec_module(network)
    return network


class Trainer(MXNetTrainer):
    """The recipe with MXNet's default settings."""

    def __init__(self, num_devices, start, rendezvous):
        import mxnet
        from d2l import mxnet as d2l

        mxnet.npx.set_np()
        self.d2l, self.net = d2l, load_network()
        self.devices = [mxnet.cpu(i) for i in range(num_devices)]
        self.device_params = []
        for device in self.devices:
            replica = [
                self.load(param, 0)[0].as_in_ctx(device).copy()
                for param in start
            ]
            for param in replica:
                param.attach_grad()
            self.device_params.append(replica)

    def step(self, X, y):
        """Take one step: split, losses, backward, allreduce, update."""
        from mxnet import autograd

        X_shards, y_shards = self.d2l.split_batch(X, y, self.devices)
        with autograd.record():
            losses = [
                self.net.loss(self.net.lenet(X_shard, params), y_shard)
                for X_shard, y_shard, params in zip(
                    X_shards, y_shards, self.device_params
                )
            ]
        for shard_loss in losses:
            shard_loss.backward()
        for grads in zip(
            *(
                [param.grad for param in params]
                for params in self.device_params
            )
        ):
            self.allreduce(grads)
        for params in self.device_params:
            self.d2l.sgd(params, LR, len(X))

    def allreduce(self, grads):
        """Sum arrays of all devices in place, as the section does."""
        for grad in grads[1:]:
            grads[0][:] += grad.copyto(grads[0].ctx)
        for grad in grads[1:]:
            grads[0].copyto(grad)

    def batches(self, X, y, batch_size):
        """Return D2L's data loader, over these images."""
        from mxnet import np
        from mxnet.gluon.data import vision

        class InMemory(vision.FashionMNIST):  # nothing to download
            def _get_data(self):
                pixels = (X * 255).astype('uint8').reshape(-1, 28, 28, 1)
                self._data = np.array(pixels, dtype='uint8')
                self._label = np.array(y, dtype='int32')

        vision.FashionMNIST = InMemory
        return self.d2l.load_data_fashion_mnist(batch_size)[0]

    def epoch(self, batches):
        """Take a step for each minibatch of the data loader."""
        for batch in batches:
            self.step(*batch)
            self.drain()

    def loss(self, X, y):
        """Return the mean loss on the first device."""
        scores = self.net.lenet(X, self.device_params[0])
        return float(self.net.loss(scores, y).mean())
