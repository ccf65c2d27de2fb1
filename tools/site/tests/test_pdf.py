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

from tools.notebooks import name_of
from tools.site.chapter_pages import CHAPTERS
from tools.site.make_pdf import REPEATED

BOOK = pathlib.Path(__file__).parents[3] / 'tools/site'
# Chromium prints the book twice: all of it takes minutes.
pytestmark = pytest.mark.timeout(2400)


# SUITE=long prints all of it; these chapters have code, figures, wide tables
# and formulas.
SAMPLE = ('network', 'training', 'scaling')


@pytest.fixture(
    scope='module',
    params=[
        'sample',
        pytest.param('whole', marks=pytest.mark.long),
    ],
)
def printed(request):
    """{number: stem} of the chapters to print."""
    return {
        number: stem
        for number, stem in CHAPTERS.items()
        if request.param == 'whole' or name_of(stem) in SAMPLE
    }


@pytest.fixture(scope='module')
def single_page(printed, tmp_path_factory):
    """These chapters and the pages around them as one page, for the PDF."""
    folder = tmp_path_factory.mktemp('single')
    left_out = {*CHAPTERS.values()} - {*printed.values()}
    excluded = [
        'containers',
        'plot',
        'slides',
        'student',
        'tests',
        *(['teaching.md', 'hetseq.md', 'verify.md'] if left_out else []),
        'notebooks/README.md',
        'notebooks/.ipynb_checkpoints',
        *(f'notebooks/{stem}.ipynb' for stem in sorted(left_out)),
    ]
    command = '-m sphinx -b singlehtml -d'.split()
    quiet = '-Q' if left_out else '-q'  # links to what is left out
    option = f'exclude_patterns={",".join(excluded)}'
    run(*command, folder / 'cache', quiet, '-D', option, BOOK, folder / 'site')
    return folder / 'site' / 'index.html'


@pytest.fixture(scope='module')
def pdf(chromium, single_page):
    """The path of the printed book."""
    path = single_page.with_name('book.pdf')
    run('-m', 'tools.site.make_pdf', single_page, path)
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


def test_the_pdf_has_a_bookmark_and_an_entry_for_each_chapter(
    printed, chapters, texts
):
    titles = [title for title, _ in chapters]
    assert not [
        title for title in titles if title == 2 * title[: len(title) // 2]
    ]
    assert [
        int(title.split('.')[0]) for title in titles[: len(printed)]
    ] == list(printed)
    contents = words(''.join(texts[1 : chapters[0][1]]))
    for title, page in chapters:
        assert title in words(texts[page])
        assert f'{title}{page + 1}' in contents


def is_empty(text):
    """Return whether a page has little more than its number."""
    return len(words(text)) <= 10


def test_no_page_of_the_pdf_is_empty_and_no_link_goes_to_a_file(
    pdf, printed, texts
):
    empty = [text for text in texts if is_empty(text)]
    # The sample has parts without a chapter, before its last one and after.
    assert len(empty) <= 2 * (printed != CHAPTERS), empty
    with pikepdf.open(pdf) as document:
        links = [
            link.get('/A', {}).get('/URI')
            for page in document.pages
            for link in page.get('/Annots', [])
        ]
    targets = [str(target) for target in links if target is not None]
    assert targets
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
            assert title in words(text) or is_empty(text)


def test_text_is_as_large_on_paper_as_it_is_asked_for(printed, chapters, pdf):
    """Chromium prints all of it smaller if one thing is too wide."""
    starts = [start for _, start in chapters[: len(printed) + 1]]
    with PdfDocument(pdf) as pages:
        sizes = [
            {size: len(letters) for size, letters in text_sizes(page).items()}
            for page in [pages[i] for i in range(starts[0], starts[-1], 5)]
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


def test_what_the_site_folds_is_printed_below_a_label(printed, texts):
    text = ' '.join(texts)
    for label in ('Supporting code', 'Our solution', 'Our answer'):
        assert text.count(label) >= len(printed) - 1, label
    assert 'Show the code' not in text and 'Show our' not in text
    assert '%matplotlib inline' in text


def test_every_page_of_the_pdf_has_its_number(texts):
    for number in (2, len(texts) // 2, len(texts)):
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
