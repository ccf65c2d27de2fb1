"""What the tests of several modules share. "Equal up to rounding", which they
assert, is `d2lmulti.rounding.all_close`: see README.md."""

import contextlib
import functools
import importlib.util
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import time
import typing
import warnings
from pathlib import Path

import numpy as onp
import pytest
from mxnet import autograd, np, npx

import d2lmulti
from d2lmulti.cluster import cluster
from d2lmulti.prepare import newer_python, runtime
from d2lmulti.prepare.machine import is_stand_in

# Chapter 21 needs PyTorch, so `make test` leaves it out; `make test
# BUILD=frameworks` runs it, in an environment that has it beside MXNet.
HAS_FRAMEWORKS = importlib.util.find_spec('torch') is not None

# With this before it, code for `run` can import MXNet before d2lmulti on
# Python 3.12 and later.
SUPPORT_NEWER_PYTHON = (
    f'import runpy; runpy.run_path({newer_python.__file__!r})["install"]()\n'
)

needs_mxnet = pytest.mark.skipif(
    is_stand_in(), reason='it is about MXNet itself, and numpy_mxnet is here'
)

ANSWERS = Path(__file__).parent / 'notebooks' / 'answers'


def needs_frameworks(path):
    """Return whether the chapter at `path` needs BUILD=frameworks."""
    return path.stem.endswith('_pytorch')


def minibatch(n, seed=0, dtype='float32'):
    """Return n random images, and labels."""
    rng = onp.random.RandomState(seed)
    return (
        np.array(rng.uniform(size=(n, 1, 28, 28)), dtype=dtype),
        np.array(rng.randint(0, 10, n), dtype='int32'),
    )


def replicas_on(devices, dtype='float32'):
    """Return a replica of LeNet on each device."""
    params = as_type(d2lmulti.init_params(seed=3), dtype)
    return [d2lmulti.get_params(params, device) for device in devices]


def as_type(arrays, dtype='float64'):
    """Return arrays of another type."""
    return [array.astype(dtype) for array in arrays]


def descend(params, batches, lr, net=d2lmulti.lenet, loss=d2lmulti.loss):
    """Plain gradient descent on the mean loss, on one device."""
    for X, y in batches:
        params = [param.copy() for param in params]
        for param in params:
            param.attach_grad()
        with autograd.record():
            mean = loss(net(X, params), y).mean()
        mean.backward()
        params = [param - lr * param.grad for param in params]
    return [param.asnumpy() for param in params]


# Right results are not bit-identical, and how far they are apart depends on
# the processor; in float32, rounding also turns a relu on or off here and
# there. In float64 both are far too small to be seen in float32.


def minibatches(sizes):
    """Return a minibatch of each size, in float64."""
    return [minibatch(n, seed, 'float64') for seed, n in enumerate(sizes)]


@functools.lru_cache(maxsize=None)
def reference_steps(sizes):
    """Return LeNet's parameters after steps on `minibatches` at the rate 0.1,
    in float64."""
    params = as_type(d2lmulti.init_params(seed=3))
    return descend(params, minibatches(sizes), 0.1)


def roundings(found, right):
    """Return how far float64 arrays are from the right ones, in roundings of
    each array's largest number to float32: up to 1 if they are the same
    float32 numbers."""
    found, right = (
        [
            array if isinstance(array, onp.ndarray) else array.asnumpy()
            for array in arrays
        ]
        for arrays in (found, right)
    )
    assert [(a.shape, a.dtype) for a in found] == [
        (a.shape, onp.float64) for a in right
    ]
    return d2lmulti.rounding.rounding_ratio(
        as_type(found, 'float32'), [right, right]
    )


# Where float32 is needed: how far right results are apart is measured, and
# the network is smooth if there are several steps.


def float32_results(reference, batches):
    """Return results of `reference`, a mean over examples, in several orders,
    also with each example twice: other shapes are rounded elsewhere."""
    twice = [
        (np.concatenate([X, X]), np.concatenate([y, y])) for X, y in batches
    ]
    return [
        result
        for each in (batches, twice)
        for result in d2lmulti.rounding.in_several_orders(reference, each)
    ]


def smooth_lenet(X, params):
    """Return the scores of LeNet with tanh in place of relu."""
    *convolutions, W3, b3, W4, b4 = params
    h = X
    for W, b in zip(convolutions[::2], convolutions[1::2]):
        h = npx.convolution(h, W, b, kernel=W.shape[2:], num_filter=len(W))
        h = npx.pooling(
            np.tanh(h), kernel=(2, 2), stride=(2, 2), pool_type='avg'
        )
    h = np.tanh(np.dot(h.reshape(len(X), -1), W3) + b3)
    return np.dot(h, W4) + b4


def run(code, seconds=120, **variables):
    """Run Python code in a new process without our settings."""
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in runtime.SETTINGS
    }
    env.update(variables)
    process = subprocess.Popen(
        [sys.executable, '-c', code],
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, error = process.communicate(timeout=seconds)
    finally:  # its children too, which may spin and never return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return subprocess.CompletedProcess(code, process.returncode, out, error)


# Other processes


def wait_until(condition, seconds=10):
    """Return what `condition()` returns as soon as it is true; fail if it does
    not come true in time."""
    deadline = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < deadline, f'not true in {seconds} seconds'
        time.sleep(0.05)
    return result


def run_as_another_user(function, *args):
    """Run a function in a process that is not root; return what it printed
    or raised."""

    def run(connection):
        if os.getuid() == 0:
            os.setgid(65534)
            os.setuid(65534)
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter('always')
                said = repr(function(*args))
            said += ' '.join(str(warning.message) for warning in caught)
        except Exception as error:
            said = f'{type(error).__name__}: {error}'
        connection.send(said)

    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context('fork').Process(
        target=run, args=(theirs,)
    )
    process.start()
    assert ours.poll(30)
    process.join()
    return ours.recv()


# Training that is interrupted and goes on


def small_training(folder, num_devices=2, **options):
    """Train for two short epochs, with checkpoints in `folder`; return the
    parameters' bytes and the accuracies."""
    X, y, X_test, y_test = d2lmulti.read_fashion_mnist()
    result = d2lmulti.train_on_cluster(
        **{
            'num_devices': num_devices,
            'batch_size': 32,
            'lr': 0.2,
            'num_epochs': 2,
            'checkpoint_every': 2,
            'checkpoints': folder,
            'data': (X[:150], y[:150], X_test[:64], y_test[:64]),
            **options,
        }
    )
    return [
        [param.asnumpy().tobytes() for param in params]
        for params in result.device_params
    ], result.accuracies


def tiny_init(seed):
    """Return the parameters of a tiny network."""
    rng = onp.random.RandomState(seed)
    return [
        np.array(rng.normal(size=shape) * 0.05, dtype='float32')
        for shape in ((784, 10), (10,))
    ]


def tiny_net(X, params):
    """Return scores, without images of 28 x 28 being special."""
    return np.tanh(np.dot(X.reshape(len(X), -1), params[0]) + params[1])


def noisy_net(X, params):
    """Return the scores of `tiny_net`, with random numbers of all kinds."""
    if autograd.is_training():
        X = npx.dropout(X, p=0.2) * onp.random.uniform(0.9, 1.1)
    return tiny_net(X, params) * random.uniform(0.9, 1.1)


def tiny_training(folder, **options):
    """Train `noisy_net` with all that a checkpoint must hold."""
    X, y, X_test, y_test = d2lmulti.read_fashion_mnist()
    return small_training(
        folder,
        **{
            'batch_size': 32,
            'lr': 0.01,
            'data': (X[:320], y[:320], X_test[:64], y_test[:64]),
            'init': tiny_init,
            'net': noisy_net,
            'update': d2lmulti.adam,
            'num_micro_batches': 2,
            'max_norm': 1.0,
            'schedule': lambda step: 0.02 / (1 + 0.1 * step),
            **options,
        },
    )


def assert_interruption_changes_nothing(folder, step, whole=None, **options):
    """Let `small_training` fail before its `step`-th step and go on.

    `whole`: what it returns if it is not interrupted, where it is known.
    """

    class Interrupted(Exception):
        pass

    def failing_step(*args, **kwargs):
        calls.append(args)
        if len(calls) == step:
            raise Interrupted
        return cluster_step(*args, **kwargs)

    calls, cluster_step = [], cluster.cluster_step
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, 'cluster_step', failing_step)
        with pytest.raises(Interrupted):
            small_training(folder, **options)
    result = small_training(folder, **options)
    assert result == (whole or small_training(f'{folder}-whole', **options))


# Interrupts


class InterruptingRate(float):
    """A learning rate; when it is used the fifth time, Ctrl-C comes."""

    uses = 0

    def __truediv__(self, other):
        self.uses += 1
        if self.uses == 5:
            signal.raise_signal(signal.SIGINT)
        return float(self) / other


def assert_ctrl_c_waits(step, params, devices):
    """Ctrl-C amid `step(replicas, lr)` must leave no half of a step."""
    whole, interrupted = [
        [d2lmulti.get_params(params, device) for device in devices]
        for _ in range(2)
    ]
    step(whole, 0.1)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            step(interrupted, InterruptingRate(0.1))
    finally:
        signal.signal(signal.SIGINT, before)
    for found, right in zip(interrupted, whole):
        for param, other in zip(found, right):
            assert (param.asnumpy() == other.asnumpy()).all()


# Chapters


class Answer(typing.NamedTuple):
    """An answer to an exercise, a whole cell, from tests/notebooks/answers."""

    exercise: int  # counted from 1
    right: bool
    source: str
    said: str  # what the check says of a wrong one, a regular expression


def read_answers(name):
    """Return the answers to the exercises of a chapter, in order.

    Each begins with a comment: the number of the exercise, `right` or `wrong`,
    a word on it, and after an arrow what the check says of a wrong one.
    """
    text = (ANSWERS / f'{name}.py').read_text()
    head = r'^# (\d) (right|wrong): .*?(?: -> ?(.*))?$\n'
    _, *parts = re.split(head, text, flags=re.MULTILINE)
    return [
        Answer(int(number), kind == 'right', source, said or '')
        for number, kind, said, source in zip(*(parts[i::4] for i in range(4)))
    ]
