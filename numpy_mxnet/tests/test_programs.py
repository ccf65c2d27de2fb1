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

import mxnet
import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[1]
LIMIT = 300  # seconds: a deadlock ends here
NUM_PROGRAMS = int(os.environ.get('NUM_PROGRAMS', 40))


def run_program(seed, mx, num_steps=40):  # noqa: C901, PLR0912, PLR0915
    """Return all values of a program as nested lists."""
    np, rng = mx.np, random.Random(seed)
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
        kind = rng.randrange(19)
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
        elif kind == 13:  # a view of a view, and copies into it
            view = x[row:].reshape_view(-1)[column:]
            (rng.choice(arrays) % 53)[row, column:].copyto(view[: 4 - column])
            view[-1:] = rng.choice(arrays)[row, :1] % 59
            view *= 3
        elif kind == 14:
            np.add(x, here(x), out=x)
            x[row, column:].copyto(x[0, column:])
        elif kind == 15:  # labels
            labels = (x[:, 0] % 4).astype('int32')
            x[:, column] = mx.npx.pick(here(x), labels)
            labels += 1
            x[row] = labels[row]
            seen.append(x.astype('float64').sum().item() % 1009)
        elif kind == 16:  # each device waits for the one before
            total = x
            for device in devices:
                total = total.as_in_ctx(device) + 1
            arrays[i] = total
        else:
            seen.append(gradients(mx, rng, devices, x, row))
        if kind not in (8, 9, 10, 12, 15):
            x = arrays[i]
            arrays[i][:] = x % 1009
    seen += [array.asnumpy().tolist() for array in arrays]
    mx.npx.waitall()
    return seen


def gradients(mx, rng, devices, x, row):
    """Write a gradient into `x`; return others, as lists."""
    np, autograd = mx.np, mx.autograd
    W = np.array([[1.0, 2], [3, 4], [5, 6], [7, 8]], ctx=x.ctx)
    v = (x % 13).copyto(rng.choice(devices))
    if rng.random() < 0.5:
        v.attach_grad(rng.choice(['write', 'add']))
    else:  # into a part of another array
        whole = np.full((5, 4), 7, ctx=v.ctx)
        autograd.mark_variables(
            [v], [whole[1:4]], rng.choice(['write', 'add'])
        )
    fixed = (x % 11).copyto(v.ctx)
    fixed.attach_grad('null')
    with autograd.record():
        y = np.dot(v.as_in_ctx(W.ctx), W).sum() * 2
        with autograd.pause():
            paused = v * 2
        z = (v[row] * fixed[0] + v[0] * v[1].detach() + paused[2]) * v[row]
    head = np.arange(4).copyto(z.ctx)
    retain = rng.random() < 0.5
    autograd.backward([y, z], [None, head], retain_graph=retain)
    if retain:
        v[0] = 1  # what is read now
        autograd.backward([z, y])
    v.grad.copyto(x)
    return [v.grad.asnumpy().tolist(), z.asnumpy().tolist()]


def run_all(first, count, engine='stand-in'):
    """Return the values of so many programs on the engine in this process."""
    import mxnet as mx

    mx.npx.set_np()
    if engine == 'disturbed':
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
    the 'stand-in', or on one that is 'disturbed' or has 'no threads'."""
    paths = [str(FOLDER / 'tests')]
    if engine != 'mxnet':
        paths.insert(0, str(FOLDER / 'src'))
    script = (
        'import json\n'
        'import conftest, mxnet, test_programs\n'
        f'assert hasattr(mxnet, "STAND_IN") == ({engine!r} != "mxnet")\n'
        f'print(json.dumps(test_programs.run_all({first}, {count}, '
        f'{engine!r})))'
    )
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(
        [*paths, str(FOLDER.parent)]))  # fmt: skip
    env['NO_THREADS'] = str(int(engine == 'no threads'))
    done = subprocess.run(
        [sys.executable, '-c', script], env=env, timeout=LIMIT, text=True,
        stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_the_stand_in_gives_what_mxnet_gives():
    """Or, where that is not installed, the same with all schedules."""
    right = 'stand-in' if hasattr(mxnet, 'STAND_IN') else 'mxnet'
    for first in range(0, NUM_PROGRAMS, 100):
        count = min(100, NUM_PROGRAMS - first)
        expected = on_engine(right, first, count)
        for engine in ('stand-in', 'disturbed', 'no threads'):
            found = on_engine(engine, first, count)
            wrong = [
                first + i for i in range(count) if found[i] != expected[i]
            ]
            assert not wrong, f'{engine}: these programs differ: {wrong}'


@pytest.mark.slow
def test_semantics_hold_without_threads():
    env = dict(os.environ, PYTHONPATH=str(FOLDER / 'src'), NO_THREADS='1')
    tests = str(FOLDER / 'tests/test_semantics.py')
    command = [sys.executable, '-m', 'pytest', '-q', tests]
    assert subprocess.run(command, env=env, timeout=LIMIT).returncode == 0
