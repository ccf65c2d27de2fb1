"""The museum: each bug is found, each fix is not, and types tell which."""

import re

import pytest
from helpers import put_in

from d2lmulti import bugs
from samestep import same_step

CAUSES = {  # for two devices
    'local_count': 'divided by the 2 devices',
    'rebound': 'shard 1 alone',
    'expert_scale': 'times the 2 devices',
    'stage_norm': 'the right one times 1.4',
    'own_count': "the mean of the shards' own",
    'bias_share': 'divided by the 2 devices',
    'many_ticks': 'times the 2 devices',
}
IN_TYPES = {
    *('local_count', 'rebound', 'stage_norm', 'counted_again', 'own_count'),
    *('row_bias', 'bias_share', 'first_synced', 'own_start'),
}


def look(name, fixed, k, seed=0):
    """Return the Comparison of a room's step with its reference."""
    make, reference, case, _ = bugs.ROOMS[name]
    return same_step(
        bugs.in_numpy(make(fixed, k)),
        bugs.in_numpy(reference),
        *case(seed),
        num_devices=k,
    )


@pytest.mark.parametrize('k', [2, pytest.param(3, marks=pytest.mark.long), 4])
@pytest.mark.parametrize('name', bugs.ROOMS)
def test_a_bug_is_found_and_its_fix_is_right(name, k):
    k = 2 if name == 'router_slots' else k  # a device for each expert
    for seed in range(2):
        assert look(name, True, k, seed), look(name, True, k, seed)
        found = look(name, False, k, seed)
        assert not found
        if k == 2 and seed == 0:
            assert CAUSES.get(name, '') in str(found), found


def test_the_right_step_is_right():
    for k in range(1, 5):
        found = same_step(
            bugs.in_numpy(lambda *batch, k=k: bugs.data_parallel(*batch, k)),
            bugs.in_numpy(bugs.one_device),
            *bugs.some_case(steps=3),
        )
        assert found, found


def test_what_is_said_has_no_more_than_three_digits():
    found = look('rebound', False, 2)
    assert re.search(r'times 0\.492\.$', bugs.in_short(found))
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


RULES = {
    'row_bias': (
        bugs.add_kinds,
        "raise TypeError('added by each device to its term: k times in all')",
        'return a',
    ),
    'local_count': (bugs.divide_kind, 'by != REPLICATED', 'False'),
    'rebound': (bugs.update_kind, 'param != grad or', 'False and'),
    'counted_again': (bugs.convert, 'kind != before', 'False'),
}


@pytest.mark.parametrize('name', RULES)
def test_a_rule_that_is_missing_is_noticed(name, monkeypatch):
    function, old, new = RULES[name]
    put_in(monkeypatch, function, old, new)
    with pytest.raises((AssertionError, TypeError)):
        test_types_see_a_bug_and_never_a_fix(name)
