"""Break real training in many ways, under `d2lrun` and under torchrun.

    python -m benchmarks.faults --torch .venv-frameworks --out build/faults.md

For each fault: how many seconds after it the job ended, whom the launcher
named, how many processes were left three seconds later, and whether
`d2lrun --restarts 1`, or the same command once more, ends with parameters
that are bit-identical to those of undisturbed training. Both launchers have
the same limit for what hangs: torchrun's is that of its process group. The
seconds depend on what else the machine does.
"""

import argparse
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import psutil

ROOT = pathlib.Path(__file__).parents[1]
MARK = 'D2LMULTI_FAULT'  # the variable that all processes of a job have

HEAD = """
import atexit, ctypes, datetime, hashlib, multiprocessing, os, queue, resource
import shutil, signal, subprocess, sys, threading, time
import numpy as onp
import psutil

rank, calls = int(os.environ['RANK']), 0

def roles(kind):
    for process in psutil.process_iter():
        try:
            variables = process.environ()
        except psutil.Error:
            continue
        if (variables.get('{mark}') == os.environ['{mark}']
                and variables.get('DMLC_ROLE') == kind):
            yield process

def launcher():
    return int(open('launcher').read())

def sleep_in_child(**options):
    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'],
                     **options)

def maybe_fail():
    global calls
    calls += 1
    if calls == {call} and rank == 1 and not os.path.exists('failed'):
        open('failed', 'w').close()
        {code}
"""

OURS = """
import d2lmulti

def count(y):
    maybe_fail()
    return len(y)

rng = onp.random.RandomState(0)
X = rng.uniform(size=(64, 1, 28, 28)).astype('float32')
y = rng.randint(0, 10, 64).astype('int32')
result = d2lmulti.train_on_cluster(
    1, 16, 0.1, 3, data=(X, y, X, y), checkpoints='checkpoints',
    checkpoint_every=2, deterministic=True, count=count)
bits = b''.join(p.asnumpy().tobytes() for p in result.device_params[0])
print('parameters', hashlib.sha256(bits).hexdigest(), flush=True)
"""

TORCH = """
import torch
import torch.distributed as dist

torch.set_num_threads(1)
dist.init_process_group(
    'gloo', timeout=datetime.timedelta(seconds={limit}))
torch.manual_seed(0)
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(784, 10))
trainer = torch.optim.SGD(net.parameters(), lr=0.1)
X, y = torch.rand(64, 784), torch.randint(0, 10, (64,))
for step in range(12):
    maybe_fail()
    trainer.zero_grad()
    torch.nn.functional.cross_entropy(net(X), y).backward()
    trainer.step()
dist.destroy_process_group()
"""

# The third step of the second epoch, after a checkpoint in that epoch: rows
# are counted once before the first step, and once in each evaluation.
OURS_CALL, TORCH_CALL = 9, 7
KILL_SELF = 'os.kill(os.getpid(), signal.{})'.format
# Workers, what rank 1 does in its seventh step, and whom to name, if anybody.
FAULTS = {
    'raises an error': (2, 'raise ValueError', 'worker-1'),
    'calls sys.exit(3)': (3, 'sys.exit(3)', 'worker-1'),
    'raises SystemExit(0)': (2, 'raise SystemExit(0)', 'worker-1'),
    'calls os._exit(4)': (2, 'os._exit(4)', 'worker-1'),
    'calls os._exit(0)': (3, 'os._exit(0)', 'worker-1'),
    'SIGKILL': (4, KILL_SELF('SIGKILL'), 'worker-1'),
    'SIGTERM': (2, KILL_SELF('SIGTERM'), 'worker-1'),
    'SIGINT': (2, KILL_SELF('SIGINT'), 'worker-1'),
    'SIGBUS': (2, KILL_SELF('SIGBUS'), 'worker-1'),
    'SIGSTOP': (3, KILL_SELF('SIGSTOP'), 'worker-1'),
    'a wrong pointer': (2, 'ctypes.string_at(0)', 'worker-1'),
    'aborts': (2, 'os.abort()', 'worker-1'),
    'no memory': (
        2,
        'resource.setrlimit(resource.RLIMIT_AS, (1 << 28, -1)); '
        'bytes(1 << 30)',
        'worker-1',
    ),
    'no descriptors': (
        2,
        'resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3)); '
        "open('/dev/null')",
        'worker-1',
    ),
    'closes its descriptors': (
        2,
        'os.closerange(3, 1000); raise ValueError',
        'worker-1',
    ),
    'closes its output': (
        2,
        'os.close(1); os.close(2); raise ValueError',
        'worker-1',
    ),
    'shows no errors': (
        2,
        'sys.excepthook = lambda *error: None; raise ValueError',
        'worker-1',
    ),
    'endless recursion': (
        2,
        'f = lambda: f(); f()',
        'worker-1',
    ),
    'much output, then an error': (
        2,
        "print('x' * 10_000_000); raise ValueError",
        'worker-1',
    ),
    'sleeps': (3, 'time.sleep(300)', 'worker-1'),
    'waits for a loader': (2, 'queue.Queue().get()', 'worker-1'),
    'waits for a lock': (
        2,
        'lock = threading.Lock(); lock.acquire(); lock.acquire()',
        'worker-1',
    ),
    'waits for a pipe': (2, "os.mkfifo('pipe'); open('pipe')", 'worker-1'),
    'waits for a pool': (
        2,
        "multiprocessing.get_context('fork').Pool(1).map(os._exit, [1])",
        'worker-1',
    ),
    'waits for a child': (2, "subprocess.run(['sleep', '300'])", 'worker-1'),
    'an endless loop': (2, 'while True: pass', 'worker-1'),
    'an error, and a thread that goes on': (
        2,
        'threading.Thread(target=time.sleep, args=(300,)).start(); '
        'raise ValueError',
        'worker-1',
    ),
    'an error, and children that go on': (
        2,
        'sleep_in_child(); sleep_in_child(start_new_session=True); '
        'raise ValueError',
        'worker-1',
    ),
    'killed, and children that go on': (
        2,
        'sleep_in_child(); sleep_in_child(start_new_session=True); '
        + KILL_SELF('SIGKILL'),
        'worker-1',
    ),
    'ignores SIGTERM, while all fail': (
        2,
        'signal.signal(signal.SIGTERM, signal.SIG_IGN); raise ValueError',
        'worker-1',
    ),
    'removes the checkpoints': (
        2,
        "shutil.rmtree('checkpoints', True); raise ValueError",
        'worker-1',
    ),
    'shortens the newest checkpoint': (
        2,
        "os.truncate(sorted(os.scandir('checkpoints'), key=lambda f: "
        'f.stat().st_mtime)[-1].path, 100); raise ValueError',
        'worker-1',
    ),
    'a server is killed': (
        2,
        "[role.kill() for role in roles('server')]",
        'server-0',
    ),
    'the scheduler is killed': (
        2,
        "[role.kill() for role in roles('scheduler')]",
        'scheduler',
    ),
    'a server is stopped': (
        2,
        "[role.suspend() for role in roles('server')]",
        'server-0',
    ),
    'its agent is killed': (2, 'os.kill(os.getppid(), 9)', 'worker-1'),
    'the launcher: SIGTERM': (2, 'os.kill(launcher(), 15)', ''),
    'the launcher: SIGINT': (2, 'os.kill(launcher(), 2)', ''),
    'the launcher: SIGHUP': (2, 'os.kill(launcher(), 1)', ''),
    'the launcher: SIGKILL': (2, 'os.kill(launcher(), 9)', ''),
}
OURS_ALONE = 'server', 'scheduler', 'agent', 'checkpoint'


def main():
    """Try all faults, or those with some words, and write a table."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('words', nargs='*', help='in the names of faults')
    parser.add_argument('--torch', help='an environment with PyTorch')
    parser.add_argument('--out', default='build/faults.md')
    parser.add_argument(
        '--limit', type=int, default=10, help='seconds, for what hangs'
    )
    parser.add_argument(
        '--total', type=int, default=120, help='seconds, for all the rest'
    )
    options = parser.parse_args()
    out = pathlib.Path(options.out)
    out.parent.mkdir(exist_ok=True)
    right: dict[int, list[str]] = {}  # for each number of workers
    rows = [
        '| fault of rank 1 | workers | d2lrun: s | names | left | '
        'bit-identical | torchrun: s | names rank 1 | left |',
        '|---|---|---|---|---|---|---|---|---|',
    ]
    for name, (workers, code, culprit) in FAULTS.items():
        if options.words and not any(word in name for word in options.words):
            continue
        if workers not in right:
            right[workers] = try_ours(options, workers, 'pass', '').bits
            assert right[workers] == right[workers][:1] * workers
        ours = try_ours(options, workers, code, culprit)
        row = (
            f'| {name} | {workers} | {ours.seconds:.1f} | {ours.named} | '
            f'{ours.left} | {ours.bits == right[workers]} |'
        )
        has_peer = not any(word in name for word in OURS_ALONE)
        if options.torch and has_peer:
            peer = try_torchrun(options, workers, code, culprit)
            row += f' {peer.seconds:.1f} | {peer.named} | {peer.left} |'
        else:
            row += ' | | |'
        print(row, flush=True)
        rows.append(row)
        out.write_text('\n'.join(rows) + '\n')


class Trial:
    """A job in a new folder; `seconds` from the fault to its end."""

    def __init__(self, script, call, code):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        head = HEAD.format(mark=MARK, call=call, code=code)
        (self.path / 'train.py').write_text(head + script)
        self.lines: list[tuple[float, str]] = []
        self.status, self.left, self.ended = 0, 0, 0.0

    def run(self, command, limit):
        """Run a command to its end, or end it after `limit` seconds; then
        count and kill what is left."""
        process = subprocess.Popen(
            command,
            cwd=self.path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors='replace',
            env={
                **os.environ,
                MARK: str(self.path),
                'OMP_NUM_THREADS': '1',
                'PYTHONPATH': str(ROOT),
            },
            preexec_fn=restore_signals,
        )
        (self.path / 'launcher').write_text(str(process.pid))
        reader = threading.Thread(
            target=self.read, args=(process.stdout,), daemon=True
        )
        reader.start()
        for end in process.terminate, process.kill:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(limit)
                break
            end()
            limit = 30
        process.wait()
        self.status, self.ended = process.returncode, time.time()
        time.sleep(3)
        left = [other for other in psutil.process_iter() if self.has(other)]
        self.left += len(left)
        for other in left:
            with contextlib.suppress(psutil.Error):
                other.kill()
        reader.join(5)

    def read(self, output):
        """Keep the lines, with the time of each."""
        for line in output:
            self.lines.append((time.time(), line.rstrip()))

    def has(self, process):
        """Return whether a process is of this job."""
        with contextlib.suppress(psutil.Error):
            return process.environ().get(MARK) == str(self.path)
        return False

    def first(self, pattern):
        """Return the time and the first line that matches, if there is one."""
        for moment, line in self.lines:
            if re.search(pattern, line):
                return moment, line
        return None, ''

    @property
    def bits(self):
        """Return the parameters of each worker that has trained to its end,
        as their hash."""
        text = '\n'.join(line for _, line in self.lines)
        return re.findall(r'\bparameters (\w{64})$', text, re.M)

    @property
    def seconds(self):
        """Return how long after the fault the job was over."""
        failed = self.path / 'failed'
        over, _ = self.first('^launch: restarting')
        began = failed.stat().st_mtime if failed.exists() else self.ended
        return (over or self.ended) - began


def restore_signals():
    """A process in the background may have been told to ignore them."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Result:
    """What a launcher has done, and the parameters of each worker."""

    def __init__(self, trial, named):
        self.seconds, self.left, self.named = trial.seconds, trial.left, named
        self.bits = trial.bits
        trial.folder.cleanup()


def try_ours(options, workers, code, culprit):
    """Run a job of d2lrun, once more if the launcher itself was ended."""
    trial = Trial(OURS, OURS_CALL, code)
    command = [sys.executable, '-m', 'd2lrun', '--workers', str(workers)]
    for kind in ('progress', 'exit'):
        command += [f'--{kind}-timeout', str(options.limit)]
    command += ['--timeout', str(options.total)]
    limit = 2 * options.total + 30
    trial.run([*command, '--restarts', '1', 'train.py'], limit)
    _, head = trial.first('^(launch|error): (worker|server|scheduler)')
    if trial.status:
        ended = trial.ended
        trial.run([*command, 'train.py'], limit)
        trial.ended = ended
    roles = head.partition(': ')[2].partition(': ')[0]
    names = re.findall(r'[a-z]+-?\d*(?= \(rank| on this)', roles)
    return Result(trial, names == [culprit] if culprit else '–')


def try_torchrun(options, workers, code, culprit):
    """Run a job of torchrun."""
    trial = Trial(TORCH.format(limit=options.limit), TORCH_CALL, code)
    torchrun = pathlib.Path(options.torch, 'bin', 'torchrun').absolute()
    command = [str(torchrun), '--standalone', '--nproc-per-node']
    trial.run([*command, str(workers), 'train.py'], options.total)
    lines = [line for _, line in trial.lines]
    text = '\n'.join(lines).rpartition('Root Cause')[2]
    named = bool(re.search(r'^ *rank +: 1\b', text, re.M))
    return Result(trial, named if culprit else '–')


if __name__ == '__main__':
    main()
