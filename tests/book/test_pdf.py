"""The printed book."""

import pathlib
import re
import sys

import pytest

if sys.version_info < (3, 11):
    pytest.skip(
        'the book needs Python 3.11, as Sphinx 9 does', allow_module_level=True
    )

import pikepdf
from browsing import run
from printing import text_sizes
from pypdfium2 import PdfDocument

from book.chapter_pages import CHAPTERS
from book.make_pdf import REPEATED

ROOT = pathlib.Path(__file__).parents[2]
# Chromium prints the whole book, twice: minutes on a busy machine.
pytestmark = pytest.mark.timeout(2400)


@pytest.fixture(scope='module')
def single_page(tmp_path_factory):
    """The whole book as one page, for the PDF."""
    folder = tmp_path_factory.mktemp('single')
    command = '-m sphinx -b singlehtml -q -d'.split()
    run(*command, folder / 'cache', ROOT / 'book', folder / 'site')
    return folder / 'site' / 'index.html'


@pytest.fixture(scope='module')
def pdf(chromium, single_page):
    """The path of the printed book."""
    path = single_page.with_name('book.pdf')
    run('-m', 'book.make_pdf', single_page, path)
    return path


@pytest.fixture(scope='module')
def texts(pdf):
    """The text of each page."""
    with PdfDocument(pdf) as pages:
        return [page.get_textpage().get_text_range() for page in pages]


@pytest.fixture(scope='module')
def chapters(pdf):
    """The title and the index of the first page of each chapter and page."""
    with PdfDocument(pdf) as pages:
        return [
            (words(entry.get_title()), entry.get_dest().get_index())
            for entry in pages.get_toc()
            if entry.level == 1
        ]


def words(text):
    """Return the text without spaces, which PDFs put anywhere."""
    return re.sub(r'\s', '', text)


def test_the_pdf_has_a_bookmark_and_an_entry_for_each_chapter(chapters, texts):
    titles = [title for title, _ in chapters]
    assert not [
        title for title in titles if title == 2 * title[: len(title) // 2]
    ]
    assert [
        int(title.split('.')[0]) for title in titles[: len(CHAPTERS)]
    ] == list(CHAPTERS)
    contents = words(''.join(texts[1 : chapters[0][1]]))
    for title, page in chapters:
        assert title in words(texts[page])
        assert f'{title}{page + 1}' in contents


def test_no_page_of_the_pdf_is_empty_and_no_link_goes_to_a_file(pdf, texts):
    assert min(len(words(text)) for text in texts) > 10
    with pikepdf.open(pdf) as document:
        links = [
            link.get('/A', {}).get('/URI')
            for page in document.pages
            for link in page.get('/Annots', [])
        ]
    targets = [str(target) for target in links if target is not None]
    assert len(targets) > 50
    assert not [t for t in targets if t.startswith('file:')]


def test_the_pdf_has_a_title_page_and_contents_without_repetition(texts):
    title = words(texts[0])
    assert title.startswith('TrainingonmultipleGPUs,fromscratch')
    assert title.endswith('thed2lmultiauthors')
    first = next(i for i, t in enumerate(texts) if 'Contents' in words(t))
    contents = words(''.join(texts[first : first + 5]))
    for title in REPEATED:
        assert not re.search(rf'{words(title)}\d', contents)


def test_each_page_of_a_chapter_has_its_title(chapters, texts):
    for (title, start), (_, end) in zip(chapters, chapters[1:]):
        for text in texts[start:end]:
            assert title in words(text)


def test_text_is_as_large_on_paper_as_it_is_asked_for(pdf):
    """Chromium prints all of it smaller if one thing is too wide."""
    with PdfDocument(pdf) as pages:
        sizes = [
            {size: len(letters) for size, letters in text_sizes(page).items()}
            for page in [pages[i] for i in (20, 60, 100, 140, 180)]
        ]
    total = {}
    for found in sizes:
        for size, count in found.items():
            total[size] = total.get(size, 0) + count
    near = {
        wanted: sum(n for size, n in total.items() if abs(size - wanted) < 0.2)
        for wanted in (10.5, 8)  # text and code in book.css
    }
    assert min(near.values()) > 1000, total
    assert sum(near.values()) > 0.8 * sum(total.values()), total


def test_what_the_site_folds_is_printed_below_a_label(texts):
    text = ' '.join(texts)
    for label in ('Supporting code', 'Our solution', 'Our answer'):
        assert text.count(label) >= len(CHAPTERS) - 1, label
    assert 'Show the code' not in text and 'Show our' not in text
    assert '%matplotlib inline' in text


def test_every_page_of_the_pdf_has_its_number(texts):
    assert len(texts) > 100
    for number in (2, 50, len(texts)):
        assert str(number) in texts[number - 1].split()


def test_nothing_is_cut_off_in_print(browser, single_page):
    context = browser.new_context(viewport={'width': 660, 'height': 980})
    page = context.new_page()
    page.goto(single_page.as_uri(), timeout=600_000)
    page.emulate_media(media='print')
    wide = page.evaluate(
        """() => [...document.querySelectorAll(
            'article pre, article img, article table, article dt')]
        .filter(e => e.scrollWidth > e.clientWidth + 1
                || e.getBoundingClientRect().right > 661)
        .map(e => e.textContent.slice(0, 60))"""
    )
    assert not wide
    assert page.evaluate("""() => [...document.images].every(
        image => image.complete && image.naturalWidth > 0)""")
    context.close()
