"""The guide for instructors agrees with the chapters."""

import pathlib
import re
import runpy

from chapters import NOTEBOOKS, number_of
from minutes import minutes_of

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


def test_the_figure_of_the_chapters_is_drawn_from_the_imports(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / 'img')
    names = runpy.run_path(str(ROOT / 'img' / 'chapters.py'))
    drawn = (ROOT / 'img' / 'chapters.svg').read_text()
    assert names['description']() in drawn, 'run `make figures`'
