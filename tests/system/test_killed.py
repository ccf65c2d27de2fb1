"""ZeRO 2 with Adam, killed at random moments, and ended on fewer devices."""

import os
import random
import subprocess
import sys
import time

import numpy as onp
import pytest
from helpers import roundings

pytestmark = pytest.mark.long
KILLS = int(os.environ.get('D2LMULTI_KILLS', 4))

# Six epochs of four ragged minibatches; a checkpoint after every other step.
# The history has the rows of all steps that the parameters have seen.
TRAIN = """
import sys, time
import numpy as onp
import d2lmulti
from mxnet import np
from d2lmulti.cluster.checkpoint import (
    Checkpoint, load_checkpoint, save_checkpoint)
from d2lmulti.learning.large_batch import adam
from d2lmulti import find_places, reshard, scatter_flat, train_batch_zero2

folder, num_devices = sys.argv[1], int(sys.argv[2])
rng = onp.random.RandomState(0)
words = rng.randint(1, 30, (50, 7)) * (
    onp.arange(7) < rng.randint(2, 8, (50, 1)))
X, y = words[:, :-1], words[:, 1:]
batches = d2lmulti.Minibatches(X, y, 13, seed=1)
X, y = [np.array(part, dtype='int32') for part in (X, y)]
devices = d2lmulti.try_devices(num_devices)
params = [p.astype('float64') for p in d2lmulti.init_decoder(3, 30, width=14)]
saved = load_checkpoint(folder) or Checkpoint(params, history={'rows': []})
shapes = [param.shape for param in params]

def copies(wholes, devices):
    return [[p.copyto(device) for p in wholes] for device in devices]

one = find_places(copies, shapes, devices[:1])
whole = find_places(copies, shapes, devices)
parts = find_places(scatter_flat, shapes, devices)
replicas = [d2lmulti.get_params([np.array(p, dtype='float64')
                                 for p in saved.params], device)
            for device in devices]
states = reshard([saved.optimizer], one, parts, devices)
print('training', flush=True)
for epoch in range(saved.epoch, 6):
    rows = batches.rows(epoch)
    for step in range(saved.step if epoch == saved.epoch else 0, len(rows)):
        train_batch_zero2(X[rows[step]], y[rows[step]], replicas, devices,
                          0.001, states, update=adam)
        saved.history['rows'] += [int(row) for row in rows[step]]
        time.sleep(0.02)
        if step % 2:
            ends = step + 1 == len(rows)
            (params,) = reshard(replicas, whole, one, devices[:1])
            (state,) = reshard(states, parts, one, devices[:1])
            save_checkpoint(folder, Checkpoint(
                params, epoch + ends, 0 if ends else step + 1,
                optimizer=state, history=saved.history))
            print('saved', flush=True)
params = {f'p{i}': param.asnumpy() for i, param in enumerate(replicas[0])}
onp.savez(f'{folder}/end.npz', rows=saved.history['rows'], **params)
"""


def start(folder, num_devices, script):
    return subprocess.Popen(
        [sys.executable, '-c', script, str(folder), str(num_devices)],
        stdout=subprocess.PIPE,
        text=True,
    )


def end(folder, num_devices, script=TRAIN):
    """Train to the end; return the parameters and the rows."""
    folder.mkdir(exist_ok=True)
    process = start(folder, num_devices, script)
    process.communicate(timeout=100)
    assert process.returncode == 0
    with onp.load(folder / 'end.npz') as arrays:
        return [arrays[f'p{i}'] for i in range(12)], arrays['rows'].tolist()


def killed(folder, script, rng):
    """Kill a job several times, first on four devices, then on three; return
    what it ends with on three."""
    folder.mkdir()
    for i in range(KILLS):
        process = start(folder, 4 if i < KILLS / 2 else 3, script)
        assert process.stdout.readline() == 'training\n'
        # The first one amid an epoch, the others a little further.
        for _ in range(rng.randint(1, 4) if i else 1):
            process.stdout.readline()
        time.sleep(rng.uniform(0, 0.1) if i else 0)
        process.kill()
        process.communicate()
    return end(folder, 3, script)


def assert_kills_change_nothing(folder, script=TRAIN):
    seed = random.randrange(1000)
    print('seed', seed)  # pytest shows it when the test fails
    params, rows = killed(folder / 'killed', script, random.Random(seed))
    right, right_rows = end(folder / 'undisturbed', 4)
    assert rows == right_rows
    for epoch in range(6):  # each example once
        assert sorted(rows[50 * epoch :][:50]) == list(range(50))
    assert roundings(params, right) <= 1


@pytest.mark.timeout(120 + 20 * KILLS)
def test_kills_and_fewer_devices_change_nothing(tmp_path):
    assert_kills_change_nothing(tmp_path)


@pytest.mark.timeout(120 + 20 * KILLS)
@pytest.mark.parametrize(
    'old, new',
    [
        ('[saved.optimizer], one', '[[]], one'),
        ('saved.step if epoch == saved.epoch else 0', '0'),
        ('replicas, whole, one', 'replicas, parts, one'),
    ],
    ids=['the state is lost', 'the epoch begins again', 'another layout'],
)
def test_a_resume_that_forgets_is_caught(tmp_path, old, new):
    assert TRAIN.count(old) == 1
    with pytest.raises(AssertionError):
        assert_kills_change_nothing(tmp_path, TRAIN.replace(old, new))
