"""What the tests of the launcher share."""

import os
import pathlib

import pytest
from helpers import JOB_LIMITS, left_behind

from d2lrun import launch

STAND_IN = pathlib.Path(__file__).with_name('stand_in')  # holds a `mxnet`


@pytest.fixture(scope='session')
def stand_in_path():
    """Return the PYTHONPATH with which roles import the stand-in."""
    path = [str(STAND_IN), os.environ.get('PYTHONPATH')]
    return os.pathsep.join(filter(None, path))


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    """Let the nodes of a job have a secret, but none in the home folder."""
    monkeypatch.setenv('D2LRUN_SECRET', 'of the tests')


@pytest.fixture
def job(tmp_path, monkeypatch, stand_in_path):
    """Return a function that runs a script as a job, and gives its lines.

    Its roles import a stand-in for MXNet, unless the property is one of
    MXNet's own: how it waits, and how it ends. Its `python` must be this one,
    although PATH finds another. Afterwards no process of the job may be left.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('D2LMULTI_TEST', str(tmp_path))
    monkeypatch.setenv('OMP_NUM_THREADS', '1')
    other = tmp_path / 'bin' / 'python'
    other.parent.mkdir()
    other.write_text('#!/bin/sh\nexit 99\n')
    other.chmod(0o755)
    path = [str(other.parent), os.environ['PATH']]
    monkeypatch.setenv('PATH', os.pathsep.join(path))

    def run(
        script,
        *,
        mxnet=False,
        on_line=lambda line: None,
        limits=JOB_LIMITS,
        **options,
    ):
        if not mxnet:
            monkeypatch.setenv('PYTHONPATH', stand_in_path)
        (tmp_path / 'script.py').write_text(script)
        lines = []

        def keep(line):
            lines.append(line)
            on_line(line)

        try:
            launch(
                ['python', 'script.py'],
                on_line=keep,
                limits=limits,
                log_dir=tmp_path / 'logs',
                **options,
            )
        finally:
            assert left_behind(tmp_path) == []
        return lines

    return run
