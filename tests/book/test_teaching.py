"""The guide for instructors agrees with the chapters."""

import pathlib
import re

from chapters import NOTEBOOKS, number_of
from minutes import minutes_of

GUIDE = pathlib.Path(__file__).parents[2] / 'book' / 'teaching.md'


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
