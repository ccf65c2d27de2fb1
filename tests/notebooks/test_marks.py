"""A chapter's name is a mark: `pytest -m collectives`."""

import subprocess
import sys

import pytest
from helpers import HAS_FRAMEWORKS

from tools.notebooks import NOTEBOOKS, ROOT, name_of

pytestmark = pytest.mark.ci


def collected(*options):
    """Return the ids of the tests that pytest would run."""
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', '--collect-only', '-q', *options],
        cwd=ROOT,
        text=True,
        capture_output=True,
    )
    return [line for line in done.stdout.splitlines() if '::' in line]


@pytest.mark.slow
@pytest.mark.skipif(HAS_FRAMEWORKS, reason='these have other chapters')
@pytest.mark.parametrize(
    'stem',
    [
        pytest.param('08_collectives', marks=pytest.mark.long),
        '04_data',
        pytest.param('25_claims', marks=pytest.mark.long),  # has no module
    ],
)
def test_a_mark_selects_all_of_a_chapter_and_nothing_else(stem):
    ids = collected('-m', name_of(stem))
    files = {test.split('::')[0] for test in ids}
    its_file = f'tests/taught/test_{name_of(stem)}.py'
    assert f'notebooks/{stem}.ipynb' in files
    assert 'tests/notebooks/test_exercises.py' in files
    assert (its_file in files) == (ROOT / its_file).exists()
    for test in ids:
        assert test.startswith(its_file) or stem in test


@pytest.mark.long
def test_long_tests_of_a_chapter_run_only_if_they_are_named():
    its_file = 'tests/taught/test_sync_batch_norm.py'
    some = collected('-m', 'sync_batch_norm', its_file)
    every = collected('-m', 'sync_batch_norm and (long or not long)', its_file)
    assert 0 < len(some) < len(every)


@pytest.mark.long
def test_without_a_mark_no_notebook_runs():
    ids = collected('tests/test_names.py', 'notebooks')
    assert ids and not any('.ipynb::' in test for test in ids)


def test_every_chapter_has_a_mark(pytestconfig):
    marks = {line.split(':')[0] for line in pytestconfig.getini('markers')}
    assert {name_of(path.stem) for path in NOTEBOOKS} < marks
    assert {'long', 'slow'} < marks
