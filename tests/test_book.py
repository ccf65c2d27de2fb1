"""The rendered book, looked at in headless Chromium."""
import functools
import html
import http.server
import pathlib
import re
import subprocess
import sys
import threading

import nbformat
import pytest

if sys.version_info < (3, 11):
    pytest.skip('the book needs Python 3.11, as Sphinx 9 does',
                allow_module_level=True)

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright
from pybtex.database import parse_file
from pypdf import PdfReader

ROOT = pathlib.Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / 'book'))
import make_pdf  # noqa: E402

CHAPTERS = [path.stem for path in
            sorted((ROOT / 'notebooks').glob('*.ipynb'))]
PAGES = ['index', 'api', 'references',
         *(f'notebooks/{name}' for name in CHAPTERS)]


def run(*arguments):
    """Run Python; no output is wanted."""
    done = subprocess.run([sys.executable, *arguments], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=200)
    assert done.returncode == 0 and not done.stdout, done.stdout[-3000:]


@pytest.fixture(scope='module')
def book(tmp_path_factory):
    """The folder of the site, built with warnings as errors."""
    folder = tmp_path_factory.mktemp('book')
    run('-m', 'sphinx', '-W', '--keep-going', '-q', '-n', '-d',
        folder / 'cache', ROOT / 'book', folder / 'site')
    return folder / 'site'


@pytest.fixture(scope='module')
def single_page(tmp_path_factory):
    """The whole book as one page, for the PDF."""
    folder = tmp_path_factory.mktemp('single')
    run('-m', 'sphinx', '-b', 'singlehtml', '-q', '-d', folder / 'cache',
        ROOT / 'book', folder / 'site')
    return folder / 'site' / 'index.html'


@pytest.fixture(scope='module')
def pdf(single_page):
    """The printed book."""
    path = single_page.with_name('book.pdf')
    run(ROOT / 'book' / 'make_pdf.py', single_page, path)
    return PdfReader(path)


@pytest.fixture(scope='module')
def slides(tmp_path_factory):
    """The folder of the slides."""
    folder = tmp_path_factory.mktemp('slides')
    run(ROOT / 'book' / 'make_slides.py', folder)
    return folder


@pytest.fixture(scope='module')
def site(book):
    """The address of a server for the site."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    handler = functools.partial(Quiet, directory=book)
    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f'http://127.0.0.1:{server.server_port}'
    server.shutdown()


@pytest.fixture(scope='module')
def browser():
    path = make_pdf.find_browser()
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=path, args=['--no-sandbox', '--disable-gpu'])
        yield chromium
        chromium.close()


class Visit:
    """A page that is open, and what went wrong on it."""
    def __init__(self, browser, address, **options):
        self.context = browser.new_context(**options)
        self.page, self.errors, self.foreign = self.context.new_page(), [], []
        self.page.on('console', self.note_message)
        self.page.on('pageerror', lambda e: self.errors.append(str(e)))
        self.page.on('requestfailed',
                     lambda request: self.errors.append(request.url))
        self.page.on('request', lambda request: request.url.startswith(
            ('http://127.0.0.1', 'data:', 'file:')) or self.foreign.append(
                request.url))
        self.page.goto(address, timeout=60_000)
        self.page.wait_for_load_state('networkidle')

    def note_message(self, message):
        if message.type == 'error':
            self.errors.append(message.text)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.context.close()


@pytest.fixture(scope='module', params=PAGES)
def visit(request, site, browser):
    """Each page, loaded once for all tests that look at every page."""
    with Visit(browser, f'{site}/{request.param}.html') as visit:
        yield visit


def test_a_page_loads_without_error_and_asks_nobody_else(visit):
    assert not visit.errors and not visit.foreign


def test_formulas_are_typeset(book, site, browser):
    with_formulas = [name for name in CHAPTERS if 'class="math' in
                     (book / 'notebooks' / f'{name}.html').read_text()]
    assert with_formulas
    for name in with_formulas:
        with Visit(browser, f'{site}/notebooks/{name}.html') as visit:
            visit.page.wait_for_function(
                "document.querySelectorAll('.math').length == "
                "document.querySelectorAll('.math > mjx-container').length")
            assert visit.page.locator('mjx-merror').count() == 0
            assert '$$' not in visit.page.inner_text('article')


def test_the_search_finds_allreduce(site, browser):
    with Visit(browser, f'{site}/search.html?q=allreduce') as visit:
        visit.page.wait_for_selector('#search-results li')
        found = visit.page.locator('#search-results li a').all_inner_texts()
        assert any('Synchronization' in title for title in found)
        assert not visit.errors


def test_the_copy_button_copies(site, browser):
    with Visit(browser, f'{site}/notebooks/04_synchronization.html',
               permissions=['clipboard-read', 'clipboard-write']) as visit:
        cell = visit.page.locator('div.highlight', has_text='def allreduce')
        cell.first.hover()
        cell.first.locator('button.copybtn').click()
        copied = visit.page.evaluate('navigator.clipboard.readText()')
    assert copied.startswith('def allreduce(data):')


def test_a_link_to_another_chapter_lands_on_it(site, browser):
    with Visit(browser, f'{site}/notebooks/08_allreduce.html') as visit:
        visit.page.get_by_role('link', name='Chapter 4').first.click()
        visit.page.wait_for_load_state()
        assert visit.page.inner_text('h1').startswith('4. Synchronization')


def test_solutions_are_folded_and_can_be_shown(site, browser):
    with Visit(browser, f'{site}/notebooks/05_data.html') as visit:
        solution = visit.page.locator('.tag_solution div.highlight').first
        assert not solution.is_visible()
        visit.page.get_by_text('Show our solution').first.click()
        assert solution.is_visible()


def test_nothing_overflows_on_a_phone(visit):
    visit.page.set_viewport_size({'width': 360, 'height': 740})
    wide = visit.page.evaluate('document.documentElement.scrollWidth')
    visit.page.set_viewport_size({'width': 1280, 'height': 720})
    assert wide <= 360


def serious_violations(page, **options):
    """Return what axe-core finds to be serious, and where."""
    options['resultTypes'] = ['violations']  # no long reports of the rest
    found = Axe().run(page, options=options).response['violations']
    return [(violation['id'], [node['target']
                               for node in violation['nodes']][:3])
            for violation in found
            if violation['impact'] in ('serious', 'critical')]


def test_axe_finds_no_serious_violation(visit):
    contrast = {'color-contrast': {'enabled': False}}  # see below
    assert not serious_violations(visit.page, rules=contrast)


def pages_with_every_class(book):
    """Return a few pages that together have every kind of element."""
    kinds = {name: {(tag, one) for tag, classes in re.findall(
        r'<(\w+)[^>]* class="([^"]*)"', (book / f'{name}.html').read_text())
        for one in classes.split()} for name in PAGES}
    missing, chosen = set().union(*kinds.values()), []
    while missing:
        chosen.append(max(PAGES, key=lambda name: len(kinds[name] & missing)))
        missing -= kinds[chosen[-1]]
    return chosen


# Styles give the same colours to a class on every page; axe takes seconds.
@pytest.mark.parametrize('theme', ['light', 'dark'])
def test_contrast_is_enough(theme, book, site, browser):
    for name in pages_with_every_class(book):
        with Visit(browser, f'{site}/{name}.html',
                   color_scheme=theme) as visit:
            visit.page.wait_for_function(
                f"document.documentElement.dataset.theme == '{theme}'")
            assert not serious_violations(
                visit.page, runOnly=['color-contrast']), name


def test_every_source_in_the_text_is_in_the_bibliography(book):
    for name in CHAPTERS:
        page = (book / 'notebooks' / f'{name}.html').read_text()
        text = re.sub(r'<a .*?</a>|<pre.*?</pre>|<[^>]*>', '', page,
                      flags=re.DOTALL)
        assert not re.findall(r'et al\.,? \(?\d{4}', text)


def test_every_source_has_a_number_to_find_it_by(book):
    listed = (book / 'references.html').read_text()
    for key, entry in parse_file(ROOT / 'book' / 'references.bib'
                                 ).entries.items():
        number = entry.fields.get('doi') or entry.fields.get('eprint')
        assert number and number in listed, key


def test_no_alternative_text_is_the_name_of_a_file(book):
    for name in PAGES:
        page = (book / f'{name}.html').read_text()
        for image in re.findall(r'<img [^>]*>', page):
            text = re.search(r'alt="([^"]*)"', image)
            assert text and len(text[1]) > 40 and '.png' not in text[1], image


def test_figures_are_numbered(book):
    numbers = [int(number) for name in PAGES for number in re.findall(
        r'caption-number">Fig. (\d+)', (book / f'{name}.html').read_text())]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 8


def words(text):
    """Return the text without spaces, which PDFs put anywhere."""
    return re.sub(r'\s', '', text)


def test_the_pdf_has_a_bookmark_and_an_entry_for_each_chapter(pdf):
    entries = [entry for entry in pdf.outline[1]
               if not isinstance(entry, list)]
    titles = [words(entry.title) for entry in entries]
    assert not [title for title in titles
                if title == 2 * title[:len(title) // 2]]
    assert [title.split('.')[0] for title in titles[:len(CHAPTERS)]] == [
        str(int(name[:2])) for name in CHAPTERS]
    contents = words(''.join(page.extract_text() for page in pdf.pages[1:6]))
    for entry, title in zip(entries, titles):
        number = pdf.get_destination_page_number(entry)
        assert title in words(pdf.pages[number].extract_text())
        assert f'{title}{number + 1}' in contents


def test_no_page_of_the_pdf_is_empty_and_no_link_goes_to_a_file(pdf):
    for page in pdf.pages:
        assert len(words(page.extract_text())) > 10
        for link in page.get('/Annots', []):
            target = link.get_object().get('/A', {}).get('/URI', '')
            assert not target.startswith('file:'), target


def test_every_page_of_the_pdf_has_its_number(pdf):
    assert len(pdf.pages) > 100
    for number in (1, 2, 50, len(pdf.pages)):
        text = pdf.pages[number - 1].extract_text()
        assert str(number) in text.split()


def test_nothing_is_cut_off_in_print(single_page, browser):
    context = browser.new_context(viewport={'width': 660, 'height': 980})
    page = context.new_page()
    page.goto(single_page.as_uri())
    page.emulate_media(media='print')
    wide = page.evaluate(
        """() => [...document.querySelectorAll('article pre, article img')]
        .filter(e => e.scrollWidth > e.clientWidth + 1
                || e.getBoundingClientRect().right > 661)
        .map(e => e.textContent.slice(0, 60))""")
    assert not wide
    assert page.evaluate("""() => [...document.images].every(
        image => image.complete && image.naturalWidth > 0)""")
    context.close()


LOOK_AT_SLIDES = """() => [...Array(Reveal.getTotalSlides()).keys()].map(i => {
  Reveal.slide(i);
  const slide = Reveal.getCurrentSlide();
  const boxes = [...slide.querySelectorAll('*')].filter(
    e => !e.closest('.notes')).map(e => e.getBoundingClientRect());
  return {heading: slide.querySelector('h1, h2')?.textContent,
          right: Math.max(...boxes.map(box => box.right)),
          bottom: Math.max(...boxes.map(box => box.bottom)),
          wide: [...slide.querySelectorAll('pre')].some(
            e => e.scrollWidth > e.clientWidth + 1),
          formulas: slide.textContent.includes('$$'),
          broken: [...slide.querySelectorAll('img')].some(
            e => !e.naturalWidth || e.alt.length < 40)};
})"""


@pytest.mark.parametrize('name', CHAPTERS)
def test_a_chapter_has_slides_that_fit_and_need_no_network(
        name, slides, browser):
    with Visit(browser, (slides / f'{name}.html').as_uri(),
               viewport={'width': 1280, 'height': 720}) as visit:
        visit.page.wait_for_function('window.Reveal && Reveal.isReady()')
        seen = visit.page.evaluate(LOOK_AT_SLIDES)
        assert not visit.errors and not visit.foreign
        assert visit.page.locator('mjx-merror').count() == 0
    assert 10 <= len(seen) <= 15
    for slide in seen:
        assert slide['heading'], slide
        assert slide['right'] <= 1280 and slide['bottom'] <= 720, slide
        assert not any((slide['wide'], slide['formulas'], slide['broken']))


@pytest.mark.parametrize('name', CHAPTERS)
def test_slides_give_no_solution_away(name, slides):
    page = (slides / f'{name}.html').read_text()
    for cell in nbformat.read(ROOT / 'notebooks' / f'{name}.ipynb', 4).cells:
        if 'solution' in cell.metadata.get('tags', []):
            longest = max(cell.source.splitlines(), key=len)
            assert html.escape(longest, quote=False) not in page


def test_the_index_of_slides_links_to_every_chapter(slides, browser):
    with Visit(browser, (slides / 'index.html').as_uri()) as visit:
        links = visit.page.locator('a').evaluate_all(
            'links => links.map(link => link.getAttribute("href"))')
        assert links == [f'{name}.html' for name in CHAPTERS]
        visit.page.locator('a').first.click()
        assert '1. Devices' in visit.page.inner_text('h1')
        assert not visit.errors
        assert not serious_violations(visit.page)
