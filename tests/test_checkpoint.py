"""Checkpoints: whole or not there, and training goes on exactly."""
import errno
import os
import resource
import signal
import subprocess
import sys
import time

import numpy as onp
import pytest
from mxnet import autograd, np, npx

import d2lmulti
from d2lmulti import checkpoint as module
from d2lmulti import cluster
from d2lmulti.checkpoint import Checkpoint, load_checkpoint, save_checkpoint


def some(step=0, value=1.0, **more):
    """Return a checkpoint after `step` steps."""
    return Checkpoint([onp.full((3, 4), value, 'float32')], 0, step, **more)


def test_what_is_saved_is_loaded_bit_for_bit(tmp_path):
    params = [np.array(onp.random.RandomState(i).normal(size=(2, i)),
                       dtype='float32') for i in range(12)]
    optimizer = [onp.array([onp.nan, -0.0, onp.inf]), onp.arange(3)]
    save_checkpoint(tmp_path, Checkpoint(
        params, 3, 17, {'lr': 0.1}, optimizer, {'accuracies': [0.5]}))
    found = load_checkpoint(tmp_path)
    assert (found.epoch, found.step) == (3, 17)
    assert found.settings == {'lr': 0.1}
    assert found.history == {'accuracies': [0.5]}
    for arrays, others in ((params, found.params),
                           (optimizer, found.optimizer)):
        assert len(arrays) == len(others)
        for array, other in zip(arrays, others):
            array = array.asnumpy() if isinstance(
                array, np.ndarray) else array
            assert (array.dtype, array.shape) == (other.dtype, other.shape)
            assert array.tobytes() == other.tobytes()


def test_random_numbers_go_on_where_they_were(tmp_path):
    def draw():
        with autograd.record():
            dropped = npx.dropout(np.ones(50), p=0.5)
        return (onp.random.rand(3).tolist(), onp.random.randn(1).tolist(),
                np.random.uniform(size=3).tolist(), dropped.tolist())

    draw()
    save_checkpoint(tmp_path, some())
    expected = draw()
    draw()
    load_checkpoint(tmp_path)
    assert draw() == expected


def test_the_last_two_are_kept_and_nothing_else(tmp_path):
    for step in range(12):
        save_checkpoint(tmp_path, some(step))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        'checkpoint-000000-00000010.d2l', 'checkpoint-000000-00000011.d2l']


def test_without_checkpoints_there_is_nothing_to_load(tmp_path):
    assert load_checkpoint(tmp_path) is None
    assert load_checkpoint(tmp_path / 'missing') is None


@pytest.mark.parametrize('damage', [
    lambda content: content[:-1], lambda content: content[:30],
    lambda content: b'', lambda content: b'something else',
    lambda content: content[:500] + b'x' + content[501:],
    lambda content: content + b'x'])
def test_a_damaged_file_is_passed_over(tmp_path, damage):
    save_checkpoint(tmp_path, some(1))
    path = save_checkpoint(tmp_path, some(2))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(UserWarning, match='(damaged|no checkpoint).*before'):
        assert load_checkpoint(tmp_path).step == 1


def test_only_damaged_files_are_an_error(tmp_path):
    save_checkpoint(tmp_path, some()).write_bytes(b'')
    with pytest.warns(UserWarning), pytest.raises(ValueError, match='whole'):
        load_checkpoint(tmp_path)


def test_another_training_is_refused(tmp_path):
    save_checkpoint(tmp_path, some(settings={'batch_size': 256, 'lr': 1}))
    with pytest.raises(ValueError, match='batch_size = 256, this run has 64'):
        load_checkpoint(tmp_path, {'batch_size': 64, 'lr': 1})


def test_a_full_disk_leaves_the_earlier_ones(tmp_path):
    """The limit on the size of a file fails as a full disk does."""
    save_checkpoint(tmp_path, some(1))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))
    try:
        with pytest.raises(OSError, match='could not be written.*make room'):
            save_checkpoint(tmp_path, some(2))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert [path.name for path in tmp_path.iterdir()] == [
        'checkpoint-000000-00000001.d2l']
    assert load_checkpoint(tmp_path).step == 1


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / 'file').touch()
    with pytest.raises(OSError, match='file'):
        save_checkpoint(tmp_path / 'file' / 'folder', some())


def assert_whole_after_kills(tmp_path):
    """Kill a process that writes without pause; some is whole each time."""
    for i in range(4):
        process = subprocess.Popen([sys.executable, '-c', f'''
import sys; sys.path.insert(0, {os.path.dirname(__file__)!r})
import test_checkpoint, itertools
for step in itertools.count({i * 1_000_000}):
    test_checkpoint.save_checkpoint({str(tmp_path)!r},
                                    test_checkpoint.some(step))
'''])
        deadline = time.monotonic() + 30
        while len(list(tmp_path.glob(f'*{i}??????.d2l'))) < 2:
            assert time.monotonic() < deadline
        time.sleep(0.037 * i)
        process.kill()
        process.wait()
        assert load_checkpoint(tmp_path).step >= i * 1_000_000
        assert len(list(tmp_path.iterdir())) <= 4


@pytest.mark.filterwarnings('error')
def test_a_kill_never_tears_the_newest(tmp_path):
    assert_whole_after_kills(tmp_path)


class Interrupted(Exception):
    """Raised in the middle of a training."""


def small_training(folder, num_devices=2, **options):
    """Train for two short epochs; return the parameters' bytes."""
    X, y, X_test, y_test = d2lmulti.read_fashion_mnist()
    result = cluster.train_on_cluster(**{
        'num_devices': num_devices, 'batch_size': 32, 'lr': 0.2,
        'num_epochs': 2, 'every': 2, 'checkpoints': folder,
        'data': (X[:150], y[:150], X_test[:64], y_test[:64]), **options})
    return [[param.asnumpy().tobytes() for param in params]
            for params in result.device_params], result.accuracies


def interrupt_at(monkeypatch, step):
    """Let the training fail before its `step`-th step."""
    calls = []
    original = cluster.cluster_step

    def failing_step(*args):
        calls.append(args)
        if len(calls) == step:
            raise Interrupted
        return original(*args)

    monkeypatch.setattr(cluster, 'cluster_step', failing_step)


def assert_interruption_changes_nothing(folder, step):
    with pytest.MonkeyPatch.context() as patch:
        interrupt_at(patch, step)
        with pytest.raises(Interrupted):
            small_training(folder)
    assert small_training(folder) == small_training(None)


@pytest.mark.parametrize('step', range(1, 11))
def test_an_interruption_at_any_step_changes_nothing(tmp_path, step):
    assert_interruption_changes_nothing(tmp_path, step)


def test_a_training_that_has_ended_stays_as_it_is(tmp_path):
    assert small_training(tmp_path) == small_training(tmp_path)


def test_more_epochs_can_be_added(tmp_path):
    small_training(tmp_path, num_epochs=1)
    assert small_training(tmp_path) == small_training(None)


@pytest.mark.parametrize('options, name', [
    ({'batch_size': 31}, 'batch_size'), ({'lr': 0.1}, 'lr'),
    ({'seed': 1}, 'seed'), ({'num_devices': 1}, 'devices')])
def test_training_on_with_other_settings_is_refused(tmp_path, options, name):
    small_training(tmp_path, num_epochs=1)
    with pytest.raises(ValueError, match=f'written with {name} ='):
        small_training(tmp_path, **options)


def test_another_network_is_refused(tmp_path, monkeypatch):
    small_training(tmp_path, num_epochs=1)
    wider = [np.zeros((21, 1, 3, 3))] + d2lmulti.init_params()[1:]
    monkeypatch.setattr(cluster, 'init_params', lambda seed: wider)
    with pytest.raises(ValueError, match='written with shapes ='):
        small_training(tmp_path)


def test_an_error_of_the_disk_is_told_as_it_is(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(module.os, 'fsync', full)
    with pytest.raises(OSError, match='No space left') as caught:
        save_checkpoint(tmp_path, some())
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []
