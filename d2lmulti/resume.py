"""What surrounds the steps of a job of several workers, so that it begins,
stops and goes on exactly.

MXNet numbers workers in the order in which they arrive, so after a restart
another process has rank 0. Here the workers are numbered by what they are.
"""

import collections
import dataclasses
import functools
import json
import os
import platform
import re
import time
import zlib
from typing import (
    Any,
    Callable,
    Deque,
    Dict,
    Iterator,
    List,
    Optional,
    Sequence,
    Set,
    Tuple,
)

import numpy as onp
from mxnet import np

from .checkpoint import (
    ROUNDING,
    Checkpoint,
    get_random_state,
    load_checkpoint,
    save_checkpoint,
    seed_mxnet,
    seed_random,
)
from .checks import (
    check_finite,
    check_optimizer_state,
    check_positive_int,
    check_positive_number,
    check_scalar,
    check_training,
    check_weight,
)
from .data import Minibatches
from .devices import split_slices, try_devices
from .heterogeneous import adapt_shares, balanced_shares
from .network import lenet
from .replicas import get_params

MARGIN = 0.03  # the fraction of its time that new shares must save
WHOLE = 2**24  # float32, in which workers exchange numbers, holds such whole


class Workers:
    """A key-value store whose ranks do not change with a restart.

    Workers with more devices come first, then faster ones, then by host:
    those of equal rank in two runs do the same work. `devices`, `speeds`:
    how many, and how fast, by rank.
    """

    def __init__(self, store: Any, num_devices: int, speed: float) -> None:
        self.store, self.num_workers = store, store.num_workers
        self.rank = store.rank
        self.known: Set[str] = set()
        host = zlib.crc32(platform.node().encode()) % WHOLE
        found = self.gather('workers', [num_devices, speed, host])
        order = onp.lexsort([-column for column in found.T[::-1]])
        self.rank = order.tolist().index(store.rank)
        self.devices = found[order, 0].astype(int).tolist()
        self.speeds = found[order, 1].tolist()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    def gather(self, key: str, values: Sequence[float]) -> onp.ndarray:
        """Return a row of numbers from each worker: float32, by rank.

        Each pushes a table in which only its row is not zero.
        """
        table = np.zeros((self.num_workers, len(values)), dtype='float32')
        if key not in self.known:
            self.store.init(key, table)
            self.known.add(key)
        table[self.rank] = np.array(values, dtype='float32')
        if self.num_workers > 1:
            self.store.push(key, table.copy())
            self.store.pull(key, out=table)
        return table.asnumpy()

    def mean(self, value: float, weight: float) -> float:
        """Return the mean of the workers' values, by their weights."""
        found = self.gather('mean', [value, weight]).astype('float64')
        return float(onp.average(found[:, 0], weights=found[:, 1]))


@dataclasses.dataclass
class Plan:
    """What a job was asked for: see `train_on_cluster`."""

    num_epochs: int
    lr: float
    schedule: Optional[Callable[[int], float]]
    num_devices: Optional[int]
    speed: Optional[float]
    adapt: bool
    in_rank_order: bool
    redistribute: bool
    checkpoints: Optional[str]
    checkpoint_every: int


class Job:
    """This worker's part of a job: its devices, and where training stands.

    Begins where the newest checkpoint ends, or with `params`.
    """

    def __init__(
        self,
        store: Any,
        params: Sequence,
        batches: Any,
        plan: Plan,
        options: Dict[str, Any],
    ) -> None:
        self.devices = try_devices(find_num_devices(plan.num_devices))
        self.workers = Workers(
            store,
            len(self.devices),
            find_speed(plan.speed, len(self.devices)),
        )
        check_params(params, self.workers)
        self.batches, self.plan, self.options = batches, plan, options
        total = range(sum(self.workers.devices))
        lr = 1 if plan.schedule else plan.lr
        check_training(plan.num_epochs, lr, batches, total)
        self.recent: Deque[List[float]] = collections.deque(maxlen=7)
        self.state = self.restore(params)

    def restore(self, params: Sequence) -> Checkpoint:
        """Return the newest checkpoint, or that of an untrained network."""
        state = load_or_init(
            self.plan.checkpoints,
            self.settings(params),
            params,
            self.workers,
            self.plan.redistribute,
            num_epochs=int(self.plan.num_epochs),
            checkpoint_every=int(self.plan.checkpoint_every),
        )
        state.shares = state.shares or balanced_shares(
            self.workers.speeds, self.batches.batch_size
        )
        return state

    def settings(self, params: Sequence) -> Dict[str, Any]:
        """Return what must be the same for training to continue exactly."""
        return job_settings(
            self.batches,
            self.plan.lr,
            params,
            self.workers,
            schedule=self.plan.schedule,
            adapt=self.plan.adapt,
            in_rank_order=self.plan.in_rank_order,
            **self.options,
        )

    def make_replicas(self) -> Tuple[List[list], List[list]]:
        """Return (replicas, optimizer states), one of each for every device.

        The first ones are what checkpoints hold from now on.
        """
        replicas = [
            get_params(self.state.params, device) for device in self.devices
        ]
        states = [
            [
                np.array(array, dtype=str(onp.dtype(array.dtype)), ctx=device)
                for array in self.state.optimizer
            ]
            for device in self.devices
        ]
        self.state.params, self.state.optimizer = replicas[0], states[0]
        return replicas, states

    def rate(self) -> float:
        """Return the learning rate of the next step."""
        if self.plan.schedule is None:
            return self.plan.lr
        step = self.state.epoch * len(self.batches) + self.state.step
        return check_weight(self.plan.schedule(step), f'schedule({step})')

    def rows_left(self) -> Iterator[Any]:
        """Yield the rows of each minibatch that is left of this epoch;
        `finish_step` goes on to the next."""
        start = time.perf_counter()
        all_rows = self.batches.rows(self.state.epoch)
        while self.state.step < len(all_rows):
            yield all_rows[self.state.step]
        self.state.history['seconds'].append(time.perf_counter() - start)
        check_finite(self.state.params, self.plan.lr)

    def finish_step(self, costs: Any) -> None:
        """Count a step, adapt the shares to its costs (each worker's seconds
        per example) if asked to, and every few steps write a checkpoint."""
        state, plan = self.state, self.plan
        self.recent.append(costs.tolist())
        if plan.adapt:
            state.shares = adapt_shares(state.shares, self.recent, MARGIN)
        state.step += 1
        if plan.checkpoints and (
            state.step % plan.checkpoint_every == 0
            or state.step == len(self.batches)
        ):
            save_state(plan.checkpoints, state, self.workers)

    def finish_epoch(self, accuracy: float) -> None:
        """Note the accuracy of an epoch, and go on to the next."""
        self.state.history['accuracies'].append(accuracy)
        self.state.epoch, self.state.step = self.state.epoch + 1, 0

    def accuracy(
        self, replicas: List[list], test_set: Any, evaluate: Callable
    ) -> float:
        """Return the accuracy on a test set, (X, y), over which all workers
        divide themselves."""
        parts = split_slices(len(test_set[1]), self.workers.num_workers)
        X, y = (data[parts[self.workers.rank]] for data in test_set)
        if not len(y):  # there are fewer examples than workers
            return self.workers.mean(0, 0)
        found = evaluate(
            replicas,
            Minibatches(X, y, 256),
            self.devices,
            self.options.get('net', lenet),
        )
        weight = check_weight(self.options.get('count', len)(y))
        return self.workers.mean(check_scalar('evaluate', found), weight)


def scale_gradients(
    grads: Sequence, weight: Any, max_norm: Optional[float] = None
) -> None:
    """Divide gradients, in place, by `weight`, an array; then, if the norm of
    all together exceeds `max_norm`, scale them down to it.

    Where nothing has a weight, the sums are zero and stay zero.
    """
    for grad in grads:
        grad /= np.where(weight == 0, 1, weight)
    if max_norm is not None:
        norm = sum((grad**2).sum() for grad in grads) ** 0.5
        factor = np.minimum(1, float(max_norm) / np.maximum(norm, 1e-30))
        for grad in grads:
            grad *= factor


def find_num_devices(num_devices: Optional[int]) -> int:
    """Return how many devices this worker has: as given, or else as
    D2LMULTI_NUM_DEVICES in the environment says, or else 1."""
    if num_devices is not None:
        check_positive_int(num_devices=num_devices)
        return num_devices
    text = os.environ.get('D2LMULTI_NUM_DEVICES', '1')
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(
            'D2LMULTI_NUM_DEVICES must be the number of devices of this '
            f'worker, at least 1, not {text!r}: leave out a worker without '
            'devices'
        )
    return int(text)


def find_speed(speed: Optional[float], num_devices: int) -> float:
    """Return how fast this worker is: as given, or else in proportion to its
    devices. Raises TypeError or ValueError for an invalid speed."""
    if speed is None:
        return float(num_devices)
    check_positive_number(speed=speed)
    check_positive_number(**{'speed, in float32,': float(onp.float32(speed))})
    return float(speed)


def check_params(params: Any, workers: Workers) -> None:
    """Raise TypeError or ValueError, in all workers, unless `init` returned
    arrays of the same shapes everywhere: servers end at any other."""
    if not isinstance(params, (list, tuple)) or not all(
        isinstance(param, np.ndarray) for param in params or [None]
    ):
        raise TypeError(
            f'init must return a list of MXNet arrays, not {params!r:.60}'
        )
    for param in params:
        if onp.dtype(param.dtype) != 'float32':
            raise TypeError(
                'the parameters must be float32, as what workers exchange '
                f'is, not {param.dtype}'
            )
    shapes = [param.shape for param in params]
    found = workers.gather(
        'shapes', [zlib.crc32(repr(shapes).encode()) % WHOLE]
    )
    if (found != found[0]).any():
        raise ValueError(
            'the workers have different networks: init must return arrays of '
            f'the same shapes in all; here they are {shapes}'
        )


def job_settings(
    batches: Any, lr: float, params: Sequence, workers: Workers, **recipe: Any
) -> Dict[str, Any]:
    """Return what must be the same for training to continue exactly."""
    schedule = recipe.pop('schedule', None)
    if schedule:  # a function: some of its values stand for it
        steps = (0, 1, len(batches) // 2, len(batches) - 1)
        recipe['schedule'] = [
            check_weight(schedule(step), f'schedule({step})') for step in steps
        ]
    settings = {
        'examples': len(batches.X),
        'seed': batches.seed,
        'batch_size': batches.batch_size,
        'lr': lr,
        'shapes': [list(param.shape) for param in params],
        'workers': workers.num_workers,
        'devices': workers.devices,
        'speeds': workers.speeds,
        **{
            name: describe(value) if callable(value) else value
            for name, value in recipe.items()
        },
    }
    return {  # JSON knows no number of NumPy's
        name: value.item() if isinstance(value, onp.generic) else value
        for name, value in settings.items()
    }


def describe(value: Any) -> str:
    """Return the name of a function, with what `partial` has fixed, or the
    text of a value: the same in every process."""
    if isinstance(value, functools.partial):
        fixed = [
            *map(describe, value.args),
            *(f'{key}={describe(x)}' for key, x in value.keywords.items()),
        ]
        return f'{describe(value.func)}({", ".join(fixed)})'
    if callable(value):
        return getattr(value, '__name__', type(value).__name__)
    return re.sub(' at 0x[0-9a-f]+', '', repr(value))


def load_or_init(
    folder: Optional[str],
    settings: Dict[str, Any],
    params: Sequence,
    workers: Workers,
    redistribute: bool = False,
    **plan: int,
) -> Checkpoint:
    """Return the newest `Checkpoint`, or that of an untrained network.

    Sets the random state of this worker. `redistribute`: other numbers of
    workers or devices, and other speeds, are allowed. `plan`: what may change
    when training goes on. Raises ValueError if the workers differ.
    """
    free = ROUNDING if redistribute else ()
    known = {name: settings[name] for name in settings if name not in free}
    state = load_checkpoint(folder, known, workers.rank) if folder else None
    if state is None:
        history: Dict[str, List[float]] = {'accuracies': [], 'seconds': []}
        state = Checkpoint(list(params), settings=settings, history=history)
        seed_random([settings['seed'] or 0, workers.rank])
        seed_mxnet(state, workers.rank)
    elif state.settings != settings:
        state.settings, state.shares = settings, []
    state.params = [
        np.array(p, dtype=str(onp.dtype(p.dtype))) for p in state.params
    ]
    check_same_start(folder, state, workers, **plan)
    return state


def check_same_start(
    folder: Optional[str], state: Checkpoint, workers: Workers, **plan: int
) -> None:
    """Raise ValueError, in all workers, if they would not start alike."""
    text = json.dumps({**state.settings, **plan}, sort_keys=True)
    found = workers.gather(
        'start',
        [
            zlib.crc32(text.encode()) % WHOLE,
            folder is not None,
            state.epoch,
            state.step,
        ],
    )
    if (found[:, :2] != found[0, :2]).any():
        raise ValueError(
            'the workers were started with different arguments: only '
            f'num_devices and speed may differ; here they are {text}'
        )
    if (found != found[0]).any():
        raise ValueError(
            'the workers found different checkpoints in '
            f'{folder}: give a folder that all hosts share'
        )


def save_state(folder: str, state: Checkpoint, workers: Workers) -> None:
    """Write a checkpoint with every worker's random state. All workers call
    it; the one of rank 0 writes."""
    check_optimizer_state(state.optimizer)
    halves = get_random_state().view('uint16')
    found = workers.gather('random', halves.tolist())
    seed_mxnet(state, workers.rank)
    if workers.rank == 0:
        save_checkpoint(folder, state, found.astype('uint16').view('uint32'))
