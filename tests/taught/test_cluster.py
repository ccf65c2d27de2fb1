"""Training in several processes: equal to one, and clear of MXNet's traps."""

import contextlib
import functools
import os
import pathlib
import random
import sys
import threading
import types

import numpy as onp
import psutil
import pytest
from helpers import (
    assert_interruption_changes_nothing,
    left_behind,
    put_in,
    small_training,
)
from hypothesis import given
from hypothesis import strategies as st

import d2lmulti
from d2lmulti import cluster
from d2lmulti.checkpoint import load_checkpoint, save_checkpoint
from d2lmulti.launcher import JobFailed, Limits, launch

TESTS = str(pathlib.Path(__file__).parents[1])  # for helpers

pytestmark = [pytest.mark.timeout(120), pytest.mark.slow]
LIMITS = Limits(startup=60, progress=60, exit=8, total=90)
KILLS = int(os.environ.get('D2LMULTI_KILLS', 1))


def run_job(tmp_path, script, *args, **options):
    """Run a script as a job; return its workers' lines, sorted."""
    (tmp_path / 'script.py').write_text(script)
    lines = []
    launch(
        [sys.executable, str(tmp_path / 'script.py'), *map(str, args)],
        on_line=lines.append,
        limits=LIMITS,
        log_dir=tmp_path / 'logs',
        **options,
    )
    return sorted(
        line.partition('] ')[2] for line in lines if line.startswith('[worker')
    )


@given(st.integers(1, 100), st.integers(1, 7))
def test_workers_take_all_rows_once_longer_parts_first(num_rows, num_workers):
    rows = onp.arange(num_rows)
    parts = [
        cluster.worker_rows(
            rows, types.SimpleNamespace(rank=rank, num_workers=num_workers)
        )
        for rank in range(num_workers)
    ]
    assert onp.concatenate(parts).tolist() == rows.tolist()
    lengths = [len(part) for part in parts]
    assert lengths == sorted(lengths, reverse=True)
    assert max(lengths) - min(lengths) <= 1


STEPS = """
import sys
from d2lmulti import (Minibatches, allreduce, get_params, init_params,
                      read_fashion_mnist, try_devices)
from d2lmulti.cluster import KVStoreAllreduce, cluster_step, connect_kvstore
import numpy as onp

how, path, num_devices = sys.argv[1], sys.argv[2], int(sys.argv[3])
X, y, _, _ = read_fashion_mnist()
minibatches = Minibatches(X[:183], y[:183], batch_size=61, seed=0)
devices = try_devices(num_devices)
with connect_kvstore() as store:
    params = init_params()
    if how == 'together':
        allreduce = KVStoreAllreduce(store, params)
    replicas = [get_params(params, device) for device in devices]
    for rows in minibatches.rows(epoch=0):
        cluster_step(rows, minibatches, replicas, devices, 0.2, store,
                     allreduce)
    for i, replica in enumerate(replicas):
        onp.savez(f'{path}/{store.rank}-{i}.npz',
                  *[param.asnumpy() for param in replica])
"""


@functools.lru_cache
def sequential():
    """Return the parameters after the same steps on one device."""
    X, y, _, _ = d2lmulti.read_fashion_mnist()
    devices = d2lmulti.try_devices(1)
    replica = d2lmulti.get_params(d2lmulti.init_params(), devices[0])
    for X_batch, y_batch in d2lmulti.Minibatches(X[:183], y[:183], 61, 0):
        d2lmulti.train_batch(X_batch, y_batch, [replica], devices, 0.2)
    return [param.asnumpy() for param in replica]


def file_difference(path, params):
    """Return the largest difference between a file and parameters."""
    with onp.load(path) as arrays:
        return max(
            abs(arrays[f'arr_{i}'] - param).max()
            for i, param in enumerate(params)
        )


@pytest.mark.parametrize(
    'workers, devices, servers',
    [
        pytest.param(1, 1, 1, marks=pytest.mark.long),
        pytest.param(2, 1, 1, marks=pytest.mark.long),
        (2, 2, 2),
        (3, 1, 2),
    ],
)
def test_workers_take_the_steps_of_one_process(
    tmp_path, workers, devices, servers
):
    run_job(
        tmp_path,
        STEPS,
        'together',
        tmp_path,
        devices,
        workers=workers,
        servers=servers,
    )
    files = sorted(tmp_path.glob('*.npz'))
    assert len(files) == workers * devices
    assert all(file_difference(path, sequential()) < 1e-5 for path in files)


def test_without_the_sum_they_do_not(tmp_path):
    run_job(tmp_path, STEPS, 'alone', tmp_path, 1)
    assert all(
        file_difference(path, sequential()) > 1e-4
        for path in tmp_path.glob('*.npz')
    )


def test_three_workers_sum_in_any_order_within_the_bound(tmp_path):
    """2 (m - 1) u Σ|g|, as chapter 13 says; u is float32's 2^-24."""
    run_job(
        tmp_path,
        """
import sys
from d2lmulti.cluster import KVStoreAllreduce, connect_kvstore
from mxnet import np
import numpy as onp

with connect_kvstore() as store:
    data = [np.array(onp.random.RandomState(store.rank).normal(size=10_000),
                     dtype='float32')]
    allreduce = KVStoreAllreduce(store, data)
    for step in range(20):  # the numbers arrive in several orders
        total = [data[0].copy()]
        allreduce(total)
        onp.save(f'{sys.argv[1]}/{store.rank}-{step}', total[0].asnumpy())
""",
        tmp_path,
        workers=3,
    )
    sums = onp.stack([onp.load(path) for path in tmp_path.glob('*.npy')])
    assert len(sums) == 60
    parts = onp.stack(
        [onp.random.RandomState(rank).normal(size=10_000) for rank in range(3)]
    ).astype('float32')
    bound = 2 * 2 * 2.0**-24 * abs(parts).astype('float64').sum(axis=0)
    assert (onp.ptp(sums.astype('float64'), axis=0) <= bound).all()
    assert (abs(sums - parts.astype('float64').sum(axis=0)) <= bound).all()
    assert (abs(sums) > 1e5 * bound).any()  # the bound says something


TRAIN = f"""
import os, sys
sys.path.insert(0, {TESTS!r})
from d2lmulti import cluster
from helpers import small_training
folder, fail_at = sys.argv[1], int(sys.argv[2])
original = cluster.save_checkpoint
def save(folder, state):
    original(folder, state)
    if (state.epoch * 5 + state.step == fail_at
            and not os.path.exists('failed')):
        open('failed', 'w').close()
        os.kill(os.getpid(), 9)
cluster.save_checkpoint = save
small_training(folder, num_devices=1)
"""


def params_in(folder):
    """Return the bytes of the parameters in the newest checkpoint."""
    return [param.tobytes() for param in load_checkpoint(folder).params]


@pytest.fixture(scope='module')
def undisturbed(tmp_path_factory):
    """Return the checkpoints of a job that nothing disturbed."""
    folder = tmp_path_factory.mktemp('undisturbed')
    run_job(folder, TRAIN, folder / 'checkpoints', -1)
    return folder / 'checkpoints'


def test_a_job_that_is_killed_and_restarted_ends_with_the_same_parameters(
    tmp_path, monkeypatch, undisturbed
):
    monkeypatch.chdir(tmp_path)
    run_job(tmp_path, TRAIN, 'again', 4, restarts=1)
    assert (tmp_path / 'failed').exists()
    assert params_in('again') == params_in(undisturbed)


@pytest.mark.long
def test_a_job_that_was_killed_and_run_again_ends_with_the_same_parameters(
    tmp_path, monkeypatch, undisturbed
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(JobFailed, match='SIGKILL'):
        run_job(tmp_path, TRAIN, 'killed', 7)
    assert load_checkpoint('killed').step == 2
    run_job(tmp_path, TRAIN, 'killed', 7)
    assert params_in('killed') == params_in(undisturbed)


@pytest.mark.long
@pytest.mark.timeout(60 + 60 * KILLS)
def test_kills_at_random_moments_change_nothing(
    tmp_path, monkeypatch, undisturbed
):
    """Any role, at any time; D2LMULTI_KILLS=30 tries it thirty times."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('D2LMULTI_TEST', str(tmp_path))
    seed = random.randrange(1000)
    print('seed', seed)  # pytest shows it when the test fails
    rng = random.Random(seed)
    for i in range(KILLS):
        killer = threading.Timer(
            rng.uniform(0, 8), kill_a_role, [tmp_path, rng]
        )
        killer.start()
        with contextlib.suppress(JobFailed):  # it may have ended before
            run_job(tmp_path, TRAIN, f'killed{i}', -1)
        killer.join()
        assert left_behind(tmp_path) == []
        run_job(tmp_path, TRAIN, f'killed{i}', -1)
        assert params_in(f'killed{i}') == params_in(undisturbed)


def kill_a_role(mark, rng):
    """Kill one of the processes of a job that runs, if any does."""
    roles = [
        process
        for kind in ('scheduler', 'server', 'worker')
        for process in left_behind(mark, DMLC_ROLE=kind)
    ]
    with contextlib.suppress(psutil.Error, IndexError):
        rng.choice(roles).kill()


@pytest.mark.long
def test_three_workers_end_close_to_an_undisturbed_run(tmp_path, monkeypatch):
    """Not bit-identical: the order of their sums is not fixed."""
    monkeypatch.chdir(tmp_path)
    run_job(tmp_path, TRAIN, 'calm', -1, workers=3)
    run_job(tmp_path, TRAIN, 'again', 4, workers=3, restarts=1)
    calm, again = (load_checkpoint(name) for name in ('calm', 'again'))
    assert calm.step == again.step and (tmp_path / 'failed').exists()
    assert (
        max(abs(p - q).max() for p, q in zip(calm.params, again.params)) < 1e-4
    )


def test_two_workers_learn_what_one_learns(undisturbed):
    (alone,), accuracies = small_training(None, num_devices=1, num_epochs=1)
    two = load_checkpoint(undisturbed)
    assert abs(two.history['accuracies'][0] - accuracies[0]) < 0.05
    assert two.settings['workers'] == 2


def test_a_copy_with_other_settings_resumes_on_fewer_devices(tmp_path):
    """As the refusal says; the steps that were taken are not repeated."""
    right = small_training(tmp_path / 'two')
    with pytest.raises(ValueError, match='devices = 2.*in a copy of the che'):
        small_training(tmp_path / 'two', num_devices=1)
    for path in sorted((tmp_path / 'two').glob('*'))[1:]:
        path.unlink()  # the end
    state = load_checkpoint(tmp_path / 'two')
    assert (state.epoch, state.step) == (1, 4)
    state.settings['devices'] = 1
    save_checkpoint(tmp_path / 'one', state)
    found = small_training(tmp_path / 'one', num_devices=1)
    for ours, theirs in zip(found[0][0], right[0][0]):
        a, b = (onp.frombuffer(text, 'float32') for text in (ours, theirs))
        assert abs(a - b).max() < 1e-4
    assert len(found[1]) == 2


def test_workers_that_find_different_checkpoints_refuse(tmp_path):
    with pytest.raises(JobFailed, match='a folder that all hosts share'):
        run_job(
            tmp_path,
            """
from d2lmulti import cluster
from d2lmulti.checkpoint import Checkpoint
from mxnet import np

with cluster.connect_kvstore() as store:
    cluster.load_checkpoint = lambda *args: Checkpoint(
        [np.ones(1)], 0, store.rank)
    cluster.load_or_init('folder', {}, [np.ones(1)], store)
""",
        )


def test_a_forward_pass_before_the_first_push_does_no_harm(tmp_path):
    """It moves the weights of convolutions into another memory layout; a
    store that is made afterwards loses them."""
    assert run_job(
        tmp_path,
        """
from d2lmulti import get_params, init_params, lenet, try_devices
from d2lmulti.cluster import KVStoreAllreduce, connect_kvstore
from mxnet import np

with connect_kvstore() as store:
    params = init_params()
    allreduce = KVStoreAllreduce(store, params)
    replica = get_params(params, try_devices(1)[0])
    lenet(np.ones((2, 1, 28, 28)), replica)  # outside record()
    expected = [2 * float(param.sum()) for param in replica]
    for param in replica:
        allreduce([param])
    print(all(abs(float(param.sum()) - total) < 1e-3 * abs(total) + 1e-3
              for param, total in zip(replica, expected)))
""",
    ) == ['True', 'True']


def test_two_sums_of_one_parameter_in_a_row_are_not_mixed(tmp_path):
    assert (
        run_job(
            tmp_path,
            """
from d2lmulti.cluster import KVStoreAllreduce, connect_kvstore
from mxnet import np, npx

with connect_kvstore() as store:
    array = np.ones(1000)
    allreduce = KVStoreAllreduce(store, [array])
    first, second = array.copy(), 10 * array
    allreduce([first])
    allreduce([second])
    npx.waitall()
    print(set(first.tolist()), set(second.tolist()))
""",
        )
        == ['{2.0} {20.0}'] * 2
    )


def test_what_is_queued_at_the_end_still_arrives(tmp_path):
    """Nothing is waited for in the script; the job ends well."""
    run_job(
        tmp_path,
        """
from d2lmulti.cluster import KVStoreAllreduce, connect_kvstore
from mxnet import np

with connect_kvstore() as store:
    arrays = [np.ones(100_000) for _ in range(10)]
    allreduce = KVStoreAllreduce(store, arrays)
    for _ in range(20):
        for array in arrays:
            allreduce([array])
""",
    )


def test_the_first_sums_never_meet_the_first_values(tmp_path):
    """MXNet's Trainer loses this race in about half of the runs."""
    assert run_job(
        tmp_path,
        """
from d2lmulti.cluster import KVStoreAllreduce, connect_kvstore
from mxnet import np

class FreshKeys:
    def __init__(self, store, number):
        self.store, self.number = store, number
        self.num_workers = store.num_workers

    def __getattr__(self, name):
        return lambda key, *args, **kwargs: getattr(self.store, name)(
            f'{self.number} {key}', *args, **kwargs)

with connect_kvstore() as store:
    sums = set()
    for number in range(20):
        arrays = [np.ones(1000 * i + 1) * (store.rank + 1) for i in range(8)]
        allreduce = KVStoreAllreduce(FreshKeys(store, number), arrays)
        for array in arrays:
            allreduce([array])
        sums.update(value for array in arrays for value in array.tolist())
    print(sums)
""",
    ) == ['{3.0}', '{3.0}']


@pytest.mark.parametrize(
    'options, error, message',
    [
        ({'checkpoint_every': 0}, ValueError, 'checkpoint_every must be'),
        ({'checkpoint_every': 2.5}, TypeError, 'checkpoint_every must be'),
        ({'num_epochs': 0}, ValueError, 'num_epochs must be'),
        ({'num_epochs': '1'}, TypeError, 'num_epochs must be'),
        ({'lr': -1}, ValueError, 'learning rate'),
        ({'lr': '0.2'}, TypeError, 'learning rate'),
        ({'batch_size': 149}, ValueError, 'the last minibatch'),
    ],
)
def test_what_cannot_work_is_refused_before_training_begins(
    tmp_path, options, error, message
):
    with pytest.raises(error, match=message):
        small_training(tmp_path, **options)
    assert list(tmp_path.iterdir()) == []


# Each real bug, put in on purpose: the test of its property must fail.

RESUME_BUGS = {
    'the epoch starts over': (
        cluster.finish_epoch,
        'start = time.perf_counter()',
        'start = time.perf_counter()\n    state.step = 0',
    ),
    'the next epoch is taken for this one': (
        cluster.finish_epoch,
        'minibatches.rows(state.epoch)',
        'minibatches.rows(state.epoch + (state.step > 0))',
    ),
}


@pytest.mark.parametrize('bug', RESUME_BUGS)
def test_bug_in_resuming_is_caught(bug, monkeypatch, tmp_path):
    put_in(monkeypatch, *RESUME_BUGS[bug])
    with pytest.raises(AssertionError):
        assert_interruption_changes_nothing(tmp_path, 4)


def test_rows_that_no_worker_takes_are_caught(monkeypatch):
    put_in(
        monkeypatch,
        cluster.worker_rows,
        '[split_slices(len(rows),',
        '[split_slices(len(rows) - 1,',
    )
    with pytest.raises(AssertionError):
        test_workers_take_all_rows_once_longer_parts_first()
