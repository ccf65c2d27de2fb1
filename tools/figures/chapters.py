"""Draw which chapter needs which, from what the chapters import.

A chapter is in a row below all that it needs. Only one arrow comes to it, from
the last of these; the others are named behind it. So no two arrows cross. What
follows from other needs is left out.
"""

from tools.notebooks import NOTEBOOKS, name_of, number_of
from tools.notebooks.imports import needed_by

from .style import SMALL, arrow, box, canvas, label, save

ROW, LANE = 25, 40  # points from row to row, and from lane to lane
WIDTH = 230  # so that no phone makes the words smaller
BOX_WIDTH, BOX_HEIGHT = 26, 14


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


def followers(chapter, above):
    """Return the chapters that need one, directly or not."""
    direct = {c for c in above if chapter in above[c]}
    return direct.union(*(followers(c, above) for c in direct))


def places(above):
    """Return {chapter: (lane, the chapter that its arrow comes from)}, in the
    order of the rows.

    Of those that a chapter makes possible, the one that most others need is
    last and stays in its lane; the others are one lane to the right.
    """
    lanes = {}

    def add(chapter, lane, source):
        lanes[chapter] = lane, source
        possible = [
            c for c in above if chapter in above[c] and above[c] <= {*lanes}
        ]
        possible.sort(key=lambda c: len(followers(c, above)))
        for c in possible:
            add(c, lane + (c != possible[-1]), chapter)

    for chapter in above:
        if not above[chapter]:
            add(chapter, 0, None)
    return lanes


def draw():
    """Return the figure."""
    above = parents()
    lanes = places(above)
    height = ROW * len(lanes)
    fig, ax = canvas(height, WIDTH)
    at = {
        chapter: (1 + BOX_WIDTH / 2 + LANE * lane, height - ROW * (i + 0.5))
        for i, (chapter, (lane, _)) in enumerate(lanes.items())
    }
    for chapter, (_, source) in lanes.items():
        (x, y), start = at[chapter], at.get(source)
        if start and start[0] == x:
            arrow(
                ax,
                (x, start[1] - BOX_HEIGHT / 2),
                (x, y + BOX_HEIGHT / 2),
            )
        elif start:
            arrow(ax, (start[0], y), (x - BOX_WIDTH / 2, y))
    names = {number_of(path.stem): name_of(path.stem) for path in NOTEBOOKS}
    for chapter, (x, y) in at.items():
        box(
            ax,
            x,
            y,
            BOX_WIDTH,
            BOX_HEIGHT,
            str(chapter),
            corner=4,
            size=SMALL,
            weight='bold',
        )
        others = above[chapter] - {lanes[chapter][1]}
        also = f' (also {", ".join(map(str, sorted(others)))})' * bool(others)
        label(
            ax,
            x + BOX_WIDTH / 2 + 6,
            y,
            names[chapter].replace('_', ' ') + also,
            align='left',
        )
    return fig


def description():
    """Return in words what is drawn."""
    parts = []
    for chapter, others in parents().items():
        if others:
            names = map(str, sorted(others))
            parts.append(f'{chapter} needs {" and ".join(names)}')
    return 'What each chapter needs: ' + '; '.join(parts) + '.'


if __name__ == '__main__':
    save(draw(), 'chapters', 'Which chapter needs which', description())
