"""Separate environments for frameworks that MXNet's has no room for."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[3]
INSTALL_LIMIT = 1800  # seconds for PyTorch, which is large


class Environment:
    """One in build/, made when it is needed from the file of its name here."""

    def __init__(self, name):
        self.folder = ROOT / 'build' / f'{name}-env'
        self.python = self.folder / 'bin' / 'python'
        self.lock = pathlib.Path(__file__).with_name(f'{name}.txt')

    def why_missing(self):
        """Make the environment if need be; return why it cannot be used, or
        None."""
        complete = self.folder / 'complete'
        if complete.exists() and complete.read_text() == self.lock.read_text():
            return None
        for command in (
            [sys.executable, '-m', 'venv', '--clear', str(self.folder)],
            [self.python, '-m', 'pip', 'install', '-q', '-r', self.lock],
        ):
            try:
                done = subprocess.run(
                    list(map(str, command)),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    timeout=INSTALL_LIMIT,
                )
            except subprocess.TimeoutExpired:
                return f'not installed after {INSTALL_LIMIT} s'
            if done.returncode:
                return (done.stdout.strip().splitlines() or ['no reason'])[-1]
        complete.write_text(self.lock.read_text())
        return None


NUMPY_MXNET = Environment('numpy_mxnet')
TORCH = Environment('torch')
JAX = Environment('jax')
TRANSFORMERS = Environment('transformers')  # not for a benchmark: for tests
