"""d2lmulti on numpy_mxnet, the stand-in for MXNet: k devices step as one."""

import os
import pathlib
import subprocess
import sys

import d2lmulti.prepare.machine as machine

ROOT = pathlib.Path(__file__).parents[2]
SCRIPT = """
import d2lmulti, mxnet as mx, numpy as onp
from mxnet import np
from d2lmulti import get_params, init_params, train_batch
from d2lmulti.prepare import machine

assert mx.STAND_IN and machine.is_stand_in()
rng = onp.random.RandomState(0)
X = np.array(rng.uniform(size=(21, 1, 28, 28)))
y = np.array(rng.randint(0, 10, 21), dtype='int32')
params = [param.astype('float64') for param in init_params()]
ends = []
for k in (1, 2, 3, 4):
    devices = [mx.cpu(i) for i in range(k)]
    replicas = [get_params(params, device) for device in devices]
    for _ in range(3):
        train_batch(X.astype('float64'), y, replicas, devices, lr=0.1)
    ends.append([param.asnumpy() for param in replicas[-1]])
for end in ends[1:]:
    for one, other, start in zip(ends[0], end, params):
        assert abs(one - start.asnumpy()).max() > 1e-4  # it has moved
        assert abs(one - other).max() < 1e-12
print('as one')
"""


def test_k_devices_take_the_same_steps_as_one():
    paths = [str(ROOT / 'numpy_mxnet/src'), str(ROOT)]
    done = subprocess.run(
        [sys.executable, '-c', SCRIPT],
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(paths)),
        timeout=300,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert done.stdout.endswith('as one\n')


def test_mxnet_is_not_taken_for_the_stand_in():
    assert machine.is_stand_in() == hasattr(sys.modules['mxnet'], 'STAND_IN')
