"""Random programs give the same numbers on MXNet and on the stand-in.

A program makes arrays of whole numbers on several devices, reads, writes,
takes views, copies and sums, and tells all values at the end. Whole numbers
below 2 ** 24 add without rounding, so the numbers must be equal. The stand-in
runs each program again while its threads pause at random, and without any.
"""

import json
import os
import pathlib
import random
import subprocess
import sys
import time

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[1]
LIMIT = 300  # seconds: a deadlock ends here
NUM_PROGRAMS = int(os.environ.get('NUM_PROGRAMS', 100))


def run_program(seed, mx, num_steps=40):
    """Return all values of a program as nested lists."""
    np, autograd = mx.np, mx.autograd
    rng = random.Random(seed)
    devices = [mx.cpu(i) for i in range(rng.randint(1, 4))]
    shape = (3, 4)
    arrays = [
        (np.arange(12).reshape(shape) + i).copyto(rng.choice(devices))
        for i in range(5)
    ]
    seen = []

    def here(array):  # another one on the same device, or a copy
        other = rng.choice(arrays)
        return other.as_in_ctx(array.ctx)

    for step in range(num_steps):
        i = rng.randrange(len(arrays))
        x = arrays[i]
        kind = rng.randrange(14)
        row, column = rng.randrange(3), rng.randrange(4)
        if kind == 0:
            x += here(x)
        elif kind == 1:
            x[row] -= here(x)[rng.randrange(3)]
        elif kind == 2:
            view = x[row:, :]
            view += 1
            view[0, column] = step
        elif kind == 3:
            here(x)[row:].copyto(x[row:])
        elif kind == 4:
            arrays[i] = x.copyto(rng.choice(devices))
        elif kind == 5:
            rng.choice(arrays).copyto(x)
        elif kind == 6:
            x[:, column] = here(x)[:, rng.randrange(4)]
        elif kind == 7:
            arrays[i] = np.maximum(x, here(x)) - x.min()
        elif kind == 8:
            x.reshape_view(-1)[row : row + column + 1] = step
        elif kind == 9:
            seen.append(x.asnumpy().tolist())
        elif kind == 10:
            arrays[i] = x % 97  # so that numbers stay small
        elif kind == 11:
            flat = x[row]
            x[:] = x.T.reshape(shape)
            flat[:2] = flat[2:].copy()
        elif kind == 12:
            index = np.array([row, 0], dtype='int32', ctx=x.ctx)
            x[index] = here(x)[rng.randrange(3)] % 89
        else:
            W = np.array([[1.0, 2], [3, 4], [5, 6], [7, 8]], ctx=x.ctx)
            v = (x % 13).copyto(rng.choice(devices))
            v.attach_grad(rng.choice(['write', 'add']))
            with autograd.record():
                y = np.dot(v.as_in_ctx(W.ctx), W).sum() * 2
                z = (v[row] * v[0]).sum()
            autograd.backward([y, z])
            v.grad.copyto(x)
        if kind in (0, 1, 2, 7):
            x = arrays[i]
            arrays[i][:] = x % 1009
    seen += [array.asnumpy().tolist() for array in arrays]
    mx.npx.waitall()
    return seen


def run_all(first, count, disturb=False):
    """Return the values of so many programs on the engine in this process."""
    import mxnet as mx

    mx.npx.set_np()
    if disturb:
        disturb_threads(mx, random.Random(first))
    return [run_program(seed, mx) for seed in range(first, first + count)]


def disturb_threads(mx, rng):
    """Let the stand-in's threads pause before and after operations, and
    Python change threads often."""
    sys.setswitchinterval(1e-5)
    run, finish = mx.engine.Operation.run, mx.engine.finish

    def pause():
        if rng.random() < 0.05:
            time.sleep(rng.random() * 2e-4)

    def slow_run(operation):
        pause()
        run(operation)
        pause()

    def slow_finish(operation, start):
        pause()
        finish(operation, start)

    mx.engine.Operation.run, mx.engine.finish = slow_run, slow_finish


def on_engine(engine, first, count):
    """Return the values of programs, run in another process: on 'mxnet', on
    the 'stand-in', or on the stand-in 'disturbed' or with 'no threads'."""
    paths = [str(FOLDER / 'tests')]
    if engine != 'mxnet':
        paths.insert(0, str(FOLDER / 'src'))
    script = (
        'import json\n'
        'import conftest, mxnet, test_programs\n'
        f'assert hasattr(mxnet, "STAND_IN") == ({engine!r} != "mxnet")\n'
        f'print(json.dumps(test_programs.run_all({first}, {count}, '
        f'{engine == "disturbed"})))'
    )
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(
        [*paths, str(FOLDER.parent)]))  # fmt: skip
    env['NO_THREADS'] = str(int(engine == 'no threads'))
    done = subprocess.run(
        [sys.executable, '-c', script], env=env, timeout=LIMIT, text=True,
        stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def has_mxnet():
    """Return whether MXNet itself can be run here."""
    try:
        on_engine('mxnet', 0, 0)
    except subprocess.CalledProcessError:
        return False
    return True


@pytest.mark.slow
def test_the_stand_in_gives_what_mxnet_gives():
    if not has_mxnet():
        pytest.skip('MXNet itself is not installed here')
    for first in range(0, NUM_PROGRAMS, 100):
        count = min(100, NUM_PROGRAMS - first)
        expected = on_engine('mxnet', first, count)
        for engine in ('stand-in', 'disturbed', 'no threads'):
            found = on_engine(engine, first, count)
            wrong = [
                first + i for i in range(count) if found[i] != expected[i]
            ]
            assert not wrong, f'{engine}: these programs differ: {wrong}'


@pytest.mark.slow
def test_schedules_change_no_number():
    first = 10_000
    expected = on_engine('stand-in', first, 20)
    for engine in ('disturbed', 'no threads'):
        assert on_engine(engine, first, 20) == expected


@pytest.mark.slow
def test_semantics_hold_without_threads():
    env = dict(os.environ, PYTHONPATH=str(FOLDER / 'src'), NO_THREADS='1')
    tests = str(FOLDER / 'tests/test_semantics.py')
    command = [sys.executable, '-m', 'pytest', '-q', tests]
    assert subprocess.run(command, env=env, timeout=LIMIT).returncode == 0
