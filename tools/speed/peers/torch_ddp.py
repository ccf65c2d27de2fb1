"""PyTorch's DistributedDataParallel over gloo: a process and a thread for
each device."""

from .base import LR, BaseTrainer
from .processes import start_processes


def make_net(torch, start):
    """Return LeNet with the parameters `start`; dense layers transposed."""
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv2d(1, 20, 3),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Conv2d(20, 50, 5),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(800, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )
    for param, value in zip(net.parameters(), start):
        value = value.T if value.ndim == 2 else value
        param.data = torch.tensor(value, dtype=torch.float32)
    return net


class Trainer(BaseTrainer):
    """One of the processes."""

    package = 'torch'
    start = staticmethod(start_processes)

    def __init__(self, num_devices, start, rendezvous):
        import torch

        torch.set_num_threads(1)
        store, rank, world_size = rendezvous
        torch.distributed.init_process_group(
            'gloo', init_method=store, rank=rank, world_size=world_size
        )
        self.torch = torch
        self.net = torch.nn.parallel.DistributedDataParallel(
            make_net(torch, start)
        )
        self.criterion = torch.nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=LR)

    def load(self, X, y):
        """Return a minibatch as tensors."""
        return self.torch.from_numpy(X), self.torch.from_numpy(y).long()

    def step(self, X, y):
        """Take one step."""
        self.optimizer.zero_grad()
        self.criterion(self.net(X), y).backward()
        self.optimizer.step()

    def drain(self):
        """Return: PyTorch on a CPU has finished when a call returns."""

    def loss(self, X, y):
        """Return the mean loss."""
        with self.torch.no_grad():
            return float(self.criterion(self.net.module(X), y))
