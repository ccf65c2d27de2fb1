"""What holds for all tests."""

import collections

import d2lmulti  # noqa: F401  before any test imports MXNet

# isort: split
from helpers import HAS_FRAMEWORKS

collect_ignore = [] if HAS_FRAMEWORKS else ['frameworks']


def pytest_terminal_summary(terminalreporter):
    """Say in one line for each reason how many tests were skipped."""
    reports = terminalreporter.stats.get('skipped', [])
    reasons = collections.Counter(report.longrepr[2] for report in reports)
    for reason, count in reasons.items():
        terminalreporter.write_line(f'{reason} ({count} x)')
