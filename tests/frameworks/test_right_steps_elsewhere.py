"""No right step in JAX, or of Trainer, Accelerate and Lightning, is called
wrong, in one process or in two, and a wrong one is found: in environments
with these libraries, which are set up."""

import os
import pathlib
import subprocess

import pytest

from tools.speed.peers.environments import JAX, ROOT, TRANSFORMERS

HERE = pathlib.Path(__file__).parent
TORCHRUN = ['-m', 'torch.distributed.run', '--standalone']


def run(environment, folder, *command, minutes):
    assert environment.why_missing() is None
    found = subprocess.run(
        [environment.python, *command, '1'],
        cwd=folder,
        env={
            **os.environ,
            'PYTHONPATH': f'{ROOT}/samestep/src:{ROOT}/tests',
            'OMP_NUM_THREADS': '1',
            'TORCH_DISABLE_SHARE_RDZV_TCP_STORE': '1',
        },
        text=True,
        capture_output=True,
        timeout=60 * minutes,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_right_steps_in_jax(tmp_path):
    run(JAX, tmp_path, HERE / 'right_steps_jax.py', minutes=28)


@pytest.mark.long
@pytest.mark.parametrize('processes', [1, 2])
@pytest.mark.parametrize('library', ['Trainer', 'Accelerate', 'Lightning'])
def test_right_steps_of_libraries(library, processes, tmp_path):
    start = [*TORCHRUN, f'--nproc-per-node={processes}']
    script = HERE / 'right_steps_trainers.py', library
    script = [*start, *script] if processes > 1 else script
    said = run(TRANSFORMERS, tmp_path, *script, minutes=9.8)
    assert said.count('a wrong step is found: True') == processes, said
