"""The contestants: one LeNet, one start, one step, in several frameworks.

Each class trains on minibatches (X, y) that its own `load` made from NumPy
arrays. `step` may return before the work is done; `drain` waits for it.
`batches` prepares a whole set of images once, `epoch` is one pass over them.
Those that something else starts tell their `rank` and `wait` for the others.
`exchange` makes a function that adds an array over all processes.
Frameworks are imported where they are used: each contestant runs in a
process of its own, some without MXNet, some without d2lmulti's settings.
"""
import importlib.util
import pathlib

import numpy

LR = 0.01
LENET = pathlib.Path(__file__).parent.parent / 'd2lmulti' / 'lenet.py'


def minibatches(X, y, batch_size):
    """Yield shuffled minibatches of NumPy arrays."""
    order = numpy.random.RandomState(0).permutation(len(X))
    for start in range(0, len(X), batch_size):
        rows = order[start:start + batch_size]
        yield X[rows], y[rows]


class OnMXNet:
    """What the contestants on MXNet share."""
    def load(self, X, y):
        from mxnet import np
        return np.array(X, dtype='float32'), np.array(y, dtype='int32')

    def drain(self):
        from mxnet import npx
        npx.waitall()

    def batches(self, X, y, batch_size):
        return minibatches(X, y, batch_size)

    def epoch(self, batches):
        for batch in batches:
            self.step(*self.load(*batch))
            self.drain()


class Ours(OnMXNet):
    """The functions of the book, as a student calls them."""
    def __init__(self, num_devices, start, rendezvous):
        import d2lmulti
        self.book = d2lmulti
        self.devices = d2lmulti.try_devices(num_devices)
        params = [self.load(param, 0)[0] for param in start]
        self.device_params = [d2lmulti.get_params(params, device)
                              for device in self.devices]

    def step(self, X, y):
        self.book.train_batch(X, y, self.device_params, self.devices, LR)

    def batches(self, X, y, batch_size):
        return self.book.Minibatches(X, y, batch_size, seed=0)

    def exchange(self, length):
        """Return a function that copies so many numbers in memory."""
        from mxnet import np
        here, there = (np.ones(length, ctx=self.devices[0]) for _ in '12')
        return lambda: here.copyto(there)

    def epoch(self, batches):
        from d2lmulti.train import train_epoch
        from tqdm import tqdm
        train_epoch(batches, self.device_params, self.devices, LR,
                    self.book.allreduce, tqdm(disable=True))

    def loss(self, X, y):
        scores = self.book.lenet(X, self.device_params[0])
        return float(self.book.loss(scores, y).mean())


class OverServers(Ours):
    """Chapter 13: a worker of a job, started by the launcher."""
    def __init__(self, num_devices, start, rendezvous):
        super().__init__(num_devices, start, rendezvous)
        from d2lmulti.cluster import ClusterSum
        from mxnet import kv
        self.store = kv.create('dist_sync')
        self.rank, self.size = self.store.rank, self.store.num_workers
        self.add = ClusterSum(self.store, self.device_params[0])

    def step(self, X, y):
        self.book.train_batch(X, y, self.device_params, self.devices,
                              LR / self.size, self.add)

    def wait(self):
        self.store._barrier()

    def exchange(self, length):
        """Return a function that pushes so many numbers and pulls them."""
        from mxnet import np
        buffer, key = np.ones(length), f'{length} numbers'
        self.store.init(key, buffer)

        def push_and_pull():
            self.store.push(key, buffer)
            self.store.pull(key, out=buffer)

        return push_and_pull


class D2LRecipe(OnMXNet):
    """D2L's section, with its package's functions, as MXNet comes.

    The network is the book's chapter 2, loaded without the package around
    it, which would prepare the process.
    """
    def __init__(self, num_devices, start, rendezvous):
        import mxnet
        from d2l import mxnet as d2l
        mxnet.npx.set_np()
        spec = importlib.util.spec_from_file_location('lenet', LENET)
        self.net = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.net)
        self.d2l = d2l
        self.devices = [mxnet.cpu(i) for i in range(num_devices)]
        self.device_params = []
        for device in self.devices:
            replica = [self.load(param, 0)[0].as_in_ctx(device).copy()
                       for param in start]
            for param in replica:
                param.attach_grad()
            self.device_params.append(replica)

    def step(self, X, y):
        from mxnet import autograd
        X_shards, y_shards = self.d2l.split_batch(X, y, self.devices)
        with autograd.record():
            losses = [self.net.loss(self.net.lenet(X_shard, params), y_shard)
                      for X_shard, y_shard, params
                      in zip(X_shards, y_shards, self.device_params)]
        for value in losses:
            value.backward()
        for grads in zip(*([param.grad for param in params]
                           for params in self.device_params)):
            for grad in grads[1:]:
                grads[0][:] += grad.copyto(grads[0].ctx)
            for grad in grads[1:]:
                grads[0].copyto(grad)
        for params in self.device_params:
            self.d2l.sgd(params, LR, len(X))

    def batches(self, X, y, batch_size):
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
        for batch in batches:
            self.step(*batch)
            self.drain()

    def loss(self, X, y):
        scores = self.net.lenet(X, self.device_params[0])
        return float(self.net.loss(scores, y).mean())


class Gluon(OnMXNet):
    """Gluon's Trainer over the key-value store `device`, as MXNet comes."""
    def __init__(self, num_devices, start, rendezvous):
        import mxnet
        from mxnet import gluon, npx
        npx.set_np()
        self.devices = [mxnet.cpu(i) for i in range(num_devices)]
        self.net = gluon.nn.HybridSequential()
        self.net.add(gluon.nn.Conv2D(20, 3, activation='relu'),
                     gluon.nn.AvgPool2D(2, 2),
                     gluon.nn.Conv2D(50, 5, activation='relu'),
                     gluon.nn.AvgPool2D(2, 2),
                     gluon.nn.Dense(128, activation='relu'),
                     gluon.nn.Dense(10))
        self.net.initialize(ctx=self.devices)
        for device in self.devices:  # shapes are known after a first image
            self.net(mxnet.np.zeros((1, 1, 28, 28), ctx=device))
        for param, value in zip(self.net.collect_params().values(), start):
            dense = value.ndim == 2  # Gluon stores (outputs, inputs)
            param.set_data(self.load(value.T if dense else value, 0)[0])
        self.net.hybridize(static_alloc=True, static_shape=True)
        self.criterion = gluon.loss.SoftmaxCrossEntropyLoss()
        self.criterion.hybridize(static_alloc=True, static_shape=True)
        self.trainer = self.make_trainer()

    def make_trainer(self):
        from mxnet import gluon
        return gluon.Trainer(self.net.collect_params(), 'sgd',
                             {'learning_rate': LR}, kvstore='device')

    def step(self, X, y):
        from mxnet import autograd, gluon
        split = gluon.utils.split_and_load
        X_shards = split(X, self.devices, even_split=False)
        y_shards = split(y, self.devices, even_split=False)
        with autograd.record():
            losses = [self.criterion(self.net(X_shard), y_shard)
                      for X_shard, y_shard in zip(X_shards, y_shards)]
        autograd.backward(losses)
        self.trainer.step(len(X))

    def loss(self, X, y):
        return float(self.criterion(self.net(X), y).mean())


class GluonTuned(Gluon):
    """The same after d2lmulti has prepared the process."""
    def __init__(self, num_devices, start, rendezvous):
        import d2lmulti  # noqa: F401  it prepares
        super().__init__(num_devices, start, rendezvous)


class Horovod(GluonTuned):
    """Gluon with Horovod's trainer: a process of those it started."""
    def __init__(self, num_devices, start, rendezvous):
        import d2lmulti  # noqa: F401  before MXNet, which hvd imports
        import horovod.mxnet as hvd
        hvd.init()
        self.hvd, self.rank = hvd, hvd.rank()
        super().__init__(num_devices, start, rendezvous)

    def make_trainer(self):
        return self.hvd.DistributedTrainer(
            self.net.collect_params(), 'sgd', {'learning_rate': LR})

    def wait(self):
        self.exchange(1)()
        self.drain()

    def exchange(self, length):
        """Return a function that adds so many numbers over the processes."""
        from mxnet import np
        data = np.zeros(length)
        return lambda: self.hvd.allreduce_(data, average=False,
                                           name=f'{length} numbers')


class TorchDDP:
    """DistributedDataParallel over gloo: a process and a thread a device."""
    def __init__(self, num_devices, start, rendezvous):
        import torch
        from torch import nn
        torch.set_num_threads(1)
        store, rank, world_size = rendezvous
        torch.distributed.init_process_group(
            'gloo', init_method=store, rank=rank, world_size=world_size)
        net = nn.Sequential(
            nn.Conv2d(1, 20, 3), nn.ReLU(), nn.AvgPool2d(2),
            nn.Conv2d(20, 50, 5), nn.ReLU(), nn.AvgPool2d(2),
            nn.Flatten(), nn.Linear(800, 128), nn.ReLU(),
            nn.Linear(128, 10))
        for param, value in zip(net.parameters(), start):
            value = value.T if value.ndim == 2 else value
            param.data = torch.tensor(value, dtype=torch.float32)
        self.torch = torch
        self.net = nn.parallel.DistributedDataParallel(net)
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=LR)

    def load(self, X, y):
        return self.torch.from_numpy(X), self.torch.from_numpy(y).long()

    def step(self, X, y):
        self.optimizer.zero_grad()
        self.criterion(self.net(X), y).backward()
        self.optimizer.step()

    def drain(self):
        """PyTorch on a CPU has finished when a call returns."""

    def batches(self, X, y, batch_size):
        return minibatches(X, y, batch_size)

    def epoch(self, batches):
        for batch in batches:
            self.step(*self.load(*batch))

    def exchange(self, length):
        """Return a function that adds so many numbers over the processes."""
        data = self.torch.zeros(length)
        return lambda: self.torch.distributed.all_reduce(data)

    def loss(self, X, y):
        with self.torch.no_grad():
            return float(self.criterion(self.net.module(X), y))
