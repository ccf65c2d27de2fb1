"""What surrounds the steps of a job of several workers, so that it begins,
stops and goes on exactly."""

import collections
import dataclasses
import json
import os
import time
import warnings
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional

import numpy as onp
from mxnet import autograd, np

from ..check_rules import try_rule
from ..check_values import counted
from ..checks import check_labels, check_training
from ..contract import check_one_each, check_workers
from ..data import Minibatches
from ..devices import split_slices
from ..learning.heterogeneous import adapt_shares, balanced_shares
from ..learning.large_batch import norm
from ..network import lenet, loss
from ..replicas import get_params
from .checkpoint import (
    Checkpoint,
    load_checkpoint,
    save_checkpoint,
    seed_random,
)
from .checkpoint_files import claim_checkpoints
from .checks import as_scalar, as_weight
from .same_training import (
    ROUNDING,
    TRIED,
    checksum,
    data_sums,
    epoch_sums,
)

MARGIN = 0.03  # the fraction of its time that new shares must save


@dataclasses.dataclass
class Plan:
    """What a job was asked for: see `train_on_cluster`."""

    num_epochs: int
    lr: float
    schedule: Optional[Callable[[int], float]]
    adapt: bool
    elastic: bool
    checkpoints: Optional[str]
    checkpoint_every: int
    keep_every: Optional[int]
    options: Dict[str, Any]  # of `cluster_step`

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        if self.schedule is None:
            return self.lr
        return as_weight(self.schedule(step), f'schedule({step})')


class Training:
    """This worker's part of a job: its devices, and where training stands.

    Begins where the newest checkpoint ends, or with `params`. `workers`: a
    `Workers` of chapter 19. Until `close` is called, no other job can write
    checkpoints in the same folder.
    """

    def __init__(
        self, workers: Any, params: Any, batches: Any, plan: Plan
    ) -> None:
        check_init(params)
        lr = 1 if plan.schedule else plan.lr
        total = range(sum(workers.num_devices))
        check_training(plan.num_epochs, lr, batches, total)
        self.workers, self.batches, self.plan = workers, batches, plan
        self.recent: Deque[List[float]] = collections.deque(maxlen=7)
        self.state = self.load_or_init(params)
        self.state.params = as_mxnet(self.state.params)
        self.state.optimizer = as_mxnet(self.state.optimizer)
        check_start(self.state, plan)
        self.start_norm = self.last_norm = norm(self.state.params)
        self.folder: Optional[int] = None
        if plan.checkpoints and workers.rank == 0:
            self.folder = claim_checkpoints(plan.checkpoints)

    def close(self) -> None:
        """Let other jobs write checkpoints in the same folder."""
        if self.folder is not None:
            os.close(self.folder)

    def load_or_init(self, params: list) -> Checkpoint:
        """Return the newest `Checkpoint`, or that of an untrained network.

        Seeds this worker's random generators. Raises ValueError if the
        checkpoint is of another training, or if the workers differ.
        """
        plan, workers = self.plan, self.workers
        settings = self.settings(params)
        free = ROUNDING if plan.elastic else ()
        known = {name: settings[name] for name in settings if name not in free}
        state = None
        if plan.checkpoints:
            state = load_checkpoint(plan.checkpoints, known, workers.rank)
        if state is None:
            state = Checkpoint(params, settings=settings)
            state.history = {'accuracies': [], 'seconds': []}
            seed_random(state, workers.rank)
        elif any(state.settings[name] != settings[name] for name in ROUNDING):
            state.shares = []
        state.settings = settings
        check_same_start(workers, state, plan)
        state.shares = state.shares or balanced_shares(
            workers.speeds, self.batches.batch_size
        )
        return state

    def settings(self, params: list) -> Dict[str, Any]:
        """Return what must be the same for training to continue exactly."""
        batches, workers, plan = self.batches, self.workers, self.plan
        numbers = {
            'examples': len(batches.X),
            'seed': batches.seed,
            'batch_size': batches.batch_size,
            'lr': plan.lr,
            # Where random generators are seeded again.
            'checkpoint_every': plan.checkpoint_every,
            **{n: v for n, v in plan.options.items() if not callable(v)},
        }
        for name, value in numbers.items():  # JSON knows none of NumPy's
            if isinstance(value, onp.generic):
                numbers[name] = value.item()
        return {
            **numbers,
            'data': data_sums(batches.X, batches.y),
            'schedule': plan.schedule
            and epoch_sums(
                [plan.rate(i) for i in range(plan.num_epochs * len(batches))],
                len(batches),
            ),
            'shapes': [list(param.shape) for param in params],
            'workers': workers.num_workers,
            'devices': workers.num_devices,
            'speeds': workers.speeds,
            'adapt': plan.adapt,
            **try_functions(params, batches, **plan.options),
        }

    def rate(self) -> float:
        """Return the learning rate of the next step."""
        step = self.state.epoch * len(self.batches) + self.state.step
        return self.plan.rate(step)

    def rows_left(self) -> Iterator[Any]:
        """Yield the rows of each minibatch that is left of this epoch;
        `finish_step` goes on to the next."""
        start = time.perf_counter()
        all_rows = self.batches.rows(self.state.epoch)
        while self.state.step < len(all_rows):
            yield all_rows[self.state.step]
        self.state.history['seconds'].append(time.perf_counter() - start)

    def finish_step(self, costs: Any, replicas: List[list]) -> None:
        """Count a step, adapt the shares to its costs (each worker's seconds
        per example) if asked to, and every few steps write a checkpoint.
        Raises FloatingPointError if a parameter is no longer finite."""
        state, plan = self.state, self.plan
        self.check_finite(replicas)
        self.recent.append(costs.tolist())
        if plan.adapt:
            state.shares = adapt_shares(state.shares, self.recent, MARGIN)
        state.step += 1
        ends = state.step == len(self.batches)
        if plan.checkpoints and (
            ends or state.step % plan.checkpoint_every == 0
        ):
            check_optimizer_state(state.optimizer)
            if self.workers.rank == 0:
                save_checkpoint(plan.checkpoints, state, plan.keep_every)
            seed_random(state, self.workers.rank)

    def check_finite(self, replicas: List[list]) -> None:
        """Raise FloatingPointError, with the likely cause, if the last step
        has made a parameter infinite or nan, on any device."""
        norms, rate = list(map(norm, replicas)), self.rate()
        before, self.last_norm = self.last_norm, norms[0]
        if onp.isfinite(norms).all():
            return
        bad = [
            f'params[{i}] of {param.ctx}, of shape {param.shape},'
            for params in replicas
            for i, param in enumerate(params)
            if not onp.isfinite(param.asnumpy()).all()
        ]
        if not before <= 1000 * max(1, self.start_norm):  # also if it is nan
            cause = f'they had grown: the rate, {rate:g}, is too large'
        elif onp.isfinite(norm([param.grad for param in replicas[0]])):
            cause = f'the gradients are finite: the rate, {rate:g}, is far '
            cause += 'too large, or the update divides by 0'
        else:
            cause = 'the gradients are not finite: the loss of this '
            cause += 'minibatch divides by 0 or takes the logarithm of 0'
        if bad:  # else only the norm overflows
            raise FloatingPointError(
                f'training diverged in step {self.state.step} of epoch '
                f'{self.state.epoch}, counted from 0: {bad[0]} is not finite. '
                f'The norm of all parameters was {self.start_norm:.3g} when '
                f'this run began and {before:.3g} before this step. Likely, '
                f'{cause}. Nothing of this step was saved; earlier '
                'checkpoints stay'
            )

    def finish_epoch(self, accuracy: float) -> None:
        """Note the accuracy of an epoch, and go on to the next."""
        self.state.history['accuracies'].append(accuracy)
        self.state.epoch, self.state.step = self.state.epoch + 1, 0

    def accuracy(
        self, replicas: List[list], test_set: Any, evaluate: Callable
    ) -> float:
        """Return the accuracy on a test set, (X, y), over which all workers
        divide themselves; raise ValueError if their replicas differ."""
        check_workers(replicas, self.workers)
        workers, options = self.workers, self.plan.options
        rows = split_slices(len(test_set[1]), workers.num_workers)
        X, y = (data[rows[workers.rank]] for data in test_set)
        mean, weight = 0.0, 0.0  # if there are fewer examples than workers
        if len(y):
            batches, net = Minibatches(X, y, 256), options.get('net', lenet)
            result = evaluate(replicas, batches, workers.devices, net)
            mean = as_scalar('evaluate', result)
            weight = as_weight(options.get('count', len)(y))
        table = workers.gather([mean, weight]).astype('float64')
        return float(onp.average(table[:, 0], weights=table[:, 1]))


def as_mxnet(arrays: list) -> list:
    """Return copies of arrays of MXNet or NumPy, as arrays of MXNet."""
    return [np.array(a, dtype=str(onp.dtype(a.dtype))) for a in arrays]


def try_functions(
    params: list,
    batches: Any,
    net: Callable = lenet,
    loss: Callable = loss,
    count: Callable = len,
    update: Optional[Callable] = None,
    **options: Any,
) -> Dict[str, List[float]]:
    """Return what the functions do with a few numbers: their code cannot be
    compared, but this can. Warns if they fail there, as nothing is compared
    then; what fails in the first step, too, ends the job there."""
    tried, moves = [0.0, 0.0, 0.0], [0.0]
    seed_random(Checkpoint([]))  # for dropout
    X, y = batches.load(onp.arange(min(8, len(batches.X))))
    replica = get_params(params, X.ctx)
    try:
        with autograd.record():
            scores = net(X, replica)
            losses = loss(scores, y)
            total = losses.sum()
        total.backward()
        size = norm([param.grad for param in replica])
        tried = [total.item(), size, as_weight(count(y))]
        if update:
            changes = try_rule(update, params, num_steps=3)
            moves = [float(sum(abs(change).sum() for change in changes))]
    except Exception as error:
        warn_of_failure(len(X), error)
    else:
        if count is len:  # else a sequence may have a number for each word
            check_one_each(losses, scores)
            if scores.ndim == 2 and y.ndim == 1 and scores.shape[1] > 1:
                check_labels(batches.y, scores.shape[1])
    return dict(zip(TRIED, (tried, moves)))


def warn_of_failure(num_examples: int, error: Exception) -> None:
    """Say that functions cannot be tried, so that any would resume."""
    fault = f'{type(error).__name__}: {str(error).strip()[:200]}'
    warnings.warn(
        f'net, loss, count or update fails with '
        f'{counted(num_examples, "example")} ({fault}): so a checkpoint '
        'cannot tell these functions from others, and training would resume '
        'with any',
        stacklevel=3,
    )


def check_same_start(workers: Any, state: Checkpoint, plan: Plan) -> None:
    """Raise ValueError, in all workers, if they would not start alike."""
    same = {n: v for n, v in state.settings.items() if n not in TRIED}
    same['num_epochs'] = int(plan.num_epochs)
    text = json.dumps(same, sort_keys=True)
    tried = [number for name in TRIED for number in state.settings[name]]
    numbers = {
        'have different networks: init must return arrays of the same shapes '
        f'in all; here they are {same["shapes"]}': [checksum(same['shapes'])],
        'were started with different arguments: only num_devices and speed '
        f'may differ; here they are {text}': [
            checksum([plan.checkpoints is None, text])
        ],
        f'found different checkpoints in {plan.checkpoints}: give a folder '
        'that all hosts share': [state.epoch, state.step],
        'compute different things: net, loss, count and update must be the '
        'same in all': tried,
    }
    table = workers.gather(sum(numbers.values(), []))  # a row per worker
    for difference, values in numbers.items():
        columns, table = table[:, : len(values)], table[:, len(values) :]
        rtol = 1e-4 if values is tried else 0
        if not onp.allclose(columns, columns[0], rtol, 0, equal_nan=True):
            raise ValueError(f'the workers {difference}')


def check_start(state: Checkpoint, plan: Plan) -> None:
    """Raise FloatingPointError if training would begin with a number that is
    not finite: no learning rate is at fault."""
    source = 'init has returned it'
    if state.epoch or state.step:
        source = (
            f'the checkpoint in {plan.checkpoints} has it, after step '
            f'{state.step} of epoch {state.epoch}: remove that file'
        )
    for name in ('params', 'optimizer'):
        for i, array in enumerate(getattr(state, name)):
            if not onp.isfinite(array.asnumpy()).all():
                raise FloatingPointError(
                    f'{name}[{i}], of shape {array.shape}, is not finite '
                    f'before the first step: {source}'
                )


def check_optimizer_state(state) -> None:
    """Raise TypeError unless a checkpoint can hold and restore the state."""
    for entry in state:
        if not isinstance(entry, np.ndarray):
            raise TypeError(
                'the state of update must be a list of MXNet arrays, so that '
                f'training resumes exactly, but has {entry!r:.60}, of type '
                f'{type(entry).__name__}: make it an array, and update it in '
                'place'
            )


def check_init(params: Any) -> None:
    """Raise TypeError unless `init` has returned a list of float32 arrays,
    as workers exchange them."""
    if not isinstance(params, (list, tuple)) or not all(
        isinstance(param, np.ndarray) and onp.dtype(param.dtype) == 'float32'
        for param in params or [None]
    ):
        raise TypeError(
            'init must return a list of MXNet arrays of float32, not '
            f'{params!r:.60}'
        )
