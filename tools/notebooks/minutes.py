"""Estimate the minutes of each chapter: `python -m tools.notebooks.minutes`.

Words of text at 200 a minute, visible lines of code at 15 a minute, 8 minutes
for each exercise with a check, 5 for the one to think about, and one minute
to run all cells. Rounded to 5 minutes.
"""

import re

from . import NOTEBOOKS
from .cells import code_cells, read_chapter, tags

CORE = NOTEBOOKS[:5]  # what everyone needs: training on two devices
WORDS, LINES = 200, 15  # per minute
EXERCISE, THINK, RUN = 8, 5, 1  # minutes


def minutes_of(path):
    """Return (minutes to read and run, minutes for the exercises)."""
    words = sum(
        len(cell.source.split())
        for cell in read_chapter(path).cells
        if cell.cell_type == 'markdown' and 'solution' not in tags(cell)
    )
    folded = {'solution', 'hide-input', 'check'}
    lines = sum(
        len(cell.source.splitlines())
        for cell in code_cells(read_chapter(path))
        if not folded & set(tags(cell))
    )
    exercises = len(code_cells(read_chapter(path), 'exercise'))
    read = words / WORDS + lines / LINES + RUN
    return [to_fives(m) for m in (read, EXERCISE * exercises + THINK)]


def stated_minutes(guide):
    """Return {chapter: [minutes to read, for exercises]} as the table of the
    guide for instructors states them."""
    row = r'^\| chapter (\d+) \| [^|]+ \| (\d+) \| (\d+) \|'
    return {
        int(chapter): [int(each) for each in minutes]
        for chapter, *minutes in re.findall(row, guide, re.M)
    }


def core_minutes():
    """Return the minutes of the core: to read it, and for its exercises."""
    return [*map(sum, zip(*map(minutes_of, CORE)))]


def to_fives(minutes):
    """Round to a multiple of five."""
    return 5 * round(minutes / 5)


if __name__ == '__main__':
    for path in NOTEBOOKS:
        print(path.stem, *minutes_of(path))
    print('the core, chapters 1 to 5:', *core_minutes())
