"""Many hangs, those of chapter 20 among them, and healthy jobs: the launcher
must name the rank and the line of each hang, also where the script is in a
clone that is named as the package, and let each healthy job end."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import nbformat
import pytest
from helpers import JOB_LIMITS, left_behind

pytestmark = pytest.mark.timeout(200)

ROOT = pathlib.Path(__file__).parents[2]
LIMITS = JOB_LIMITS._replace(progress=4, exit=4, total=20)
START = """
import contextlib, fcntl, functools, multiprocessing, os, queue, select
import signal, socket, subprocess, sys, threading, time
import mxnet as mx
from mxnet import np, npx
npx.set_np()
store = mx.kv.create('dist_sync')
rank = store.rank
for key in 'wvl':
    store.init(key, np.zeros(3))

def allreduce(key, value=None):
    value = np.ones(3) if value is None else value
    store.push(key, value)
    store.pull(key, out=value)
    npx.waitall()
    return value
"""

# Workers, which rank is wrong, and what it does in the line marked `# HERE`.
HANGS = {
    'an exception that skips an exchange': (
        3,
        2,
        """
def train(step):
    try:
        if rank == 2 and step == 3:
            raise ValueError('a bad example')
        allreduce('w')
    except ValueError:
        pass
    allreduce('l')  # HERE
for step in range(6):
    train(step)
""",
    ),
    'one epoch more': (
        4,
        1,
        """
for epoch in range(3 if rank == 1 else 2):
    for step in range(3):
        allreduce('w')  # HERE
""",
    ),
    'swapped after some steps': (
        3,
        0,
        """
keys = ['w', 'v']
for step in range(6):
    if rank == 0 and step == 4:
        keys.reverse()
    for key in keys:
        store.push(key, np.ones(3))  # HERE
        store.pull(key, out=np.zeros(3))
        npx.waitall()
""",
    ),
    'a ragged minibatch that is not padded': (
        3,
        1,
        """
store.init('scores', np.zeros((4, 2)))
for rows in (4, 4, 4, 2 if rank == 1 else 4):
    allreduce('scores', np.ones((rows, 2)))  # HERE
""",
    ),
    'a loop without an end': (
        3,
        2,
        """
for step in range(4):
    x = 1.0
    while x > 0 and rank == 2 and step == 2: x = 1.0  # HERE
    allreduce('w')
""",
    ),
    'a lock that is never released': (
        3,
        0,
        """
lock = threading.Lock()
for step in range(5):
    if rank != 0 or step == 3:
        lock.acquire(timeout=40 if rank == 0 else 0.1)  # HERE
    lock.locked() and rank != 0 and lock.release()
    allreduce('w')
    if rank == 0 and step == 2:
        lock.acquire()
""",
    ),
    'a pipe that nobody writes to': (
        2,
        1,
        """
def load(step):
    if rank == 1 and step == 2:
        os.mkfifo('pipe')
        return open('pipe').read()  # HERE
for step in range(4):
    load(step)
    allreduce('w')
""",
    ),
    'stopped by a signal': (
        3,
        1,
        """
for step in range(5):
    allreduce('w')  # HERE
    if rank == 1 and step == 2:
        os.kill(os.getpid(), signal.SIGSTOP)
""",
    ),
    'another dtype': (
        3,
        2,
        """
for step in range(4):
    kind = 'float16' if rank == 2 and step == 2 else 'float32'
    allreduce('v', np.ones(3, dtype=kind))  # HERE
""",
    ),
    'a broadcast where others sum': (
        4,
        3,
        """
for step in range(4):
    allreduce('w')
    if rank == 3 and step == 1:
        store.broadcast('b', np.ones(3), out=np.ones(3))  # HERE
    else:
        allreduce('l')
""",
    ),
    'an early return': (
        3,
        1,
        """
def train():
    for step in range(5):
        allreduce('w')  # HERE
        if step == 2 and rank == 1:
            return
train()
""",
    ),
    'more pulls on another rank': (
        3,
        1,
        """
for step in range(6):
    allreduce('w')  # HERE
    if rank == 0:
        store.pull('v', out=np.zeros(3))
    if rank != 1 or step != 3:
        allreduce('l')
""",
    ),
    'another order on each rank, which waits for nobody': (
        3,
        1,
        """
for step in range(5):
    keys = ['w', 'v'] if (rank + step) % 2 else ['v', 'w']
    for key in keys:
        store.push(key, np.ones(3))
    for key in keys:
        store.pull(key, out=np.zeros(3))
    npx.waitall()
    if rank == 1 and step == 2:
        time.sleep(60)  # HERE
""",
    ),
    'one more in a second thread': (
        3,
        0,
        """
def report():
    for i in range(3 + (rank == 0)):
        store.push('v', np.ones(3))  # HERE
thread = threading.Thread(target=report)
thread.start()
thread.join()
for step in range(4):
    allreduce('w')
""",
    ),
    'one less in the main thread, beside a second one': (
        3,
        2,
        """
def report():
    for i in range(8):
        store.push('v', np.ones(3))
        time.sleep(0.1 * rank)
threading.Thread(target=report).start()
for step in range(4):
    allreduce('w')  # HERE
    if rank != 2 or step != 1:
        allreduce('l')
""",
    ),
    'long names that begin alike, swapped': (
        3,
        0,
        """
keys = ['encoder.layers.0.' * 20 + end for end in ('query', 'value')]
for key in keys:
    store.init(key, np.zeros(3))
for step in range(4):
    for key in reversed(keys) if rank == 0 and step == 2 else keys:
        allreduce(key)  # HERE
""",
    ),
    'an atexit handler that blocks': (
        3,
        1,
        """
import atexit
if rank == 1:
    atexit.register(lambda: time.sleep(60))  # HERE
allreduce('w')
""",
    ),
    'killed': (
        4,
        2,
        """
for step in range(5):
    if rank == 2 and step == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    allreduce('w')  # HERE
""",
    ),
    'an exchange of the first rank alone': (
        3,
        0,
        """
for step in range(4):
    allreduce('w')
    if rank == 0 and step == 2:
        allreduce('l')  # HERE
""",
    ),
    'a decorated step, left out once': (
        3,
        2,
        """
def timed(function):
    @functools.wraps(function)
    def call(*args):
        return function(*args)
    return call
@contextlib.contextmanager
def section():
    yield
add = timed(allreduce)
for step in range(5):
    with section():
        add('w')  # HERE
    if rank != 2 or step != 2:
        add('l')
""",
    ),
    'a layer that one rank has frozen': (
        3,
        1,
        """
for step in range(4):
    for key in 'wl' if rank == 1 and step > 1 else 'wvl':
        allreduce(key)  # HERE
""",
    ),
    'a barrier that one does not reach': (
        3,
        1,
        """
for step in range(4):
    allreduce('w')  # HERE
    if rank != 1 or step != 2:
        store._barrier()
""",
    ),
    'a barrier of one rank alone': (
        4,
        3,
        """
for step in range(4):
    allreduce('w')
    if rank == 3 and step == 2:
        store._barrier()  # HERE
""",
    ),
    'a key that the others do not make': (
        3,
        2,
        """
for step in range(4):
    allreduce('w')
    if rank == 2 and step == 1:
        store.init('new', np.zeros(3))  # HERE
""",
    ),
    'another number of micro-batches': (
        3,
        0,
        """
for micro_batch in range(12):
    if micro_batch % (3 if rank == 0 else 2) == 0:
        allreduce('w')  # HERE
""",
    ),
    'an iterator that ends early': (
        3,
        2,
        """
def shards():
    for shard in range(6):
        if rank == 2 and shard == 4:
            return
        yield np.ones(3)
for gradient, step in zip(shards(), range(6)):
    allreduce('w', gradient)  # HERE
""",
    ),
    'a break because of a loss that is not a number': (
        4,
        1,
        """
for step in range(6):
    loss = float('nan') if rank == 1 and step == 3 else 1.0
    if loss != loss:
        break
    allreduce('w')
allreduce('l')  # HERE
allreduce('l')
""",
    ),
    'an exchange tried again after an error': (
        3,
        1,
        """
def send(step):
    allreduce('w')  # HERE
    if rank == 1 and step == 2:
        raise OSError('the disk was full')
for step in range(5):
    try:
        send(step)
    except OSError:
        send(step + 1)
    allreduce('l')
""",
    ),
    'pushed and pulled at once, by another name': (
        3,
        0,
        """
for step in range(4):
    if rank == 0 and step == 2:
        total = np.zeros(3)
        store.pushpull('v', np.ones(3), out=total)  # HERE
        npx.waitall()
    else:
        allreduce('w')
""",
    ),
    'in a function that calls itself': (
        3,
        2,
        """
def walk(depth):
    if depth == 0:
        return
    if rank != 2 or depth != 2:
        allreduce('w')  # HERE
    walk(depth - 1)
walk(5)
""",
    ),
    'a program that never ends': (
        3,
        1,
        """
for step in range(4):
    allreduce('w')
    if rank == 1 and step == 1:
        subprocess.run(['sleep', '60'])  # HERE
""",
    ),
    'a connection on which nobody answers': (
        3,
        0,
        """
ours, theirs = socket.socketpair()
for step in range(4):
    allreduce('w')
    if rank == 0 and step == 1:
        ours.recv(1)  # HERE
""",
    ),
    'a server that nobody asks': (
        2,
        1,
        """
server = socket.socket()
server.bind(('127.0.0.1', 0))
server.listen()
for step in range(4):
    allreduce('w')
    if rank == 1 and step == 1:
        server.accept()  # HERE
""",
    ),
    'a locked file': (
        3,
        2,
        """
ours = open(f'lock-{rank}', 'w')
theirs = open(f'lock-{rank}', 'w')
fcntl.flock(theirs, fcntl.LOCK_EX)
for step in range(4):
    allreduce('w')
    if rank == 2 and step == 1:
        fcntl.flock(ours, fcntl.LOCK_EX)  # HERE
""",
    ),
    'two threads that wait for each other': (
        3,
        1,
        """
ours, theirs = threading.Lock(), threading.Lock()
def other():
    with theirs:
        time.sleep(0.5)
        ours.acquire(timeout=40)
for step in range(4):
    allreduce('w')
    if rank == 1 and step == 1:
        with ours:
            threading.Thread(target=other, daemon=True).start()
            time.sleep(0.2)
            theirs.acquire(timeout=40)  # HERE
""",
    ),
    'a thread that is joined and never ends': (
        3,
        0,
        """
for step in range(4):
    allreduce('w')
    if rank == 0 and step == 1:
        thread = threading.Thread(target=time.sleep, args=(60,), daemon=True)
        thread.start()
        thread.join()  # HERE
""",
    ),
    'a loader thread that has died': (
        3,
        2,
        """
batches = queue.Queue()
def load():
    for step in range(6):
        if rank == 2 and step == 3:
            raise ValueError('a broken image')
        batches.put(step)
threading.Thread(target=load, daemon=True).start()
for step in range(6):
    batches.get()  # HERE
    allreduce('w')
""",
    ),
    'a pool whose process was killed': (
        2,
        1,
        """
def load(step):
    if rank == 1 and step == 2:
        os._exit(1)
    return step
for step in range(4):
    with multiprocessing.get_context('fork').Pool(1) as pool:
        pool.map(load, [step])  # HERE
    allreduce('w')
""",
    ),
    'an event that nobody sets': (
        4,
        3,
        """
ready = threading.Event()
for step in range(4):
    allreduce('w')
    if rank == 3 and step == 2:
        ready.wait()  # HERE
""",
    ),
    'a poll of nothing': (
        3,
        1,
        """
for step in range(4):
    allreduce('w')
    if rank == 1 and step == 2:
        select.select([], [], [])  # HERE
""",
    ),
    'a loop that looks for a file': (
        3,
        0,
        """
while rank == 0 and not os.path.exists('of another rank'):
    time.sleep(0.1)  # HERE
allreduce('w')
""",
    ),
    'a long wait before another attempt': (
        3,
        2,
        """
def download():
    for attempt in range(9):
        time.sleep(60)  # HERE
for step in range(4):
    allreduce('w')
    if rank == 2 and step == 2:
        download()
""",
    ),
    'a group of half the ranks, in its own thread': (
        4,
        1,
        """
def add_in_half():
    for step in range(3):
        store.push(f'half {rank % 2}', np.ones(3))
if rank % 2 == 0:
    threading.Thread(target=add_in_half).start()
for step in range(4):
    allreduce('w')  # HERE
    if rank != 1 or step != 1:
        allreduce('l')
""",
    ),
    'names of other alphabets, of which one differs': (
        3,
        1,
        """
keys = ['слой.' * 60 + 'вес', 'слой.' * 60 + '"梯"']
for key in keys:
    store.init(key, np.zeros(3))
for step in range(4):
    for key in reversed(keys) if rank == 1 and step == 2 else keys:
        allreduce(key)  # HERE
""",
    ),
}

# Of chapter 20: which rank is wrong, and in which line.
CHAPTER = {
    'skips.py': (1, 2),
    'fewer.py': (2, 2),
    'order.py': (0, 3),
    'shape.py': (1, 3),
    'data.py': (2, 5),
    'dies.py': (0, 3),
}
CHAPTER_START = (
    START
    + """
onp = np
for key, size in ('gradient', 3), ('loss', 1), ('weight', 3), ('bias', 3):
    store.init(key, np.zeros(size))
def allreduce(key, array):
    store.push(key, array)
    store.pull(key, out=array)
    npx.waitall()
"""
)


def line_of(script, mark='# HERE'):
    """Return the number of the line that ends with a mark."""
    lines = script.splitlines()
    (number,) = [i for i, own in enumerate(lines, 1) if own.endswith(mark)]
    return number


def hang_of(case):
    """Return the number of workers, which rank is wrong, the script and the
    line."""
    if case in HANGS:
        workers, rank, script = HANGS[case]
        return workers, rank, START + script, line_of(START + script)
    rank, line = CHAPTER[case]
    chapter = nbformat.read(ROOT / 'notebooks/20_hangs.ipynb', 4)
    (cell,) = [cell.source for cell in chapter.cells if cell.id == 'scripts']
    names = {'Path': pathlib.Path}
    exec(cell, names)
    # The chapter gives up sooner than a job.
    script = names['SCRIPTS'][case].replace('timeout=5', 'timeout=60')
    return 3, rank, CHAPTER_START + script, line + CHAPTER_START.count('\n')


@pytest.fixture(scope='module')
def table():
    """A list of rows, written to build/hangs.txt: each hang, its rank, and
    what the message says of it."""
    rows = []
    yield rows
    (ROOT / 'build').mkdir(exist_ok=True)
    text = ''.join(f'{row}\n' for row in rows)
    (ROOT / 'build' / 'hangs.txt').write_text(text)


@pytest.fixture(scope='module')
def clone(tmp_path_factory):
    """Return a clone that is named as the package."""
    folder = tmp_path_factory.mktemp('home') / 'd2lmulti'
    make_clone(folder)
    return folder


@pytest.fixture
def hang(clone, monkeypatch, stand_in_path):
    """Return a function that runs a script, which hangs, as a job inside of
    the clone, and gives the message's lines from the one that names roles
    on."""
    monkeypatch.chdir(clone)
    monkeypatch.setenv('D2LMULTI_TEST', str(clone))

    def run(script, workers, mxnet):
        if not mxnet:
            monkeypatch.setenv('PYTHONPATH', stand_in_path)
        printed = d2lrun_message(
            clone,
            clone,
            script,
            *('--exit-timeout', '4'),
            *('--timeout', '90' if mxnet else '30'),
            workers=workers,
        )
        assert left_behind(clone) == []
        lines = printed.splitlines()
        (first,) = [
            i for i, line in enumerate(lines) if line.startswith('error: ')
        ]
        return lines[first:]

    return run


# MXNet's servers sum any three pushes of a name, so that another rank's may be
# the one that waits: then the records cannot tell who, but show the line.
OPEN = ('one more in a second thread',)
# With the stand-in, a hang takes a fourth of the processor time.
CASES = [
    *((case, False) for case in CHAPTER),
    *(pytest.param(case, False, marks=pytest.mark.long) for case in HANGS),
    *(
        pytest.param(case, True, marks=pytest.mark.long)
        for case in [*CHAPTER, *HANGS]
    ),
]


@pytest.mark.parametrize('case, mxnet', CASES)
def test_the_rank_and_the_line_of_a_hang_are_named(hang, table, case, mxnet):
    workers, rank, script, line = hang_of(case)
    head, *lines = hang(script, workers, mxnet)
    message = '\n'.join([head, *lines])
    names = head[len('error: ') :].partition(': ')[0]
    named = re.findall(r'worker-\d \(rank (\d)\)', names)
    if case in OPEN and mxnet and 'the records cannot tell who' in message:
        assert len(named) == workers and re.search(
            rf'script\.py:{line}\b', message
        )
        return
    assert named == [f'{rank}'], message
    own = [text for text in lines if text.startswith(f'worker-{rank}, rank')]
    own += [text for text in lines if text.startswith('its last')]
    own += re.findall('File ".*script.py", line .*', message)
    here = rf'script\.py(:|", line ){line}\b'
    assert any(re.search(here, text) for text in own), message
    kind = 'MXNet' if mxnet else 'stand-in'
    table.append(f'{case} ({kind}): rank {rank}, script.py:{line}; {own[0]}')
    differ = [text for text in lines if text.startswith('out of step')]
    assert {text.rpartition(': ')[2] for text in differ} <= {
        f'worker-{rank}, rank {rank}'
    }


TWO_AGAINST_TWO = """
for step in range(4):
    allreduce('w')
    if step == 2:
        allreduce('vl'[rank % 2])
"""


@pytest.mark.long
@pytest.mark.parametrize('mxnet', [False, True])
def test_two_against_two_are_all_shown_and_none_is_blamed(hang, table, mxnet):
    head, *lines = hang(START + TWO_AGAINST_TWO, 4, mxnet)
    assert re.findall(r'\(rank (\d)\)', head) == [*'0123']
    assert lines[0] == 'out of step: the records cannot tell who'
    assert [
        f', push {"vl"[rank % 2]} (3,)' in line
        for rank, line in enumerate(lines[1:5])
    ] == [True] * 4
    table.append(f'two against two: {lines[0]}')


# Where a reader's script may be: each returns the folder with the packages,
# and that of the script.


def make_clone(folder):
    """Make a folder as README's `git clone` does: it holds the packages."""
    folder.mkdir()
    for name in ('d2lmulti', 'd2lrun', 'd2lbase'):
        shutil.copytree(
            ROOT / name,
            folder / name,
            ignore=shutil.ignore_patterns('__pycache__'),
        )


def in_clone(folder):
    make_clone(folder / 'book')
    return folder / 'book', folder / 'book'


def in_clone_with_its_default_name(folder):
    make_clone(folder / 'd2lmulti')
    return folder / 'd2lmulti', folder / 'd2lmulti'


def in_its_folder(folder):
    make_clone(folder / 'd2lmulti')
    (folder / 'd2lmulti' / 'mxnet').mkdir()
    return folder / 'd2lmulti', folder / 'd2lmulti' / 'mxnet'


def beside_it(folder):
    make_clone(folder / 'd2lmulti')
    (folder / 'd2lmulti-work').mkdir()
    return folder / 'd2lmulti', folder / 'd2lmulti-work'


def beside_the_package(folder):
    make_clone(folder / 'd2lmulti')
    (folder / 'd2lmulti' / 'd2lmulti-work').mkdir()
    return folder / 'd2lmulti', folder / 'd2lmulti' / 'd2lmulti-work'


def through_a_link(folder):
    make_clone(folder / 'd2lmulti')
    (folder / 'link').symlink_to(folder / 'd2lmulti')
    return folder / 'link', folder / 'link'


def with_linked_packages(folder):
    make_clone(folder / 'd2lmulti')
    (folder / 'mine').mkdir()
    for name in ('d2lmulti', 'd2lrun', 'd2lbase'):
        (folder / 'mine' / name).symlink_to(folder / 'd2lmulti' / name)
    return folder / 'mine', folder / 'mine'


def installed(folder):
    packages = folder / 'env' / 'lib' / 'python3' / 'site-packages'
    packages.parent.mkdir(parents=True)
    make_clone(packages)
    (folder / 'site-packages-work').mkdir()
    return packages, folder / 'site-packages-work'


PLACES = (
    installed,
    in_clone,
    in_clone_with_its_default_name,
    in_its_folder,
    beside_it,
    beside_the_package,
    through_a_link,
    with_linked_packages,
)
STUCK = """
import d2lmulti
def train(step):
    allreduce('w')
    if rank == 1 and step == 2:
        time.sleep(60)  # HERE
for step in range(4):
    train(step)  # LOOP
"""
EXCHANGES_OF_THE_BOOK = """
import os, time
import numpy as onp
import d2lmulti
X = onp.random.RandomState(0).uniform(size=(64, 1, 28, 28)).astype('float32')
y = onp.zeros(64, dtype='int32')

def count(y):
    global calls
    calls += 1
    if calls > 3 and os.environ['RANK'] == '1':
        time.sleep(60)  # HERE
    return len(y)

calls = 0
data = X, y, X, y
d2lmulti.train_on_cluster(1, 16, 0.1, 2, data=data, count=count)  # CALL
"""


def line_with(script, mark):
    """Return script.py:LINE of the line that ends with a mark."""
    return f'script.py:{line_of(script, mark)}'


def d2lrun_message(clone, folder, script, *options, workers=2):
    """Return what `python -m d2lrun` prints of a job that hangs, workers that
    run a script in `folder`, with a clone's packages."""
    (folder / 'script.py').write_text(script)
    path = [str(clone), os.environ.get('PYTHONPATH')]
    ended = subprocess.run(
        [
            *(sys.executable, '-m', 'd2lrun', '--workers', f'{workers}'),
            *('--progress-timeout', '4', *options),
            *('--', sys.executable, 'script.py'),
        ],
        cwd=folder,
        env={
            **os.environ,
            'PYTHONPATH': os.pathsep.join(filter(None, path)),
            'OMP_NUM_THREADS': '1',
        },
        text=True,
        capture_output=True,
    )
    assert ended.returncode == 1, ended.stderr
    return ended.stderr


def exchanges_of(message):
    """Return the lines that say what each rank has called last."""
    return [line for line in message.splitlines() if 'called at' in line]


@pytest.mark.long
@pytest.mark.parametrize('place', PLACES)
def test_lines_are_named_wherever_the_script_is(tmp_path, place):
    script = START + STUCK
    message = d2lrun_message(*place(tmp_path), script)
    zero, one = exchanges_of(message)
    loop = line_with(script, '# LOOP')
    push = line_with(script, 'store.push(key, value)')
    pull = line_with(script, 'store.pull(key, out=value)')
    inside = line_with(script, "    allreduce('w')")
    assert f'called at {push}, from {inside}, from {loop}; now: s' in zero
    assert f'called at {pull}, from {inside}, from {loop}; now: ' in one
    assert one.endswith(f'now: {line_with(script, "# HERE")}, from {loop}')


@pytest.mark.long
@pytest.mark.parametrize('place', PLACES[:3])
def test_exchanges_of_the_book_are_named_by_the_line_that_trains(
    tmp_path, place
):
    script = EXCHANGES_OF_THE_BOOK
    message = d2lrun_message(*place(tmp_path), script)
    found = exchanges_of(message)
    assert [re.search('called at ([^;]*);', line)[1] for line in found] == [
        line_with(script, '# CALL')
    ] * 2
    assert f'now: {line_with(script, "# HERE")}' in message


# What each worker does between exchanges that all make.
HEALTHY = {
    'a slow rank': (
        3,
        """
for step in range(8):
    time.sleep(0.6 * (rank == 1))
    allreduce('w')
""",
    ),
    'each is slow at another time': (
        4,
        """
for step in range(8):
    time.sleep(step % 4 == rank)
    allreduce('w')
""",
    ),
    'long pauses': (
        2,
        """
for step in range(3):
    time.sleep(2.5)
    allreduce('w')
""",
    ),
    'one prepares its data, for long': (
        3,
        """
if rank == 2:
    end = time.time() + 7
    while time.time() < end:
        sorted(range(10_000))
allreduce('w')
""",
    ),
    'a long evaluation on one rank': (
        3,
        """
for epoch in range(2):
    allreduce('w')
    if rank == 0:
        end = time.time() + 6
        while time.time() < end:
            np.ones((50, 50)).sum().item()
allreduce('l')
""",
    ),
    'an evaluation that prints': (
        2,
        """
allreduce('w')
if rank == 1:
    for i in range(4):
        time.sleep(1.5)
        print('evaluated', i, flush=True)
allreduce('w')
""",
    ),
    'a slow upload at the end': (
        3,
        """
allreduce('w')
if rank == 0:
    for part in range(12):
        time.sleep(0.5)
""",
    ),
    'unequal work at the end': (
        3,
        """
allreduce('w')
end = time.time() + 3 * rank
while time.time() < end:
    sum(range(1000))
""",
    ),
    'an upload by a child': (
        2,
        """
allreduce('w')
if rank == 1:
    subprocess.run([sys.executable, '-c', 'import time; e = time.time() + 5\\n'
                    'while time.time() < e: pass'])
allreduce('w')
""",
    ),
    'a slow loader in a thread': (
        3,
        """
batches = queue.Queue()
def load():
    for step in range(4):
        time.sleep(1 + (rank == 2))
        batches.put(step)
threading.Thread(target=load).start()
for step in range(4):
    batches.get()
    allreduce('w')
""",
    ),
    'a thread that polls': (
        3,
        """
def watch():
    while True:
        time.sleep(0.01)
threading.Thread(target=watch, daemon=True).start()
for step in range(4):
    time.sleep(1.5 * (rank == step % 3))
    allreduce('w')
""",
    ),
    'unequal numbers of local steps': (
        4,
        """
for round in range(4):
    for step in range(1 + 3 * rank):
        np.ones((200, 200)).dot(np.ones((200, 200))).sum().item()
    allreduce('w')
""",
    ),
    'more exchanges than the ring holds': (
        2,
        """
for step in range(150):
    time.sleep(0.01 * (rank == 1))
    allreduce('w')
""",
    ),
    'Python runs ahead': (
        3,
        """
total = np.zeros(3)
for step in range(60):
    time.sleep(0.05 * (rank == 0))
    store.push('w', np.ones(3))
    store.pull('w', out=total)
npx.waitall()
""",
    ),
    'errors that all handle': (
        3,
        """
for step in range(5):
    try:
        if step % 3 == rank:
            raise ValueError
    except ValueError:
        time.sleep(1)
    allreduce('w')
""",
    ),
    'a lock that is released late': (
        3,
        """
lock = threading.Lock()
lock.acquire()
threading.Timer(3, lock.release).start()
if rank == 1:
    lock.acquire()
allreduce('w')
""",
    ),
    'a pipe with a late writer': (
        2,
        """
if rank == 1:
    child = subprocess.Popen(['sh', '-c', 'sleep 3; echo ready'],
                             stdout=subprocess.PIPE)
    child.stdout.read()
    child.wait()
allreduce('w')
""",
    ),
    'stopped for a while': (
        3,
        """
for step in range(5):
    if rank == 2 and step == 2:
        subprocess.Popen(['sh', '-c', f'sleep 2; kill -CONT {os.getpid()}'])
        os.kill(os.getpid(), signal.SIGSTOP)
    allreduce('w')
""",
    ),
    'a rank that logs much': (
        3,
        """
for step in range(5):
    if rank == 0:
        for i in range(300):
            print('x' * 500)
    allreduce('w')
""",
    ),
    'other keys on another rank are local': (
        3,
        """
local = {}
for step in range(5):
    if rank == 1:
        local[step] = np.ones(3) * step
        npx.waitall()
        time.sleep(1)
    allreduce('wvl'[step % 3])
""",
    ),
}


WITH_MXNET = {  # itself; the stand-in is fast, and enough for the others
    'a long evaluation on one rank',
    'unequal numbers of local steps',
    'Python runs ahead',
    'other keys on another rank are local',
}


@pytest.mark.long
@pytest.mark.parametrize('case', HEALTHY)
def test_a_healthy_job_ends_well_however_uneven_it_is(job, case):
    workers, script = HEALTHY[case]
    script += "print('the end', flush=True)\n"
    lines = job(
        START + script,
        workers=workers,
        limits=LIMITS,
        mxnet=case in WITH_MXNET,
    )
    assert sum('the end' in line for line in lines) == workers
