"""Training in several processes: equal to one; killed and resumed."""

import contextlib
import copy
import functools
import inspect
import io
import os
import pathlib
import random
import types
import warnings

import mxnet as mx
import numpy as onp
import pytest
from helpers import (
    assert_interruption_changes_nothing,
    descend,
    float32_results,
    small_training,
    smooth_lenet,
    tiny_init,
    tiny_net,
    tiny_training,
)
from hypothesis import given
from hypothesis import strategies as st
from mxnet import autograd, np, npx

import d2lmulti
from d2lmulti.cluster import checkpoint_files, cluster, resume
from d2lmulti.cluster.checkpoint import (
    Checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from d2lmulti.cluster.jobs import JobFailed, run_job

TESTS = str(pathlib.Path(__file__).parents[1])  # for helpers

pytestmark = [pytest.mark.timeout(120), pytest.mark.slow]
KILLS = int(os.environ.get('D2LMULTI_KILLS', 1))


def lines_of(tmp_path, script, *args, **options):
    """Run a script as a job; return what its ranks print, sorted."""
    path, out = tmp_path / 'script.py', io.StringIO()
    path.write_text(script)
    run_job([str(path), *map(str, args)], limit=90, out=out, **options)
    lines = out.getvalue().splitlines()
    return sorted(line.partition('] ')[2] for line in lines)


def comm_of(rank, size):
    """Return what says which process this is."""
    return types.SimpleNamespace(rank=rank, size=size)


def parts_of(rows, num_workers, shares=None):
    """Return the part of each worker."""
    return [
        cluster.worker_rows(rows, comm_of(rank, num_workers), shares)
        for rank in range(num_workers)
    ]


@given(st.integers(7, 100), st.integers(1, 7))
def test_workers_take_all_rows_once_longer_parts_first(num_rows, num_workers):
    rows = onp.arange(num_rows)
    parts = parts_of(rows, num_workers)
    assert onp.concatenate(parts).tolist() == rows.tolist()
    lengths = [len(part) for part in parts]
    assert lengths == sorted(lengths, reverse=True)
    assert max(lengths) - min(lengths) <= 1


@given(
    st.integers(4, 200), st.lists(st.floats(0.01, 100), min_size=1, max_size=4)
)
def test_workers_take_rows_in_proportion_and_at_least_one(num_rows, shares):
    rows = onp.arange(num_rows)
    parts = parts_of(rows, len(shares), shares)
    assert onp.concatenate(parts).tolist() == rows.tolist()
    for part, share in zip(parts, shares):
        exact = num_rows * share / sum(shares)
        assert len(part) >= 1
        assert len(part) <= exact + 1
        assert len(part) > exact - len(shares)


HEAD = f"""
import sys
sys.path.insert(0, {TESTS!r})
import functools
import d2lmulti
import numpy as onp
from d2lmulti import (Minibatches, get_params, init_params,
                      read_fashion_mnist, try_devices)
from d2lmulti.cluster.checkpoint import Checkpoint
from d2lmulti.cluster import cluster, resume
from mpi4py import MPI
from helpers import (small_training, smooth_lenet, tiny_init, tiny_net,
                     tiny_training)
from mxnet import np

path, comm = sys.argv[1], MPI.COMM_WORLD
"""


def batches_of(num_rows):
    """Return minibatches of 61 of the first images."""
    X, y, _, _ = d2lmulti.read_fashion_mnist()
    return d2lmulti.Minibatches(X[:num_rows], y[:num_rows], 61, seed=0)


# Workers in turn, in this process.


def steps_in_turn(num_workers, shares, order=0, **options):
    """Return the parameters after two steps of workers that are run in turn:
    the first round notes what each sends, the second gets the sums. Other
    orders than 0 shuffle each minibatch."""
    rng = onp.random.RandomState(order)
    batches, devices = batches_of(122), d2lmulti.try_devices(1)
    replica = d2lmulti.get_params(tiny_init(0), devices[0])
    states = [[]]
    for rows in batches.rows(0):
        rows, sent = rng.permutation(rows) if order else rows, []

        def note(data, sent=sent):
            sent.append(data[0].copy())

        for rank in range(num_workers):
            copy = d2lmulti.get_params(replica, devices[0])
            cluster.cluster_step(
                rows,
                batches,
                [copy],
                devices,
                0,
                comm_of(rank, num_workers),
                note,
                shares,
                net=tiny_net,
                **{**options, 'update': None},
            )

        def total(data, sent=sent):
            data[0][:] = sum(sent)

        cluster.cluster_step(
            rows,
            batches,
            [replica],
            devices,
            0.1,
            comm_of(0, num_workers),
            total,
            shares,
            states,
            net=tiny_net,
            **options,
        )
    return replica


def label_weight(y):
    """Return a weight that differs from the number of examples."""
    return float((1 + y).sum())


def weighted_loss(scores, y):
    """Return a loss that counts an example as `label_weight` does."""
    return d2lmulti.loss(scores, y) * (1 + y)


OPTIMIZERS = {
    'SGD': None,
    'momentum': d2lmulti.sgd_momentum,
    'Adam': d2lmulti.adam,
}


@pytest.mark.parametrize(
    'update, shares',
    [
        ('SGD', [1, 1]),
        ('momentum', [1, 2, 3, 4]),
        ('Adam', [50, 10, 1]),
    ],
)
def test_any_split_takes_the_step_of_one_worker(update, shares):
    many = steps_in_turn(
        len(shares), shares, num_micro_batches=2, **weighted_options(update)
    )
    assert_right(many, weighted_steps_of_one(update))


def weighted_options(update):
    """Return the options of weighted and limited steps."""
    return {
        'update': OPTIMIZERS[update],
        'max_norm': 0.5,
        'loss': weighted_loss,
        'count': label_weight,
    }


@functools.lru_cache(maxsize=None)
def weighted_steps_of_one(update):
    """Return `steps_of_one` with `weighted_options`."""
    return steps_of_one(**weighted_options(update))


def steps_of_one(**options):
    """Return what one worker does, in several orders."""
    return [
        steps_in_turn(
            1, None, order, num_micro_batches=num_micro_batches, **options
        )
        for order in range(2)
        for num_micro_batches in (1, 7)
    ]


def assert_right(params, results):
    """What was found must be one of the results, but for roundings."""
    assert d2lmulti.rounding.rounding_ratio(tiny_init(0), results) > 100
    assert d2lmulti.rounding.all_close(params, results)


@pytest.mark.parametrize('max_norm', [0.05, 0.2, 1e9])
def test_the_step_is_gradient_descent_on_the_weighted_mean(max_norm):
    assert_weighted_mean(max_norm)


def assert_weighted_mean(max_norm):
    """Two workers must take the steps of plain gradient descent."""
    results = float32_results(
        functools.partial(descend_clipped, max_norm), list(batches_of(122))
    )
    params = steps_in_turn(
        2, [3, 1], loss=weighted_loss, count=label_weight, max_norm=max_norm
    )
    assert d2lmulti.rounding.all_close(params, results)


def descend_clipped(max_norm, batches):
    """Plain gradient descent on the weighted mean."""
    params = tiny_init(0)
    for X_batch, y_batch in batches:
        for param in params:
            param.attach_grad()
        with autograd.record():
            losses = weighted_loss(tiny_net(X_batch, params), y_batch)
            mean = losses.sum() / (1 + y_batch).sum()
        mean.backward()
        norm = sum((p.grad**2).sum() for p in params) ** 0.5
        assert norm > 0.05
        scale = min(1, max_norm / float(norm))
        params = [p - 0.1 * p.grad * scale for p in params]
    return params


@pytest.mark.parametrize('weight', [lambda y: 1, len])
def test_a_mean_over_workers_or_examples_is_noticed(weight):
    params = steps_in_turn(2, [3, 1], loss=weighted_loss, count=weight)
    results = float32_results(
        functools.partial(descend_clipped, 1e9), list(batches_of(122))
    )
    assert d2lmulti.rounding.rounding_ratio(params, results) > 100


def test_a_minibatch_without_weight_changes_nothing():
    params = steps_in_turn(
        2,
        None,
        loss=lambda scores, y: d2lmulti.loss(scores, y) * 0,
        count=lambda y: 0,
        max_norm=1.0,
    )
    assert d2lmulti.training.max_difference(params, tiny_init(0)) == 0


class Delayed:
    """A process among others, whose sum is `others`; messages take time."""

    rank, size = 0, 2

    def __init__(self, others):
        self.others, self.questions, self.exchanges = others, 0, 0

    def Iallreduce(self, sent, received):
        received[...] = onp.nan  # not there yet
        self.sent, self.received = sent, received
        self.exchanges += 1
        return self

    def Test(self, status):
        self.questions += 1
        if self.questions % 3:
            return False
        self.received[...] = self.sent + self.others
        return True


@pytest.mark.parametrize('k', [1, 2, 3, 4])
@pytest.mark.parametrize('dtype', ['float32', 'float64'])
def test_an_allreduce_over_processes_sums_all_devices_once(k, dtype):
    data = [
        np.array([[i + 1.0, -2.0 * i]], dtype=dtype, ctx=mx.cpu(i))
        for i in range(k)
    ]
    held, comm = list(data), Delayed(onp.array([[100.0, 1000.0]], dtype))
    cluster.allreduce_processes(data, comm)
    right = [[k * (k + 1) / 2 + 100, -k * (k - 1) + 1000]]
    assert [array.tolist() for array in held] == [right] * k
    assert {str(array.dtype) for array in held} == {dtype}
    assert comm.exchanges == 1


@pytest.mark.parametrize(
    'array, message',
    [
        (np.ones(3), 'is an MXNet array, .*: array.asnumpy()'),
        ([1.0], 'is a list of float, but a NumPy array of numbers'),
        (onp.array([True]), 'NumPy array of numbers'),
        (onp.ones((2, 3)).T, 'C-contiguous'),  # its numbers would move
    ],
)
def test_what_mpi_cannot_sum_in_place_is_refused(array, message):
    with pytest.raises(TypeError, match=message):
        cluster.exchange(array, Delayed(0))


# What needs real processes is done by one job of three, part after part: a job
# costs more than what a test does in it.

STEPS = """
number = 1 + (comm.rank == 1)

def take_steps(how, allreduce):
    X, y, _, _ = read_fashion_mnist()
    minibatches = Minibatches(X[:183], y[:183], batch_size=61, seed=0)
    devices, params = try_devices(number), init_params()
    replicas = [get_params(params, device) for device in devices]
    for rows in minibatches.rows(epoch=0):
        cluster.cluster_step(rows, minibatches, replicas, devices, 0.2, comm,
                             allreduce, [5, 30, 1], net=smooth_lenet,
                             num_micro_batches=2)
    for i, replica in enumerate(replicas):
        onp.savez(f'{path}/{how}-{comm.rank}-{i}.npz',
                  *[param.asnumpy() for param in replica])
"""

BROADCASTS = """
def broadcasts():
    array = np.array(onp.random.RandomState(comm.rank).normal(size=10_000),
                     dtype='float32')
    for turn in range(2):  # can be called again
        params = [array + turn, np.full(3, float(comm.rank))]
        before = [float(param.sum()) for param in params]
        cluster.broadcast_params(params, comm)
        print(turn, 'before', before)
        print(turn, 'after', [float(param.sum()) for param in params])
"""

TRAININGS = """
X, y, X_test, y_test = (a[:64] for a in read_fashion_mnist())

def train(name, folder=None, training=small_training, **options):
    try:
        training(folder, **options)
        print(f'{name}: trained')
    except ValueError as error:
        print(f'{name}: {error}')

def train_counted(name, folder):
    taken, original = [], cluster.worker_rows

    def note(*args):
        taken.append(original(*args))
        return taken[-1]

    cluster.worker_rows = note
    train(name, folder, elastic=True, num_devices=number,
          checkpoint_every=3, init=tiny_init, net=tiny_net,
          update=d2lmulti.adam, lr=0.01)
    cluster.worker_rows = original
    onp.savez(f'{path}/rows-{comm.rank}.npz', *taken)

def resume_from(name, **state):
    def load(folder, known, rank):
        return Checkpoint(tiny_init(0), settings=known, **state)

    original = resume.load_checkpoint
    resume.load_checkpoint = load
    train(name, 'folder', num_devices=1, init=tiny_init, net=tiny_net)
    resume.load_checkpoint = original
"""

ALL = """
take_steps('alone', d2lmulti.allreduce)
take_steps('together',
           functools.partial(cluster.allreduce_processes, comm=comm))
broadcasts()
tiny = {'num_devices': 1, 'init': tiny_init, 'net': tiny_net}
train('a small test set', **tiny, data=(X, y, X_test[:1], y_test[:1]))
print('mean label:', *small_training(
    None, **tiny, data=(X, y, X_test[:4], y_test[:4]),
    evaluate=lambda replicas, batches, devices, net:
        float(next(iter(batches))[1].mean()))[1])
train('other epochs', **tiny, num_epochs=number)
train('other intervals', **tiny, checkpoint_every=number)
train('other shapes', num_devices=1,
      init=lambda seed: [np.zeros((784, number))], net=tiny_net)
resume_from('other checkpoints', step=comm.rank)
train('other settings', **tiny, lr=0.1 * number)
train('other data', **tiny, data=(X + (number == 2), y, X, y))
train('other updates', **tiny, update=functools.partial(
    d2lmulti.sgd_momentum, momentum=number / 4))
train('whole', f'{path}/undisturbed', tiny_training, num_devices=number)
train_counted('from one worker', f'{path}/elastic')
"""


@pytest.fixture(scope='module')
def job_of_three(tmp_path_factory):
    """Return the folder with the results of the job, and what it printed."""
    folder = tmp_path_factory.mktemp('three')
    onp.savez(folder / 'rows-one.npz', *interrupted_rows(folder / 'elastic'))
    script = HEAD + STEPS + BROADCASTS + TRAININGS + ALL
    return folder, lines_of(folder, script, folder, processes=3)


WITH_ADAM = {
    'init': tiny_init,
    'net': tiny_net,
    'update': d2lmulti.adam,
    'lr': 0.01,
}


def interrupted_rows(folder):
    """Let one worker take four steps of an epoch's five, the last without a
    checkpoint; return the rows of the others."""
    rows, cluster_step = [], cluster.cluster_step

    def failing_step(*args, **options):
        rows.append(args[0])
        if len(rows) == 5:
            raise KeyboardInterrupt
        return cluster_step(*args, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, 'cluster_step', failing_step)
        with pytest.raises(KeyboardInterrupt):
            small_training(
                folder,
                num_devices=1,
                checkpoint_every=3,
                **WITH_ADAM,
            )
    return rows[:3]


def printed(job_of_three, part):
    """Return what each worker printed in a part of the job."""
    start = f'{part}: '
    return [
        line[len(start) :]
        for line in job_of_three[1]
        if line.startswith(start)
    ]


@functools.lru_cache
def sequential():
    """Return the parameters after the same steps on one device, in several
    orders."""

    def reference(batches):
        return descend(d2lmulti.init_params(), batches, 0.2, smooth_lenet)

    return float32_results(reference, list(batches_of(183)))


def file_distance(path):
    """Return how far the parameters in a file are from `sequential`."""
    with onp.load(path) as arrays:
        saved = [arrays[f'arr_{i}'] for i in range(8)]
    return d2lmulti.rounding.rounding_ratio(saved, sequential())


def params_bytes(path):
    """Return the parameters in a file as bytes."""
    with onp.load(path) as arrays:
        return b''.join(arrays[name].tobytes() for name in arrays.files)


def test_processes_take_the_steps_of_one(job_of_three):
    """With 1, 2 and 1 devices; without the sum, they do not."""
    alone, together = (
        sorted(job_of_three[0].glob(f'{how}-*.npz'))
        for how in ('alone', 'together')
    )
    assert len(alone) == len(together) == 4
    assert min(map(file_distance, alone)) > 100
    assert max(map(file_distance, together)) < 8
    assert len({params_bytes(path) for path in together}) == 1


def test_a_broadcast_makes_all_workers_equal_to_rank_0(job_of_three):
    for turn in range(2):
        lines = [
            line for line in job_of_three[1] if line.startswith(f'{turn} ')
        ]
        before = {line for line in lines if 'before' in line}
        after = {line for line in lines if 'after' in line}
        assert len(before) == 3 and len(after) == 1
        assert after.pop().replace('after', 'before') in before
        assert any(line.endswith(' 0.0]') for line in before)


TRAIN = f"""
import os, sys
sys.path.insert(0, {TESTS!r})
from mpi4py import MPI
from d2lmulti.cluster import resume
from helpers import small_training, tiny_init, tiny_net, tiny_training
rank = MPI.COMM_WORLD.rank
folder, fail_at, who = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
finish_step = resume.Training.finish_step
def finish_or_die(self, *args):
    finish_step(self, *args)
    if (rank == who and self.state.epoch * 10 + self.state.step == fail_at
            and not os.path.exists('failed')):
        open('failed', 'w').close()
        os.kill(os.getpid(), 9)
resume.Training.finish_step = finish_or_die
"""
SAME = TRAIN + 'tiny_training(folder, num_devices=1 + (rank == 1))'


def params_in(folder):
    """Return the bytes in the newest checkpoint, and the accuracies."""
    state = load_checkpoint(folder)
    arrays = [*state.params, *state.optimizer]
    assert len(arrays) == 2 + 5  # Adam's
    return [array.tobytes() for array in arrays] + state.history['accuracies']


@pytest.fixture(scope='module')
def undisturbed(job_of_three):
    """Return the checkpoints of three workers with 1, 2 and 1 devices."""
    return job_of_three[0] / 'undisturbed'


def test_a_job_that_was_killed_and_restarted_ends_with_the_same_parameters(
    tmp_path, monkeypatch, undisturbed
):
    """Chapter 19 kills rank 1 in the second epoch; here it is the rank that
    writes, in the first."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(JobFailed, match='rank 0 was killed by SIGKILL'):
        lines_of(tmp_path, SAME, 'again', 7, 0, processes=3)
    before = load_checkpoint('again')
    assert (before.epoch, before.step) in ((0, 6), (0, 7))
    assert params_in('again') != params_in(undisturbed)
    lines_of(tmp_path, SAME, 'again', -1, 0, processes=3)
    assert params_in('again') == params_in(undisturbed)


@pytest.mark.long
@pytest.mark.timeout(60 + 100 * KILLS)
def test_kills_at_random_moments_change_nothing(
    tmp_path, monkeypatch, undisturbed
):
    """D2LMULTI_KILLS=30 kills 30 ranks, one in each job."""
    monkeypatch.chdir(tmp_path)
    seed = random.randrange(1000)
    print('seed', seed)  # pytest shows it when the test fails
    rng = random.Random(seed)
    for i in range(KILLS):
        step, who = rng.randrange(1, 20), rng.randrange(3)
        with contextlib.suppress(FileNotFoundError):
            os.remove('failed')
        errors = io.StringIO()
        lines_of(
            tmp_path,
            SAME,
            f'killed{i}',
            step,
            who,
            processes=3,
            restarts=1,
            err=errors,
        )
        assert f'rank {who} was killed by SIGKILL' in errors.getvalue()
        assert params_in(f'killed{i}') == params_in(undisturbed)


def test_three_workers_learn_what_one_learns(undisturbed):
    _, accuracies = tiny_training(None, num_devices=1)
    three = load_checkpoint(undisturbed)
    assert accuracies[-1] > 0.3
    assert abs(three.history['accuracies'][-1] - accuracies[-1]) < 0.2
    assert three.settings['devices'] == [1, 2, 1]


def test_training_goes_on_with_other_devices(tmp_path):
    """As the refusal says; the steps that were taken are not repeated."""
    train = functools.partial(small_training, init=tiny_init, net=tiny_net)
    right = train(tmp_path / 'two')
    results = [right] + [
        train(None, num_devices, num_micro_batches=num_micro_batches)
        for num_devices, num_micro_batches in ((1, 1), (1, 3), (3, 2))
    ]
    with pytest.raises(ValueError, match='devices = .2.*elastic=True'):
        train(tmp_path / 'two', num_devices=1)
    for path in sorted((tmp_path / 'two').glob('*'))[1:]:
        path.unlink()  # the end
    state = load_checkpoint(tmp_path / 'two')
    assert (state.epoch, state.step) == (1, 4)
    resumed = train(tmp_path / 'two', num_devices=1, elastic=True)
    ours, *others = (
        [onp.frombuffer(text, 'float32') for text in replicas[0]]
        for replicas, _ in [resumed, *results]
    )
    assert d2lmulti.rounding.all_close(ours, others)
    assert len(resumed[1]) == 2
    with pytest.raises(ValueError, match='written with lr ='):
        train(tmp_path / 'two', lr=0.1, elastic=True)


def test_other_workers_take_each_example_that_is_left_once(job_of_three):
    """One worker took three steps of an epoch; three go on in its midst."""
    assert printed(job_of_three, 'from one worker') == ['trained'] * 3
    rows = {}
    for name in ('one', '0', '1', '2'):
        with onp.load(job_of_three[0] / f'rows-{name}.npz') as arrays:
            rows[name] = [arrays[f'arr_{i}'] for i in range(len(arrays))]
    three = [onp.concatenate(p) for p in zip(*(rows[n] for n in '012'))]
    X, y, _, _ = d2lmulti.read_fashion_mnist()
    minibatches = d2lmulti.Minibatches(X[:150], y[:150], 32, seed=0)
    right = [*minibatches.rows(0), *minibatches.rows(1)]
    taken = [*rows['one'], *three]
    assert len(taken) == len(right) == 10
    for one_step, all_rows in zip(taken, right):
        assert sorted(one_step) == sorted(all_rows)


def test_other_workers_end_where_one_does(job_of_three, tmp_path):
    """With Adam, whose state and count of steps go on, too."""
    ends = [load_checkpoint(job_of_three[0] / 'elastic')]
    for k, n in ((1, 1), (1, 3), (3, 2)):
        folder = tmp_path / f'{k} {n}'
        small_training(folder, k, num_micro_batches=n, **WITH_ADAM)
        ends.append(load_checkpoint(folder))
    assert [(end.epoch, end.step) for end in ends] == [(1, 5)] * 4
    assert [end.settings['workers'] for end in ends] == [3, 1, 1, 1]
    assert [end.optimizer[-1] for end in ends] == [10] * 4
    ours, *others = ([*end.params, *end.optimizer] for end in ends)
    assert d2lmulti.rounding.all_close(ours, others)


def test_each_worker_draws_its_own_random_numbers(tmp_path):
    """Also one that was not there when the checkpoint was written."""
    save_checkpoint(tmp_path, Checkpoint([onp.ones(1)]))
    drawn = []
    for rank in (0, 1, 2, 2):
        load_checkpoint(tmp_path, rank=rank)
        drawn.append(
            (onp.random.rand(), random.random(), np.random.uniform().item())
        )
    assert drawn[2] == drawn[3]
    assert all(len(set(numbers)) == 3 for numbers in zip(*drawn))


def test_random_numbers_are_others_in_each_epoch_step_and_training(tmp_path):
    drawn = set()
    for i, (seed, epoch, step) in enumerate(
        [(0, 0, 1), (0, 1, 1), (0, 1, 2), (3, 1, 2)]
    ):
        save_checkpoint(
            tmp_path / str(i),
            Checkpoint([onp.ones(1)], epoch, step, {'seed': seed}),
        )
        drawn |= {onp.random.rand(), random.random()}
        drawn |= {np.random.uniform().item()}
    assert len(drawn) == 4 * 3


class Momentum:
    """An update rule that is an object."""

    def __init__(self, momentum):
        self.momentum = momentum

    def __call__(self, params, grads, state, lr):
        d2lmulti.sgd_momentum(params, grads, state, lr, self.momentum)


def make_net(rate=0.2, activation=np.tanh):
    """Return a network whose closure holds what it does."""

    def net(X, params):
        X = npx.dropout(X.reshape(len(X), -1), p=rate)
        return activation(np.dot(X, params[0]) + params[1])

    return net


def rates(after):
    """Return a schedule; only step 3 of 4 differs with `after`."""
    return lambda step: after if step == 3 else 0.01


FORTY = [array[:40].copy() for array in d2lmulti.read_fashion_mnist()]


def data_with(change_X=0, change_y=0):
    """Return a small data set, with a change in its middle."""
    X, y, X_test, y_test = (array.copy() for array in FORTY)
    X[25, 0, 14, 14] += change_X
    y[25] = (y[25] + change_y) % 10
    return X, y, X_test, y_test


BEFORE_AND_AFTER = {
    'tried loss (activation)': (
        {'net': make_net()},
        {'net': make_net(activation=np.sin)},
    ),
    'tried update': ({'update': Momentum(0.9)}, {'update': Momentum(0.0)}),
    'tried update (closure)': (
        {'update': functools.partial(d2lmulti.adam, beta2=0.999)},
        {'update': lambda *args: d2lmulti.adam(*args, beta2=0.99)},
    ),
    'schedule': ({'schedule': rates(0.01)}, {'schedule': rates(0.02)}),
    'data (labels)': ({}, {'data': data_with(change_y=1)}),
}
train_little = functools.partial(
    small_training, init=tiny_init, net=tiny_net, data=data_with()
)


@pytest.mark.parametrize('name', BEFORE_AND_AFTER)
def test_training_resumes_with_its_own_functions_and_data_only(tmp_path, name):
    assert_refused(tmp_path, name)


def assert_refused(folder, name):
    before, after = BEFORE_AND_AFTER[name]
    train_little(folder, **before)
    with pytest.raises(
        ValueError, match=f'written with {name.partition(" (")[0]} ='
    ):
        train_little(folder, **{**before, **after})


def other_init(seed):
    """Return other parameters, of the same shapes."""
    return [param + 0.1 for param in tiny_init(seed)]


def loss_twice(scores, y):
    """Return twice the loss."""
    return 2 * d2lmulti.loss(scores, y)


def count_half(y):
    """Count each example half."""
    return len(y) / 2


# Two values of each option of `train_on_cluster`, neither of them the one
# that is meant where it is left out, and the setting that differs then.
OPTIONS = {
    'num_devices': (1, 3, 'devices'),
    'batch_size': (16, 31, 'batch_size'),
    'lr': (0.1, onp.float32(0.3), 'lr'),
    'seed': (1, 2, 'seed'),
    'data': (data_with(change_X=0.01), data_with(change_y=1), 'data'),
    'init': (other_init, lambda seed: tiny_init(seed + 1), 'tried loss'),
    'checkpoint_every': (3, 5, 'checkpoint_every'),
    'schedule': (lambda step: 0.1, lambda step: 0.3, 'schedule'),
    'speed': (3.0, 5.0, 'speeds'),
    'net': (make_net(), make_net(0.3), 'tried loss'),
    'loss': (loss_twice, lambda *args: 3 * d2lmulti.loss(*args), 'tried loss'),
    'count': (count_half, lambda y: len(y) / 4, 'tried loss'),
    'update': (d2lmulti.adam, Momentum(0.9), 'tried update'),
    'num_micro_batches': (2, 3, 'num_micro_batches'),
    'max_norm': (0.01, onp.float64(0.02), 'max_norm'),
    'adapt': (True, False, 'adapt'),
}
FREE = {  # change no step: how long, what is written, what is measured
    'num_epochs': 3,
    'keep_every': 1,
    'evaluate': lambda *args: 0.5,
    'elastic': True,
    'allreduce': d2lmulti.allreduce,  # of one process
}
BEFORE_AND_NOW = [
    *(
        (name, {name: one}, {name: other})
        for name, (one, other, _) in OPTIONS.items()
    ),
    ('max_norm', {}, {'max_norm': 0.01}),
    ('max_norm', {'max_norm': 0.01}, {}),
    *(
        pytest.param(name, before, now, marks=pytest.mark.ci)
        for name, (one, *_) in OPTIONS.items()
        for before, now in (({}, {name: one}), ({name: one}, {}))
        if name != 'max_norm'
    ),
]


def id_of(case):
    """Return which options a case has."""
    return case if isinstance(case, str) else ', '.join(case) or 'without'


def assert_options_count(folder, name, before, now):
    """Training goes on with the options with which it began only."""
    train_little(folder, num_epochs=1, **before)
    setting = OPTIONS[name][2]
    with pytest.raises(ValueError, match=f'written with {setting} = .*same'):
        train_little(folder, num_epochs=1, **now)


@pytest.mark.parametrize('name, before, now', BEFORE_AND_NOW, ids=id_of)
def test_an_option_that_is_new_gone_or_changed_is_refused(
    tmp_path, name, before, now
):
    assert_options_count(tmp_path, name, before, now)


@pytest.mark.ci
@pytest.mark.parametrize('name', ['max_norm', 'adapt', 'checkpoint_every'])
def test_an_option_that_is_not_compared_is_noticed(
    tmp_path, monkeypatch, name
):
    settings = resume.Training.settings

    def without(*args):
        return {n: v for n, v in settings(*args).items() if n != name}

    monkeypatch.setattr(resume.Training, 'settings', without)
    with pytest.raises(pytest.fail.Exception):
        assert_options_count(tmp_path, name, {}, {name: OPTIONS[name][0]})


def test_each_option_counts_or_changes_no_step():
    steps = inspect.signature(cluster.cluster_step).parameters.values()
    known = {p.name for p in steps if p.kind == p.KEYWORD_ONLY}
    known |= {*inspect.signature(d2lmulti.train_on_cluster).parameters}
    assert known == {*OPTIONS, *FREE, 'checkpoints', 'options'}


@pytest.mark.parametrize(
    'first, then',
    [
        ({}, FREE),
        (FREE, {}),
        # What is meant without them may be said.
        ({}, {'max_norm': None, 'num_micro_batches': 1, 'update': None}),
        ({'max_norm': None, 'num_micro_batches': 1, 'update': None}, {}),
        ({}, {'loss': d2lmulti.loss, 'count': len, 'adapt': False}),
        ({'max_norm': onp.float64(0.01)}, {'max_norm': 0.01}),
    ],
    ids=id_of,
)
def test_what_changes_no_step_is_no_other_training(tmp_path, first, then):
    train_little(tmp_path, **first)
    _, accuracies = train_little(tmp_path, **then)
    assert len(accuracies) >= 2


def test_an_elastic_job_still_needs_the_options_that_count(tmp_path):
    train_little(tmp_path, max_norm=0.01)
    train_little(tmp_path, max_norm=0.01, num_devices=1, elastic=True)
    with pytest.raises(ValueError, match='written with max_norm = 0.01, this'):
        train_little(tmp_path, num_devices=1, elastic=True)


def test_training_resumes_with_new_objects_that_do_the_same(tmp_path):
    """Also for more epochs, for which the schedule has more rates."""
    for num_epochs in (1, 3):
        _, accuracies = train_little(
            tmp_path,
            num_epochs=num_epochs,
            net=make_net(),
            update=Momentum(0.9),
            schedule=rates(0.02),
        )
        assert len(accuracies) == num_epochs


def by_sixteen(X, params):
    """A network for minibatches of a multiple of 16 only."""
    assert len(X) % 16 == 0, 'not whole'
    return tiny_net(X, params)


def test_functions_that_fail_with_eight_examples_are_warned_of(tmp_path):
    """Nothing tells them from others, so that must be said."""
    few = [data[:32] for data in data_with()]
    with pytest.warns(UserWarning, match='8 examples .AssertionError: not wh'):
        train_little(tmp_path, net=by_sixteen, data=few)


def test_functions_that_work_are_not_warned_of(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        warnings.filterwarnings('ignore', 'ndarray.ctx has been renamed')
        train_little(tmp_path, update=Momentum(0.9))


class FailAt:
    """Adam, whose step `step` writes a number, on one device."""

    def __init__(self, step, value, device=0):
        self.num_left, self.value = step + 1, value
        self.device = mx.cpu(device)

    def __call__(self, params, grads, state, lr):
        d2lmulti.adam(params, grads, state, lr)
        self.num_left -= params[0].ctx == self.device
        if self.num_left == 0:
            params[0][300, 7] = self.value


def nan_loss(step):
    """Return a loss that divides 0 by 0 in step `step`."""
    factors = iter([1] * (step + 1) + [float('nan')])  # one to try it
    return lambda scores, y: d2lmulti.loss(scores, y) * next(factors)


def growing_net(X, params):
    """Return scores that overflow: the loss has no least step size."""
    return (np.dot(X.reshape(len(X), -1), params[0]) + params[1]) ** 2


NOT_FINITE = {
    'nan in an update': (
        7,
        {'lr': 0.01, 'update': FailAt(7, float('nan'))},
        r'params.0. of cpu.0., .* the gradients are finite: the '
        'rate, 0.01, is far too large, or the update divides by 0',
    ),
    'infinity in an update': (
        9,
        {'lr': 0.01, 'update': FailAt(9, float('-inf'))},
        'the gradients are finite',
    ),
    'nan in the loss': (
        8,
        {'loss': nan_loss(8)},
        'the gradients are not finite: the loss of this minibatch',
    ),
    'nan on another device, in the last step': (
        9,
        {'num_devices': 2, 'lr': 0.01, 'update': FailAt(9, float('nan'), 1)},
        'params.0. of cpu.1., of shape .* the gradients are finite',
    ),
    'a rate that is too large': (
        None,
        {'lr': 3.0, 'net': growing_net},
        'Likely, they had grown: the rate, 3, is too large',
    ),
}


@pytest.mark.parametrize('case', NOT_FINITE)
def test_a_nan_ends_training_and_the_last_good_file_stays(tmp_path, case):
    assert_ends_with_the_last_good_file(tmp_path, case)


def assert_ends_with_the_last_good_file(folder, case):
    """Its step, parameter and likely cause are named; five steps an epoch."""
    step, options, cause = copy.deepcopy(NOT_FINITE[case])
    where = (
        f'step {step % 5} of epoch {step // 5}, ' if step is not None else ''
    )
    train = functools.partial(
        small_training,
        folder,
        checkpoint_every=2,
        **{
            'num_devices': 1,
            'init': tiny_init,
            'net': tiny_net,
            **options,
        },
    )
    with pytest.raises(
        FloatingPointError, match=f'diverged in {where}.*{cause}'
    ):
        train()
    state = load_checkpoint(folder)
    assert all(onp.isfinite(param).all() for param in state.params)
    if step is not None:
        assert (state.epoch, state.step) == (step // 5, step % 5 // 2 * 2)


@pytest.mark.parametrize(
    'part, message',
    [
        ('other checkpoints', 'that all hosts share'),
        ('other settings', 'started with different arguments'),
        ('other epochs', 'started with different arguments'),
        ('other intervals', 'started with different arguments'),
        ('other shapes', 'init must return arrays of the same shapes'),
        ('other data', 'started with different arguments'),
        ('other updates', 'update must be the same in all'),
    ],
)
def test_workers_that_were_started_differently_all_refuse(
    job_of_three, part, message
):
    """They would wait for each other."""
    refusals = printed(job_of_three, part)
    assert len(refusals) == 3 and all(message in line for line in refusals)


IMAGES = onp.ones((150, 1, 28, 28), 'float32')


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
        ({'num_devices': 0}, ValueError, 'num_devices must be at least 1'),
        ({'speed': 0}, ValueError, 'speed must be a finite number above 0'),
        ({'speed': float('nan')}, ValueError, 'speed must be'),
        ({'speed': 1e-50}, ValueError, 'speeds must be'),
        ({'speed': 'fast'}, TypeError, 'speed must be a number'),
        ({'num_micro_batches': 0}, ValueError, 'num_micro_batches must be'),
        ({'max_norm': 0}, ValueError, 'max_norm must be'),
        ({'update': 3}, TypeError, 'update is 3, but a function'),
        ({'net': None}, TypeError, 'net is None, but a function'),
        ({'init': None}, TypeError, 'init is None, but a function'),
        ({'init': lambda seed: []}, TypeError, 'must return a list of MXNet'),
        ({'evaluate': 1}, TypeError, 'evaluate is 1, but a f'),
        ({'schedule': 0.1}, TypeError, 'schedule is 0.1, but a f'),
        ({'allreduce': 1}, TypeError, 'allreduce is 1, but a f'),
        ({'schedule': lambda step: None}, TypeError, 'schedule.0. is None'),
        ({'schedule': lambda step: -1.0}, ValueError, 'schedule.0. must be'),
        ({'momentum': 0.9}, TypeError, "no argument 'momentum'"),
        ({'data': [(1, 2), (3, 4)]}, TypeError, 'of two pairs'),
        (
            {'data': 2 * (IMAGES, onp.full(150, 10))},
            ValueError,
            'integers from 0 to 9, but example 0 has 10',
        ),
    ],
)
def test_what_cannot_work_is_refused_before_training_begins(
    tmp_path, options, error, message
):
    with pytest.raises(error, match=message):
        small_training(tmp_path, **options)
    assert list(tmp_path.iterdir()) == []


def test_numbers_of_numpy_are_numbers(tmp_path):
    """Also in a checkpoint, whose settings are JSON."""
    trained, right = (
        small_training(
            tmp_path / kind.__name__,
            lr=kind(0.25),
            max_norm=kind(0.5),
            batch_size=int32(32),
            seed=int32(1),
            num_micro_batches=int32(2),
            init=tiny_init,
            net=tiny_net,
        )
        for kind, int32 in ((onp.float32, onp.int32), (float, int))
    )
    assert trained == right


def test_a_test_set_smaller_than_the_workers_will_do(job_of_three):
    """Without an example, a worker has no part of the mean."""
    assert printed(job_of_three, 'a small test set') == ['trained'] * 3


def test_each_example_of_the_test_set_counts_once(job_of_three):
    """Of four, the first worker has two."""
    labels = d2lmulti.read_fashion_mnist()[3][:4]
    for line in printed(job_of_three, 'mean label'):
        for found in map(float, line.split()):
            assert found == pytest.approx(labels.mean())
    assert labels[:2].mean() != labels.mean()


def test_a_test_set_without_examples_is_refused_before_training(tmp_path):
    X, y, _, _ = d2lmulti.read_fashion_mnist()
    with pytest.raises(ValueError, match='at least one example'):
        small_training(tmp_path, data=(X[:64], y[:64], X[:0], y[:0]))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    'entry, kind',
    [(1, 'int'), (0.5, 'float'), (onp.zeros(3), 'ndarray'), ({}, 'dict')],
)
def test_a_state_that_would_not_resume_exactly_is_refused(
    tmp_path, entry, kind
):
    def update(params, grads, state, lr):
        state[:] = [entry]
        for param, grad in zip(params, grads):
            param -= lr * grad

    with pytest.raises(TypeError, match=f'of MXNet arrays.* of type {kind}:'):
        small_training(tmp_path, update=update, init=tiny_init, net=tiny_net)
    assert list(tmp_path.iterdir()) == []


class Echo:
    """A job of two, whose other worker does what this one does."""

    rank, size = 0, 2

    def Ibcast(self, array, root):
        return types.SimpleNamespace(Test=lambda status: True)

    def allreduce(self, data):
        for array in data:
            if array.ndim == 2:  # a row for each worker
                array[1] = array[0]


def test_the_schedule_counts_the_steps_of_two_workers_once(monkeypatch):
    taken = []

    def note(rows, minibatches, replicas, devices, lr, *_, **options):
        taken.append(lr)
        return np.zeros(2)

    monkeypatch.setattr(cluster, 'all_processes', Echo)
    monkeypatch.setattr(cluster, 'cluster_step', note)
    small_training(
        None,
        num_devices=1,
        init=tiny_init,
        net=tiny_net,
        schedule=lambda step: 0.5**step,
        allreduce=Echo().allreduce,
    )
    assert taken == [0.5**step for step in range(10)]


def assert_any_interruption_changes_nothing(folder, monkeypatch, step):
    """With two workers whose shares change in every step."""
    monkeypatch.setattr(cluster, 'all_processes', Echo)
    monkeypatch.setattr(
        resume,
        'adapt_shares',
        lambda shares, recent, margin: [shares[0] - 1, shares[1] + 1],
    )
    assert_interruption_changes_nothing(
        folder,
        step,
        num_devices=1,
        adapt=True,
        init=tiny_init,
        net=tiny_net,
        update=d2lmulti.adam,
        num_micro_batches=2,
        max_norm=1.0,
        schedule=lambda step: 0.01 / (1 + step),
        allreduce=Echo().allreduce,
    )


@pytest.mark.parametrize('step', [1, 4, 7, 10])
def test_an_interruption_changes_nothing_with_adam_and_shares(
    tmp_path, monkeypatch, step
):
    assert_any_interruption_changes_nothing(
        tmp_path / 'folder', monkeypatch, step
    )


def test_a_second_job_in_a_folder_is_refused(tmp_path):
    # As the first one does.
    entry = checkpoint_files.claim_checkpoints(tmp_path)
    with pytest.raises(OSError, match='another job writes there'):
        train_little(tmp_path)
    assert list(tmp_path.iterdir()) == []
    os.close(entry)
    assert train_little(tmp_path, num_epochs=1) == train_little(
        tmp_path, num_epochs=1
    )
