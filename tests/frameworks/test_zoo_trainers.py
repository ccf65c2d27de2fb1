"""No right step of Trainer, Accelerate and Lightning is called wrong, in one
process or in two, and a wrong one is found. zoo_trainers.py has the steps."""

import os
import pathlib
import subprocess

import pytest

from tools.speed.peers.environments import ROOT, TRANSFORMERS

ZOO = pathlib.Path(__file__).with_name('zoo_trainers.py')
TORCHRUN = ['-m', 'torch.distributed.run', '--standalone']


@pytest.mark.long
@pytest.mark.parametrize('processes', [1, 2])
@pytest.mark.parametrize('library', ['Trainer', 'Accelerate', 'Lightning'])
def test_right_steps_are_called_right(library, processes, tmp_path):
    """In an environment with these libraries, which it sets up."""
    assert TRANSFORMERS.why_missing() is None
    run = [*TORCHRUN, f'--nproc-per-node={processes}']
    found = subprocess.run(
        [
            TRANSFORMERS.python,
            *(run if processes > 1 else []),
            ZOO,
            library,
            '1',
        ],
        cwd=tmp_path,
        env={
            **os.environ,
            'PYTHONPATH': f'{ROOT}/samestep/src:{ROOT}/tests',
            'OMP_NUM_THREADS': '1',
            'TORCH_DISABLE_SHARE_RDZV_TCP_STORE': '1',
        },
        text=True,
        capture_output=True,
        timeout=590,
    )
    said = found.stdout
    assert found.returncode == 0, said + found.stderr
    assert said.count('a wrong step is found: True') == processes, said
