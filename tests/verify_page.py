"""The recipes of the page *Verify your own training step*, to run them."""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[1]
PAGE = (ROOT / 'tools/site' / 'verify.md').read_text()
SCRIPTS = {
    name: source
    for name, source in re.findall(
        r'```python\n# (\w+\.py)\n(.*?)```', PAGE, re.DOTALL
    )
}
FINE = 'equal up to rounding'
TORCHRUN = (
    *(sys.executable, '-m', 'torch.distributed.run'),
    *('--standalone', '--nproc-per-node=2'),
)


def run_recipe(folder, name, changes=(), python=(sys.executable,)):
    """Copy the scripts of the page to `folder` and run one of them, in which
    each (old, new) of `changes` is made; return what it prints."""
    for script, source in SCRIPTS.items():
        for old, new in changes if script == name else ():
            assert source.count(old) == 1, (old, source.count(old))
            source = source.replace(old, new)
        (folder / script).write_text(source)
    return run_script(folder, name, python)


def run_script(folder, name, python=(sys.executable,), status=0):
    """Run a script of a folder with `samestep`, which ends with this status;
    return what it prints."""
    done = subprocess.run(
        [*python, name],
        cwd=folder,
        env={
            **os.environ,
            'PYTHONPATH': str(ROOT / 'samestep/src'),
            'OMP_NUM_THREADS': '1',
            'TORCH_DISABLE_SHARE_RDZV_TCP_STORE': '1',
            'TF_CPP_MIN_LOG_LEVEL': '2',
        },
        text=True,
        capture_output=True,
        timeout=300,
    )
    assert done.returncode == status, done.stderr
    return done.stdout
