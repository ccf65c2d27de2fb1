"""d2lrun beside torchrun."""

import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).parents[2] / 'book' / 'running.md'


def test_the_table_has_each_option_of_torchrun():
    shown = subprocess.run(
        [sys.executable, '-m', 'torch.distributed.run', '--help'],
        check=True,
        text=True,
        timeout=60,
        capture_output=True,
    ).stdout
    offered = set(re.findall(r'^ +(?:-\w[^-]*, )?(--[a-z-]+)', shown, re.M))
    _, _, table = PAGE.read_text().partition('| `torchrun` | `d2lrun` |')
    rows = table.partition('\n\n')[0].splitlines()[2:]
    ours = ' '.join(row.split(' | ')[0] for row in rows)
    listed = set(re.findall(r'--[a-z][a-z-]+', ours))
    assert len(offered) > 25
    # Of the script, of which there is no counterpart, and as `-m`.
    assert listed - {'--lr'} == offered - {'--help', '--module'}
