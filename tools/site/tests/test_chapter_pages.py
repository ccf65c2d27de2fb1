"""What the site makes of a chapter's text and cells."""

import json
from unittest import mock

import pytest

pytest.importorskip('pybtex', reason='the book needs Python 3.11')

from tools.notebooks import NOTEBOOKS, PARTS, by_part, number_of
from tools.site.chapter_pages import (
    CHAPTERS,
    adapt_notebook,
    adapt_page,
    join_imports,
    keep_together,
    link_chapters,
    link_sources,
    named,
)
from tools.site.no_break import without_breaks

FIRST, *_, NEXT, LAST = CHAPTERS


def link(text, number):
    """Return the link that shows `text`."""
    return f'{{doc}}`{text} <{CHAPTERS[number]}>`'


def test_every_chapter_has_its_own_number_and_a_part():
    assert [number_of(name) for name in CHAPTERS.values()] == list(CHAPTERS)
    assert len(CHAPTERS) == len(NOTEBOOKS)
    stems = by_part(CHAPTERS.values())
    assert list(stems) == list(PARTS)
    assert sum(stems.values(), []) == list(CHAPTERS.values())


@pytest.mark.parametrize(
    'text, linked',
    [
        (
            f'see chapter {FIRST}.',
            f'see {link(f"chapter {FIRST}", FIRST)}.',
        ),
        (
            f'Chapter {LAST} says,',
            f'{link(f"Chapter {LAST}", LAST)} says,',
        ),
        (
            f'chapters {FIRST}, {NEXT} and {LAST}',
            f'chapters {link(FIRST, FIRST)}, {link(NEXT, NEXT)} '
            f'and {link(LAST, LAST)}',
        ),
    ],
)
def test_a_chapter_that_the_text_names_becomes_a_link(text, linked):
    assert link_chapters(text) == linked


def test_a_page_outside_the_chapters_finds_them_and_the_sources():
    source = [f'| **ring** | chapter {LAST} | (Goyal et al. 2017) |']
    adapt_page(mock.Mock(), 'glossary', source)
    assert source == [
        f'| **ring** | {{doc}}`chapter {LAST} </notebooks/{CHAPTERS[LAST]}>` '
        '| ({cite:alp}`goyal2017`) |'
    ]


def test_the_text_above_a_figure_that_answers_has_links():
    source = [f'<!-- figure: memory\nSee chapter {LAST}.\n-->']
    adapt_page(mock.Mock(), 'running', source)
    assert f'`chapter {LAST} </notebooks/{CHAPTERS[LAST]}>`' in source[0]
    assert 'data-figure="memory"' in source[0]


@pytest.mark.parametrize(
    'text',
    [
        'chapter 99',
        'chapter 6c',
        'chapter 666',
        f'`chapter {FIRST}`',
        f'a {FIRST} chapter',
        f'# About chapter {FIRST}',
        f'[chapter {FIRST}](https://d2l.ai)',
        f'```\nchapter {FIRST}\n```',
    ],
)
def test_other_text_stays_as_it_is(text):
    assert link_chapters(text) == text


@pytest.mark.parametrize(
    'text, kept',
    [
        ('2 (*k* − 1) numbers', '2 (*k*_−_1) numbers'),
        ('*k* = 2 and so on', '*k*_=_2 and so on'),
        ('one = two', 'one = two'),
        ('$a = 1$ and `k = 2`', '$a = 1$ and `k = 2`'),
    ],
)
def test_a_formula_in_italics_does_not_break(text, kept):
    assert keep_together(text) == kept.replace('_', '\N{NO-BREAK SPACE}')


@pytest.mark.parametrize(
    'text, cited',
    [
        ('(Goyal et al. 2017)', '({cite:alp}`goyal2017`)'),
        ('Aji and Heafield (2017)', '{cite:t}`aji2017`'),
        ('DeepSeek-AI 2024', '{cite:alp}`deepseekai2024`'),
        ('J. Chen et al. 2016', '{cite:alps}`jchen2016`'),
        ('T. Chen et al. (2016)', '{cite:ts}`tchen2016`'),
        ('January 2021', 'January 2021'),
        ('`Goyal et al. 2017`', '`Goyal et al. 2017`'),
    ],
)
def test_a_source_that_the_text_names_is_cited(text, cited):
    assert link_sources(text) == cited


@pytest.mark.parametrize(
    'text, kept',
    [
        ('20 % of 3 GB/s in 5 ms', '20_% of 3_GB/s in 5_ms'),
        ('Chapter 5, and ZeRO 3', 'Chapter_5, and ZeRO_3'),
        ('see chapters ', 'see chapters_'),  # a link with the number follows
        ('exercises 20 min', 'exercises_20_min'),
        ('5 steps in 3 groups', '5 steps in 3 groups'),
        ('the devices have 2', 'the devices have 2'),
    ],
)
def test_no_line_ends_between_a_number_and_what_it_counts(text, kept):
    assert without_breaks(text) == kept.replace('_', '\N{NO-BREAK SPACE}')


def adapted(*tags):
    """Return a code cell with these tags as the site gets it."""
    cell = {
        'cell_type': 'code',
        'source': '#| export\nx = 1',
        'metadata': {'tags': list(tags), 'mystnb': {'image': 'kept'}},
    }
    source = [json.dumps({'cells': [cell], 'metadata': {}})]
    adapt_notebook(source)
    return json.loads(source[0])['cells'][0]


@pytest.mark.parametrize(
    'tags, label',
    [
        (['solution'], 'our solution'),
        (['hide-input'], 'the code'),
        (['check'], 'the check'),
        (['hide-input', 'solution'], 'our solution'),
    ],
)
def test_a_folded_cell_has_a_label_that_says_what_it_is(tags, label):
    metadata = adapted(*tags)['metadata']
    hidden = 'hide-cell' if 'solution' in tags else 'hide-input'
    assert metadata['tags'] == sorted({*tags} - {'hide-input'} | {hidden})
    assert metadata['mystnb'] == {
        'image': 'kept',
        'code_prompt_show': f'Show {label}',
        'code_prompt_hide': f'Hide {label}',
    }


@pytest.mark.parametrize(
    'source, label',
    [
        ('import a\nfrom b import c', 'the imports'),
        ('import a\ndef f():\n    def g(): pass\nx = f()', 'the code: f'),
        ('class A:\n    pass\ndef b(): pass', 'the code: A, b'),
        ('def a(): pass\ndef b(): pass\ndef c(): pass', 'the code: a, b, …'),
        ('%matplotlib inline\nimport a', 'the imports'),
        ('x = 1', 'the code'),
        ('%%writefile a.txt\n<b>', 'the code'),
    ],
)
def test_a_label_names_what_the_code_below_it_defines(source, label):
    assert named(source) == label


def test_two_cells_that_import_are_one_and_keep_what_they_import():
    sources = ['%matplotlib inline\nimport a', '#| export\nimport b', 'x = 1']
    cells = [
        {'cell_type': 'code', 'source': source, 'metadata': {}}
        for source in sources
    ]
    join_imports(cells)
    assert [cell['source'] for cell in cells] == [
        '%matplotlib inline\nimport a\nimport b',
        'x = 1',
    ]


def test_other_cells_lose_only_the_marks_of_nbdev():
    cell = adapted('exercise')
    assert cell['source'] == 'x = 1'
    assert cell['metadata'] == {
        'tags': ['exercise'],
        'mystnb': {'image': 'kept'},
    }
