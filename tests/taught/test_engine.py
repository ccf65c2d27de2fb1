"""The chapter that builds an engine: what its cells promise."""

import random
import threading
import time
import types

import numpy as onp
import pytest

from d2lmulti.appendix import engine
from tools.notebooks import path_of
from tools.notebooks.cells import code_cells, plain, read_chapter

CELLS = (
    'imports',
    'numpy',
    'operation',
    'device',
    'array',
    'node',
    'operators',
)


@pytest.fixture
def chapter():
    """Return a module in which the cells above have run, with ours."""
    module = types.ModuleType('chapter')
    for cell in code_cells(read_chapter(path_of('engine'))):
        if cell.id in CELLS:
            exec(compile(plain(cell.source), cell.id, 'exec'), vars(module))
    return module


def devices_of(chapter, k, run_queue=engine.run_queue):
    """Return k devices whose threads run a function."""
    return [chapter.Device(f'cpu({i})', run_queue) for i in range(k)]


@pytest.mark.parametrize('k', [1, 2, 4])
def test_random_programs_end_as_in_the_order_of_their_lines(chapter, k):
    for seed in range(60):
        rng = random.Random(seed)
        devices = devices_of(chapter, k)

        def disturbed(a, b, seconds=0.0):
            time.sleep(seconds)
            return b - a

        right = [onp.full(2, i) for i in range(5)]
        ours = [
            chapter.array(value, devices[i % k])
            for i, value in enumerate(right)
        ]
        for _ in range(25):
            i, j = rng.randrange(5), rng.randrange(5)
            pause = rng.choice([0, 0, 0, 0.001])
            other = chapter.copy(ours[j], ours[i].device)
            new = chapter.call(
                lambda a, b, pause=pause: disturbed(a, b, pause),
                ours[i],
                other,
            )
            chapter.write(ours[i], new)
            right[i] = right[j] - right[i]
        assert [a.numpy().tolist() for a in ours] == [
            value.tolist() for value in right
        ]


def test_a_thread_that_has_died_is_named_at_once(chapter):
    def dies(queue):
        queue.get()
        raise KeyError('a mistake')

    (device,) = devices_of(chapter, 1, dies)
    chapter.LIMIT = 60
    with pytest.raises(TimeoutError, match='a mistake'):
        device.push(lambda: 0).wait()


def test_who_waits_for_what_never_ends_is_told_after_the_limit(chapter):
    def forgets(queue):
        while True:
            queue.get()

    (device,) = devices_of(chapter, 1, forgets)
    chapter.LIMIT = 0.1
    with pytest.raises(TimeoutError, match=r'who calls done\.set'):
        device.push(lambda: 0).wait()


def test_an_array_keeps_the_values_of_the_call(chapter):
    (device,) = devices_of(chapter, 1)
    gate, values = threading.Event(), onp.zeros(2)
    device.push(lambda: gate.wait(5))
    array = chapter.array(values, device)
    values += 1
    gate.set()
    assert array.numpy().tolist() == [0, 0]


def test_gradients_use_the_values_that_were_read(chapter):
    (device,) = devices_of(chapter, 1)
    a, b = (chapter.variable([[x]], device) for x in (2.0, 5.0))
    with chapter.record():
        product = chapter.dot(a, b)
    chapter.write(a, chapter.array([[100.0]], device))
    engine.backward_from(product)
    assert b.node.grad.wait() == 2


def test_an_array_that_was_not_recorded_has_no_gradients(chapter):
    (device,) = devices_of(chapter, 1)
    with pytest.raises(ValueError, match='not recorded'):
        engine.backward_from(chapter.array([1.0], device))


def test_an_operator_refuses_arrays_of_two_devices(chapter):
    one, two = devices_of(chapter, 2)
    with pytest.raises(ValueError, match=r'use copy\('):
        chapter.add(chapter.array(1, one), chapter.array(1, two))
