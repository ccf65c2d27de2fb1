"""README names files and make targets that exist."""

import pathlib
import re

import pytest

import d2lmulti

ROOT = pathlib.Path(__file__).parents[2]
README = (ROOT / 'README.md').read_text()
MAKEFILE = (ROOT / 'Makefile').read_text()


@pytest.mark.parametrize(
    'kind, pattern',
    [
        ('link', r'\]\((?!https?:)([^)#]+)\)'),
        (
            'code',
            r'`((?:book|tests|benchmarks|notebooks|d2lmulti|requirements)'
            r'/[\w./-]*)`',
        ),
    ],
)
def test_every_path_exists(kind, pattern):
    paths = re.findall(pattern, README)
    assert len(paths) > 5
    assert not [path for path in paths if not (ROOT / path).exists()]


def test_every_make_target_exists():
    commands = re.findall(r'(?:^|`)make ([^`\n]*)', README, re.MULTILINE)
    words = {
        word
        for command in commands
        for word in re.sub("ARGS='.*?'", '', command).split()
    }
    targets = {word for word in words if '=' not in word}
    assert {'train', 'test'} <= targets
    for target in targets:
        assert re.search(f'^{target}:', MAKEFILE, re.MULTILINE), target
    for suite in {word[6:] for word in words if word.startswith('SUITE=')}:
        assert suite in MAKEFILE, suite


def test_every_chapter_has_a_row_with_its_number():
    rows = re.findall(
        r'^\| \[(\w+)\. .*?\]\(notebooks/(.*?)\)', README, re.MULTILINE
    )
    names = [path.name for path in sorted(ROOT.glob('notebooks/*.ipynb'))]
    assert [name for _, name in rows] == names
    assert [number for number, _ in rows] == [
        name.split('_')[0].lstrip('0') for name in names
    ]


def test_the_names_in_the_table_are_those_of_the_package():
    table, by_hand = re.search(
        r'^\| chapter.*?\n\n(Written by hand: .*?\.)',
        README,
        re.MULTILINE | re.DOTALL,
    ).group(0, 1)
    last_columns = re.findall(r'\| ([^|\n]*) \|$', table, re.MULTILINE)
    named = re.findall(r'`(\w+)`', ' '.join(last_columns) + by_hand)
    assert sorted(named) == sorted(d2lmulti.__all__)
