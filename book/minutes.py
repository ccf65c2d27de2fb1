"""Estimate the minutes of each chapter: `python book/minutes.py`.

Words of text at 200 a minute, visible lines of code at 15 a minute, 8 minutes
for each exercise with a check, 5 for the one to think about, and one minute
to run all cells. Rounded to 5 minutes.
"""

from chapter_imports import read_chapter
from chapters import NOTEBOOKS

from grading.cells import code_cells

WORDS, LINES = 200, 15  # per minute
EXERCISE, THINK, RUN = 8, 5, 1  # minutes


def minutes_of(path):
    """Return (minutes to read and run, minutes for the exercises)."""
    words = sum(
        len(cell.source.split())
        for cell in read_chapter(path).cells
        if cell.cell_type == 'markdown'
        and 'solution' not in cell.metadata.get('tags', [])
    )
    folded = {'solution', 'hide-input', 'check'}
    lines = sum(
        len(cell.source.splitlines())
        for cell in code_cells(read_chapter(path))
        if not folded & set(cell.metadata.get('tags', []))
    )
    exercises = sum(
        'exercise' in cell.metadata.get('tags', [])
        for cell in code_cells(read_chapter(path))
    )
    read = words / WORDS + lines / LINES + RUN
    return [to_fives(m) for m in (read, EXERCISE * exercises + THINK)]


def to_fives(minutes):
    """Round to a multiple of five."""
    return 5 * round(minutes / 5)


if __name__ == '__main__':
    for path in NOTEBOOKS:
        print(path.stem, *minutes_of(path))
