"""Right steps in JAX are called right: see `zoo_jax.py`."""

import os
import pathlib
import subprocess

import pytest

from tools.speed.peers.environments import JAX

TESTS = pathlib.Path(__file__).parents[1]


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_right_steps_are_called_right_and_a_lost_device_is_found():
    """In the environment of the benchmark, which it sets up."""
    assert JAX.why_missing() is None
    paths = TESTS, TESTS.parent / 'samestep/src'
    done = subprocess.run(
        [str(JAX.python), str(TESTS / 'frameworks/zoo_jax.py'), '1'],
        env={**os.environ, 'PYTHONPATH': os.pathsep.join(map(str, paths))},
        stdout=subprocess.PIPE,
        text=True,
        timeout=1700,
    )
    assert done.returncode == 0, done.stdout
