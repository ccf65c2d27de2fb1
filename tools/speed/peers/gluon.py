"""Gluon's Trainer over the key-value store `device`."""

from .base import LR, MXNetTrainer


def make_net(start, devices):
    """Return a hybridized LeNet with the parameters `start`, which stores
    the weights of dense layers as (inputs, outputs), Gluon transposed."""
    from mxnet import gluon, np

    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Conv2D(20, 3, activation='relu'),
        gluon.nn.AvgPool2D(2, 2),
        gluon.nn.Conv2D(50, 5, activation='relu'),
        gluon.nn.AvgPool2D(2, 2),
        gluon.nn.Dense(128, activation='relu'),
        gluon.nn.Dense(10),
    )
    net.initialize(ctx=devices)
    for device in devices:  # shapes are known after a first image
        net(np.zeros((1, 1, 28, 28), ctx=device))
    for param, value in zip(net.collect_params().values(), start):
        value = value.T if value.ndim == 2 else value
        param.set_data(np.array(value, dtype='float32'))
    net.hybridize(static_alloc=True, static_shape=True)
    return net


class Trainer(MXNetTrainer):
    """Gluon with MXNet's default settings."""

    def __init__(self, num_devices, start, rendezvous):
        import mxnet
        from mxnet import gluon, npx

        npx.set_np()
        kind = mxnet.gpu if mxnet.context.num_gpus() else mxnet.cpu
        self.devices = [kind(i) for i in range(num_devices)]
        self.net = make_net(start, self.devices)
        self.criterion = gluon.loss.SoftmaxCrossEntropyLoss()
        self.criterion.hybridize(static_alloc=True, static_shape=True)
        self.trainer = self.make_trainer()

    def make_trainer(self):
        """Return what updates the parameters."""
        from mxnet import gluon

        return gluon.Trainer(
            self.net.collect_params(),
            'sgd',
            {'learning_rate': LR},
            kvstore='device',
        )

    def step(self, X, y):
        """Take one step."""
        from mxnet import autograd, gluon

        split = gluon.utils.split_and_load
        X_shards = split(X, self.devices, even_split=False)
        y_shards = split(y, self.devices, even_split=False)
        with autograd.record():
            losses = [
                self.criterion(self.net(X_shard), y_shard)
                for X_shard, y_shard in zip(X_shards, y_shards)
            ]
        autograd.backward(losses)
        self.trainer.step(len(X))

    def loss(self, X, y):
        """Return the mean loss on the first device."""
        return float(self.criterion(self.net(X), y).mean())
