"""The page on HetSeq: its commands run, and its options exist."""

import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest
from helpers import JOIN, left_behind

from d2lmulti.checkpoint import load_checkpoint
from d2lmulti.network import init_params
from d2lrun.agent import free_port

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / 'book/hetseq.md').read_text()
STAND_IN = ROOT / 'tests/launcher/stand_in'
(SCRIPT,) = re.findall(r'```python\n(.*?)```', PAGE, re.DOTALL)
COMMANDS = re.findall(r'```bash\n(.*?)```', PAGE, re.DOTALL)

pytestmark = pytest.mark.timeout(120)


def run(folder, commands, **variables):
    """Run commands of the page at the same time; return their outputs."""
    port = str(free_port(0))
    processes = []
    for command in commands:
        command = command.replace('11111', port)
        command = command.replace('/shared/', f'{folder}/')
        words = shlex.split(command.replace('\\\n', ' '))
        processes.append(
            subprocess.Popen(
                [sys.executable, *words[1:]],
                cwd=folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env={
                    **os.environ,
                    'D2LMULTI_TEST': str(folder),
                    'D2LMULTI_DEVICES': 'cpu',
                    'D2LRUN_SECRET': 'of the test',
                    **variables,
                },
            )
        )
    outputs = [process.communicate(timeout=100)[0] for process in processes]
    statuses = [process.returncode for process in processes]
    assert not any(statuses), '\n'.join(outputs)
    assert left_behind(folder) == []
    return outputs


@pytest.mark.long
def test_the_two_examples_train_the_same_network(tmp_path):
    (tmp_path / 'train.py').write_text(SCRIPT)
    (alone,) = run(tmp_path, COMMANDS[:1])
    first, second = run(tmp_path, COMMANDS[1:3])
    assert '[cpu(0)]: accuracy' in alone
    assert first.count('[cpu(0), cpu(1), cpu(2), cpu(3)]: accuracy') == 2
    assert 'the first node prints all output' in second
    one, two = (load_checkpoint(tmp_path / name) for name in ('one', 'two'))
    assert one.step == two.step == 4
    apart = [abs(p - q).max() for p, q in zip(one.params, two.params)]
    moved = [
        abs(p - q.asnumpy()).max() for p, q in zip(one.params, init_params(0))
    ]
    # Not bit for bit, as sums have another order, but much less apart than
    # one example of the 128 too few or too many would move them.
    assert 0 < max(apart) < max(moved) / 128 / 10


def test_a_process_for_each_of_eight_devices_meets_at_a_file(tmp_path):
    (tmp_path / 'train.py').write_text(
        JOIN + "print('sum', step(), os.environ['D2LMULTI_NUM_DEVICES'])"
    )
    path = os.pathsep.join([str(STAND_IN), os.environ.get('PYTHONPATH', '')])
    first, _ = run(tmp_path, COMMANDS[3:], PYTHONPATH=path)
    assert first.count('sum [8.0, 8.0, 8.0] 1\n') == 8
    assert not (tmp_path / 'meet').exists()


def test_the_page_names_options_that_exist():
    help_text = subprocess.run(
        [sys.executable, '-m', 'd2lrun', '--help'],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
    _, _, table = PAGE.partition('here, options of `d2lrun`')
    ours = {
        option
        for row in table.partition('\n\n')[0].splitlines()
        for option in re.findall(r'`(--[\w-]+)', row.rpartition(' | ')[2])
    }
    ours |= {o for c in COMMANDS for o in re.findall(r'(--\w[\w-]*)', c)}
    assert len(ours) > 4
    assert not [option for option in ours if option not in help_text]
