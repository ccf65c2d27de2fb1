"""Run trials in turn, each in a fresh process."""

import collections
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import psutil
from tqdm import tqdm

from d2lmulti.prepare.runtime import SETTINGS

from .peers import ENVIRONMENTS, MODULES

ROOT = pathlib.Path(__file__).parents[2]
TIME_LIMIT = 600  # seconds for a trial

# `name` of a peer, number of `devices`, `task`, and the task's settings.
Trial = collections.namedtuple(
    'Trial', 'name devices task settings', defaults=[{}]
)


def run_rounds(trials, num_rounds, notes):
    """Run every trial once a round; return the lists of results,
    {(name, devices, task): [result of a round, ...]}.

    A trial that fails once is left out from then on, with a note.
    """
    results = collections.defaultdict(list)
    failed = set()
    with tqdm(total=num_rounds * len(trials), unit='trial') as bar:
        for trial in num_rounds * trials:
            key = trial[:3]
            bar.set_description('{}, {}, {}'.format(*key))
            if key not in failed:
                try:
                    result = run_trial(trial)
                except RuntimeError as error:
                    failed.add(key)
                    notes.append(
                        '{} on {} left the task {}: {}'.format(*key, error)
                    )
                    bar.write(notes[-1])
                else:  # only now: a key stands for a result
                    results[key].append(result)
            bar.update()
    return results


def run_trial(trial):
    """Run one trial in a separate process and return its result.

    Raises RuntimeError if it fails or takes longer than TIME_LIMIT.
    """
    start = time.time()
    process = start_worker(trial)
    # Reading the memory takes time, so not where every step counts.
    watch = MemoryWatch(process.pid) if trial.task == 'epoch' else None
    try:
        out, error = process.communicate(timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f'no end after {TIME_LIMIT} s') from None
    finally:
        peak = watch and watch.stop()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.returncode:
        raise RuntimeError((error.strip().splitlines() or ['no message'])[-1])
    result = parse_result(out)
    if watch:
        result['memory'] = peak
    if 'first_step' in result:
        result['first_step'] -= start
    return result


def start_worker(trial):
    """Start the process of a trial."""
    described = {
        'peer': MODULES[trial.name],
        'devices': trial.devices,
        'task': trial.task,
        **trial.settings,
    }
    other = ENVIRONMENTS.get(trial.name)
    python = other.python if other else sys.executable
    return subprocess.Popen(
        [str(python), '-m', 'tools.speed.worker', json.dumps(described)],
        cwd=ROOT,
        env={
            name: value
            for name, value in os.environ.items()
            if name not in SETTINGS
        },  # each makes its own
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def parse_result(out):
    """Return the result in the last line of what a worker printed."""
    try:
        return json.loads(out.splitlines()[-1])
    except (IndexError, ValueError):
        raise RuntimeError(f'no result, but {out[-80:]!r}') from None


class MemoryWatch:
    """Once a second, sums the memory of a process and its children."""

    def __init__(self, pid):
        self.peak, self.stopped = 0, threading.Event()
        self.thread = threading.Thread(target=self.watch, args=(pid,))
        self.thread.start()

    def watch(self, pid):
        """Keep the largest sum until `stop` is called."""
        while not self.stopped.wait(1):
            with contextlib.suppress(psutil.Error):
                parent = psutil.Process(pid)
                processes = [parent] + parent.children(recursive=True)
                self.peak = max(self.peak, sum(map(memory_of, processes)))

    def stop(self):
        """End, and return the largest sum of bytes."""
        self.stopped.set()
        self.thread.join()
        return self.peak


def memory_of(process):
    """Return the bytes of a process, with its part of shared pages."""
    with contextlib.suppress(psutil.Error):
        return process.memory_full_info().pss
    return 0
