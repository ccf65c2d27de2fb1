"""The scripts of samestep's page, to run them."""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[1]
PAGE = (ROOT / 'samestep/README.md').read_text('utf-8')
SCRIPTS = {
    name: source
    for name, source in re.findall(
        r'```python\n# (\w+\.py).*?\n(.*?)```', PAGE, re.DOTALL
    )
}
FINE = 'equal up to rounding'
TORCHRUN = (
    *(sys.executable, '-m', 'torch.distributed.run'),
    *('--standalone', '--nproc-per-node=2'),
)


def run_recipe(folder, name, changes=(), python=(sys.executable,), status=0):
    """Run a script of the page in `folder`, in which each (old, new) of
    `changes` is made, and which ends with this status; return what it
    prints."""
    (folder / name).write_text(changed(SCRIPTS[name], changes))
    return run_script(folder, name, python, status)


def changed(source, changes):
    """Return the source with each (old, new), of which old is there once."""
    for old, new in changes:
        assert source.count(old) == 1, (old, source.count(old))
        source = source.replace(old, new)
    return source


def shown_by(text):
    """Return what is printed, as one line, without sizes, which are the
    processor's."""
    return re.sub(r'off by .*? bound\. ', '', ' '.join(text.split()))


def run_script(folder, command, python=(sys.executable,), status=0):
    """Run a script of a folder with `samestep`, perhaps with words after its
    name, which ends with this status; return what it prints."""
    done = subprocess.run(
        [*python, *command.split()],
        cwd=folder,
        env={
            **os.environ,
            'PYTHONPATH': str(ROOT / 'samestep/src'),
            'OMP_NUM_THREADS': '1',
            'TORCH_DISABLE_SHARE_RDZV_TCP_STORE': '1',
        },
        text=True,
        capture_output=True,
        timeout=300,
    )
    assert done.returncode == status, done.stderr
    return done.stdout
