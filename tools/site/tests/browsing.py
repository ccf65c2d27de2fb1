"""What the tests of the site, the PDF and the slides share."""

import functools
import pathlib
import subprocess
import sys

import helpers
import pytest
from axe_playwright_python.sync_playwright import Axe

ROOT = pathlib.Path(__file__).parents[3]
LONG = pytest.mark.long


def run(*arguments):
    """Run Python; no output is wanted."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=800,
    )
    assert done.returncode == 0 and not done.stdout, done.stdout[-3000:]


def each(names, at_once):
    """Return a mark: once with each name, which is left to SUITE=long if it
    is none of those `at_once`."""
    return pytest.mark.parametrize(
        'name',
        [
            name if name in at_once else pytest.param(name, marks=LONG)
            for name in names
        ],
    )


# A browser may take long on a busy machine.
wait_until = functools.partial(helpers.wait_until, seconds=60)


# Playwright's 'networkidle' is not waited for: now and then it never comes.
SETTLED = """() => Promise.all([
    document.fonts.ready, window.MathJax?.startup?.promise])"""


class Visit:
    """A page that is open, and what went wrong on it."""

    def __init__(self, browser, address, **options):
        self.context = browser.new_context(**options)
        self.page, self.errors, self.foreign = self.context.new_page(), [], []
        self.page.on('console', self.note_message)
        self.page.on('pageerror', lambda e: self.errors.append(str(e)))
        self.page.on(
            'requestfailed', lambda request: self.errors.append(request.url)
        )
        self.page.on(
            'request',
            lambda request: (
                request.url.startswith(('http://127.0.0.1', 'data:', 'file:'))
                or self.foreign.append(request.url)
            ),
        )
        self.page.goto(address, timeout=60_000)
        self.page.evaluate(SETTLED)

    def note_message(self, message):
        if message.type == 'error':
            self.errors.append(message.text)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.context.close()


def serious_violations(page, context=None, **options):
    """Return what axe-core finds to be serious, and where; `context`: a
    selector of the elements to look at."""
    options['resultTypes'] = ['violations']  # no long reports of the rest
    violations = Axe().run(page, context, options).response['violations']
    return [
        (violation['id'], [node['target'] for node in violation['nodes']][:3])
        for violation in violations
        if violation['impact'] in ('serious', 'critical')
    ]
