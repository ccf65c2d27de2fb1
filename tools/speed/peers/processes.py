"""How the processes of a trial start, and what they agree on.

A peer with several processes starts them here. They work at the same time,
each on its share of every minibatch, and the slowest one counts.
"""

import multiprocessing
import queue
import tempfile
import time

from .. import tasks
from ..tasks.data import first_params
from . import load_trainer

TIME_LIMIT = 300  # seconds for which a process waits for the others


def take_part(trial, rank=0, size=1, store=None, wait=lambda: None):
    """Be process `rank` of the `size` processes of a trial; return what was
    measured."""
    trainer = load_trainer(trial['peer'])(
        trial['devices'] // size, first_params(), (store, rank, size)
    )
    rank = getattr(trainer, 'rank', rank)  # some know it only now
    wait = getattr(trainer, 'wait', wait)
    share = slice(rank, None, size)
    return tasks.load(trial['task'])(trainer, trial, share, wait)


def start_processes(trial):
    """Start a process for each device; return the result of each."""
    size = trial['devices']
    spawn = multiprocessing.get_context('spawn')
    barrier, results = spawn.Barrier(size), spawn.Queue()
    with tempfile.TemporaryDirectory() as folder:
        store = f'file://{folder}/store'
        if size == 1:
            return [take_part(trial, store=store)]
        processes = [
            spawn.Process(
                target=run_child,
                daemon=True,
                args=(trial, rank, size, store, barrier, results),
            )
            for rank in range(size)
        ]
        for process in processes:
            process.start()
        parts = [next_result(results, processes) for _ in processes]
        for process in processes:
            process.join(TIME_LIMIT)
    return parts


def run_child(trial, rank, size, store, barrier, results):
    """Run in a child: put the result, or what went wrong, into `results`."""
    try:
        results.put(
            take_part(
                trial, rank, size, store, lambda: barrier.wait(TIME_LIMIT)
            )
        )
    except Exception as error:
        results.put(f'{type(error).__name__}: {error}')


def next_result(results, processes):
    """Return the next result of a child; raise RuntimeError if it failed, or
    if none will come."""
    deadline = time.monotonic() + TIME_LIMIT
    while time.monotonic() < deadline:
        try:
            result = results.get(timeout=1)
        except queue.Empty:
            for process in processes:
                if process.exitcode:
                    raise RuntimeError(
                        f'a process ended with status {process.exitcode}'
                    ) from None
        else:
            if isinstance(result, str):
                raise RuntimeError(result)
            return result
    raise RuntimeError(f'no result after {TIME_LIMIT} s')


def slowest(parts):
    """Return the result of the first process with the longest times."""
    result = parts[0]
    for part in parts[1:]:
        for key, seconds in part['seconds'].items():
            result['seconds'][key] = max(result['seconds'][key], seconds)
        if 'first_step' in part:
            result['first_step'] = max(
                result['first_step'], part['first_step']
            )
    return result
