"""The chapters on a machine with two GPUs, as far as CPUs can tell.

`two_gpus/` makes CPU devices play GPUs, with their names and their rule: an
operator whose arrays live on different devices raises. What remains unseen
is how GPUs round, and which operators MXNet has for them.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import mxnet as mx
import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(
    not mx.__version__.startswith('1.'),
    reason='the check is made for MXNet 1.9',
)

MIXED = """
import sys
import d2lmulti
import mxnet as mx
from mxnet import autograd, gluon, np, npx

first, second = d2lmulti.try_devices(2)
x, y, z = [np.ones((4, 3), ctx=c) for c in (first, second, mx.cpu(0))]
near, far = [np.ones((4, 3), ctx=mx.cpu(i)) for i in range(2)]
net = gluon.nn.Dense(2)
net.initialize(ctx=first)
net.hybridize()

def backward(gradient):
    x.attach_grad()
    with autograd.record():
        result = x * x
    result.backward(gradient)

def put(target, value):
    target[:] = value

print(x[0], z[0], x.ctx, z.ctx)
for work in sys.argv[1:]:
    try:
        eval(work)
    except mx.MXNetError as error:
        assert 'with arrays on' in str(error), error
        print(work)
"""
WRONG = [
    'x + y',
    'x + z',
    'np.dot(z, x.T)',
    'np.concatenate([x, y])',
    'x == y',
    'np.add(x, x, out=y)',
    'x.__iadd__(z)',
    'x[z > 0]',
    'npx.pick(x, z[:, 0])',
    'net(z)',
    'backward(z)',
    'backward(y)',
]
RIGHT = [
    'x + x.copyto(first)',
    'x + y.as_in_ctx(first)',
    'put(x, y)',
    'x.copyto(y)',
    'y.copyto(z)',
    'near + far',
    'net(x)',
    'np.array(x, ctx=second)',
    'backward(x)',
    'x.asnumpy()',
]


def as_on_two_gpus(command, folder, seconds):
    """Run Python in a new process that sees two GPUs; return its output."""
    play = Path(__file__).parent / 'two_gpus'
    # What these GPUs refuse is looked at, not what d2lmulti refuses itself.
    variables = dict(os.environ, PYTHONPATH=str(play), D2LMULTI_STRICT='0')
    variables.pop('D2LMULTI_DEVICES', None)
    return subprocess.run(
        [sys.executable, *command],
        env=variables,
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=seconds,
    )


@pytest.fixture(scope='module')
def mixed(tmp_path_factory):
    """Return the lines that MIXED prints."""
    folder = tmp_path_factory.mktemp('mixed')
    result = as_on_two_gpus(['-c', MIXED, *WRONG, *RIGHT], folder, 60)
    return result.stdout.splitlines()


def test_what_a_gpu_refuses_raises_and_nothing_else(mixed):
    assert mixed[1:] == WRONG


TRAIN = """
import d2lmulti
data = [part[:64] for part in d2lmulti.read_fashion_mnist()]
result = d2lmulti.train(2, 24, 0.1, num_epochs=1, data=data)
print(result.devices, d2lmulti.training.max_difference(*result.device_params))
"""


def test_training_mixes_no_devices(tmp_path):
    result = as_on_two_gpus(['-c', TRAIN], tmp_path, 60)
    assert result.stdout.splitlines()[-1] == '[gpu(0), gpu(1)] 0.0'


def test_devices_look_like_gpus(mixed):
    assert mixed[0] == '[1. 1. 1.] @gpu(0) [1. 1. 1.] gpu(0) cpu(0)'


@pytest.mark.parametrize(
    'name',
    [
        pytest.param('03_replicas', marks=pytest.mark.long),
        pytest.param('04_data', marks=pytest.mark.long),
        pytest.param('05_training', marks=pytest.mark.long),
        pytest.param('12_sync_batch_norm', marks=pytest.mark.long),
        pytest.param('13_heterogeneous', marks=pytest.mark.long),
        pytest.param('16_sharding', marks=pytest.mark.long),
        pytest.param('23_scaling', marks=pytest.mark.long),
    ],
)
def test_a_chapter_prints_the_same_with_gpus(name):
    """Where most devices are made; CONTRIBUTING has the command for all."""
    result = as_on_two_gpus(
        [
            '-m',
            'pytest',
            '-q',
            '--nbval',
            '--nbval-current-env',
            '--nbval-cell-timeout=120',
            f'notebooks/{name}.ipynb',
        ],
        ROOT,
        280,
    )
    assert result.returncode == 0, result.stdout


def test_no_chapter_asks_for_a_third_gpu():
    for path in sorted((ROOT / 'notebooks').glob('*.ipynb')):
        asked = re.findall(r'try_devices\((\d+)\)', path.read_text())
        assert all(int(number) <= 2 for number in asked), path.name


def test_gpus_round_products_like_cpus():
    """TF32, which GPUs since Ampere would use, has three digits."""
    assert os.environ['NVIDIA_TF32_OVERRIDE'] == '0'
