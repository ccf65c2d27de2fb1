"""What reads and writes the notebooks; here: their numbers, names and parts.

A chapter's notebook is called after its number and its name, such as
08_collectives.ipynb; the name is that of the module that it exports. The
number stands in the notebook's name and heading only; a text says "chapter 8".
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / 'notebooks').glob('*.ipynb'))

# Each part, and the numbers of its chapters. Some are free.
PARTS = {
    'I. Two devices': range(1, 8),
    'II. Communication': range(8, 11),
    'III. Learning on many devices': range(11, 15),
    'IV. Networks that do not fit': range(15, 19),
    'V. Many machines': range(19, 21),
    'VI. Other frameworks': range(21, 23),
    'VII. Judgment': range(23, 28),
    'Appendix': range(28, 29),
}

# "chapter 8" and lists of chapters; a line may end inside, in a comment, too.
GAP = r'(?:[ ]|\n[ ]*(?:#[ ])?)'
BETWEEN = rf'(?:,{GAP}(?:and{GAP})?|{GAP}(?:and|or|to){GAP})'
REFERENCE = rf'\b([Cc]hapters?{GAP})(\d+(?:{BETWEEN}\d+)*)\b'


def number_of(stem):
    """Return the number of a chapter, 8 of '08_collectives'."""
    return int(stem.split('_')[0])


def name_of(stem):
    """Return the name of a chapter, 'collectives' of '08_collectives'."""
    return stem.split('_', 1)[1]


def path_of(name):
    """Return the notebook of the chapter with a name."""
    (path,) = (path for path in NOTEBOOKS if name_of(path.stem) == name)
    return path


def stems():
    """Return {number: stem} of the chapters, in order."""
    return {number_of(path.stem): path.stem for path in NOTEBOOKS}


def numbers_in(text, chapters):
    """Return the numbers that '4, 5 and 9' or '3 to 5' means.

    `chapters`: all that there are, for those between two others.
    """
    numbers = [int(number) for number in re.findall(r'\d+', text)]
    for first, last in re.findall(rf'(\d+){GAP}to{GAP}(\d+)', text):
        numbers += [n for n in chapters if int(first) < n < int(last)]
    return numbers


def by_part(chapters):
    """Return {part: the stems in it}, for the chapters of some stems."""
    parts = {}
    for stem in chapters:
        part = next(p for p in PARTS if number_of(stem) in PARTS[p])
        parts.setdefault(part, []).append(stem)
    return parts
