"""Jobs of several processes: how they end when one of them is wrong.

Each fault is one of rank 1; under the helper alone, and with chapter 20's
`WatchedAllreduce` around the exchange.
"""

import concurrent.futures
import contextlib
import io
import os
import pathlib
import signal
import subprocess
import sys
import time

import psutil
import pytest
from helpers import wait_until

from d2lmulti.cluster.hangs import read_records, waiting_times
from d2lmulti.cluster.jobs import JobFailed, run_job

FAULT = """import os, signal, sys, time
import numpy as np
from mpi4py import MPI
kind, folder, watched = sys.argv[1:]
comm = MPI.COMM_WORLD
if watched == 'watched':
    from mxnet import np
    from d2lmulti import WatchedAllreduce
    allreduce = WatchedAllreduce(f'{folder}/../records', comm, limit=2)
else:
    def allreduce(data, name):
        request = comm.Iallreduce(data[0].copy(), data[0])
        while not request.Test():
            time.sleep(2e-4)

def note(number, frame):
    with open(f'{folder}/signals', 'a') as file:
        print(signal.Signals(number).name, file=file)

if comm.rank != 1:
    for number in signal.valid_signals() - {
            signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
        signal.signal(number, note)

def fault():
    if kind == 'raise':
        raise ValueError('this worker is wrong')
    elif kind in ('SIGKILL', 'SIGSTOP', 'SIGSEGV'):
        os.kill(os.getpid(), signal.Signals[kind])
    elif kind in ('exit 3', 'exit 0'):
        sys.exit(int(kind[-1]))
    elif kind == '_exit 0':
        os._exit(0)
    elif kind == 'sleep':
        time.sleep(1000)
    elif kind == 'print':
        for i in range(200_000):
            print(i, 'x' * 70)

for step in range(6):
    if step == 3 and comm.rank == 1:
        fault()
        if kind == 'skip':
            continue
    data = [np.arange(3.0), np.ones(3)]  # of two devices, if watched
    allreduce(data, f'step {step}')
    right = comm.size * (np.arange(3.0) + (watched == 'watched'))
    assert data[0].tolist() == right.tolist()
    assert watched == 'alone' or data[1].tolist() == right.tolist()
if comm.rank == 0:
    print('done')
"""
SLEEPS = (
    f'fault.py:{1 + FAULT[: FAULT.index("time.sleep(1000)")].count(chr(10))}'
)

# The helper's message and the status; None: the job ends well.
HELPER = {
    'raise': ('rank 1 ended with status 1', 1),
    'SIGKILL': ('rank 1 was killed by SIGKILL', 137),
    'SIGSEGV': ('rank 1 was killed by SIGSEGV', 139),
    'exit 3': ('rank 1 ended with status 3', 3),
    '_exit 0': ('rank 1 left without ending MPI', 1),
    'SIGSTOP': ('rank 1 does not answer: it is stopped', 124),
    'exit 0': ('rank 1 has left its script', 124),
    'sleep': (f'rank 1 is at {SLEEPS}', 124),
    'skip': ('rank 1 has left its script', 124),
    'print': None,
}
# What is printed of rank 1 with a watched exchange, where that sees more.
AFTER = (
    'rank 1: nothing more, after exchange 2, step 2 (3,) float32, called at'
)
WATCHED = {
    'SIGSTOP': f'{AFTER} fault.py:LINE; now: no word: is it stopped, or gone?',
    'exit 0': f'{AFTER} fault.py:LINE; now: ended',
    'sleep': f'{AFTER} fault.py:LINE; now: {SLEEPS}',
}
# With a watched exchange: where it sees more, and one where it does not.
CASES = [
    *((kind, 'watched') for kind in (*WATCHED, 'raise')),
    *((kind, 'alone') for kind in HELPER),
]
CALL = f'{1 + FAULT[: FAULT.index("allreduce(data, f")].count(chr(10))}'
LIMIT = 8  # seconds of a job; to start one takes less on a busy machine


def run(script, *arguments, **options):
    """Return a job's lines, those of errors, its error, and its seconds."""
    out, err, start = io.StringIO(), io.StringIO(), time.monotonic()
    options = {'processes': 2, 'limit': 60, **options}
    error = None
    try:
        run_job([f'{script}', *arguments], out=out, err=err, **options)
    except JobFailed as failure:
        error = failure
    seconds = time.monotonic() - start
    return out.getvalue(), err.getvalue(), error, seconds


def shared_memory():
    """Return MPICH's files."""
    with contextlib.suppress(FileNotFoundError):
        return {name for name in os.listdir('/dev/shm') if 'mpich' in name}
    return set()


def unused(name):
    """Return whether no process has a file of /dev/shm in its memory."""
    for maps in pathlib.Path('/proc').glob('[0-9]*/maps'):
        with contextlib.suppress(OSError):
            if name in maps.read_text():
                return False
    return True


def processes_of(folder):
    """Return the processes that were started for a file in `folder`."""
    processes = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(f'{folder}' in word for word in process.cmdline()[1:]):
                processes.append(process)
    return processes


@pytest.fixture(scope='module')
def faults(tmp_path_factory):
    """Return what became of each fault, of four jobs at a time, and whether
    any has left a process or a file of MPICH behind."""
    folder, before = tmp_path_factory.mktemp('faults'), shared_memory()
    (folder / 'fault.py').write_text(FAULT)
    jobs = {}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for kind, how in CASES:
            own = folder / f'{kind} {how}'
            own.mkdir()
            three = (kind, how) == ('exit 0', 'watched')
            jobs[kind, how] = pool.submit(
                run,
                folder / 'fault.py',
                kind,
                f'{own}',
                how,
                limit=60 if how == 'watched' else LIMIT,
                processes=3 if three else 2,
            )
    results = {key: job.result() for key, job in jobs.items()}
    results['folder'] = folder
    results['processes'] = processes_of(folder)
    new = shared_memory() - before  # other processes still use theirs
    with contextlib.suppress(AssertionError):  # a test says which remain
        wait_until(lambda: not new & shared_memory(), 15)
    results['files'] = {name for name in new & shared_memory() if unused(name)}
    return results


@pytest.mark.parametrize('kind, how', CASES)
def test_a_fault_ends_the_job_in_time_and_is_named(faults, kind, how):
    out, err, error, seconds = faults[kind, how]
    if kind == 'print':
        assert error is None
        assert out.count('\n') == 200_001
    elif how == 'watched' and kind in WATCHED:
        assert 'out of step: rank 1\n' in err
        assert WATCHED[kind].replace('LINE', CALL) in err
        assert (error.status, err.count('out of step')) == (1, 1)
    else:
        assert (HELPER[kind][0] in str(error), error.status) == (
            True,
            HELPER[kind][1],
        ), str(error)
    assert ('done' in out) == (kind == 'print')
    assert ('this worker is wrong' in err) == (kind == 'raise')
    assert seconds < 40  # else it would be 1000


def test_nothing_is_left_behind(faults):
    assert faults['processes'] == []
    assert faults['files'] == set()


def test_no_healthy_process_gets_a_signal_before_the_job_ends(faults):
    """At its end, mpiexec asks by SIGTERM."""
    noted = {
        path.parent.name: set(path.read_text().split())
        for path in faults['folder'].glob('*/signals')
    }
    assert set().union(*noted.values()) <= {'SIGTERM', 'SIGCONT'}, noted
    assert not {'print alone', 'print watched'} & {*noted}


def test_records_are_kept_of_each_job(faults):
    """All of these jobs record in one folder."""
    jobs = [*(faults['folder'] / 'records').iterdir()]
    assert len(jobs) == len([how for _, how in CASES if how == 'watched'])
    for job in jobs:
        records = read_records(job, 2)
        assert [len(own) for own in records.values()] == [4, 3]
        assert set(waiting_times(records)) == {'rank 0', 'rank 1'}


DIFFERS = """import sys
from mpi4py import MPI
from mxnet import np
from d2lmulti import WatchedAllreduce
allreduce = WatchedAllreduce(sys.argv[1], MPI.COMM_WORLD, limit=2)
dtype = ['float32', 'float64'][MPI.COMM_WORLD.rank // 2]
allreduce([np.ones(3)])
allreduce([np.ones(3, dtype=dtype)])
print('summed')
"""


def test_what_differs_is_never_summed(tmp_path):
    (tmp_path / 'differs.py').write_text(DIFFERS)
    out, err, error, _ = run(
        tmp_path / 'differs.py', f'{tmp_path}/records', processes=3
    )
    assert 'summed' not in out
    assert 'out of step' in err, (err, error)
    head, *lines = err[err.index('out of step') :].splitlines()
    assert head == 'out of step: rank 2'
    for line, dtype in zip(lines, ['float32', 'float32', 'float64']):
        assert 'exchange 1' in line
        assert dtype in line


# The helper


def test_lines_are_whole_behind_their_labels(tmp_path, monkeypatch):
    monkeypatch.setenv('PYTHONUNBUFFERED', '1')
    (tmp_path / 'lines.py').write_text(
        'for i in range(50_000): print(i, "x" * 70)'
    )
    out, _, error, _ = run(tmp_path / 'lines.py')
    assert error is None
    lines = out.splitlines()
    right = [f'{i} {"x" * 70}' for i in range(50_000)]
    for rank in range(2):
        label = f'[{rank}] '
        own = [line[4:] for line in lines if line.startswith(label)]
        assert own == right
    assert len(lines) == 100_000


@pytest.mark.parametrize('restarts', [0, 1, 2])
def test_a_job_that_fails_starts_again(tmp_path, restarts):
    """Here it ends well at its third start."""
    (tmp_path / 'again.py').write_text(
        f"""import os, sys
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 1:
    with open({str(tmp_path / 'starts')!r}, 'a') as file:
        file.write('x')
    if file.name and os.path.getsize(file.name) < 3:
        sys.exit(5)
"""
    )
    _, err, error, _ = run(tmp_path / 'again.py', restarts=restarts)
    assert (tmp_path / 'starts').read_text() == 'x' * (restarts + 1)
    assert (error is None) == (restarts == 2)
    assert error is None or error.status == 5
    assert err.count('rank 1 ended with status 5: start') == restarts


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGKILL])
def test_a_job_ends_with_its_helper(tmp_path, number):
    script = tmp_path / 'waits.py'
    script.write_text('import time\nprint("here")\ntime.sleep(1000)')
    helper = subprocess.Popen(
        [sys.executable, '-m', 'd2lmulti.cluster.jobs', f'{script}'],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert [helper.stdout.readline()[3:] for _ in range(2)] == [' here\n'] * 2
    helper.send_signal(number)
    ended = helper.wait(15)
    helper.stdout.close()
    assert ended == (-9 if number == signal.SIGKILL else 143)
    assert wait_until(lambda: not processes_of(script), 15)


def test_nodes_that_never_come_have_a_limit(tmp_path):
    (tmp_path / 'train.py').write_text('print("here")')
    out, _, error, seconds = run(
        tmp_path / 'train.py',
        limit=1,
        mpiexec=['-launcher', 'manual', '-hosts', 'a,b'],
    )
    assert error.status == 124
    assert 'rank 1 does not answer' in str(error)
    assert seconds < 20
    assert 'here' not in out
    assert processes_of(tmp_path) == []


def test_a_path_with_spaces_and_quotes(tmp_path):
    folder = tmp_path / 'my "own" \'folder\' $HOME'
    folder.mkdir()
    (folder / 'train it.py').write_text(
        'import sys, other\nprint(sys.argv[1:])'
    )
    (folder / 'other.py').write_text('')
    out, _, error, _ = run(folder / 'train it.py', 'a b', '"')
    assert error is None
    assert sorted(out.splitlines()) == [
        f'[{rank}] ' + str(['a b', '"']) for rank in range(2)
    ]


def test_a_script_that_is_not_there():
    with pytest.raises(FileNotFoundError, match=r'no script missing\.py'):
        run_job(['missing.py'])


def test_an_mpiexec_that_is_not_there(tmp_path, monkeypatch):
    (tmp_path / 'train.py').write_text('')
    monkeypatch.setattr(sys, 'executable', '/nowhere/python')
    monkeypatch.setenv('PATH', '')
    with pytest.raises(FileNotFoundError, match='install mpich mpi4py'):
        run_job([f'{tmp_path}/train.py'])


@pytest.mark.parametrize(
    'options, error, message',
    [
        ({'command': 'train.py'}, TypeError, 'command must be a list'),
        ({'command': []}, TypeError, 'command must be a list'),
        ({'processes': 0}, ValueError, 'processes'),
        ({'processes': 1.5}, TypeError, 'processes'),
        ({'limit': 0}, ValueError, 'limit'),
        ({'restarts': -1}, ValueError, 'restarts'),
    ],
)
def test_options_that_cannot_work(options, error, message):
    with pytest.raises(error, match=message):
        run_job(**{'command': [__file__], **options})
