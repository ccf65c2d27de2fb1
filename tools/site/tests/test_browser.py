"""Without a browser that is required, tests fail."""

import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip('playwright', reason='the book needs Python 3.11')

TEST = pathlib.Path(__file__).with_name('test_slides.py')


def run_without_browser(folder, **variables):
    """Run tests that need a browser where there is none."""
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(('D2LMULTI_REQUIRE_', 'PYTEST_'))
    }
    return subprocess.run(
        [sys.executable, '-m', 'pytest', TEST, '-k', 'that_fit'],
        cwd=folder,
        env={**env, 'PATH': str(folder), **variables},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=100,
    )


@pytest.mark.long
def test_a_browser_that_is_required_must_be_there(tmp_path):
    done = run_without_browser(tmp_path, D2LMULTI_REQUIRE_BROWSER='1')
    assert done.returncode == 1, done.stdout
    assert 'Chromium' in done.stdout and ' passed' not in done.stdout
