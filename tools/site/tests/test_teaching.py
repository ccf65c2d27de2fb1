"""What the guide for instructors shows: a figure, and a step that is wrong."""

import itertools
import pathlib
import re

import numpy as np
import pytest

from tools.figures.chapters import description

ROOT = pathlib.Path(__file__).parents[3]
GUIDE = ROOT / 'tools/site' / 'teaching.md'


def test_the_figure_of_the_chapters_is_drawn_from_the_imports():
    drawn = (ROOT / 'img' / 'chapters.svg').read_text()
    assert description() in drawn, 'run `make figures`'


def given_step():
    """Return `check(n, k)`: whether the project's step, on `n` images and `k`
    devices, is that of one device."""
    from d2lmulti import network
    from d2lmulti.devices import try_devices
    from d2lmulti.replicas import get_params
    from d2lmulti.rounding import all_close, in_several_orders
    from d2lmulti.training import sgd, train_batch

    mx = pytest.importorskip('mxnet')
    (source,) = re.findall(
        r'```python\n(def given_step.*?)```', GUIDE.read_text(), re.S
    )
    names = {
        'autograd': mx.autograd,
        'np': mx.np,
        'lenet': network.lenet,
        'loss': network.loss,
        'sgd': sgd,
    }
    exec(source, names)
    rng = np.random.RandomState(0)

    def after(step, batches, k):
        devices = try_devices(k)
        replicas = [get_params(network.init_params(), d) for d in devices]
        for X, y in batches:
            step(X, y, replicas, devices, 0.1)
        return [param.copyto(mx.cpu()) for param in replicas[-1]]

    def check(n, k):
        X = mx.np.array(rng.rand(n, 1, 28, 28), dtype='float32')
        batches = [(X, mx.np.array(rng.randint(0, 10, n), dtype='int32'))]
        right = in_several_orders(
            lambda batches: after(train_batch, batches, 1), batches
        )
        found = after(names['given_step'], batches, k)
        return all_close(found, right)

    return check


@pytest.mark.parametrize('n, k', itertools.product((12, 13), (2, 3)))
def test_the_projects_step_is_wrong_where_the_answer_says(n, k):
    """It drops what is left over, and is right otherwise."""
    assert given_step()(n, k) == (n % k == 0)
