"""Nothing hangs, whatever the threads are set to, and Ctrl-C ends cleanly.

Each case trains, evaluates and sums on 2, 3 and 4 devices in a separate
process. D2LMULTI_STEPS=2000 takes as many steps as a long training.
"""

import os
import signal
import threading

import mxnet as mx
import pytest
from helpers import (
    SUPPORT_NEWER_PYTHON,
    assert_ctrl_c_waits,
    needs_mxnet,
    run,
)
from jupyter_client.manager import start_new_kernel
from mxnet import np

import d2lmulti
from d2lmulti.prepare import interrupts, machine

pytestmark = pytest.mark.slow
STEPS = int(os.environ.get('D2LMULTI_STEPS', 10))
SECONDS = 60 + STEPS

TRAIN = f"""
import mxnet as mx
from mxnet import np, npx

def train():
    X, y = np.ones((40, 1, 28, 28)), np.zeros(40, dtype='int32')
    for k in (2, 3, 4):
        devices = [mx.cpu(i) for i in range(k)]
        replicas = [d2lmulti.get_params(d2lmulti.init_params(), device)
                    for device in devices]
        for _ in range({STEPS}):
            d2lmulti.train_batch(X, y, replicas, devices, 0.01)
            d2lmulti.allreduce([params[4] for params in replicas])
            d2lmulti.evaluate_accuracy(replicas, [(X, y)], devices)
    npx.waitall()
    return 'done'
"""
OURS_FIRST = 'import d2lmulti\n' + TRAIN
MXNET_FIRST = SUPPORT_NEWER_PYTHON + 'import mxnet, d2lmulti\n' + TRAIN
MXNET_USED_FIRST = (
    SUPPORT_NEWER_PYTHON
    + """
import mxnet
ones = [mxnet.nd.ones((300, 300), ctx=mxnet.cpu(i)) for i in range(2)]
print(mxnet.nd.dot(ones[0], ones[0]).shape[0] - 300)
import d2lmulti
"""
    + TRAIN
)
OPENMP_FIRST = 'import ctypes; ctypes.CDLL("libgomp.so.1")\n' + OURS_FIRST
D2L_FIRST = (
    SUPPORT_NEWER_PYTHON
    + 'from d2l import mxnet as d2l\nimport d2lmulti\n'
    + TRAIN
)
FORKED = """
import os
train()
child = os.fork()
if child == 0:
    print(train(), flush=True)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
CASES = {
    'one': (OURS_FIRST, '1'),
    'two': (OURS_FIRST, '2'),
    'four': (OURS_FIRST, '4'),
    'eight': (OURS_FIRST, '8'),
    'mxnet first': (MXNET_FIRST, None),
    'mxnet first, four': (MXNET_FIRST, '4'),
    'mxnet used first, four': (MXNET_USED_FIRST, '4'),
    'openmp first': (OPENMP_FIRST, None),
    'd2l first': (D2L_FIRST, None),
    'd2l first, four': (D2L_FIRST, '4'),
    'forked': (OURS_FIRST + FORKED, None),
    'forked, mxnet first, four': (MXNET_FIRST + FORKED, '4'),
}


# With no variable set, `test_after_the_stop_button_the_next_cell_works` does
# the same. The others show what one of these shows, too.
MARKS = dict.fromkeys(CASES, pytest.mark.long)
MARKS.update(
    {
        'mxnet used first, four': pytest.mark.ci,
        'forked': pytest.mark.ci,
    }
)


@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize(
    'case',
    [pytest.param(case, marks=MARKS[case]) for case in CASES],
)
def test_training_on_2_to_4_devices_ends(case):
    code, threads = CASES[case]
    variables = {'OMP_NUM_THREADS': threads} if threads else {}
    result = run(code + '\nprint(train())', SECONDS, **variables)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split()[-1] == 'done'


COUNT_THREADS = """
import ctypes, sys
from mxnet import base
openmp = ctypes.CDLL('libgomp.so.1')
counts = []

@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
def count(run_context, nothing):
    counts.append(openmp.omp_get_max_threads())

for i in range(40):
    cpu = (ctypes.c_int * 2)(1, i % 4)
    base.check_call(base._LIB.MXEnginePushSync(
        count, None, None, cpu, None, 0, None, 0, None, 0, b'count', False))
base.check_call(base._LIB.MXNDArrayWaitAll())
print(set(counts))
"""


@needs_mxnet
@pytest.mark.parametrize(
    'first, workers',
    [('', '3'), (SUPPORT_NEWER_PYTHON + 'import mxnet\n', '1')],
    ids=['first', 'after mxnet'],
)
def test_a_device_uses_one_thread_whatever_the_user_has_set(first, workers):
    result = run(
        first + 'import d2lmulti' + COUNT_THREADS,
        OMP_NUM_THREADS='4',
        MXNET_CPU_WORKER_NTHREADS=workers,
    )
    assert result.stdout == '{1}\n'
    assert 'OMP_NUM_THREADS=4' in result.stderr


@needs_mxnet
def test_a_device_uses_one_thread_when_openmp_was_loaded_before():
    result = run(
        'import ctypes; ctypes.CDLL("libgomp.so.1").'
        'omp_set_num_threads(3)\nimport d2lmulti' + COUNT_THREADS
    )
    assert result.stdout == '{1}\n'


@needs_mxnet
def test_where_threads_cannot_be_limited_a_warning_says_so(monkeypatch):
    monkeypatch.setattr(machine, 'load_openmp', lambda: None)
    assert machine.openmp_threads() is None
    with pytest.warns(UserWarning, match='import d2lmulti before'):
        machine.limit_engine_threads()


@pytest.fixture(autouse=True)
def interrupts_are_not_ignored():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_for_the_end_of_the_step():
    devices = [mx.cpu(0), mx.cpu(1)]
    X, y = np.ones((6, 1, 28, 28)), np.zeros(6, dtype='int32')
    assert_ctrl_c_waits(
        lambda replicas, lr: d2lmulti.train_batch(X, y, replicas, devices, lr),
        d2lmulti.init_params(),
        devices,
    )


def test_a_step_cut_in_the_middle_is_caught(monkeypatch):
    monkeypatch.setattr(
        d2lmulti, 'train_batch', d2lmulti.train_batch.__wrapped__
    )
    with pytest.raises(AssertionError):
        test_an_interrupt_waits_for_the_end_of_the_step()


def test_a_second_interrupt_comes_through_at_once():
    reached = []
    with pytest.raises(KeyboardInterrupt):
        with interrupts.uninterrupted():
            signal.raise_signal(signal.SIGINT)
            reached.append('first held')
            signal.raise_signal(signal.SIGINT)
            reached.append('second held')
    assert reached == ['first held']
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_ignored_interrupt_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupts.uninterrupted():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_other_threads_may_train_too():
    done = []

    def work():
        devices = [mx.cpu(0), mx.cpu(1)]
        replicas = [
            d2lmulti.get_params(d2lmulti.init_params(), device)
            for device in devices
        ]
        d2lmulti.train_batch(
            np.ones((6, 1, 28, 28)), np.zeros(6), replicas, devices, 0.1
        )
        done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(60)
    assert done == [True]


ENDLESS = (
    'import d2lmulti\n'
    + TRAIN
    + """
devices = [mx.cpu(0), mx.cpu(1)]
replicas = [d2lmulti.get_params(d2lmulti.init_params(), c) for c in devices]
X, y, *_ = d2lmulti.read_fashion_mnist()
data = d2lmulti.Minibatches(X[:256], y[:256], 64)
while True:
    for X, y in data:
        d2lmulti.train_batch(X, y, replicas, devices, 0.1)
        npx.waitall()
        print('step')
"""
)
AFTERWARDS = """
npx.waitall()
print(all((p.asnumpy() == q.asnumpy()).all() for p, q in zip(*replicas)),
      0 <= d2lmulti.evaluate_accuracy(replicas, data, devices) <= 1,
      train())
"""


@pytest.fixture(scope='module')
def kernel():
    manager, client = start_new_kernel(startup_timeout=60)
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.timeout(SECONDS + 250)
def test_after_the_stop_button_the_next_cell_works(kernel):
    manager, client = kernel
    texts, steps = [], threading.Semaphore(0)

    def listen(message):
        if message['msg_type'] == 'stream':
            texts.append(message['content']['text'])
            steps.release()
        elif message['msg_type'] == 'error':
            texts.append(message['content']['ename'])

    def stop():
        for _ in range(3):
            steps.acquire(timeout=90)
        manager.interrupt_kernel()

    stopper = threading.Thread(target=stop)
    try:
        stopper.start()
        client.execute_interactive(ENDLESS, timeout=120, output_hook=listen)
        client.execute_interactive(
            AFTERWARDS, timeout=SECONDS, output_hook=listen
        )
    finally:
        stopper.join()
    assert ''.join(texts).replace('step\n', '') == (
        'KeyboardInterruptTrue True done\n'
    )


TRAIN = """
import d2lmulti
data = [part[:256] for part in d2lmulti.read_fashion_mnist()]
calls = []

def loss(scores, y):
    calls.append(len(y))
    if sum(calls) > 256 and sum(calls[:-1]) <= 256:
        print('an epoch is over')
    return d2lmulti.loss(scores, y)

two = d2lmulti.train(2, 64, 0.1, num_epochs=10**6, data=data, loss=loss)
print(two.accuracies != [],
      d2lmulti.training.max_difference(*two.device_params) == 0)
"""


@pytest.mark.timeout(150)
def test_a_training_that_is_stopped_returns_what_there_is(kernel):
    manager, client = kernel
    texts, trained, ended = [], threading.Event(), threading.Event()

    def listen(message):
        if message['msg_type'] == 'stream':
            texts.append(message['content']['text'])
        elif message['msg_type'] == 'error':
            texts.append(message['content']['ename'])
        # One print may come in pieces, and a warning of matplotlib's before.
        if 'an epoch is over' in ''.join(texts):
            trained.set()

    def stop():
        trained.wait(90)
        while not ended.wait(2):  # press again where the first was lost
            manager.interrupt_kernel()

    stopper = threading.Thread(target=stop)
    try:
        stopper.start()
        client.execute_interactive(TRAIN, timeout=100, output_hook=listen)
    finally:
        ended.set()
        trained.set()
        stopper.join()
    said = ''.join(texts)
    assert 'stopped: here is the result so far\n' in said
    assert said.endswith('\nTrue True\n'), said
