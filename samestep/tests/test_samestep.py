"""`same_step` tells bugs from rounding, and names them."""

import io
import subprocess
import sys

import numpy as np
import pytest
from plain import (
    descend,
    gradients,
    parallel,
    random_case,
    reference,
    scaled,
    shards_of,
    summed,
)

from samestep import Comparison, Difference, same_step


@pytest.mark.filterwarnings('error')
@pytest.mark.parametrize('number', [np.inf, -np.inf, np.nan])
def test_numbers_that_are_not_finite_are_named_quietly(number):
    """In one array of both replicas, from which others are looked for."""

    def change(sums, n):
        sums[0][0] = number
        return [sums[0], 2 * sums[1], *sums[2:]], n

    params, batches = random_case(0, size=61)
    found = same_step(parallel(2, change), reference, params, batches)
    causes = {d.array: d.cause for d in found.failures()}
    assert {*causes} == {0, 1} and 'not finite' in causes[0]
    assert all(d.error == np.inf for d in found.failures() if not d.array)


def test_no_cause_is_invented_for_what_has_another():
    def largest(params, X, y):
        """Take the larger of two gradients in place of their sum."""
        alone = [gradients(params, *shard) for shard in shards_of(X, y, 2)]
        return descend(params, [np.maximum(*g) for g in zip(*alone)], len(X))

    params, batches = random_case(0, size=61)
    failures = same_step(largest, reference, params, batches).failures()
    assert len(failures) == 4 and not any(d.cause for d in failures)


def centered(params, X, y):
    """Move by something else than a sum over examples."""
    return descend(params, gradients(params, X - X.mean(0), y), len(X))


def test_examples_are_not_counted_where_moves_do_not_add_up():
    def step(params, X, y):
        return centered(params, *(np.concatenate([a, a[:2]]) for a in (X, y)))

    params, batches = random_case(0, size=61)
    failures = same_step(step, centered, params, batches).failures()
    assert failures and 'counts' not in str(failures)


def test_layers_that_exchange_their_gradients_are_named():
    def layers(params, X, y):
        return [X.T @ y + params[0], (X**2).T @ y - params[1]]

    params, ((X, _),) = random_case(1, size=20)
    params = [np.ones((20, 2)), np.ones((20, 2))]
    comparison = same_step(
        lambda *batch: layers(*batch)[::-1],
        layers,
        params,
        [(X, X[:, :2])],
        gradients=True,
    )
    assert 'has the numbers of array 1, from number 0' in str(comparison)


def test_replicas_that_show_the_same_have_one_line():
    """Of eight, two have something else, and one that, too."""

    def off(replica, error, cause, array):
        name = f'layers.{array}.weight'
        return Difference(0, replica, array, error, 0.1, cause, name)

    differences = [
        off(replica, 1 + replica + array, 'Doubled.', array)
        for replica in range(8)
        for array in range(2)
    ]
    differences += [off(i, i, 'Halved.', 2) for i in (3, 5)]
    assert str(Comparison(differences)).splitlines() == [
        'step 0, replicas 0 to 7, layers.0.weight, layers.1.weight: off by up '
        'to 9, up to 90 times the bound. Doubled.',
        'step 0, replicas 3 and 5, layers.2.weight: off by up to 5, up to 50 '
        'times the bound. Halved.',
    ]
    assert len(Comparison(differences).failures()) == 18


def test_a_reference_that_cannot_take_every_part_does_no_harm():
    def masked(params, X, y):
        seen = y > 0
        if not seen.any():
            raise ZeroDivisionError('no example counts')
        return reference(params, X[seen], y[seen])

    def halved(params, X, y):
        right = masked(params, X, y)
        return [(a + b) / 2 for a, b in zip(params, right)]

    params, ((X, y),) = random_case(0, size=61)
    y[31:] = 0
    comparison = same_step(halved, masked, params, [(X, y)], num_devices=2)
    assert 'divided by the 2 devices' in str(comparison)


def smallest_seen(make, epsilons, runs=20):
    """Return the smallest epsilon whose bug is found in all runs."""
    for epsilon in epsilons:
        if not any(make(epsilon, seed) for seed in range(runs)):
            return epsilon


def test_a_scale_that_is_off_by_a_hundred_thousandth_is_seen():
    """In gradients of float32; in parameters, ten times that."""

    def in_gradients(epsilon, seed):
        params, batches = random_case(seed, size=61)
        step = summed(2, lambda s: [a * a.dtype.type(1 + epsilon) for a in s])
        return same_step(step, gradients, params, batches, gradients=True)

    def in_params(epsilon, seed):
        params, batches = random_case(seed, size=61)
        step = parallel(2, scaled(1 + epsilon))
        return same_step(step, reference, params, batches)

    epsilons = [10.0**-i for i in range(8, 1, -1)]
    assert smallest_seen(in_gradients, epsilons) <= 1e-5
    assert smallest_seen(in_params, epsilons) <= 1e-4


def squared(activation, slope, rate, k):
    """Return a step of two layers with squared errors on k shards."""

    def sums_of(params, X, y):
        W1, b1, W2, b2 = params
        z = X @ W1 + b1
        h = activation(z)
        back = h @ W2 + b2 - y
        below = (back @ W2.T) * slope(z)
        return [X.T @ below, below.sum(axis=0), h.T @ back, back.sum(axis=0)]

    def step(params, X, y):
        alone = [sums_of(params, *shard) for shard in shards_of(X, y, k)]
        scale = params[0].dtype.type(rate)
        return [p - scale * sum(g) for p, g in zip(params, zip(*alone))]

    return step


def at_a_kink(activation, whole=False):
    """Return parameters and two minibatches for a network of this
    activation. The first has each example twice, with errors that cancel:
    so biases stay at zero, up to rounding. In the second, half of the inputs
    are zeros: what they give to a hidden unit is its bias."""
    rng = np.random.RandomState(0)

    def draw(*shape):
        return rng.randint(-2, 3, shape) + (0 if whole else rng.rand(*shape))

    W1, W2 = draw(20, 30), draw(30, 5)
    params = [W1, np.zeros(30), W2, np.zeros(5)]
    X, off = draw(31, 20), draw(31, 5)
    scores = activation(X @ W1) @ W2
    first = (
        np.concatenate([X, X]),
        np.concatenate([scores + off, scores - off]),
    )
    X = np.concatenate([draw(31, 20), np.zeros((30, 20))])
    return params, [first, (X, draw(61, 5))]


RELU = (lambda z: np.maximum(z, 0), lambda z: (z > 0).astype(z.dtype))
TANH = (np.tanh, lambda z: 1 - np.tanh(z) ** 2)


@pytest.mark.parametrize('k', [2, 3])
def test_relu_lets_rounding_grow_and_both_remedies_help(k):
    def compared(kind, whole=False, rate=1 / 1024):
        return same_step(
            squared(*kind, rate, k),
            squared(*kind, rate, 1),
            *at_a_kink(kind[0], whole),
        )

    found = compared(RELU)
    assert found.growth > 1000
    assert 'tanh' in str(found) and 'whole numbers' in str(found)
    smooth, whole = compared(TANH), compared(RELU, whole=True)
    for better in smooth, whole:
        assert better and better.growth < 100, better
        assert str(better) == 'equal up to rounding'
    assert not any(d.error for d in whole.differences)


def test_a_reference_that_diverges_is_named_and_no_bug():
    params, batches = at_a_kink(RELU[0])
    step = squared(*RELU, 1e30, 1)
    with np.errstate(all='ignore'), pytest.raises(
        ValueError, match='in step 1:'
    ):
        same_step(step, step, params, batches * 9)


def test_wrong_arguments_are_named():
    params, batches = random_case(0)
    with pytest.raises(ValueError, match='batches is empty'):
        same_step(reference, reference, params, [])
    with pytest.raises(ValueError, match='replica 0 of the step has arrays'):
        same_step(lambda p, X, y: p[:2], reference, params, batches)


LOADED = """
import sys
sys.path[:0] = {path}
import numpy
before = set(sys.modules)
import samestep
for name in set(sys.modules) - before:
    where = getattr(sys.modules[name], '__file__', None)
    if 'site-packages' in str(where):
        print(name.split('.')[0])
"""


def test_it_needs_numpy_alone():
    done = subprocess.run(
        [sys.executable, '-c', LOADED.format(path=sys.path)],
        text=True,
        stdout=subprocess.PIPE,
        check=True,
    )
    assert {*done.stdout.split()} <= {'numpy', 'samestep'}


def test_one_spread_of_one_order_would_give_false_alarms():
    """So four spreads of eight orders are not too many."""

    def alarms(**options):
        return sum(
            not same_step(
                summed(k),
                gradients,
                *random_case(seed, size=61),
                gradients=True,
                **options,
            )
            for seed in range(20)
            for k in (2, 3, 4)
        )

    assert alarms() == 0
    assert alarms(factor=1, num_orders=1) > 0


# What must be noticed of `same_step` itself


def is_found(step=None, **how):
    step = step or parallel(2, scaled(1.0001))
    params, batches = random_case(0, size=61)
    return not same_step(
        step, reference, params, batches, num_devices=2, **how
    )


def test_a_huge_bound_hides_a_bug():
    assert is_found()
    assert not is_found(factor=4e3)


def test_a_reference_that_is_not_exact_hides_a_bug(monkeypatch):
    questions = sys.modules['samestep.questions']
    trees = sys.modules['samestep.trees']

    def less(dtype):
        return 'float16' if dtype == 'float64' else dtype

    def cast_less(arrays, dtype, cast=questions.cast):
        return cast(arrays, less(dtype))

    def batch_less(batch, dtype, cast=trees.Batch.cast):
        return cast(batch, less(dtype))

    monkeypatch.setattr(questions, 'cast', cast_less)
    monkeypatch.setattr(trees.Batch, 'cast', batch_less)
    assert not is_found()


def test_one_wrong_replica_is_hidden_by_a_look_at_the_first(monkeypatch):
    functions = sys.modules['samestep.functions']

    def only_the_first(*result, all_of=functions.replicas_in):
        return all_of(*result)[:1]

    def one_off(params, X, y):
        right = reference(params, X, y)
        return [right, [array + array.dtype.type(1e-4) for array in right]]

    assert is_found(one_off)
    monkeypatch.setattr(functions, 'replicas_in', only_the_first)
    assert not is_found(one_off)


def test_a_cause_that_is_not_proved_is_noticed(monkeypatch):
    causes = sys.modules['samestep.causes']
    monkeypatch.setattr(causes, 'bits_of', lambda *measured: 9)
    with pytest.raises(AssertionError):
        test_no_cause_is_invented_for_what_has_another()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_what_takes_long_shows_how_far_it_is(monkeypatch):
    pytest.importorskip('tqdm', '4.57')

    def wrong(params, X, y):
        return reference(params, X[1:], y[1:])

    def written(stream):
        monkeypatch.setattr('sys.stderr', stream)
        assert not same_step(wrong, reference, *random_case(1))
        return stream.getvalue()

    assert not written(Terminal())  # in less than a second
    monkeypatch.setattr('samestep.progress.DELAY', 0)
    assert not written(io.StringIO())  # a file
    for what in 'orders of the minibatches', 'causes', 'rows':
        assert f'{what}: ' in written(Terminal())
    monkeypatch.setenv('RANK', '1')
    assert not written(Terminal())
    monkeypatch.delenv('RANK')
    monkeypatch.setitem(sys.modules, 'tqdm', None)  # is not installed
    assert not written(Terminal())


def test_no_gradients_are_called_right_where_another_replica_has_wrong_ones():
    update = Difference(0, 0, 0, 1, 0.1, name='w', of='update')
    gradient = update._replace(replica=1, error=0.5, of='gradient')
    assert 'The gradients are right' in str(Comparison([update]))
    assert 'are right' not in str(Comparison([update, gradient]))
