"""The guide for instructors agrees with the chapters."""

import pathlib
import re
import runpy

import pytest
from chapter_imports import read_chapter
from chapters import NOTEBOOKS, number_of
from minutes import core_minutes, minutes_of, optional_exercises

ROOT = pathlib.Path(__file__).parents[2]
GUIDE = ROOT / 'book' / 'teaching.md'


def test_the_table_has_each_chapter_and_about_its_minutes():
    rows = re.findall(
        r'^\| chapter (\d+) \| [^|]+ \| (\d+) \| (\d+) \|$',
        GUIDE.read_text(),
        re.M,
    )
    numbers = [number_of(path.stem) for path in NOTEBOOKS]
    assert [int(row[0]) for row in rows] == numbers
    for path, (_, *written) in zip(NOTEBOOKS, rows):
        for minutes, now in zip(written, minutes_of(path)):
            assert abs(int(minutes) - now) <= 10, f'{path.stem}: {now}'


def test_the_core_takes_four_hours():
    """By the one clock: README and the guide say it, and this is why."""
    text = ' '.join(GUIDE.read_text().split())
    written = re.search(
        r'about four hours: (\d+) minutes to read, and (\d+) for its '
        r'exercises\. .*? would take (\d+) minutes more',
        text,
    )
    for minutes, now in zip(written.groups(), core_minutes()):
        assert abs(int(minutes) - now) <= 10, core_minutes()
    assert sum(core_minutes()[:2]) <= 245
    readme = (ROOT / 'README.md').read_text()
    assert 'the core is 1 to 5: four hours with its exercises' in readme
    assert 'the core, chapters 1 to 5, takes four hours' in readme


@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
def test_the_clock_leaves_out_what_the_text_calls_optional(path):
    cells = read_chapter(path).cells
    stubs = optional_exercises(path)
    for stub in stubs:
        question = cells[cells.index(stub) - 1].source
        assert re.search(r'^\*\*\d\. .* \(optional\)\.?\*\*', question, re.M)
    text = '\n'.join(cell.source for cell in cells)
    assert text.count('(optional)') == len(stubs)


def test_the_figure_of_the_chapters_is_drawn_from_the_imports(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / 'img')
    names = runpy.run_path(str(ROOT / 'img' / 'chapters.py'))
    drawn = (ROOT / 'img' / 'chapters.svg').read_text()
    assert names['description']() in drawn, 'run `make figures`'
