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
# Longer ones, by their first words: to be split, not to be added to.
LONGER = {
    '06_causes': ['A network of dozens of layers'],
    '08_collectives': ['Where one pair is off by more'],
    '09_timeline': [
        'Look at `train_batch` again',
        'How much is that? The star makes',
        'Where copies have their own hardware',
        'After each step we copy a small array',
        'We take six steps of LeNet with 128',
        '**4. Who may send now?**',
    ],
    '14_transformer': [
        'HetSeq (Ding et al. 2020) is meant',
        'Two epochs of minibatches of 16',
        'In a layer, each position takes part',
        'It does not depend on the split',
    ],
    '15_model_parallel': [
        'With one micro-batch, one device',
        'Now unequal layers',
        "With GPipe's schedule",
        'Megatron-LM (Shoeybi et al. 2019)',
    ],
    '23_scaling': [
        'Chapter 8 described a link by two',
        'We fit each piece on its own',
        'Now to scale, one device per machine',
        'The star collapses first',
        'If one device fails once in many',
        'By images per second, 64 devices',
        '**A GPU or the CPU?**',
        'The first takes 80 GPU hours',
    ],
    '25_bugs': [
        'The pairs explain chapter 4',
        'Every factor is in the hundreds',
    ],
}


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
        if not part.startswith(tuple(LONGER.get(path.stem, ())))
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
