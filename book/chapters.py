"""The chapters: their numbers, names and parts.

A chapter's notebook is called after its number and its name, such as
08_collectives.ipynb; the name is that of the module that it exports. The
number stands in the notebook's name and heading only; a text says "chapter 8",
which `python book/renumber.py` rewrites when a chapter moves.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # for `grading`
NOTEBOOKS = sorted((ROOT / 'notebooks').glob('*.ipynb'))

# Each part, and the numbers of its chapters. Some are free.
PARTS = {
    'I. Two devices': range(1, 8),
    'II. Communication': range(8, 11),
    'III. Learning on many devices': range(11, 15),
    'IV. Networks that do not fit': range(15, 19),
    'V. Many machines': range(19, 21),
    'VI. Other frameworks': range(21, 23),
    'VII. Judgment': range(23, 26),
}


def number_of(stem):
    """Return the number of a chapter, 8 of '08_collectives'."""
    return int(stem.split('_')[0])


def stems():
    """Return {number: stem} of the chapters, in order."""
    return {number_of(path.stem): path.stem for path in NOTEBOOKS}


def by_part(chapters):
    """Return {part: the stems in it}, for the chapters of some stems."""
    found = {}
    for stem in chapters:
        part = next(p for p in PARTS if number_of(stem) in PARTS[p])
        found.setdefault(part, []).append(stem)
    return found
