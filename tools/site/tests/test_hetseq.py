"""The page on HetSeq: its commands run, and train the same network."""

import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from d2lmulti.cluster.checkpoint import load_checkpoint
from d2lmulti.network import init_params

PAGE = (pathlib.Path(__file__).parents[3] / 'tools/site/hetseq.md').read_text()
(SCRIPT,) = re.findall(r'```python\n(.*?)```', PAGE, re.DOTALL)
ONE, TWO, REST = re.findall(r'```bash\n(.*?)```', PAGE, re.DOTALL)

pytestmark = pytest.mark.timeout(120)


def start(command, folder):
    """Start a command of the page."""
    words = shlex.split(command.replace('\\\n', ' '))
    return subprocess.Popen(
        [sys.executable, *words[1:]],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
    )


def run(command, folder, nodes=0):
    """Run a command, and those that it prints for nodes; return the rest of
    what it prints."""
    job, others, lines = start(command, folder), [], []
    for line in job.stdout:
        _, launch, own = line.partition('HYDRA_LAUNCH: ')
        if launch:
            others.append(subprocess.Popen(shlex.split(own), cwd=folder))
        else:
            lines.append(line)
    assert job.wait(100) == 0
    assert [other.wait(10) for other in others] == [0] * nodes
    return ''.join(lines)


def test_unequal_nodes_and_what_is_left_train_the_network_of_one(tmp_path):
    (tmp_path / 'train.py').write_text(SCRIPT)
    assert '[cpu(0)]: accuracy' in run(ONE, tmp_path)
    printed = run(TWO, tmp_path, nodes=2)
    assert '[0] [cpu(0), cpu(1), cpu(2), cpu(3)]: accuracy' in printed
    assert '[1] [cpu(0), cpu(1)]: accuracy' in printed
    two = load_checkpoint(tmp_path / 'two')
    assert two.settings['devices'] == [4, 2]
    # The second node is lost after two steps of four.
    *_, newest = sorted((tmp_path / 'two').glob('*.npz'))
    newest.unlink()
    assert load_checkpoint(tmp_path / 'two').step == 2
    assert 'cpu(3)]: accuracy' in run(REST, tmp_path)
    one, rest = (load_checkpoint(tmp_path / name) for name in ('one', 'two'))
    assert rest.settings['devices'] == [4]
    for found in (two, rest):
        assert found.step == one.step == 4
        apart = [abs(p - q).max() for p, q in zip(one.params, found.params)]
        moved = [
            abs(p - q.asnumpy()).max()
            for p, q in zip(one.params, init_params(0))
        ]
        # Not bit for bit, as sums have another order, but much less apart
        # than one example of the 128 too few or too many would move them.
        assert 0 < max(apart) < max(moved) / 128 / 10
