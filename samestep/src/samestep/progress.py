"""How far a long run is, on a terminal, if tqdm is installed."""

import os
import sys

DELAY = 5  # seconds before anything is shown


def shown(items, what):
    """Return the items; while they are gone through, a bar shows how many
    were. It shows nothing in a file or a notebook, and of several processes
    only that of rank 0."""
    is_first = os.environ.get('RANK', '0') == '0'
    if not (is_first and sys.stderr and sys.stderr.isatty()):
        return items
    try:
        from tqdm import tqdm

        return tqdm(items, what, delay=DELAY, leave=False)
    except (ImportError, KeyError):  # before 4.57 it knows no delay
        return items
