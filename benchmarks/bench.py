"""Measure this project beside its peers, in turn; see RESULTS.md.

    make bench            one process, 50 minutes; writes RESULTS.md
    make bench-cluster    several processes, 20 minutes; writes CLUSTER.md
    make bench-unequal    unequal devices, 4 minutes; writes UNEQUAL.md
    make bench-quick      two minutes; writes build/bench-quick.md

Run it on a quiet machine: a busy core takes the second device away.
"""
import argparse
import collections
import contextlib
import datetime
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import threading
import time

import psutil
from tqdm import tqdm

import report
import report_cluster
import report_unequal
from d2lmulti.runtime import SETTINGS
from report import (DDP, GLUON, HOROVOD, LIMIT, OURS, RECIPE, SERVERS,
                    TUNED)

HERE = pathlib.Path(__file__).parent
BUILD = HERE.parent / 'build'
TORCH = BUILD / 'torch-env'
TIME_LIMIT = 600  # seconds for a turn
INSTALL_LIMIT = 1800  # seconds for PyTorch, which is large
NUM_IMAGES = 60_000  # in an epoch: the size of Fashion-MNIST

Contestant = collections.namedtuple(
    'Contestant', 'name kind devices processes python', defaults=[
        False, sys.executable])

QUICK = [Contestant(OURS, 'Ours', 1), Contestant(OURS, 'Ours', 2),
         Contestant(TUNED, 'GluonTuned', 1),
         Contestant(TUNED, 'GluonTuned', 2),
         Contestant(LIMIT, 'Ours', 2, True)]
FULL = QUICK + [
    Contestant(OURS, 'Ours', 4),
    Contestant(RECIPE, 'D2LRecipe', 1), Contestant(RECIPE, 'D2LRecipe', 2),
    Contestant(GLUON, 'Gluon', 1), Contestant(GLUON, 'Gluon', 2)]
UNEQUAL = [
    (Contestant(OURS, 'Ours', len(repeats)),
     {'task': 'unequal', 'repeats': repeats})
    for repeats in report_unequal.REPEATS] + [
    (Contestant(OURS, 'Ours', 2), {'task': task})
    for task in ('adapt', 'norm')]


def main():
    """Parse the command line, measure, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument('--quick', action='store_true')
    which.add_argument('--cluster', action='store_true')
    which.add_argument('--unequal', action='store_true')
    parser.add_argument('--rounds', type=int,
                        help='5, or 3 with --quick, if not given')
    options = parser.parse_args()
    num_rounds = options.rounds or (3 if options.quick else 5)
    BUILD.mkdir(exist_ok=True)
    notes = [describe_machine()]
    if os.getloadavg()[0] > 0.5:
        notes.append('**The machine was busy**: expect ratios near 1.')
        print(notes[-1], file=sys.stderr)
    turns = (quick_turns() if options.quick else
             cluster_turns(notes) if options.cluster else
             UNEQUAL if options.unequal else full_turns(notes))
    results = take_turns(turns, num_rounds, notes)
    notes.append(find_versions(results))
    if options.cluster:
        out = HERE / 'CLUSTER.md'
        report_cluster.write(results, notes, num_rounds, out)
    elif options.unequal:
        out = HERE / 'UNEQUAL.md'
        report_unequal.write(results, notes, num_rounds, out)
    else:
        out = (BUILD / 'bench-quick.md' if options.quick else
               HERE / 'RESULTS.md')
        report.write(results, notes, num_rounds, out)
    print(out.read_text())


def quick_turns():
    """Return the turns of a round: [(contestant, what it measures), ...]."""
    return [(contestant, {'task': 'steps', 'batch_sizes': [512]})
            for contestant in QUICK] + [
        (Contestant(OURS, 'Ours', 2),
         {'task': 'allreduce', 'megabytes': [0.4, 40]})]


def full_turns(notes):
    """Return the turns of a full round; note why PyTorch has none."""
    contestants = FULL + torch_contestants(notes)
    steps = {'task': 'steps', 'batch_sizes': [256, 512, 1024, 4096]}
    epoch = {'task': 'epoch', 'batch_sizes': [256],
             'num_images': NUM_IMAGES}
    alone = {'task': 'allreduce', 'megabytes': [0.4, 4, 40, 400]}
    return ([(contestant, steps) for contestant in contestants]
            + [(contestant, epoch) for contestant in contestants]
            + [(Contestant(OURS, 'Ours', k), alone) for k in (2, 4)]
            + [(Contestant(OURS, 'Ours', 2), {'task': task})
               for task in ('splits', 'overlap')])


def cluster_turns(notes):
    """Return the turns with several processes; note who is missing."""
    steps = {'task': 'steps', 'batch_sizes': [256, 512, 1024]}
    alone = {'task': 'exchange', 'megabytes': [0.4, 4, 40, 400]}
    servers = Contestant(SERVERS, 'OverServers', 2)
    torch = torch_contestants(notes)
    horovod = []
    if importlib.util.find_spec('horovod'):
        horovod = [Contestant(HOROVOD, 'Horovod', 2)]
    else:
        leave_out(HOROVOD, 'run `make horovod` first', notes)
    return ([(contestant, dict(steps, servers=1)) for contestant in
             [*QUICK, servers, *horovod, *torch]]
            + [(Contestant(report_cluster.COPY, 'Ours', 1), alone)]
            + [(Contestant(name, 'OverServers', 2), dict(alone, servers=n))
               for n, name in report_cluster.PUSH_AND_PULL.items()]
            + [(contestant, alone) for contestant in [*horovod, *torch[1:]]]
            + [(Contestant(OURS, 'Ours', 1),
                {'task': 'checkpoint', 'folder': str(BUILD)})])


def torch_contestants(notes):
    """Return PyTorch's contestants; note why there are none."""
    reason = install_torch()
    if reason:
        leave_out(DDP, reason, notes)
        return []
    python = str(TORCH / 'bin' / 'python')
    return [Contestant(DDP, 'TorchDDP', k, True, python) for k in (1, 2)]


def leave_out(name, reason, notes):
    """Note and tell why a contestant takes no part."""
    notes.append(f'{name} was left out: {reason}')
    print(notes[-1], file=sys.stderr)


def describe_machine():
    """Return one line on machine, system, versions and date."""
    lines = pathlib.Path('/proc/cpuinfo').read_text().splitlines()
    cpu = next((line.split(':')[1].strip() for line in lines
                if line.startswith('model name')), platform.machine())
    gib = psutil.virtual_memory().total / 2 ** 30
    return (f'{datetime.date.today()}: {cpu}, {os.cpu_count()} cores, '
            f'{gib:.0f} GiB; {platform.system()} {platform.release()}, '
            f'Python {platform.python_version()}, load '
            f'{os.getloadavg()[0]:.1f} at the start.')


def find_versions(results):
    """Return one line on the packages that took part."""
    versions = {f'{name} {importlib.metadata.version(name)}'
                for name in ('d2l', 'mxnet', 'numpy')}
    versions.update(result['version'] for rounds in results.values()
                    for result in rounds if 'version' in result)
    return f'Versions: {", ".join(sorted(versions))}.'


def install_torch():
    """Make an environment with PyTorch; return why not, or None."""
    lock = HERE.parent / 'requirements' / 'torch.txt'
    complete = TORCH / 'complete'
    if complete.exists() and complete.read_text() == lock.read_text():
        return None
    for command in ([sys.executable, '-m', 'venv', '--clear', str(TORCH)],
                    [str(TORCH / 'bin' / 'python'), '-m', 'pip', 'install',
                     '-q', '-r', str(lock)]):
        try:
            done = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, timeout=INSTALL_LIMIT)
        except subprocess.TimeoutExpired:
            return f'not installed after {INSTALL_LIMIT} s'
        if done.returncode:
            return (done.stdout.strip().splitlines() or ['no reason'])[-1]
    complete.write_text(lock.read_text())
    return None


def take_turns(turns, num_rounds, notes):
    """Run every turn once a round; return the lists of what came out,
    {(name, devices, task): [result of a round, ...]}."""
    results = collections.defaultdict(list)
    failed = set()
    with tqdm(total=num_rounds * len(turns), unit='turn') as bar:
        for _ in range(num_rounds):
            for contestant, turn in turns:
                key = (contestant.name, contestant.devices, turn['task'])
                bar.set_description(f'{key[0]}, {key[1]}, {key[2]}')
                if key not in failed:
                    try:
                        result = take_turn(contestant, turn)
                        results[key].append(result)
                    except RuntimeError as error:
                        failed.add(key)
                        notes.append(f'{key[0]} on {key[1]} left the '
                                     f'{key[2]}: {error}')
                        bar.write(notes[-1])
                bar.update()
    return results


def take_turn(contestant, turn):
    """Run one turn in a process of its own and return its result.

    Raises RuntimeError if it fails or takes longer than TIME_LIMIT.
    """
    turn = dict(turn, contestant=contestant.kind, devices=contestant.devices,
                processes=contestant.processes)
    start = time.time()
    process = subprocess.Popen(
        [contestant.python, str(HERE / 'turn.py'), json.dumps(turn)],
        env={name: value for name, value in os.environ.items()
             if name not in SETTINGS},  # each makes its own
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True)
    # Looking at the memory takes time, so not where every step counts.
    watch = MemoryWatch(process.pid) if turn['task'] == 'epoch' else None
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
    try:
        result = json.loads(out.splitlines()[-1])
    except (IndexError, ValueError):
        raise RuntimeError(f'no result, but {out[-80:]!r}') from None
    if watch:
        result['memory'] = peak
    if 'first_step' in result:
        result['first_step'] -= start
    return result


class MemoryWatch:
    """Once a second, adds up the memory of a process and its children."""
    def __init__(self, pid):
        self.peak, self.stopped = 0, threading.Event()
        self.thread = threading.Thread(target=self.watch, args=(pid,))
        self.thread.start()

    def watch(self, pid):
        while not self.stopped.wait(1):
            with contextlib.suppress(psutil.Error):
                parent = psutil.Process(pid)
                processes = [parent] + parent.children(recursive=True)
                self.peak = max(self.peak, sum(map(share_of, processes)))

    def stop(self):
        """End, and return the largest sum of bytes."""
        self.stopped.set()
        self.thread.join()
        return self.peak


def share_of(process):
    """Return the bytes of a process, shared pages counted in parts."""
    with contextlib.suppress(psutil.Error):
        return process.memory_full_info().pss
    return 0


if __name__ == '__main__':
    main()
