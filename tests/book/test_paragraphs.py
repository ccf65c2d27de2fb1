"""No paragraph is too long to be read at once."""

import pathlib
import re

import nbformat
import pytest

ROOT = pathlib.Path(__file__).parents[2]
MOST = 90  # words
PAGES = [
    ROOT / 'README.md',
    ROOT / 'CONTRIBUTING.md',
    *sorted((ROOT / 'book').glob('*.md')),
]


def long_paragraphs(text):
    """Yield the paragraphs and items of Markdown with more than MOST words;
    code, tables, headings and comments are none."""
    text = re.sub(r'^ *```.*?^ *```', '', text, flags=re.M | re.S)
    for block in re.split(r'\n\s*\n', text):
        if not block.lstrip().startswith(('|', '#', '%', '<!--')):
            for part in re.split(r'\n(?=\s*(?:[-*]|\d+\.) )', block):
                if len(part.split()) > MOST:
                    yield part.strip()


@pytest.mark.parametrize('path', PAGES, ids=lambda path: path.name)
def test_no_paragraph_of_a_page_has_more_than_90_words(path):
    found = [part[:80] for part in long_paragraphs(path.read_text())]
    assert not found


@pytest.mark.parametrize(
    'path',
    sorted((ROOT / 'notebooks').glob('*.ipynb')),
    ids=lambda path: path.stem,
)
def test_no_paragraph_of_a_chapter_has_more_than_90_words(path):
    cells = nbformat.read(path, 4).cells
    found = [
        part[:80]
        for cell in cells
        if cell.cell_type == 'markdown'
        for part in long_paragraphs(cell.source)
    ]
    assert not found


@pytest.mark.parametrize(
    'text, count',
    [
        ('word ' * 90, 0),
        ('word ' * 91, 1),
        ('word ' * 60 + '\n\n' + 'word ' * 60, 0),
        ('- ' + 'word ' * 60 + '\n- ' + 'word ' * 60, 0),
        ('a\n1. ' + 'word ' * 95, 1),
        ('```\n' + 'word ' * 95 + '\n```', 0),
        ('| ' + 'word ' * 95, 0),
        ('a\n```\nb\n```\n' + 'word ' * 95, 1),
    ],
)
def test_a_long_paragraph_is_found(text, count):
    assert len([*long_paragraphs(text)]) == count
