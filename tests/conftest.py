"""What holds for all tests."""

import collections

import d2lmulti  # noqa: F401  before any test imports MXNet

# isort: split
from helpers import HAS_FRAMEWORKS

collect_ignore = [] if HAS_FRAMEWORKS else ['frameworks']

# Files that take a minute or more: first, or the other cores would wait for
# them at the end.
SLOW = ['test_pdf', 'test_cluster', 'test_site', 'test_exercises', 'test_job']


def pytest_configure(config):
    """Keep pytest-xdist from changing the order below."""
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(items):
    """Begin with the slowest files."""
    items.sort(
        key=lambda item: (
            SLOW.index(item.path.stem) if item.path.stem in SLOW else len(SLOW)
        )
    )


def pytest_terminal_summary(terminalreporter):
    """Say in one line for each reason how many tests were skipped."""
    reports = terminalreporter.stats.get('skipped', [])
    reasons = collections.Counter(report.longrepr[2] for report in reports)
    for reason, count in reasons.items():
        terminalreporter.write_line(f'{reason} ({count} x)')
