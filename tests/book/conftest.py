"""The browser that looks at the book, or what to install for it."""

import os

import pytest


@pytest.fixture(scope='session')
def chromium():
    """The path of the browser; without one a test is skipped.

    With D2LMULTI_REQUIRE_BROWSER=1 in the environment it fails instead.
    """
    from book.make_pdf import find_browser

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
