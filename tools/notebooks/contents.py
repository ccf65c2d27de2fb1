"""Write notebooks/README.md: the chapters by part, as README lists them.

`make lab` opens it, and `make export` calls this.
"""

from . import ROOT


def contents():
    """Return the text of the page."""
    text = (ROOT / 'README.md').read_text()
    table = text[text.index('| chapter |') :].split('\n\n')[0]
    return f'# The chapters\n\n{table.replace("](notebooks/", "](")}\n'


if __name__ == '__main__':
    (ROOT / 'notebooks' / 'README.md').write_text(contents())
