"""What holds for the tests of all tools."""

import os

import d2lmulti  # noqa: F401  before any test imports MXNet

# isort: split
import pytest

# First, or the other processes would wait for them.
SLOW = ['test_site', 'test_pdf', 'test_judge', 'test_student', 'test_setup']


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Begin with the slowest files."""
    places = {stem: place for place, stem in enumerate(SLOW)}
    items.sort(key=lambda item: places.get(item.path.stem, len(SLOW)))


def pytest_configure(config):
    """Keep pytest-xdist from changing that order."""
    config.option.loadscopereorder = False


@pytest.fixture(scope='session')
def chromium():
    """The path of the browser; without one a test is skipped.

    With D2LMULTI_REQUIRE_BROWSER=1 in the environment it fails instead.
    """
    from tools.site.make_pdf import find_browser

    try:
        return find_browser()
    except RuntimeError:
        if os.environ.get('D2LMULTI_REQUIRE_BROWSER') == '1':
            raise
        pytest.skip(
            'tests need a browser: install Chromium '
            '(Debian: apt-get install chromium)'
        )


@pytest.fixture(scope='module')
def browser(chromium):
    """Chromium, running."""
    api = pytest.importorskip(
        'playwright.sync_api', reason='the book needs Python 3.11'
    )
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=['--no-sandbox', '--disable-gpu']
        )
        yield browser
        browser.close()
