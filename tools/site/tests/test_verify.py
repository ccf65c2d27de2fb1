"""The scripts of samestep's page for MXNet and JAX are right, and bugs in them
are found."""

import pytest
from samestep_page import FINE, run_recipe

from tools.speed.peers.environments import JAX

BUGS = {
    'no exchange': ("'sgd', sgd)", "'sgd', sgd, kvstore=None)", ' never'),
    'divided by the shard': (
        'trainer.step(len(X))',
        'trainer.step(len(X) / len(devices))',
        'off by',
    ),
}


def test_mxnet_is_right(tmp_path):
    assert run_recipe(tmp_path, 'gluon.py') == f'{FINE}\n'


@pytest.mark.parametrize('bug', BUGS)
def test_a_bug_in_mxnet_is_found(bug, tmp_path):
    *change, cause = BUGS[bug]
    found = run_recipe(tmp_path, 'gluon.py', [change])
    assert FINE not in found and cause in found


@pytest.mark.long
def test_jax_is_right_and_bugs_are_found(tmp_path):
    """In the environment of the benchmark, which it sets up."""
    assert JAX.why_missing() is None
    python = (str(JAX.python),)
    assert run_recipe(tmp_path, 'jax_steps.py', (), python) == f'{FINE}\n'
    psum = "jax.lax.psum(jax.grad(total)(params, *shard), 'devices')"
    for *bug, cause in (
        (psum, 'jax.grad(total)(params, *shard)', ' never'),
        (psum, f'jax.tree.map(lambda g: 2 * g, {psum})', 'gradient of all 2'),
        ('update(params, gradients))', 'params)', 'update of all 2'),
    ):
        found = run_recipe(tmp_path, 'jax_steps.py', [bug], python)
        assert FINE not in found and cause in found
