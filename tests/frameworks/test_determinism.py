"""With tools/site/determinism.md's settings, two runs are bit-identical."""

import hashlib
import pathlib
import socket
import subprocess
import sys

import pytest

pytestmark = pytest.mark.ci

PAGE = pathlib.Path(__file__).parents[2] / 'tools/site' / 'determinism.md'

TORCH = """
import hashlib
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.utils import data

rank, port, num_threads = map(int, sys.argv[1:])
torch.use_deterministic_algorithms(True)
torch.set_num_threads(num_threads)
dist.init_process_group(
    'gloo', f'tcp://127.0.0.1:{port}', rank=rank, world_size=3
)

def digest(seed):
    torch.manual_seed(seed)
    fixed = torch.Generator().manual_seed(1)
    images = torch.rand(99, 1, 28, 28, generator=fixed)
    labels = torch.arange(99) % 10
    whole = data.TensorDataset(images, labels)
    net = nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Dropout(), nn.Flatten(),
        nn.Linear(8 * 26 * 26, 10),
    )
    net = nn.parallel.DistributedDataParallel(net)
    sgd = torch.optim.SGD(net.parameters(), 0.1)
    sampler = data.distributed.DistributedSampler(whole, seed=seed)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for X, y in data.DataLoader(whole, 11, sampler=sampler):
            sgd.zero_grad()
            nn.functional.cross_entropy(net(X), y).backward()
            sgd.step()
    numbers = b''.join(p.detach().numpy().tobytes() for p in net.parameters())
    return hashlib.sha256(numbers).hexdigest()

print(digest(1), digest(2))
dist.destroy_process_group()
"""


def run_all(commands):
    """Run processes side by side; return the two digests of each."""
    processes = [
        subprocess.Popen(
            [sys.executable, '-c', *map(str, command)],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for command in commands
    ]
    try:
        outputs = [process.communicate(timeout=240) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    for process, (_, error) in zip(processes, outputs):
        assert process.returncode == 0, error
    return [out.split()[-2:] for out, _ in outputs]


def torch_run():
    """Return the digests of the parameters, alike on all three processes."""
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    first, *others = run_all([TORCH, rank, port, 2] for rank in range(3))
    assert others == [first, first]
    return first


@pytest.mark.timeout(600)
def test_two_runs_are_bit_identical_and_another_seed_is_not():
    one, other = torch_run()
    assert len(one) == len(hashlib.sha256().hexdigest())
    assert torch_run() == [one, other]
    assert one != other


@pytest.mark.parametrize(
    'setting',
    [
        'torch.manual_seed',
        'torch.set_num_threads',
        'DistributedSampler',
        'torch.use_deterministic_algorithms(True)',
    ],
)
def test_the_page_names_what_is_run(setting):
    assert setting in PAGE.read_text()
    assert setting in TORCH
