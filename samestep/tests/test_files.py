"""A reference is recorded in a file, and a step judged by it, with other
names and axes. The seeds begin at 13200.
"""

import numpy as np
import pytest
from steps import UPDATES, adamw, case, each, mean_gradients, on_devices

from samestep import Taken, judge, record


@pytest.fixture
def path(tmp_path):
    return tmp_path / 'due.npz'


def written(path, seed=13200, **how):
    params, (batch,) = case(seed)
    record(path, mean_gradients, params, batch, update=adamw, **how)


def nested(flat):
    tree: dict = {}
    for name, array in flat.items():
        *above, last = name.split('.')
        place = tree
        for key in above:
            place = place.setdefault(key, {})
        place[last] = array
    return tree


def step(factor=1, late=1, changed=lambda tree: tree):
    def run(params, X, y):
        params = {
            n: a.astype('float32') if a.ndim else a for n, a in params.items()
        }
        params = nested(params)
        grads = on_devices(4)(params, X.astype('float32'), y)
        grads = each(lambda g: g * g.dtype.type(factor), grads)
        new = adamw(params, each(lambda g: g * g.dtype.type(late), grads))
        return Taken(changed(grads), new)

    return run


def test_a_right_step_is_right_and_a_wrong_one_is_not(path):
    for seed in range(13200, 13204):
        written(path, seed)
        found = judge(path, step())
        assert found, found
    found = str(judge(path, step(2)))
    assert 'gradient of all 6 arrays' in found and 'twice' in found
    found = judge(path, step(late=2))
    assert {d.of for d in found.failures()} == {''}


def test_names_and_axes_are_mapped(path):
    def renamed(tree):
        last = {**tree['last'], 'kernel': tree['last']['weight'].T}
        del last['weight']
        return {**tree, 'last': last}

    params, (batch,) = case(13210)
    record(path, mean_gradients, params, batch)
    with pytest.raises(ValueError, match='no last.weight: give `names`'):
        judge(path, step(changed=renamed))
    with pytest.raises(ValueError, match='give `names` with axes'):
        judge(path, step(changed=renamed), {'last.weight': 'last.kernel'})
    names = {'last.weight': ('last.kernel', (1, 0))}
    assert judge(path, step(changed=renamed), names)
    assert not judge(path, step(1.01, changed=renamed), names)
    with pytest.raises(ValueError, match='the file has no nothing'):
        judge(path, step(), {'nothing': 'a'})


def test_new_arrays_alone_are_judged(path):
    written(path, 13220)
    assert judge(path, lambda *given: step()(*given).params)
    found = judge(path, lambda *given: step(late=-1)(*given).params)
    assert not found


def test_new_arrays_that_hide_gradients_are_not_judged(path):
    params, (batch,) = case(13230)
    clipped = UPDATES['sgd, clipped']
    record(path, mean_gradients, params, batch, update=clipped)

    def alone(flat, X, y):
        own = nested(flat)
        return clipped(own, on_devices(4)(own, X, y))

    with pytest.raises(ValueError, match='the gradients were 1.1 times'):
        judge(path, alone)


def test_gradients_alone_do_not_judge_parameters(path):
    params, (batch,) = case(13240)
    record(path, mean_gradients, params, batch)
    with pytest.raises(ValueError, match='gradients alone'):
        judge(path, lambda params, X, y: params)


def test_a_running_mean_moves_from_its_old_value(path):
    """It is returned with the gradients, which begin at 0."""

    def found(params, X, part=0.4):
        kind = X.dtype.type
        mean = params['mean'] + kind(part) * (X.mean(0) - params['mean'])
        return {'w': X.sum(0) * params['w'], 'mean': mean}

    def update(params, found):
        return {'w': params['w'] - found['w'] / 10, 'mean': found['mean']}

    def half(params, X):
        own = found(params, X, 0.2)
        return Taken(own, update(params, own))

    rng = np.random.RandomState(13220)
    params = {'w': rng.normal(size=5), 'mean': 3 + rng.normal(size=5)}
    record(path, found, params, (rng.normal(size=(31, 5)),), update=update)
    assert {d.name: d.cause for d in judge(path, half).failures()} == {
        'mean': 'The move is the right one times 0.5.'
    }
