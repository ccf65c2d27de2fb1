"""Each name that the glossary gives for PyTorch and TensorFlow exists."""

import inspect
import pathlib
import re

import pytest
from test_side_by_side import NAMES, resolve

GLOSSARY = pathlib.Path(__file__).parents[2] / 'tools/site/glossary.md'
SHORT = {
    'DataLoader': 'torch.utils.data.DataLoader',
    'DistributedDataParallel': 'torch.nn.parallel.DistributedDataParallel',
    'PowerSGDState': 'torch.distributed.algorithms.ddp_comm_hooks'
    '.powerSGD_hook.PowerSGDState',
    'powerSGD_hook': 'torch.distributed.algorithms.ddp_comm_hooks'
    '.powerSGD_hook.powerSGD_hook',
    'ZeroRedundancyOptimizer': 'torch.distributed.optim'
    '.ZeroRedundancyOptimizer',
}
# What is no name in the packages: a command, a variable and what is in it,
# an argument of a layer's call, attributes that instances have.
OTHERS = {
    'torchrun',
    'TF_CONFIG',
    'ps',
    'worker',
    'training',
    'copy',
    'bytes_per_pack',  # behind TensorFlow's decorator
    'is_causal',  # of a function in C, which has no signature
    'running_mean',
    'running_var',
    'moving_mean',
    'moving_variance',
    'numpy()',
    'horovod.torch',
    'horovod.tensorflow',
    'TORCH_FR_BUFFER_SIZE',  # an environment variable
}
QUOTED = re.compile(r'`([^`]+)`(?: of `([^`]+)`)?')


def columns(text):
    """Return [(framework, what the last column says of it), ...]."""
    return [
        (framework, says)
        for line in text.splitlines()
        if line.startswith('| **')
        for framework, says in re.findall(
            r'(PyTorch|TensorFlow): ([^;|]+)', line.rsplit(' | ', 1)[1]
        )
    ]


def full(name):
    first, _, rest = SHORT.get(name, name).partition('.')
    return f'{NAMES.get(first, first)}.{rest}'


def check(says):
    """Raise AttributeError or ImportError for a name that does not exist."""
    for name, owner in QUOTED.findall(says):
        name = name.partition('=')[0]
        if owner and not {name, owner} & OTHERS:
            home = resolve(full(owner))
            arguments = inspect.signature(home).parameters
            if name not in arguments and not hasattr(home, name):
                raise AttributeError(f'{owner} has no {name}')
        elif not {name, owner} & OTHERS:
            resolve(full(name))
        elif owner and owner not in OTHERS:
            resolve(full(owner))


@pytest.mark.parametrize('framework', ['PyTorch', 'TensorFlow'])
def test_each_name_in_the_glossary_exists(framework):
    says = [
        says
        for name, says in columns(GLOSSARY.read_text())
        if name == framework
    ]
    assert len(says) > 30
    faults = []
    for text in says:
        try:
            check(text)
        except (AttributeError, ImportError, ValueError) as error:
            faults.append(f'{text}: {error}')
    assert faults == []


@pytest.mark.parametrize(
    'says',
    [
        '`gradient_accumulation_steps` of `tf.keras.optimizers.Optimizer`',
        '`torch.distributed.allreduce`',
        '`bucket_cap` of `DistributedDataParallel`',
        '`tf.distribute.GpuStrategy`',
        '`all_reduce`',
    ],
)
def test_a_name_that_does_not_exist_is_found(says):
    with pytest.raises((AttributeError, ImportError, ValueError)):
        check(says)
