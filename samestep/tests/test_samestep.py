"""`same_step` tells bugs from rounding, and names them."""

import io
import subprocess
import sys

import numpy as np
import pytest

from samestep import same_step


def gradients(params, X, y):
    """Return the gradients of the summed loss of a small network."""
    W1, b1, W2, b2 = params
    h = np.tanh(X @ W1 + b1)
    scores = h @ W2 + b2
    p = np.exp(scores - scores.max(axis=1, initial=-9, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    back = (p @ W2.T) * (1 - h * h)
    return [X.T @ back, back.sum(axis=0), h.T @ p, p.sum(axis=0)]


def descend(params, sums, n):
    rate = params[0].dtype.type(0.1 / n)
    return [param - rate * g for param, g in zip(params, sums)]


def reference(params, X, y):
    return descend(params, gradients(params, X, y), len(X))


def shards_of(X, y, k):
    rows = np.array_split(np.arange(len(X)), k)
    return [(X[part], y[part]) for part in rows]


def parallel(k, change=lambda sums, n: (sums, n)):
    """Return a step on k devices; `change` plants a bug in the sums."""

    def step(params, X, y):
        alone = [gradients(params, *shard) for shard in shards_of(X, y, k)]
        sums = [sum(arrays) for arrays in zip(*alone)]
        return [descend(params, *change(sums, len(X)))] * k

    return step


def random_case(seed, steps=1, size=None):
    """Return (params, batches) of this seed."""
    rng = np.random.RandomState(seed)
    params = [
        rng.normal(0, 0.3, shape) for shape in ((20, 30), 30, (30, 5), 5)
    ]
    sizes = [size or rng.randint(1, 70) for _ in range(steps)]
    return params, [
        (rng.normal(size=(n, 20)), rng.randint(0, 5, n)) for n in sizes
    ]


@pytest.mark.parametrize('dtype', ['float16', 'float32', 'float64'])
@pytest.mark.parametrize('k', range(1, 9))
def test_right_steps_are_equal(k, dtype):
    """On ragged minibatches, with empty shards too, in one step and five."""
    for seed in range(10):
        params, batches = random_case(seed, steps=1 + 4 * (seed % 2))
        comparison = same_step(
            parallel(k), reference, params, batches, dtype=dtype
        )
        assert comparison, comparison
        assert str(comparison) == 'equal up to rounding'


@pytest.mark.long
def test_a_thousand_right_steps_give_no_false_alarm():
    for seed in range(1000):
        params, batches = random_case(seed)
        for mode, reference_of_mode in ((False, reference), (True, gradients)):
            step = parallel(1 + seed % 8)
            if mode:
                step = summed(1 + seed % 8)
            assert same_step(
                step, reference_of_mode, params, batches, gradients=mode
            )


def summed(k, change=lambda sums: sums):
    """Return a function that sums the gradients of k shards."""

    def step(params, X, y):
        alone = [gradients(params, *shard) for shard in shards_of(X, y, k)]
        return change([sum(arrays) for arrays in zip(*alone)])

    return step


def scaled(factor):
    return lambda sums, n: ([s * s.dtype.type(factor) for s in sums], n)


def alone(params, X, y):
    shards = shards_of(X, y, 2)
    return [descend(params, gradients(params, *s), len(X)) for s in shards]


def mean_of_means(params, X, y):
    means = [
        [g / len(shard[0]) for g in gradients(params, *shard)]
        for shard in shards_of(X, y, 2)
    ]
    return [descend(params, [sum(g) / 2 for g in zip(*means)], 1)] * 2


def one_replica_off(params, X, y):
    right = reference(params, X, y)
    return [right, [array + array.dtype.type(1e-4) for array in right]]


def stale():
    last = []

    def step(params, X, y):
        last.append(gradients(params, X, y))
        return descend(params, last[max(0, len(last) - 2)], len(X))

    return step


def on_rows(rows, n):
    """Return a step on these rows of the minibatch, divided by n."""

    def step(params, X, y):
        return descend(params, gradients(params, X[rows], y[rows]), n)

    rows = list(rows)
    return step


def one_column_stays(params, X, y):
    new = reference(params, X, y)
    new[2][:, 4] = params[2][:, 4]
    return new


BUGS = {
    'sum for mean': (parallel(2, scaled(2)), 'times the 2 devices'),
    'mean for sum': (parallel(2, scaled(0.5)), 'divided by the 2 devices'),
    'twice on three': (parallel(3, scaled(2)), 'twice'),
    'constant batch size': (parallel(2, lambda s, n: (s, 64)), 'times 0.95'),
    'backward': (parallel(2, scaled(-1)), 'backward'),
    'no update': (lambda params, X, y: params, 'has not moved'),
    'no exchange': (alone, 'it counts 0 to 30 never, 31 to 60 once.'),
    'mean of means': (
        mean_of_means,
        'as the mean of the means of 2 parts is.',
    ),
    'one replica': (one_replica_off, 'Only some replicas are wrong: [1]'),
    'shards with the longer one last': (
        lambda params, X, y: mean_of_means(params, X[::-1], y[::-1]),
        'as the mean of the means of 2 parts is.',
    ),
    'one shard of three lost': (
        lambda params, X, y: descend(
            params, gradients(params, X[21:], y[21:]), len(X)
        ),
        '0 to 20 never, 21 to 60 once',
    ),
    'last example lost': (
        lambda params, X, y: descend(
            params, gradients(params, X[:-1], y[:-1]), len(X)
        ),
        '0 to 59 once, 60 never',
    ),
    'permuted': (
        parallel(2, lambda s, n: ([a[::-1] for a in s], n)),
        'in another order',
    ),
    'not finite': (parallel(2, scaled(np.nan)), 'not finite'),
    'padding counted': (parallel(2, lambda s, n: (s, 62)), '61 / 62: padding'),
    'divided by the first shard': (
        parallel(2, lambda s, n: (s, 31)),
        '61 / 31: divided by a shard of rows?',
    ),
    'slices that overlap': (
        on_rows([*range(31), *range(30, 61)], 61),
        '0 to 29 and 31 to 60 once, 30 twice',
    ),
    'a sampler that repeats the first examples': (
        on_rows([*range(61), 0, 1, 2], 64),
        '0 to 2 1.91 times, 3 to 60 0.953 times',
    ),
    'one of the three reads, row by row in turn': (
        on_rows(range(0, 61, 3), 21),
        '0 to 60 (one in 3) 2.9 times, the others never.',
    ),
    'one of the three reads twice, row by row in turn': (
        on_rows([*range(61), *range(0, 61, 3)], 61),
        '0 to 60 (one in 3) twice, the others once.',
    ),
    'labels of the next row': (
        lambda params, X, y: reference(params, X, np.roll(y, 1)),
        'one with labels of the row beside',
    ),
    'half precision on the wire': (
        parallel(2, lambda s, n: ([a.astype('float16') for a in s], n)),
        'bits, in large and small numbers alike: precision?',
    ),
    'a constant in a bias': (
        lambda params, X, y: [
            array + array.dtype.type(0.01 if array.ndim == 1 else 0)
            for array in reference(params, X, y)
        ],
        'The move is the right one with 0.01 added to each number.',
    ),
    'a column that nobody sends': (
        one_column_stays,
        'Wrong are 30 of 150 numbers, the first at (0, 4). It has not moved.',
    ),
    'weight decay counted again': (
        lambda params, X, y: [
            new - old.dtype.type(0.01) * old
            for new, old in zip(reference(params, X, y), params)
        ],
        'the right one and -0.01 times what was there: a decay',
    ),
    'a little too large': (parallel(2, scaled(1.0001)), 'times 1.0001'),
}


@pytest.mark.parametrize('name', BUGS)
def test_a_bug_is_found_and_named(name):
    step, words = BUGS[name]
    params, batches = random_case(0, size=61)
    k = 3 if 'three' in name else 2
    comparison = same_step(step, reference, params, batches, num_devices=k)
    assert not comparison
    assert words in str(comparison), comparison


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


def test_the_first_wrong_step_is_named_and_a_stale_gradient():
    params, batches = random_case(1, steps=4, size=20)
    batches[2] = batches[1] = batches[0]
    comparison = same_step(stale(), reference, params, batches)
    worst = comparison.failures()[0]
    assert worst.step == 1 and 'step before' in worst.cause


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


def remembering(change):
    """Return a step; `change` gets parameters and
    sums of the step before, then its own."""
    last = []

    def step(params, X, y):
        last.append((params, gradients(params, X, y)))
        return change(*last[max(0, len(last) - 2)], *last[-1], len(X))

    return step


def test_gradients_that_were_not_zeroed_are_named():
    def added(old, before, params, sums, n):
        both = [a + b for a, b in zip(sums, before)]
        return descend(params, both if old is not params else sums, n)

    params, batches = random_case(1, steps=2, size=20)
    comparison = same_step(remembering(added), reference, params, batches)
    assert 'the right one and that of the step before' in str(comparison)


def test_gradients_at_old_parameters_are_named():
    seen = []

    def step(params, X, y):
        seen.append(params)
        old = seen[max(0, len(seen) - 2)]
        return descend(params, gradients(old, X, y), len(X))

    params, batches = random_case(1, steps=2, size=20)
    comparison = same_step(step, reference, params, batches)
    assert 'from the parameters of the step before' in str(comparison)


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
    assert 'The move is that of array 1.' in str(comparison)


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


def test_one_example_of_a_thousand_is_missed():
    params, batches = random_case(0, size=1000)
    step = BUGS['last example lost'][0]
    assert not same_step(step, reference, params, batches)


def test_bfloat16_has_its_own_spread():
    def rounded(params, X, y):
        """A step whose gradients and result have eight bits."""
        return [
            bfloat16(p - np.float32(0.1 / len(X)) * bfloat16(g))
            for p, g in zip(params, gradients(params, X, y))
        ]

    def on_two(params, X, y):
        sums = [
            sum(map(bfloat16, arrays))
            for arrays in zip(
                *(gradients(params, *s) for s in shards_of(X, y, 2))
            )
        ]
        rate = np.float32(0.1 / len(X))
        return [bfloat16(p - rate * bfloat16(g)) for p, g in zip(params, sums)]

    params, batches = random_case(0, size=61)
    params = [bfloat16(param) for param in params]
    assert not same_step(on_two, reference, params, batches)
    assert same_step(on_two, reference, params, batches, low=rounded)


def bfloat16(array):
    """Return float32 numbers that bfloat16 has."""
    bits = np.asarray(array, 'float32').view('uint32') + np.uint32(0x8000)
    return (bits & np.uint32(0xFFFF0000)).view('float32')


def test_growing_rounding_is_said():
    def unstable(params, X, y):
        return [param * param.dtype.type(3) % 1 for param in params]

    params, batches = random_case(0, steps=12, size=4)
    params = [abs(param) for param in params]
    comparison = same_step(unstable, unstable, params, batches)
    assert 'smooth activation' in str(comparison)


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


def test_the_last_array_counts():
    def step(params, X, y):
        right = reference(params, X, y)
        return [*right[:3], right[3] + right[3].dtype.type(1e-3)]

    params, batches = random_case(0, size=61)
    (failure,) = same_step(step, reference, params, batches).failures()
    assert failure.array == 3


# What must be noticed of `same_step` itself


def is_found(name, **how):
    params, batches = random_case(0, size=61)
    step, _ = BUGS[name]
    return not same_step(
        step, reference, params, batches, num_devices=2, **how
    )


def test_a_huge_bound_hides_a_bug():
    assert is_found('a little too large')
    assert not is_found('a little too large', factor=4e3)


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
    assert not is_found('a little too large')


def test_one_wrong_replica_is_hidden_by_a_look_at_the_first(monkeypatch):
    functions = sys.modules['samestep.functions']

    def only_the_first(*result, all_of=functions.replicas_in):
        return all_of(*result)[:1]

    assert is_found('one replica')
    monkeypatch.setattr(functions, 'replicas_in', only_the_first)
    assert not is_found('one replica')


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
    wrong = parallel(2, lambda sums, n: (sums, n / 1.7))

    def written(stream):
        monkeypatch.setattr('sys.stderr', stream)
        assert not same_step(wrong, reference, *random_case(1))
        return stream.getvalue()

    assert not written(Terminal())  # in less than a second
    monkeypatch.setattr('samestep.progress.DELAY', 0)
    assert not written(io.StringIO())  # a file
    for what in 'orders of the minibatches', 'causes':
        assert f'{what}: ' in written(Terminal())
    monkeypatch.setenv('RANK', '1')
    assert not written(Terminal())
    monkeypatch.delenv('RANK')
    monkeypatch.setitem(sys.modules, 'tqdm', None)  # is not installed
    assert not written(Terminal())
