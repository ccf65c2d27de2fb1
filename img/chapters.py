"""Draw which chapter needs which, from what the chapters import.

An arrow runs from a chapter to one that imports from it; arrows that follow
from others are left out. A row is a step: all that it needs is above it.
"""

import textwrap

from chapters import NOTEBOOKS, name_of, number_of
from chapters.imports import needed_by

from .style import SMALL, WIDTH, arrow, box, canvas, label, save

ROW, GAP = 60, 6  # points from row to row, and between two boxes
BOX_WIDTH, BOX_HEIGHT = 88, 38


def parents():
    """Return {chapter: the chapters that it needs, and no other needs}."""
    needs = {}
    for path in NOTEBOOKS:  # some show what a later chapter explains
        number = number_of(path.stem)
        needs[number] = {n for n in needed_by(path) if n < number}
    for chapter in needs:  # in order, so those of earlier ones are complete
        needs[chapter] = needs[chapter].union(
            *(needs[n] for n in needs[chapter])
        )
    return {
        chapter: above - set().union(*(needs[n] for n in above))
        for chapter, above in needs.items()
    }


def rows_of(above):
    """Return lists of chapters; those that others need are on the right."""
    row = {}
    for chapter in above:
        row[chapter] = 1 + max((row[n] for n in above[chapter]), default=-1)
    used = [n for names in above.values() for n in names]
    return [
        sorted((c for c in above if row[c] == number), key=used.count)
        for number in range(1 + max(row.values()))
    ]


def places(rows, above):
    """Return {chapter: (x, y, width)}: as far as possible below its needs."""
    found = {}
    height = ROW * len(rows)
    for number, row in enumerate(rows):
        width = min(BOX_WIDTH, WIDTH / len(row) - GAP)
        step, right = width + GAP, WIDTH - width / 2 - 1
        at = {
            c: sum(found[n][0] for n in above[c]) / len(above[c])
            if above[c]
            else WIDTH / 2
            for c in row
        }
        x = min(width / 2 + 1, right)
        for i, chapter in enumerate(row):
            rest = len(row) - 1 - i
            if i:
                x += step
            x = min(max(x, at[chapter] - rest * step / 2), right - rest * step)
            found[chapter] = x, height - ROW * (number + 0.5), width
    return found


def draw():
    """Return the figure."""
    above = parents()
    rows = rows_of(above)
    place = places(rows, above)
    fig, ax = canvas(ROW * len(rows))
    for chapter, others in above.items():
        for other in sorted(others):
            (x, y, _), (end_x, end_y, _) = place[other], place[chapter]
            arrow(
                ax,
                (x, y - BOX_HEIGHT / 2),
                (end_x, end_y + BOX_HEIGHT / 2),
            )
    for path in NOTEBOOKS:
        chapter = number_of(path.stem)
        x, y, width = place[chapter]
        words = name_of(path.stem).replace('_', ' ')
        lines = textwrap.wrap(words, 13, break_long_words=False)[:2]
        box(ax, x, y, width, BOX_HEIGHT, corner=4)
        label(ax, x, y + 12, str(chapter), SMALL, weight='bold')
        for i, line in enumerate(lines):
            label(ax, x, y + 1 - 11 * i, line, 9)
    return fig


def description():
    """Return in words what is drawn."""
    parts = []
    for chapter, others in parents().items():
        if others:
            names = map(str, sorted(others))
            parts.append(f'{chapter} needs {" and ".join(names)}')
    return 'An arrow for each need: ' + '; '.join(parts) + '.'


if __name__ == '__main__':
    save(draw(), 'chapters', 'Which chapter needs which', description())
