"""Print tools/site/poster.html as a PDF, one page of A3.

python -m tools.site.make_poster build/poster.pdf
"""

import pathlib
import sys

from playwright.sync_api import sync_playwright

from tools.notebooks.atomic import atomically

from .make_pdf import find_browser

PAGE = pathlib.Path(__file__).with_name('poster.html')


def print_poster(target):
    """Write the poster to `target`."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(),
            args=['--no-sandbox', '--disable-gpu'],
        )
        tab = browser.new_page(color_scheme='light')
        tab.goto(PAGE.resolve().as_uri())
        tab.pdf(
            path=target,
            prefer_css_page_size=True,
            print_background=True,
            tagged=True,
        )
        browser.close()


if __name__ == '__main__':
    with atomically(sys.argv[1]) as pdf:
        print_poster(pdf)
