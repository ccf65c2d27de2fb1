"""A separate environment with PyTorch, in build/torch-env."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / 'build' / 'torch-env'
PYTHON = FOLDER / 'bin' / 'python'
LOCK = ROOT / 'requirements' / 'torch.txt'
INSTALL_LIMIT = 1800  # seconds for PyTorch, which is large


def why_missing():
    """Make the environment if need be; return why it cannot be used, or
    None."""
    complete = FOLDER / 'complete'
    if complete.exists() and complete.read_text() == LOCK.read_text():
        return None
    for command in (
        [sys.executable, '-m', 'venv', '--clear', str(FOLDER)],
        [str(PYTHON), '-m', 'pip', 'install', '-q', '-r', str(LOCK)],
    ):
        try:
            done = subprocess.run(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=INSTALL_LIMIT,
            )
        except subprocess.TimeoutExpired:
            return f'not installed after {INSTALL_LIMIT} s'
        if done.returncode:
            return (done.stdout.strip().splitlines() or ['no reason'])[-1]
    complete.write_text(LOCK.read_text())
    return None
