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

TENSORFLOW = """
import hashlib
import sys

import numpy as np
import tensorflow as tf

(num_threads,) = map(int, sys.argv[1:])
tf.config.experimental.enable_op_determinism()
tf.config.threading.set_intra_op_parallelism_threads(num_threads)
(cpu,) = tf.config.list_physical_devices('CPU')
tf.config.set_logical_device_configuration(
    cpu, [tf.config.LogicalDeviceConfiguration()] * 2
)
strategy = tf.distribute.MirroredStrategy(['CPU:0', 'CPU:1'])

def digest(seed):
    tf.keras.utils.set_random_seed(seed)
    images = np.random.RandomState(1).rand(96, 28, 28, 1).astype('float32')
    labels = np.arange(96) % 10
    examples = tf.data.Dataset.from_tensor_slices((images, labels))
    examples = examples.shuffle(96, seed=seed).batch(32)
    with strategy.scope():
        net = tf.keras.Sequential([
            tf.keras.layers.Conv2D(8, 3, activation='relu'),
            tf.keras.layers.Dropout(0.5),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(10),
        ])
        net.compile(
            tf.keras.optimizers.SGD(0.1),
            tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        )
    net.fit(examples, epochs=2, verbose=0)
    numbers = b''.join(array.tobytes() for array in net.get_weights())
    return hashlib.sha256(numbers).hexdigest()

print(digest(1), digest(2))
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


def tensorflow_run():
    (digests,) = run_all([[TENSORFLOW, 2]])
    return digests


@pytest.mark.timeout(600)
@pytest.mark.parametrize('run', [torch_run, tensorflow_run])
def test_two_runs_are_bit_identical_and_another_seed_is_not(run):
    one, other = run()
    assert len(one) == len(hashlib.sha256().hexdigest())
    assert run() == [one, other]
    assert one != other


@pytest.mark.parametrize(
    'setting',
    [
        'torch.manual_seed',
        'torch.set_num_threads',
        'DistributedSampler',
        'torch.use_deterministic_algorithms(True)',
        'tf.keras.utils.set_random_seed',
        'MirroredStrategy',
        'tf.config.threading.set_intra_op_parallelism_threads',
        'tf.config.experimental.enable_op_determinism()',
    ],
)
def test_the_page_names_what_is_run(setting):
    assert setting in PAGE.read_text()
    assert setting in TORCH + TENSORFLOW
