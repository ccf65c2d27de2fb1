"""The museum: each bug is found, each fix is not, and types tell which."""

import itertools

import numpy as onp
import pytest

from d2lmulti.judgment import bugs
from samestep import same_step

CAUSES = {  # for two devices
    'rebound': 'it counts 0 to 30 never, 31 to 60 once',
    'overwritten': 'as the sum of the means of 2 parts is',
    'expert_scale': 'times the 2 devices',
    'unmarked': 'the right one times 1.0',
    'own_count': "the mean of the shards' own",
    'row_bias': 'one with array 3 times 2, as if each device had added it',
    'shared_bias': 'Only some arrays are wrong: [1].',
    'own_start': 'started from parameters that differ by up to 0.01',
    'router_slots': 'Only some arrays are wrong: [0].',
    'many_ticks': 'times the 2 devices',
}
IN_TYPES = {
    'rebound',
    'unmarked',
    'own_count',
    'row_bias',
    'whole_logits',
    'shared_bias',
    'first_synced',
    'own_start',
}


def look(name, fixed, k):
    """Return the Comparison of a room's step with its reference."""
    make, reference, case, _ = bugs.ROOMS[name]
    return same_step(
        bugs.in_numpy(make(fixed, k)),
        bugs.in_numpy(reference),
        *case(0),
        num_devices=k,
    )


@pytest.mark.parametrize('k', [2, 3, pytest.param(4, marks=pytest.mark.long)])
@pytest.mark.parametrize('name', bugs.ROOMS)
def test_a_bug_is_found_and_its_fix_is_right(name, k):
    k = 2 if name == 'router_slots' else k  # a device for each expert
    right = look(name, True, k)
    assert right, right
    comparison = look(name, False, k)
    assert not comparison
    if k == 2:
        assert CAUSES.get(name, '') in str(comparison), comparison


def test_the_right_step_is_right():
    for k in range(1, 5):
        comparison = same_step(
            bugs.in_numpy(lambda *batch, k=k: bugs.data_parallel(*batch, k)),
            bugs.in_numpy(bugs.one_device),
            *bugs.some_case(steps=3),
        )
        assert comparison, comparison


def test_what_is_said_has_no_more_than_three_digits():
    comparison = look('token_means', False, 2)
    assert '0 to 10 2.77 times' in bugs.in_short(comparison)
    assert bugs.in_short(look('rebound', True, 2)) == 'equal up to rounding'


@pytest.mark.parametrize('name', bugs.ROOMS)
def test_types_see_a_bug_and_never_a_fix(name):
    assert bool(bugs.type_error(name)) == (name in IN_TYPES)
    assert not bugs.type_error(name, fixed=True)


@pytest.mark.parametrize('collective', bugs.CONVERSIONS)
@pytest.mark.parametrize('kind', bugs.KINDS)
def test_a_collective_converts_one_kind_alone(collective, kind):
    before, after = bugs.CONVERSIONS[collective]
    if kind == before:
        assert bugs.convert(kind, collective) == after
    else:
        with pytest.raises(TypeError, match=f'{collective} of what is {kind}'):
            bugs.convert(kind, collective)


def test_a_function_of_a_term_is_refused():
    assert bugs.nonlinear_kind('sharded') == 'sharded'
    with pytest.raises(TypeError, match='no term of the function'):
        bugs.nonlinear_kind('partial')


def test_a_mismatch_is_a_type_error_that_names_the_kinds():
    with pytest.raises(bugs.TypeMismatch, match='product of what is partial'):
        bugs.Typed('partial') @ bugs.Typed('sharded')
    assert issubclass(bugs.TypeMismatch, TypeError)


def pieces(whole, kind, axis):
    """Return what each of two devices has of a matrix."""
    if kind == 'replicated':
        return [whole, whole]
    if kind == 'sharded':
        return onp.split(whole, 2, axis)
    return [3 * whole, -2 * whole]  # two terms


def kinds_of(parts, whole):
    """Return all kinds of which these parts of a whole can be."""
    has = {
        'replicated': all(onp.array_equal(part, whole) for part in parts),
        'partial': onp.array_equal(sum(parts), whole),
        'sharded': any(
            onp.array_equal(onp.concatenate(parts, axis), whole)
            for axis in (0, 1)
        ),
    }
    return {kind for kind in has if has[kind]}


@pytest.mark.parametrize('a', ['replicated', 'sharded', 'partial'])
@pytest.mark.parametrize('b', ['replicated', 'sharded', 'partial'])
def test_a_product_has_the_kind_that_its_numbers_have(a, b):
    A, B = onp.arange(16).reshape(4, 4), onp.arange(3, 19).reshape(4, 4)
    kinds = set()
    for axes in itertools.product((0, 1), repeat=2):
        lefts, rights = pieces(A, a, axes[0]), pieces(B, b, axes[1])
        if lefts[0].shape[1] == rights[0].shape[0]:
            parts = [left @ right for left, right in zip(lefts, rights)]
            kinds |= kinds_of(parts, A @ B)
    if kinds:
        assert {bugs.multiply_kinds(a, b)} == kinds
    else:
        with pytest.raises(bugs.TypeMismatch):
            bugs.multiply_kinds(a, b)


@pytest.mark.parametrize('other', ['replicated', 'local'])
def test_a_product_with_what_is_local_is_local(other):
    assert bugs.multiply_kinds('local', other) == 'local'
    assert bugs.multiply_kinds(other, 'local') == 'local'
    array = bugs.Typed(other)
    bugs.backward_kinds(bugs.Typed('local') @ array)
    assert array.grad.kind == 'local'


def gradient_through(kind, *collectives, use=None):
    """Return the gradient's kind of an array of this kind that goes through
    the collectives, is used by `use`, and ends in a sum over the devices."""
    array = out = bugs.Typed(kind)
    for collective in collectives:
        out = out.to(collective)
    bugs.backward_kinds(use(out) if use else out)
    return array.grad.kind


def with_own_rows(W):
    return (bugs.Typed('sharded') @ W).to('sum of parts')


@pytest.mark.parametrize(
    'kind, collectives, use, right',
    [
        ('replicated', [], with_own_rows, 'partial'),
        ('sharded', ['all-gather'], with_own_rows, 'sharded'),  # ZeRO
        ('partial', ['allreduce'], None, 'replicated'),
        ('partial', ['reduce-scatter', 'sum of parts'], None, 'replicated'),
        ('sharded', ['all-to-all', 'sum of parts'], None, 'sharded'),
        ('replicated', ['one k-th', 'allreduce'], None, 'partial'),
        ('local', [], with_own_rows, 'local'),
    ],
)
def test_a_gradient_meets_the_pair(kind, collectives, use, right):
    assert gradient_through(kind, *collectives, use=use) == right


def test_what_comes_back_must_fit_the_pair():
    with pytest.raises(bugs.TypeMismatch, match='back to an allreduce is par'):
        gradient_through('partial', 'allreduce', use=with_own_rows)
    with pytest.raises(bugs.TypeMismatch, match='reduce-scatter of what is r'):
        gradient_through('sharded', 'all-gather')


def test_an_array_that_is_used_in_two_ways_is_refused():
    """As with sequence parallelism: a scale of what is sharded, and of what
    is replicated."""
    W = bugs.Typed('replicated')
    own = with_own_rows(W).to('allreduce')
    with pytest.raises(bugs.TypeMismatch, match='gradient that is'):
        bugs.backward_kinds(own + bugs.Typed('replicated') @ W)
