"""What the tests of the launcher share."""

import sys

import pytest
from helpers import JOB_LIMITS, left_behind

from d2lmulti.launcher import launch


@pytest.fixture
def job(tmp_path, monkeypatch):
    """Return a function that runs a script as a job, and gives its lines.

    Afterwards no process of it may be left.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('D2LMULTI_TEST', str(tmp_path))
    monkeypatch.setenv('OMP_NUM_THREADS', '1')

    def run(
        script, *, on_line=lambda line: None, limits=JOB_LIMITS, **options
    ):
        (tmp_path / 'script.py').write_text(script)
        lines = []

        def keep(line):
            lines.append(line)
            on_line(line)

        try:
            launch(
                [sys.executable, 'script.py'],
                on_line=keep,
                limits=limits,
                log_dir=tmp_path / 'logs',
                **options,
            )
        finally:
            assert left_behind(tmp_path) == []
        return lines

    return run
