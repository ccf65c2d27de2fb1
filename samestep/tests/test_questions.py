"""`same_step` asks of the gradients first, then of the update made of them.

The seeds begin at 5000: the bounds were not chosen by looking at them.
"""

import functools
import tracemalloc

import numpy as np
import pytest
from steps import (
    EXACT,
    READS,
    UPDATES,
    adamw,
    autocast,
    case,
    clip,
    clipped,
    each,
    look,
    mean_gradients,
    on_devices,
    sgd,
    taken,
    times,
)

from samestep import NothingMoves, Taken, same_step
from samestep.trees import named_arrays

SEEDS = range(5000, 5020)


@pytest.mark.parametrize('read', READS)
@pytest.mark.parametrize(
    ('update', 'seen'),
    [
        ('adamw', 'both'),
        ('adamw, clipped', 'both'),
        ('sgd, clipped', 'both'),
        ('adamw', 'the new arrays alone'),  # with its moments
        ('sgd', 'the new arrays alone'),
    ],
)
def test_right_steps_give_no_alarm(read, update, seen):
    update, read = UPDATES[update], READS[read]
    low = None
    if read is not EXACT:

        def low(params, X, y):
            return mean_gradients(params, X, y, read)

    for seed in SEEDS:
        step = taken(on_devices(2 + seed % 3, read), update)
        if seen != 'both':
            both = step

            def step(params, X, y, both=both):
                return both(params, X, y).params

        found = same_step(
            step,
            mean_gradients,
            *case(seed, 1 + seed % 2),
            low=low,
            update=update,
        )
        assert found, (seed, found)


@pytest.mark.parametrize('update', ['adamw, clipped', 'sgd, clipped'])
@pytest.mark.parametrize('factor', [1, 3])
def test_new_arrays_alone_are_not_judged_where_they_hide_gradients(
    update, factor
):
    step = taken(on_devices(2), UPDATES[update], times(factor))
    with pytest.raises(ValueError, match='the gradients were 1.1 times'):
        look(lambda *given: step(*given).params, update)


def test_without_update_the_answer_says_where_adam_enlarges_rounding():
    def said(update, seed):
        def moved(params, X, y, read=EXACT):
            return update(params, mean_gradients(params, X, y, read))

        step = taken(on_devices(2, autocast), update)
        return str(
            same_step(
                lambda *batch: step(*batch).params,
                moved,
                *case(seed),
                low=lambda *batch: moved(*batch, autocast),
            )
        )

    assert any('as with Adam' in said(adamw, seed) for seed in SEEDS)
    assert not any('as with Adam' in said(sgd, seed) for seed in SEEDS)


@pytest.mark.parametrize('update', ['sgd', 'adamw'])
def test_a_step_may_change_the_arrays_that_it_is_given(update):
    """As `param -= …` does: it is judged from where it began."""
    right = taken(on_devices(3), UPDATES[update])

    def in_place(params, X, y):
        grads, new = right(params, X, y)
        given = named_arrays(params)
        for name, array in named_arrays(new).items():
            given[name][...] = array
        return Taken(grads, params)

    found = same_step(
        in_place,
        mean_gradients,
        *case(5000, steps=3),
        update=UPDATES[update],
    )
    assert found, found


@pytest.mark.parametrize('update', UPDATES)
def test_gradients_times_four_are_named_whatever_hides_them(update):
    step = taken(on_devices(4), UPDATES[update], times(4))
    found = look(step, update, k=4)
    assert 'gradient of all 6 arrays' in str(found)
    assert 'the right one, times the 4 devices' in str(found)


def test_wrong_arrays_alone_are_found_and_no_gradient_is_called_right():
    def step(params, X, y):
        return sgd(params, on_devices(2)(params, X, y), lr=0.2)

    found = look(step)
    assert not found and 'gradients are right' not in str(found)


@pytest.mark.parametrize('factor', [4, 2, 61, 1 / 4])
def test_right_gradients_refute_what_a_factor_would_mean_of_them(factor):
    """As a sum where a mean is due: it would show in the gradients."""

    def step(params, X, y):
        grads = on_devices(4)(params, X, y)
        return Taken(grads, sgd(params, grads, lr=0.1 * factor))

    found = look(step, k=4)
    assert {d.cause for d in found.failures()} == {
        f'The move is the right one times {factor:g}.'
    }


@pytest.mark.parametrize('lost', ['first', 'second'])
def test_a_lost_state_is_not_called_a_decay_alone(lost):
    """A moment that starts over is off by a part of what was there, too."""

    def step(params, X, y):
        grads = on_devices(2)(params, X, y)
        blank = each(np.zeros_like, params[lost])
        return Taken(grads, adamw({**params, lost: blank}, grads))

    found = look(step, 'adamw', steps=2)
    causes = {d.cause for d in found.failures() if d.name.startswith(lost)}
    part = {'first': 0.9, 'second': 0.999}[lost]
    assert causes == {
        f'The move is the right one and -{part} times what was there: a '
        'decay, or what an optimizer keeps, left out or counted again?'
    }


def test_a_lost_momentum_is_not_called_a_decay_of_what_began_at_0():
    """Then parameters are a multiple of their momentum."""

    def gradient(params, X, y):
        return {'w': X.T @ (X @ params['w'] - y) / X.dtype.type(len(X))}

    def update(params, grads, kept=0.9):
        own = grads['w'] + grads['w'].dtype.type(kept) * params['momentum.w']
        rate = own.dtype.type(0.1)
        return {'w': params['w'] - rate * own, 'momentum.w': own}

    def step(params, X, y):
        grads = gradient(params, X, y)
        return Taken(grads, update(params, grads, 0))

    rng = np.random.RandomState(5460)
    params = {'w': np.zeros(20), 'momentum.w': np.zeros(20)}
    batches = [(rng.normal(size=(61, 20)), rng.normal(size=61))] * 2
    found = same_step(step, gradient, params, batches, update=update)
    assert {d.name for d in found.failures()} == {*params}
    for d in found.failures():
        assert 'a decay, or what an optimizer keeps,' in d.cause, d.cause


def test_a_count_of_steps_and_moments_are_no_move():
    def still(params, grads):
        return adamw(params, grads, lr=0)

    step = taken(on_devices(2), still)
    with pytest.raises(NothingMoves):
        same_step(step, mean_gradients, *case(5430), update=still)


def moments_first(state):
    return {name: state[name] for name in ('first', 'second', 'net', 'step')}


def adamw_of_moments_first(params, grads, **how):
    return moments_first(adamw(params, grads, **how))


def with_moments_first(update):
    """Return what is said of a state that begins with the moments, as in
    JAX's order of names, whose names end as those of the parameters do."""
    params, batches = case(5440)
    return same_step(
        taken(on_devices(2), update),
        mean_gradients,
        moments_first(params),
        batches,
        update=update,
        num_devices=2,
    )


@pytest.mark.parametrize('update', [None, sgd])
def test_a_reference_that_returns_nothing_is_told(update):
    step = taken(on_devices(2), sgd)
    with pytest.raises(ValueError, match='the reference gives no arrays'):
        same_step(step, lambda *_: None, *case(5450), update=update)


def test_a_parameter_has_its_own_name_where_moments_come_first():
    def step(params, X, y):
        net, last = params['net'], params['net']['last']
        own = {**last, 'bias': last['bias'] * last['bias'].dtype.type(3)}
        net = {**net, 'last': own}
        grads = mean_gradients({**params, 'net': net}, X, y)
        return Taken(grads, adamw_of_moments_first(params, grads))

    params, batches = case(5440)
    found = same_step(
        step,
        mean_gradients,
        moments_first(params),
        batches,
        update=adamw_of_moments_first,
        num_devices=3,
    )
    assert 'one with net.last.bias times 3, as if each device' in str(found)


def test_moments_that_come_first_are_no_move():
    assert with_moments_first(adamw_of_moments_first)
    with pytest.raises(NothingMoves):
        with_moments_first(functools.partial(adamw_of_moments_first, lr=0))


@pytest.mark.parametrize('rate', [0, 0.1])
def test_moments_are_no_move_whatever_gradients_are_called(rate):
    def gradient(params, X, y):
        off = X @ params['w'] - y
        return {'of the loss': X.T @ off / off.dtype.type(len(X))}

    def update(params, grads):
        rates = params['w'].dtype.type(rate), params['w'].dtype.type(0.9)
        own = grads['of the loss'] + rates[1] * params['momentum']
        return {'momentum': own, 'w': params['w'] - rates[0] * own}

    def compare():
        return same_step(
            taken(gradient, update), gradient, params, batches, update=update
        )

    rng = np.random.RandomState(5465)
    params = {'momentum': np.zeros(20), 'w': rng.normal(size=20)}
    batches = [(rng.normal(size=(61, 20)), rng.normal(size=61))]
    if rate:
        assert compare()
    else:
        with pytest.raises(NothingMoves):
            compare()


@pytest.mark.parametrize('how', ['both', 'new arrays'])
def test_what_does_not_move_is_refused(how):
    def still(params, grads):
        return sgd(params, grads, lr=0)

    def alone(params, X, y):
        return still(params, mean_gradients(params, X, y))

    more = {'update': still} if how == 'both' else {}
    step, right = (
        (taken(on_devices(2), still), mean_gradients)
        if more
        else (alone, alone)
    )
    with pytest.raises(ValueError, match='nothing moves further than its rou'):
        same_step(step, right, *case(5000), **more)


def test_replicas_an_ulp_apart_are_mentioned():
    def step(params, X, y):
        both = taken(on_devices(2), sgd)(params, X, y)
        bias = both.params['net']['last']['bias']
        up = {
            **both.params['net'],
            'last': {
                **both.params['net']['last'],
                'bias': np.nextafter(bias, 9),
            },
        }
        return [both, Taken(both.gradients, {**both.params, 'net': up})]

    found = look(step)
    assert found and 'not bit for bit alike' in str(found)


def test_counts_of_tokens_are_named():
    """Labels that are -100 count nothing; one divisor counts them shifted."""
    rng = np.random.RandomState(5000)
    X, y = rng.normal(size=(13, 9, 4)), rng.randint(0, 3, (13, 9))
    y[rng.rand(*y.shape) < 0.2] = -100

    def found(params, batch, due):
        seen = (batch['labels'] >= 0)[..., None]
        sums = (batch['input'] * seen).sum(axis=(0, 1))
        return {'w': sums / params['w'].dtype.type(due(batch['labels']))}

    def right(params, batch):
        return found(params, batch, lambda y: (y[:, 1:] >= 0).sum())

    def wrong(params, batch):
        return found(params, batch, lambda y: (y >= 0).sum())

    params, batch = {'w': np.zeros(4)}, {'input': X, 'labels': y}
    due, taken = (y[:, 1:] >= 0).sum(), (y >= 0).sum()
    seen = 'numbers that are not negative'

    def weighted(params, batch):
        return {'w': right(params, batch)['w'] * due / taken}

    # What is divided wrongly, and what is weighed wrongly, look alike.
    for step in wrong, weighted:
        answer = str(
            same_step(step, right, params, [(batch,)], gradients=True)
        )
        assert (
            f', times {due} / {taken}: the {taken} {seen} taken for the {due} '
            f'{seen} shifted by one, or the reverse?'
        ) in answer
    assert same_step(right, right, params, [(batch,)], gradients=True)


def test_a_factor_of_one_array_is_no_wrong_count():
    """It divides the loss, and so all gradients."""
    rng = np.random.RandomState(5490)
    ids = rng.randint(0, 2, (12, 9))
    ids[:, 1:] = np.arange(8) % 2  # half of the 96 numbers are above 0

    def found(params, ids, factor=1):
        mean = ids.astype(params['a'].dtype).mean(axis=0)
        return {'a': mean * params['a'] * factor, 'b': mean}

    def half(params, ids):
        return found(params, ids, params['a'].dtype.type(0.5))

    params = {'a': rng.normal(size=9), 'b': rng.normal(size=9)}
    answer = same_step(half, found, params, [(ids,)], gradients=True)
    assert [d.cause for d in answer.failures()] == [
        'The move is the right one times 0.5.'
    ]


@pytest.mark.parametrize('left_out', [False, True])
def test_labels_are_shifted_by_numbers_that_the_minibatch_has(left_out):
    """Others may be read as indices: PyTorch's CTC loss dies of -100."""
    rng = np.random.RandomState(5480)
    X, y = rng.normal(size=(13, 6, 4)), rng.randint(0, 5, (13, 6))
    y[:, -1] = -1 if left_out else 4
    given = set()

    def found(params, X, y):
        given.update(np.unique(y))
        off = (params['w'][y] - X) * (y >= 0)[..., None]
        grad = np.zeros_like(params['w'])
        np.add.at(grad, y, off)
        return {'w': grad}

    def step(params, X, y):
        shifted = np.roll(y, -1, axis=1)
        shifted[:, -1] = y.min()
        return found(params, X, shifted)

    params = {'w': rng.normal(size=(5, 4))}
    said = str(same_step(step, found, params, [(X, y)], gradients=True))
    assert ('one with labels shifted by one more' in said) == left_out
    assert given == {*np.unique(y)}


def added(part):
    """Return gradients of a loss that `b` does not change, but for what the
    step adds: of a softmax, to whose scores it is added."""

    def found(params, X, y):
        w, b = params['w'], params['b']
        scores = X @ w + b.sum()
        e = np.exp(scores - scores.max(axis=1, keepdims=True))
        e /= e.sum(axis=1, keepdims=True)
        e[np.arange(len(y)), y] -= 1
        e /= X.dtype.type(len(X))
        return {'w': X.T @ e, 'b': e.sum() + X.dtype.type(part) * b}

    return found


def test_a_small_error_of_any_form_has_no_cause():
    rng = np.random.RandomState(5460)
    factors = each(
        lambda a: 1 + rng.uniform(0, 4e-5, a.shape), case(5000)[0]['net']
    )

    def step(params, X, y):
        grads = on_devices(2)(params, X, y)
        grads = each(lambda g, f: g * f.astype(g.dtype), grads, factors)
        return Taken(grads, sgd(params, grads))

    found = look(step, 'sgd', 5000)
    assert not found
    assert 'The move' not in str(found)


@pytest.mark.parametrize('size', [1, 2, 7])
def test_a_gradient_that_is_0_has_no_multiples(size):
    rng = np.random.RandomState(5470)
    params = {'w': rng.normal(size=(6, 4)), 'b': rng.normal(size=size)}
    batches = [(rng.normal(size=(33, 6)), rng.randint(0, 4, 33))]
    for k in 1, 2:
        found = same_step(
            added(0.01),
            added(0),
            params,
            batches,
            gradients=True,
            num_devices=k,
        )
        assert {d.name: d.cause for d in found.failures()} == {
            'b': 'The right move is 0, up to rounding.'
        }


def test_only_what_is_in_proportion_to_a_clipped_norm_says_how_large_it_is():
    def step(params, X, y):
        grads = on_devices(2)(params, X, y)
        return Taken(grads, clipped(adamw)(params, clip(grads, 0.05)))

    found = look(step, 'adamw, clipped')
    said = {d.name.partition('.')[0]: d.cause for d in found.failures()}
    assert 'times 0.5. Clipped by 2 times the norm' in said['first']
    assert said['second'] == 'The move is the right one times 0.25.'


def test_an_average_of_what_adam_moves_is_not_called_clipped():
    """Of twice the gradients Adam makes the same move, too."""

    def update(params, grads, part=0.1):
        new = adamw(params, grads)

        def mean(old, own):
            return old + own.dtype.type(part) * (own - old)

        return {**new, 'mean': each(mean, params['mean'], new['net'])}

    def step(params, X, y):
        grads = on_devices(2)(params, X, y)
        return Taken(grads, update(params, grads, part=0.3))

    params, batches = case(5000)
    params['mean'] = params['net']
    found = same_step(step, mean_gradients, params, batches, update=update)
    assert {d.cause for d in found.failures()} == {
        'The move is the right one times 3.'
    }


def test_arrays_of_other_names_are_refused():
    params, batches = case(5000)

    def without(params, X, y):
        found = mean_gradients(params, X, y)
        del found['norm']['bias']
        return found

    with pytest.raises(ValueError, match=r"without \['norm.bias'\]"):
        same_step(without, mean_gradients, params, batches, gradients=True)
    with pytest.raises(ValueError, match='a row for each example'):
        same_step(without, without, params, [(batches[0][0], np.zeros(3))])


# Of the questions themselves


def test_a_bound_that_is_not_pushed_gives_alarms(monkeypatch):
    import samestep.questions as questions

    monkeypatch.setattr(
        questions, 'pushed', lambda *given: [0 * a for a in given[-1]]
    )
    with pytest.raises(AssertionError):
        test_right_steps_give_no_alarm('tf32', 'adamw', 'new arrays alone')


# Of large arrays


def large_step(change=lambda total, X, y: total):
    """Return a step on one large array, whose gradient is changed."""

    def step(params, X, y):
        kind = params['w'].dtype.type
        total = change(X.T @ (X @ params['w'] - y), X, y)
        return {'w': params['w'] - kind(0.1 / len(X)) * total}

    return step


def large():
    rng = np.random.RandomState(5000)
    X, y = rng.normal(size=(9, 400)), rng.normal(size=(9, 500))
    return {'w': rng.normal(size=(400, 500))}, [(X, y)]


def one_row_lost(total, X, y):
    return np.concatenate([total[:1] * 0, total[1:]])


def divided(total, X, y):
    return total / total.dtype.type(8)


def half_of_the_rows(total, X, y):
    w = large()[0]['w'].astype(total.dtype)
    return X[:5].T @ (X[:5] @ w - y[:5])


@pytest.mark.parametrize(
    ('change', 'cause'),
    [
        (divided, 'divided by the 8 devices'),
        (one_row_lost, 'Wrong are only some of its numbers. It has not moved'),
        (half_of_the_rows, 'counts 0 to 4 once, 5 to 8 never'),
    ],
)
def test_causes_of_large_arrays_are_named_in_little_memory(change, cause):
    """More than thirty known bugs are tried; their moves are not all held."""
    params, batches = large()
    tracemalloc.start()
    try:
        found = same_step(
            large_step(change),
            large_step(),
            params,
            batches,
            num_devices=8,
        )
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert cause in str(found)
    assert most < 25 * params['w'].nbytes


def test_all_numbers_of_large_arrays_would_take_much_memory(monkeypatch):
    import samestep.causes as causes

    monkeypatch.setattr(causes, 'MOST_NUMBERS', 10**9)
    with pytest.raises(AssertionError):
        test_causes_of_large_arrays_are_named_in_little_memory(
            half_of_the_rows, 'counts 0 to 4 once, 5 to 8 never'
        )


def test_no_row_is_tried_alone_after_the_cause_is_found():
    calls = {divided: 0, half_of_the_rows: 0}
    params, batches = large()
    for change in calls:

        def reference(*given, change=change):
            calls[change] += 1
            return large_step()(*given)

        same_step(
            large_step(change), reference, params, batches, num_devices=8
        )
    num_rows = len(batches[0][0])
    assert calls[half_of_the_rows] == calls[divided] + num_rows


def test_complex_arrays_are_refused():
    params = {'spectrum': np.ones(3, complex)}
    with pytest.raises(TypeError, match='spectrum is complex128: give its re'):
        same_step(*(lambda p, X: p,) * 2, params, [(np.ones((2, 3)),)])


@pytest.mark.parametrize(
    'momentum, said',
    [
        (0, 'It has not moved.'),
        (0.1, 'The move is the right one times 0.25.'),
        (0.64, 'The move is the right one times 1.6.'),
    ],
)
def test_a_running_mean_moves_from_its_old_value(momentum, said):
    """It is returned with the gradients, which begin at 0."""

    def found(params, X, y, part):
        mean = params['mean']
        mean = (1 - part) * mean + part * X.mean(axis=0)
        off = X @ params['w'] - y
        return {'w': X.T @ off / X.dtype.type(len(X)), 'mean': mean}

    def update(params, found):
        return {'w': params['w'] - 0.1 * found['w'], 'mean': found['mean']}

    def step(params, X, y, part=momentum):
        own = found(params, X, y, X.dtype.type(part))
        return Taken(own, update(params, own))

    rng = np.random.RandomState(5400)
    params = {'w': rng.normal(size=5), 'mean': 3 + rng.normal(size=5)}
    batches = [(rng.normal(size=(31, 5)), rng.normal(size=31))]
    comparison = same_step(
        step,
        lambda *given: found(*given, given[1].dtype.type(0.4)),
        params,
        batches,
        update=update,
    )
    assert {d.name: d.cause for d in comparison.failures()} == {'mean': said}


@pytest.mark.parametrize('times', [1, 3])
def test_what_the_order_of_rows_decides_is_not_called_judged(times):
    """A queue keeps the first examples."""

    def found(params, X, y, times=1):
        off = X @ params['w'] - y
        w = X.T @ off / X.dtype.type(len(X))
        new = X.dtype.type(times) * X[:4]
        return {'w': w, 'queue': np.concatenate([new, params['queue'][:-4]])}

    def update(params, found):
        return {'w': params['w'] - 0.1 * found['w'], 'queue': found['queue']}

    def step(params, X, y):
        own = found(params, X, y, times)
        return Taken(own, update(params, own))

    rng = np.random.RandomState(5410)
    params = {'w': rng.normal(size=5), 'queue': rng.normal(size=(9, 5))}
    batches = [(rng.normal(size=(31, 5)), rng.normal(size=31))]
    comparison = same_step(step, found, params, batches, update=update)
    assert comparison
    assert 'of the examples decides: queue.' in str(comparison)


def test_rows_that_are_no_examples_are_refused():
    """Of pairs in turn, another order makes others."""

    def pairs(params, X):
        off = X[::2] - X[1::2]
        return {'w': np.tanh(off * params['w']).mean(axis=0)}

    def update(params, grads):
        return {'w': params['w'] - 0.1 * grads['w']}

    def step(params, X):
        grads = pairs(params, X)
        return Taken(grads, update(params, grads))

    rng = np.random.RandomState(5420)
    params, batches = {'w': rng.normal(size=5)}, [(rng.normal(size=(8, 5)),)]
    with pytest.raises(NothingMoves, match='order of the examples'):
        same_step(step, pairs, params, batches, update=update)
