"""Checkpoints: whole or not there, and training goes on exactly."""

import builtins
import dataclasses
import errno
import io
import itertools
import multiprocessing
import os
import pathlib
import random
import resource
import signal
import socket
import tempfile
import threading
import time
import warnings

import numpy as onp
import pytest
from helpers import (
    assert_interruption_changes_nothing,
    run_as_another_user,
    small_training,
    wait_until,
)
from hypothesis import given
from hypothesis import strategies as st
from mxnet import autograd, np, npx

import d2lmulti
from d2lmulti.cluster import checkpoint as module
from d2lmulti.cluster import checkpoint_files, files
from d2lmulti.cluster.checkpoint import (
    Checkpoint,
    load_checkpoint,
    save_checkpoint,
)


def some(step=0, value=1.0, **more):
    """Return a checkpoint after `step` steps."""
    return Checkpoint([onp.full((3, 4), value, 'float32')], 0, step, **more)


def test_what_is_saved_is_loaded_bit_for_bit(tmp_path):
    params = [
        np.array(
            onp.random.RandomState(i).normal(size=(2, i)), dtype='float32'
        )
        for i in range(12)
    ]
    optimizer = [onp.array([5e-324, -0.0, 1e308]), onp.arange(3)]
    save_checkpoint(
        tmp_path,
        Checkpoint(
            params, 3, 17, {'lr': 0.1}, optimizer, {'accuracies': [0.5]}
        ),
    )
    loaded = load_checkpoint(tmp_path)
    assert (loaded.epoch, loaded.step) == (3, 17)
    assert loaded.settings == {'lr': 0.1}
    assert loaded.history == {'accuracies': [0.5]}
    for arrays, others in (
        (params, loaded.params),
        (optimizer, loaded.optimizer),
    ):
        assert len(arrays) == len(others)
        for array, other in zip(arrays, others):
            array = array.asnumpy() if isinstance(array, np.ndarray) else array
            assert (array.dtype, array.shape) == (other.dtype, other.shape)
            assert array.tobytes() == other.tobytes()


def test_numpy_opens_a_checkpoint_without_pickle(tmp_path):
    params = [onp.ones((2, 3), 'float32'), onp.zeros(3)]
    path = save_checkpoint(tmp_path, Checkpoint(params, 1, 20))
    assert path.name == 'checkpoint-000001-00000020.npz'
    with onp.load(path, allow_pickle=False) as arrays:
        assert {'params0', 'params1'} <= set(arrays.files)
        for i, param in enumerate(params):
            assert (arrays[f'params{i}'] == param).all()
        assert all(arrays[name].dtype != object for name in arrays.files)


def test_random_numbers_go_on_where_they_were(tmp_path):
    def draw():
        with autograd.record():
            dropped = npx.dropout(np.ones(50), p=0.5)
        return (
            onp.random.rand(3).tolist(),
            onp.random.randn(1).tolist(),
            random.gauss(0, 1),
            np.random.uniform(size=3).tolist(),
            dropped.tolist(),
        )

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
        'checkpoint-000000-00000010.npz',
        'checkpoint-000000-00000011.npz',
    ]


def test_every_so_many_steps_one_is_kept(tmp_path):
    for epoch in range(2):
        for step in range(2, 15, 2):
            save_checkpoint(
                tmp_path, dataclasses.replace(some(step), epoch=epoch), 6
            )
    assert [
        checkpoint_files.position_of(path)
        for path in checkpoint_files.checkpoint_paths(tmp_path)
    ] == [[0, 6], [0, 12], [1, 6], [1, 12], [1, 14]]
    assert load_checkpoint(tmp_path).step == 14


@pytest.fixture
def stall(monkeypatch):
    """Return a function: then the disk does not answer for two seconds."""
    monkeypatch.setattr(checkpoint_files, 'DISK_TIMEOUT', 0.2)
    released = threading.Event()

    def stall(name):
        monkeypatch.setattr(os, name, lambda *_, **more: released.wait(2))

    yield stall
    released.set()


@pytest.mark.parametrize('call', ['fsync', 'replace', 'listdir'])
def test_a_disk_that_does_not_answer_ends_a_save_with_its_name(
    tmp_path, call, stall
):
    assert_stalled_save_ends(tmp_path, call, stall)


def assert_stalled_save_ends(folder, call, stall):
    """The earlier ones stay as they are."""
    save_checkpoint(folder, some(5))
    before = (folder / 'checkpoint-000000-00000005.npz').read_bytes()
    stall(call)
    with pytest.raises(OSError, match='not answered for 0.2 seconds') as error:
        save_checkpoint(folder, some(6))
    assert str(folder) in str(error.value)
    if call != 'listdir':
        assert 'give another folder' in str(error.value)
    after = (folder / 'checkpoint-000000-00000005.npz').read_bytes()
    assert before == after


def test_a_folder_that_does_not_answer_is_not_claimed(tmp_path, stall):
    stall('makedirs')
    with pytest.raises(OSError, match=f'{tmp_path}.*not answered.*another fo'):
        checkpoint_files.claim_checkpoints(tmp_path)


def test_a_save_without_a_limit_is_noticed(tmp_path, stall, monkeypatch):
    monkeypatch.setattr(
        checkpoint_files, 'answer_within', lambda path, work, seconds: work()
    )
    with pytest.raises(pytest.fail.Exception):  # nothing is raised
        assert_stalled_save_ends(tmp_path, 'fsync', stall)


@pytest.mark.parametrize('bad', [onp.nan, onp.inf, -onp.inf])
@pytest.mark.parametrize('name', ['params', 'optimizer'])
def test_what_is_not_finite_is_never_saved(tmp_path, name, bad):
    assert_not_finite_is_refused(tmp_path, name, bad)


def assert_not_finite_is_refused(folder, name='params', bad=onp.nan):
    """The earlier ones stay, however often it is tried."""
    for step in (5, 10):
        save_checkpoint(folder, some(step))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    arrays = [onp.ones(2), onp.ones((3, 4), 'float32')]
    arrays[1][2, 3] = bad
    state = Checkpoint(**{'params': [], 'step': 15, name: arrays})
    for _ in range(3):
        with pytest.raises(
            FloatingPointError,
            match=rf'step 15 of epoch 0, {name}.1., of shape .3, 4.*too large',
        ):
            save_checkpoint(folder, state)
    assert before == {path: path.read_bytes() for path in folder.iterdir()}


def test_large_numbers_are_finite(tmp_path):
    """Their sum and their squares are not."""
    save_checkpoint(tmp_path, Checkpoint([onp.full(9, 3e38, 'float32')]))
    assert load_checkpoint(tmp_path).params[0][8] == onp.float32(3e38)


def make_dangling(path):
    path.symlink_to('nowhere')


@pytest.mark.parametrize(
    'make, reason',
    [
        (os.mkdir, 'is not a file'),
        (os.mkfifo, 'is not a file'),
        (make_dangling, 'is gone'),
    ],
)
def test_what_is_no_file_is_passed_over(tmp_path, make, reason):
    """By readers, and by the writer that removes old ones."""
    make(tmp_path / 'checkpoint-000000-00000000.npz')
    save_checkpoint(tmp_path, some(1))
    make(tmp_path / 'checkpoint-000000-00000003.npz')
    with pytest.warns(UserWarning, match=f'00003.npz {reason}.*before it'):
        assert load_checkpoint(tmp_path).step == 1
    save_checkpoint(tmp_path, some(2))
    with pytest.warns(UserWarning, match=reason):
        assert load_checkpoint(tmp_path).step == 2


def test_other_files_are_left_alone(tmp_path):
    names = [
        'x.part',
        'checkpoint-best.npz',
        'checkpoint-000000-00000001.elsewhere.1.part',  # of another host
        f'checkpoint-000000-00000001.{socket.gethostname()}.1.part',  # alive
        'checkpoint-000000-00000001.npz.bak',
    ]
    for name in names:
        (tmp_path / name).write_bytes(b'mine')
    for step in range(4):
        save_checkpoint(tmp_path, some(step))
    assert load_checkpoint(tmp_path).step == 3
    left = {path.name for path in tmp_path.iterdir()}
    assert left >= set(names) and len(left) == len(names) + 2


@pytest.fixture
def open_folder():
    """A folder that other users can reach; pytest's are its user's alone."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


def test_what_cannot_be_read_is_not_called_broken(open_folder):
    """Another user's file, or one on a bad disk, may be whole: training must
    not go on from an older one."""
    save_checkpoint(open_folder, some(1))
    path = save_checkpoint(open_folder, some(2))
    load_checkpoint(open_folder)  # imports what another user may not
    path.chmod(0)
    said = run_as_another_user(lambda: load_checkpoint(open_folder).step)
    assert said.startswith('PermissionError') and path.name in said
    assert 'cannot be read (Permission denied), and may be whole' in said


def test_a_disk_that_cannot_read_is_named(tmp_path, monkeypatch):
    path = save_checkpoint(tmp_path, some(1))

    def bad(*_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(checkpoint_files, 'read_file', bad)
    with pytest.raises(OSError, match=f'{path.name} cannot be read .Input'):
        load_checkpoint(tmp_path)


def test_a_folder_that_must_not_be_read_is_not_empty(open_folder):
    """Else training would start over."""
    save_checkpoint(open_folder, some(1))
    open_folder.chmod(0o311)
    assert 'PermissionError' in run_as_another_user(
        load_checkpoint, open_folder
    )


def test_a_folder_that_must_not_be_written_is_refused(open_folder):
    open_folder.chmod(0o555)
    for folder in (open_folder, open_folder / 'new'):
        said = run_as_another_user(checkpoint_files.claim_checkpoints, folder)
        assert said.startswith('PermissionError') and str(folder) in said
        assert 'change its permissions, or give another folder' in said
        said = run_as_another_user(save_checkpoint, folder, some())
        assert said.startswith('PermissionError') and str(folder) in said


def test_two_jobs_cannot_write_in_one_folder(tmp_path):
    """The second is refused, as long as the first one runs."""
    entry = checkpoint_files.claim_checkpoints(tmp_path)
    for _ in range(2):
        with pytest.raises(OSError, match='another job writes .*wait until'):
            checkpoint_files.claim_checkpoints(tmp_path)
    os.close(entry)
    os.close(checkpoint_files.claim_checkpoints(tmp_path))


def test_a_monitor_beside_a_writer_disturbs_nobody(tmp_path):
    assert_monitor_disturbs_nobody(tmp_path)


def test_a_file_that_is_removed_before_it_is_read_does_no_harm(tmp_path):
    assert_removed_does_no_harm(tmp_path)


def assert_removed_does_no_harm(folder):
    """The writer saves two more just when the reader opens the newest."""
    original = module.read_checkpoint

    def read(path):
        if path.name.endswith('1.npz'):
            save_checkpoint(folder, some(2))
            save_checkpoint(folder, some(3))
        return original(path)

    save_checkpoint(folder, some(1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, 'read_checkpoint', read)
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            assert load_checkpoint(folder).step == 3


def assert_monitor_disturbs_nobody(folder):
    """It reads in a loop: no error, no warning, on either side."""
    process = multiprocessing.get_context('fork').Process(
        target=save_without_end, args=(folder, 0)
    )
    process.start()
    try:
        wait_until(
            lambda: checkpoint_files.checkpoint_paths(folder), seconds=60
        )
        steps = []
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            while len(set(steps)) < 30:
                steps.append(load_checkpoint(folder).step)
                assert process.is_alive()
        assert steps == sorted(steps)
    finally:
        process.kill()
        process.join()


def test_without_checkpoints_there_is_nothing_to_load(tmp_path):
    assert load_checkpoint(tmp_path) is None
    assert load_checkpoint(tmp_path / 'missing') is None


def assert_damage_is_noticed(folder, damage):
    """Damage the newer one of two checkpoints; the older one is loaded."""
    save_checkpoint(folder, some(1))
    path = save_checkpoint(folder, some(2))
    path.write_bytes(damage(path.read_bytes()))
    before = list(folder.iterdir())
    with pytest.warns(UserWarning, match='(damaged|not a check).*before it'):
        assert load_checkpoint(folder).step == 1
    assert list(folder.iterdir()) == before  # a reader deletes nothing


@pytest.mark.parametrize(
    'damage',
    [
        lambda content: content[:-1],
        lambda content: content[:30],
        lambda content: b'',
        lambda content: b'something else',
        lambda content: content[:500] + b'x' + content[501:],
        lambda content: content + b'x',
    ],
)
def test_a_damaged_file_is_passed_over(tmp_path, damage):
    assert_damage_is_noticed(tmp_path, damage)


@pytest.fixture(scope='module')
def saved(tmp_path_factory):
    """Return a checkpoint's path and its content."""
    path = save_checkpoint(tmp_path_factory.mktemp('folder'), some())
    return path, path.read_bytes()


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_no_byte_can_change_unnoticed(saved, where, by):
    path, content = saved
    i = int(where * len(content))
    changed = bytes([(content[i] + by) % 256])
    path.write_bytes(content[:i] + changed + content[i + 1 :])
    with pytest.raises(ValueError, match='damaged|not a checkpoint'):
        module.read_checkpoint(path)


def test_a_file_of_another_program_is_passed_over(tmp_path):
    save_checkpoint(tmp_path, some(1))
    onp.savez(tmp_path / 'checkpoint-000000-00000002.npz', onp.ones(3))
    with pytest.warns(UserWarning, match='not a checkpoint'):
        assert load_checkpoint(tmp_path).step == 1


def test_only_damaged_files_are_an_error(tmp_path):
    save_checkpoint(tmp_path, some()).write_bytes(b'')
    with pytest.warns(UserWarning), pytest.raises(
        ValueError, match='whole.*start over'
    ):
        load_checkpoint(tmp_path)


def test_another_training_is_refused(tmp_path):
    save_checkpoint(tmp_path, some(settings={'batch_size': 256, 'lr': 1}))
    with pytest.raises(ValueError, match='batch_size = 256, this run has 64'):
        load_checkpoint(tmp_path, {'batch_size': 64, 'lr': 1})


@pytest.mark.parametrize(
    'settings, told',
    [
        ({'lr': 1}, 'batch_size = 256, this run has None'),
        ({'batch_size': 256}, 'lr = 1, this run has None'),
        ({}, 'batch_size = 256, this run has None'),
        ({'batch_size': 256, 'lr': 1, 'max_norm': 2}, 'max_norm = None, this'),
    ],
)
def test_settings_that_are_new_or_gone_are_refused(tmp_path, settings, told):
    save_checkpoint(tmp_path, some(settings={'batch_size': 256, 'lr': 1}))
    with pytest.raises(ValueError, match=told):
        load_checkpoint(tmp_path, settings)
    assert load_checkpoint(tmp_path).settings == {'batch_size': 256, 'lr': 1}


@pytest.mark.parametrize('keep_every', [None, 3])
def test_what_is_written_stays_where_later_ones_are(tmp_path, keep_every):
    for step in (8, 9):
        save_checkpoint(tmp_path, some(step))
    for step in (1, 2):
        path = save_checkpoint(tmp_path, some(step), keep_every)
        assert path.exists()
    assert [path.name[-5] for path in sorted(tmp_path.iterdir())] == [
        '2',
        '8',
        '9',
    ]


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
        'checkpoint-000000-00000001.npz'
    ]
    assert load_checkpoint(tmp_path).step == 1


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    (tmp_path / 'file').touch()
    with pytest.raises(OSError, match='file'):
        save_checkpoint(tmp_path / 'file' / 'folder', some())


def save_without_end(folder, first):
    """Save one checkpoint after the other."""
    for step in itertools.count(first):
        save_checkpoint(folder, some(step))


@pytest.mark.filterwarnings('error')
def test_a_kill_never_tears_the_newest(tmp_path):
    for i in range(4):
        process = multiprocessing.get_context('fork').Process(
            target=save_without_end, args=(tmp_path, i * 1_000_000)
        )
        process.start()
        names = f'*{i}??????.npz'
        wait_until(
            lambda names=names: len(list(tmp_path.glob(names))) >= 2,
            seconds=60,
        )
        time.sleep(0.037 * i)
        process.kill()
        process.join()
        assert load_checkpoint(tmp_path).step >= i * 1_000_000
        assert len(list(tmp_path.iterdir())) <= 4


class HalfWritten(io.FileIO):
    """A file whose process is killed in the middle of a write."""

    def write(self, content):
        super().write(content[: len(content) // 2])
        os.kill(os.getpid(), signal.SIGKILL)


def save_half(folder):
    builtins.open = HalfWritten
    save_checkpoint(folder, some(2))


def assert_half_a_write_changes_nothing(folder):
    save_checkpoint(folder, some(1))
    process = multiprocessing.get_context('fork').Process(
        target=save_half, args=(folder,)
    )
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert load_checkpoint(folder).step == 1
    assert [path.suffix for path in sorted(folder.iterdir())] == [
        '.npz',
        '.part',  # a reader leaves it, the next writer does not
    ]
    save_checkpoint(folder, some(3))
    assert [path.suffix for path in folder.iterdir()] == ['.npz', '.npz']


def test_a_kill_in_the_middle_of_a_write_changes_nothing(tmp_path):
    assert_half_a_write_changes_nothing(tmp_path)


def test_a_file_that_has_its_name_too_early_is_noticed(tmp_path, monkeypatch):
    def write_in_place(path, content):
        with open(path, 'wb') as file:
            file.write(content)
            os.fsync(file.fileno())

    monkeypatch.setattr(checkpoint_files, 'write_whole', write_in_place)
    with pytest.raises(UserWarning, match='damaged|not a checkpoint'):
        assert_half_a_write_changes_nothing(tmp_path)


@pytest.fixture(scope='module')
def whole(tmp_path_factory):
    """Return what a training gives that is not interrupted."""
    return small_training(tmp_path_factory.mktemp('whole'))


@pytest.mark.parametrize(
    'step',
    [
        pytest.param(step, marks=[pytest.mark.long] if step % 3 else [])
        for step in range(1, 11)
    ],
)
def test_an_interruption_at_any_step_changes_nothing(tmp_path, step, whole):
    assert_interruption_changes_nothing(tmp_path, step, whole)


def test_a_training_that_has_ended_stays_as_it_is(tmp_path):
    assert small_training(tmp_path) == small_training(tmp_path)


def test_more_epochs_can_be_added(tmp_path):
    small_training(tmp_path, num_epochs=1)
    assert small_training(tmp_path) == small_training(None)


def test_another_network_is_refused(tmp_path):
    small_training(tmp_path, num_epochs=1)
    wider = [np.zeros((21, 1, 3, 3))] + d2lmulti.init_params()[1:]
    with pytest.raises(ValueError, match='written with shapes ='):
        small_training(tmp_path, init=lambda seed: wider)


def test_an_error_of_the_disk_is_told_as_it_is(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files.os, 'fsync', full)
    with pytest.raises(OSError, match='No space left') as caught:
        save_checkpoint(tmp_path, some())
    assert caught.value.errno == errno.ENOSPC
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize('resumed', [False, True])
def test_what_is_not_finite_from_the_start_is_not_blamed_on_the_rate(
    tmp_path, monkeypatch, resumed
):
    bad = d2lmulti.init_params()
    bad[2][0, 0] = onp.nan
    if resumed:  # a file whose checksum is right
        small_training(tmp_path, num_epochs=1)
        read = module.read_checkpoint
        monkeypatch.setattr(
            module,
            'read_checkpoint',
            lambda path: dataclasses.replace(
                read(path), params=[param.asnumpy() for param in bad]
            ),
        )
    source = 'the checkpoint in .* after step' if resumed else 'init has'
    with pytest.raises(
        FloatingPointError, match=rf'params\[2\].*first step: {source}'
    ):
        small_training(
            tmp_path, **({} if resumed else {'init': lambda _: bad})
        )
