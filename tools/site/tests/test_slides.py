"""The slides: what they show and give away, and whether they fit."""

import html
import pathlib
import sys
from urllib.parse import urlsplit

import nbformat
import pytest

if sys.version_info < (3, 11):
    pytest.skip(
        'the book needs Python 3.11, as Sphinx 9 does', allow_module_level=True
    )

from browsing import Visit, each, run, serious_violations
from bs4 import BeautifulSoup

from tools.notebooks import number_of
from tools.site.make_slides import codes_in_tasks, marked_cells

ROOT = pathlib.Path(__file__).parents[3]
CHAPTERS = [path.stem for path in sorted((ROOT / 'notebooks').glob('*.ipynb'))]
SAMPLE = CHAPTERS[4::10]  # others are looked at each night


@pytest.fixture(scope='module')
def slides(tmp_path_factory):
    """The folder of the slides."""
    folder = tmp_path_factory.mktemp('slides')
    run('-m', 'tools.site.make_slides', folder)
    return folder


BAD = ('wide', 'touching', 'formulas', 'broken')
LOOK_AT_SLIDES = """() => [...Array(Reveal.getTotalSlides()).keys()].map(i => {
  Reveal.slide(i);
  const slide = Reveal.getCurrentSlide();
  const boxes = [...slide.querySelectorAll('*')].filter(
    e => !e.closest('.notes')).map(e => e.getBoundingClientRect());
  return {heading: slide.querySelector('h1, h2')?.textContent,
          right: Math.max(...boxes.map(box => box.right)),
          bottom: Math.max(...boxes.map(box => box.bottom)),
          wide: [...slide.querySelectorAll('pre, .jp-OutputArea')].some(
            e => e.scrollWidth > e.clientWidth + 1 ||
            e.getBoundingClientRect().right >
            slide.getBoundingClientRect().right + 1),
          touching: [...slide.querySelectorAll('h2:not(.notes *)')].some(h => {
            const rule = h.getBoundingClientRect().bottom;
            return [...slide.querySelectorAll('pre:not(.notes *)')].some(
              e => Math.abs(e.getBoundingClientRect().top - rule) < 8); }),
          formulas: slide.textContent.includes('$$'),
          broken: [...slide.querySelectorAll('img')].some(
            e => !e.naturalWidth || e.alt.length < 40)};
})"""


@each(CHAPTERS, SAMPLE)
def test_a_chapter_has_slides_that_fit_and_need_no_network(
    browser, slides, name
):
    with Visit(
        browser,
        (slides / f'{name}.html').as_uri(),
        viewport={'width': 1280, 'height': 720},
    ) as visit:
        visit.page.wait_for_function('window.Reveal && Reveal.isReady()')
        seen = visit.page.evaluate(LOOK_AT_SLIDES)
        assert not visit.errors and not visit.foreign
        assert visit.page.locator('mjx-merror').count() == 0
    assert seen
    for slide in seen:
        assert slide['heading'], slide
        assert slide['right'] <= 1280 and slide['bottom'] <= 720, slide
        bad = [k for k in BAD if slide[k]]
        assert not bad, (bad, slide['heading'])


def test_code_that_a_task_is_about_is_shown_with_its_question():
    text = (
        '**1. Count.** How many?\n\n'
        '**2. Find the bug.** What is wrong here?\n\n```\na = 1\n```\n'
    )
    assert list(codes_in_tasks(text)) == [
        (
            'Exercise 2. Find the bug',
            'What is wrong here?\n\n```\na = 1\n```',
        )
    ]


def test_a_part_is_shown_without_what_is_around_it():
    source = (
        'def f():\n    a = 1\n    for i in a:\n        b = i\n    return b'
    )
    cell = nbformat.v4.new_code_cell(source, id='loop')
    mark = {'slide_type': '-', 'show': 'code', 'part': ['for i', 'b = i']}
    (shown,) = marked_cells(cell, mark, False)
    assert shown.source == 'for i in a:\n    b = i'
    assert cell.source == source
    cell.outputs = [nbformat.v4.new_output('stream', text='one\ntwo\nthree\n')]
    mark = {'slide_type': '-', 'show': 'output', 'part': ['o', 'two']}
    (shown,) = marked_cells(cell, mark, False)
    assert shown.outputs[0].text == 'one\ntwo'
    with pytest.raises(ValueError, match="cell 'loop' .* from 'o' to 'four'"):
        list(marked_cells(cell, {**mark, 'part': ['o', 'four']}, False))


def test_a_figure_may_be_a_table_and_one_that_is_elsewhere_is_named():
    mark = {'slide_type': 'slide', 'show': 'figure'}
    cell = nbformat.v4.new_markdown_cell('No figure.', id='ring')
    with pytest.raises(ValueError, match="cell 'ring' is marked .* none"):
        list(marked_cells(cell, mark, False))
    cell.source = '![Four devices](../img/ring.svg)'
    (slide,) = marked_cells(cell, mark, False)
    assert 'img/ring.svg' in slide.source
    cell.source = 'Before.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nAfter.'
    (slide,) = marked_cells(cell, mark, False)
    assert slide.source == '| a | b |\n|---|---|\n| 1 | 2 |\n'


@pytest.mark.parametrize('name', CHAPTERS)
def test_slides_give_no_solution_away(name, slides):
    page = (slides / f'{name}.html').read_text()
    for cell in nbformat.read(ROOT / 'notebooks' / f'{name}.ipynb', 4).cells:
        if 'solution' in cell.metadata.get('tags', []):
            longest = max(cell.source.splitlines(), key=len)
            assert html.escape(longest, quote=False) not in page


@pytest.mark.parametrize('name', CHAPTERS)
def test_links_of_slides_lead_to_what_is_handed_out_with_them(name, slides):
    page = BeautifulSoup((slides / f'{name}.html').read_text(), 'html.parser')
    for link in page.select('a[href]'):
        url = urlsplit(link['href'])
        if not url.scheme and url.path:
            assert (slides / url.path).exists(), link


def test_the_index_of_slides_names_every_chapter_as_it_names_itself(slides):
    page = BeautifulSoup((slides / 'index.html').read_text(), 'html.parser')
    assert not page.select('ol')  # which would count chapters itself
    for name, item in zip(CHAPTERS, page.select('li'), strict=True):
        notebook = nbformat.read(ROOT / 'notebooks' / f'{name}.ipynb', 4)
        assert f'# {item.text}' == notebook.cells[0].source.split('\n')[0]
        assert item.text.startswith(f'{number_of(name)}. ')
        assert item.a['href'] == f'{name}.html'


def test_the_index_of_slides_leads_to_the_slides(browser, slides):
    with Visit(browser, (slides / 'index.html').as_uri()) as visit:
        visit.page.locator('a').first.click()
        first = f'{number_of(CHAPTERS[0])}. '
        assert visit.page.inner_text('h1').startswith(first)
        assert not visit.errors
        visit.page.go_back()
        assert not serious_violations(visit.page)
