"""The site: its files, and how they look in headless Chromium."""

import functools
import http.server
import inspect
import pathlib
import re
import shutil
import sys
import threading

import nbformat
import pytest

if sys.version_info < (3, 11):
    pytest.skip(
        'the book needs Python 3.11, as Sphinx 9 does', allow_module_level=True
    )

from browsing import Visit, run, serious_violations, wait_until
from bs4 import BeautifulSoup, SoupStrainer
from PIL import ImageColor
from pybtex.database import parse_file

import d2lmulti
from tools.notebooks import name_of, number_of
from tools.notebooks.cells import is_machinery, without_marks
from tools.site.api_page import PUBLIC
from tools.site.chapter_pages import join_imports, named
from tools.site.dark_figures import DARK
from tools.site.front_page import chapter_lines
from tools.site.glossary_tips import WITHOUT_TIPS, parts_of

ROOT = pathlib.Path(__file__).parents[3]
CHAPTER_FILES = sorted((ROOT / 'notebooks').glob('*.ipynb'))
CHAPTERS = [path.stem for path in CHAPTER_FILES]
PAGES = [
    'index',
    'running',
    'verify',
    'data',
    'rounding',
    'determinism',
    'hetseq',
    'teaching',
    'glossary',
    'api',
    'references',
    *(f'notebooks/{name}' for name in CHAPTERS),
]
PHONE = {'width': 390, 'height': 740}
SITE = 'https://example.org/book/'  # as if it were published there
# One page of each kind: others have the same template, elements and styles.
SAMPLE = [
    'index',
    'running',
    'glossary',
    'api',
    *(f'notebooks/{name}' for name in CHAPTERS if 'scaling' in name),
]
# Where the figures are that answer.
ASKED = {
    'allreduce': 'notebooks/08_collectives',
    'pipeline': 'notebooks/15_model_parallel',
    'memory': 'notebooks/16_sharding',
    'step': 'notebooks/23_scaling',
    'planner': 'notebooks/24_planner',
    'rounding': 'rounding',
}


each_sample = pytest.mark.parametrize('name', SAMPLE)


@pytest.fixture(scope='module')
def book(chromium, tmp_path_factory):
    """The folder of the site, built with warnings as errors."""
    folder = tmp_path_factory.mktemp('book')
    command = f'-m sphinx -W --keep-going -q -n -D html_baseurl={SITE} -d'
    run(
        *command.split(),
        folder / 'cache',
        ROOT / 'tools/site',
        folder / 'site',
    )
    return folder / 'site'


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


# Code may scroll in its box, and so may a table or a picture on a phone.
TOO_WIDE = """() => [...document.querySelectorAll(
    '.cell_output pre, .cell_output table, article p, article li')]
  .filter(e => e.clientWidth && e.scrollWidth > e.clientWidth + 1
          && !e.querySelector('img') && !e.querySelector('mjx-container'))
  .map(e => e.textContent.slice(0, 60))"""

# On a phone, tables and pictures with legends do not scroll, of lines that are
# printed in columns only very long ones break, and no word of a table or of
# code does.
CUT = r"""() => {
  for (const details of document.querySelectorAll('article details'))
    details.open = true;
  const all = selectors => [...document.querySelectorAll(selectors)];
  const boxes = all('.pst-scrollable-table-container, .figure-picture');
  const scroll = boxes.filter(e => e.scrollWidth > e.clientWidth + 1);
  const wrapped = all('.printed-lines').filter(e => {
    const lines = e.textContent.replace(/\n$/, '').split('\n');
    const {lineHeight, paddingTop} = getComputedStyle(e);
    const height = e.clientHeight - 2 * parseFloat(paddingTop);
    return lines.every(line => line.length <= 120)
      && height > (lines.length + 0.5) * parseFloat(lineHeight); });
  const part = document.createRange(), broken = [];
  for (const e of all('article :is(td, th, code:not(pre code))')) {
    const texts = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
    for (let text; text = texts.nextNode();)
      for (const {index, 0: word} of text.data.matchAll(/[\p{L}\d]+/gu)) {
        part.setStart(text, index);
        part.setEnd(text, index + word.length);
        const rows = new Set([...part.getClientRects()].map(row => row.top));
        if (rows.size > 1) broken.push(word);
      }
  }
  return [...scroll, ...wrapped].map(
    e => e.textContent.slice(0, 60)).concat(broken); }"""


@pytest.mark.parametrize('name', PAGES)
def test_a_page_is_whole_on_a_phone_and_asks_nobody_else(browser, site, name):
    """It loads without an error, its formulas are typeset, nothing is cut."""
    address = f'{site}/{name}.html'
    with Visit(browser, address, viewport=PHONE) as visit:
        visit.page.wait_for_function(
            "document.querySelectorAll('.math').length == "
            "document.querySelectorAll('.math > mjx-container').length"
        )
        assert visit.page.locator('mjx-merror').count() == 0
        assert '$$' not in visit.page.inner_text('article')
        wide = visit.page.evaluate('document.documentElement.scrollWidth')
        assert wide <= 390 and not visit.page.evaluate(TOO_WIDE)
        assert not visit.page.evaluate(CUT)
        assert not visit.errors and not visit.foreign


def test_a_chapter_has_formulas_to_typeset_and_none_that_are_text(book):
    """As between the signs of two prices in dollars."""
    found = [
        formula
        for name in PAGES
        for formula in re.findall(
            r'<(?:span|div) class="math[^>]*>(.*?)</(?:span|div)>',
            (book / f'{name}.html').read_text(),
            re.DOTALL,
        )
    ]
    assert found
    assert not [text for text in found if re.search(r'\]\(|http', text)]


def test_the_search_finds_allreduce(browser, site):
    with Visit(browser, f'{site}/search.html?q=allreduce') as visit:
        visit.page.wait_for_selector('#search-results li')
        found = visit.page.locator('#search-results li a').all_inner_texts()
        assert found[0].startswith(
            f'{number_of("03_replicas")}. '
        )  # where it is defined
        assert not visit.errors
        visit.page.locator('#search-results li a').first.click()
        visit.page.wait_for_load_state()
        place = visit.page.locator(':target')
        assert place.count() == 1 and 'allreduce' in visit.page.url


@pytest.mark.parametrize(
    'query, titles',
    [
        ('ring', ['The ring', 'Around the ring', 'Backward around the ring']),
        ('ZeRO', ['ZeRO on the data axis', 'ZeRO-2: shard the gradients']),
    ],
)
def test_the_search_finds_titles_before_pages(browser, site, query, titles):
    """First the definition, in some chapter, then sections, then others."""
    with Visit(browser, f'{site}/search.html?q={query}') as visit:
        found = visit.page.locator('#search-results li > a')
        wait_until(lambda: found.count() > 9)
        shown = [text.split(' > ')[1:] for text in found.all_inner_texts()]
        places = [shown.index([title]) for title in titles]
        pages = [
            i
            for i, link in enumerate(found.all())
            if '#' not in link.get_attribute('href')
        ]
        assert max(places) < min(pages) < 9
        assert not visit.errors
        found.nth(places[0]).click()
        visit.page.wait_for_load_state()
        assert visit.page.locator(':target').count() == 1
        # The click ends what the search still reads: pages, for excerpts.
        assert all(address.endswith('.html') for address in visit.errors)


def test_the_search_says_which_definition_of_a_chapter(browser, site):
    with Visit(browser, f'{site}/search.html?q=allreduce') as visit:
        found = visit.page.locator('#search-results li > a')
        wait_until(lambda: found.count() > 9)
        titles = found.all_inner_texts()
    assert any(title.endswith('> ring_allreduce') for title in titles)
    assert len(set(titles[:8])) == 8


@pytest.mark.long
def test_a_second_build_keeps_the_definitions_of_the_search(book, tmp_path):
    shutil.copytree(book.parent, tmp_path / 'built')
    site = tmp_path / 'built' / 'site'
    before = site.joinpath('searchindex.js').read_text()
    site.joinpath('data.html').unlink()  # as if it had changed
    makefile = (ROOT / 'Makefile').read_text()
    recipe = re.search(
        r'^book:.*\n(?:\t@.*\n)?\t\$\(sphinx\)((?: -\S+)*)', makefile, re.M
    )
    options = [option for option in recipe[1].split() if option != '-D']
    run(
        '-m',
        'sphinx',
        '-q',
        *options,
        '-d',
        tmp_path / 'built' / 'cache',
        ROOT / 'tools/site',
        site,
    )
    entries = r'"indexentries":{"[^}]*}'
    after = site.joinpath('searchindex.js').read_text()
    assert re.search(entries, after)[0] == re.search(entries, before)[0]


def test_the_copy_button_copies(browser, site):
    with Visit(
        browser,
        f'{site}/notebooks/03_replicas.html',
        permissions=['clipboard-read', 'clipboard-write'],
    ) as visit:
        cell = visit.page.locator('div.highlight', has_text='def allreduce')
        cell.first.hover()
        cell.first.locator('button.copybtn').click()
        copied = visit.page.evaluate('navigator.clipboard.readText()')
    assert copied.startswith('def allreduce(data):')


def test_a_link_to_another_chapter_lands_on_it(browser, site):
    with Visit(browser, f'{site}/notebooks/08_collectives.html') as visit:
        visit.page.get_by_role('link', name='Chapter 3').first.click()
        visit.page.wait_for_load_state()
        assert visit.page.inner_text('h1').startswith(
            f'{number_of("03_replicas")}. '
        )


def test_a_term_that_another_chapter_explains_shows_its_meaning(browser, site):
    with Visit(browser, f'{site}/notebooks/05_training.html') as visit:
        term = visit.page.locator('a.tip', has_text='shard')
        assert term.count() == 1  # its first use
        shown = "e => getComputedStyle(e, '::after').content"
        assert term.evaluate(shown) == 'none'
        term.focus()  # by keyboard
        visit.page.keyboard.press('Shift+Tab')
        visit.page.keyboard.press('Tab')
        assert 'minibatch' in term.evaluate(shown)
        term.click()
        assert visit.page.locator(':target').inner_text() == 'shard'


def test_tips_take_whole_words_once_and_in_their_case():
    missing = {'ring': 'a way', 'ZeRO': 'another', 'all-gather': 'a third'}
    texts = [
        node.astext()
        for node in parts_of('Rings, a ring, zero; a string', missing)
    ]
    assert texts[1].startswith('<a class="tip"') and '>Rings</a>' in texts[1]
    assert texts[2:] == [', a ring, zero; a string']
    assert list(missing) == ['ZeRO', 'all-gather']


@pytest.mark.parametrize(
    'kind, label',
    [
        ('solution', 'Show our solution'),
        ('check', 'Show the check'),
        ('hide-input', 'Show the '),
    ],
)
def test_folded_code_can_be_shown(browser, site, kind, label):
    with Visit(browser, f'{site}/notebooks/04_data.html') as visit:
        code = visit.page.locator(
            f'.tag_{kind} .cell_input div.highlight'
        ).first
        assert not code.is_visible()
        summary = code.locator('xpath=ancestor::details/summary')
        assert summary.inner_text().startswith(label)
        summary.click()
        assert code.is_visible()


@each_sample
def test_nothing_is_wider_than_its_box_or_the_screen(browser, site, name):
    with Visit(browser, f'{site}/{name}.html') as visit:
        for width in (360, 784, 1280, 1600):
            visit.page.set_viewport_size({'width': width, 'height': 740})
            wide = visit.page.evaluate('document.documentElement.scrollWidth')
            assert wide <= width
            assert not visit.page.evaluate(TOO_WIDE), width


def test_no_code_scrolls_beside_both_sidebars(browser, site):
    """Cells are as wide as ruff lets them be."""
    screen = {'width': 1280, 'height': 740}
    with Visit(
        browser, f'{site}/notebooks/05_training.html', viewport=screen
    ) as visit:
        visit.page.evaluate(
            """() => document.querySelectorAll('article details').forEach(
            d => d.open = true)"""
        )
        wide = visit.page.evaluate(
            """() => [...document.querySelectorAll('.cell_input pre')]
            .filter(e => e.scrollWidth > e.clientWidth)
            .map(e => e.textContent.slice(0, 60))"""
        )
    assert not wide


def test_the_contents_show_the_longest_name_of_the_package(browser, site):
    wide = {'width': 1280, 'height': 900}
    with Visit(browser, f'{site}/api.html', viewport=wide) as visit:
        cut = visit.page.evaluate(
            """() => {
              const bar = document.querySelector('.bd-sidebar-secondary');
              const end = bar.getBoundingClientRect().left + bar.clientWidth;
              return [...bar.querySelectorAll('code')].filter(
                e => e.getBoundingClientRect().right > end).map(
                e => e.textContent); }"""
        )
        names = visit.page.locator('.bd-sidebar-secondary code')
        assert 'halving_doubling_allreduce()' in names.all_inner_texts()
    assert not cut


def test_no_name_of_the_package_breaks_inside(browser, site):
    with Visit(browser, f'{site}/api.html') as visit:
        broken = visit.page.evaluate(
            """() => [...document.querySelectorAll(
              'article dt .sig-name, article td:first-child .pre')].filter(
              e => e.getClientRects().length > 1).map(e => e.textContent)"""
        )
    assert not broken


def test_titles_of_code_break_at_dots(browser, site):
    wide = {'width': 1280, 'height': 900}
    with Visit(browser, f'{site}/api.html', viewport=wide) as visit:
        ends = visit.page.evaluate(
            """() => [...document.querySelectorAll(
              ':is(article, .bd-sidebar-secondary) :is(h1, h2, a) > code .pre')
            ].flatMap(e => [...e.childNodes].filter(
              n => n.nodeType == Node.TEXT_NODE).map(n => {
                const text = document.createRange();
                text.selectNode(n);
                return text.getClientRects().length; }))"""
        )
    assert ends and set(ends) == {1}


def test_the_title_of_the_next_page_takes_the_room_there_is(browser, site):
    screen = {'width': 1280, 'height': 740}
    address = f'{site}/notebooks/08_collectives.html'
    with Visit(browser, address, viewport=screen) as visit:
        heights = visit.page.evaluate(
            """() => [...document.querySelectorAll('.prev-next-title')].map(
            e => e.clientHeight)"""
        )
    assert len(heights) == 2 and max(heights) < 1.5 * min(heights)


@pytest.mark.parametrize('theme', ['light', 'dark'])
@pytest.mark.parametrize('name', ['api', 'hetseq'])
def test_links_have_one_color(browser, site, name, theme):
    address = f'{site}/{name}.html'
    with Visit(browser, address, color_scheme=theme) as visit:
        colors = visit.page.evaluate(
            """() => [...document.querySelectorAll(
              'article :is(p, td) a:not(.tip, .headerlink)')].flatMap(
              a => [a, ...a.querySelectorAll('code, .pre')]).map(
              e => getComputedStyle(e).color)"""
        )
    assert len(set(colors)) == 1 < len(colors)


def test_the_search_shows_the_word_and_nothing_of_the_theme(browser, site):
    with Visit(browser, f'{site}/search.html?q=ring') as visit:
        visit.page.wait_for_selector('#search-results li .context')
        wait_until(lambda: visit.page.locator('.context').count() > 9)
        shown = visit.page.locator('.context').all_inner_texts()
    with_word = [text for text in shown if re.search(r'\bring', text, re.I)]
    assert len(with_word) >= len(shown) - 1 > 5  # one may have the stem alone
    for text in shown:
        assert not re.search('Print to PDF|Contents|Show the code', text)


def test_below_an_unanswered_stub_nothing_has_passed(browser, site):
    with Visit(browser, f'{site}/notebooks/09_timeline.html') as visit:
        passed = visit.page.locator(
            '.cell_output', has_text='Exercise 1: passed'
        )
        assert passed.count() == 1 and not passed.is_visible()
        visit.page.get_by_text('Show our solution').first.click()
        assert passed.is_visible()


@pytest.mark.parametrize('width, shown', [(390, True), (1280, False)])
def test_a_phone_says_that_a_wide_figure_scrolls(browser, site, width, shown):
    screen = {'width': width, 'height': 740}
    with Visit(
        browser, f'{site}/notebooks/05_training.html', viewport=screen
    ) as visit:
        hints = visit.page.locator('.scroll-hint')
        figures = visit.page.locator('.wide-picture').count()
        assert hints.count() == figures > 0
        assert hints.first.is_visible() == shown


@pytest.mark.parametrize('width, height', [(390, 740), (1280, 900)])
def test_the_first_screen_has_the_start_and_the_figure(
    browser, site, width, height
):
    screen = {'width': width, 'height': height}
    with Visit(browser, f'{site}/index.html', viewport=screen) as visit:
        for part in ('.front-buttons a', '.front-figure img:visible'):
            box = visit.page.locator(part).first.bounding_box()
            assert box['y'] + box['height'] < height, part


def test_a_finger_shows_what_a_term_means(browser, site):
    with Visit(
        browser,
        f'{site}/index.html',
        viewport=PHONE,
        has_touch=True,
    ) as visit:
        term = visit.page.locator('a.tip', has_text='allreduce').first
        term.scroll_into_view_if_needed()
        term.tap()
        shown = term.evaluate("e => getComputedStyle(e, '::after').content")
        assert 'sum' in shown
        wide = visit.page.evaluate('document.documentElement.scrollWidth')
        assert wide <= 390 and 'index' in visit.page.url
        term.tap()
        visit.page.wait_for_url('**/glossary.html#term-allreduce')


def test_the_keyboard_shows_a_meaning_inside_of_a_phone(browser, site):
    with Visit(browser, f'{site}/index.html', viewport=PHONE) as visit:
        for term in visit.page.locator('a.tip').all()[:12]:
            term.focus()
            left, shift = term.evaluate(
                """e => [e.getClientRects()[0].left, parseFloat(
                getComputedStyle(e, '::after').left)]"""
            )
            assert 0 <= left + shift <= 390 - 288


def test_every_page_with_text_has_meanings_that_lead_somewhere(book):
    rows = {e['id'] for e in parsed(book, 'glossary').select('[id^=term-]')}
    for name in PAGES:
        tips = parsed(book, name, 'a').select('a.tip')
        if name in WITHOUT_TIPS:
            assert not tips
            continue
        assert tips, name
        way = '../' * name.count('/')
        for tip in tips:
            page, _, row = tip['href'].partition('#')
            assert page == f'{way}glossary.html' and row in rows, tip


each_figure = pytest.mark.parametrize('name', ASKED)


@each_figure
def test_a_figure_answers_to_a_finger(browser, site, name):
    """Its controls are large enough for one, and the address has them."""
    with Visit(
        browser,
        f'{site}/{ASKED[name]}.html',
        viewport=PHONE,
        has_touch=True,
    ) as visit:
        place = visit.page.locator(f'[data-figure={name}]')
        place.locator('.figure-picture svg').first.wait_for()
        targets = place.locator('input, select, summary')
        for target in targets.all():
            box = target.bounding_box()
            assert box['height'] >= 24 and box['width'] >= 24
        slider = place.locator('input').first
        before = slider.input_value()
        box = slider.bounding_box()
        slider.tap(position={'x': box['width'] - 2, 'y': box['height'] - 2})
        assert slider.input_value() == slider.get_attribute('max') != before
        assert f'{slider.get_attribute("name")}=' in visit.page.url
        assert visit.page.url.endswith(f'#figure-{name}')
        assert not visit.errors and not visit.foreign


def test_only_pages_with_a_figure_load_what_draws_it(book):
    for name in PAGES:
        text = (book / f'{name}.html').read_text()
        figures = re.findall(r'<[^>]* data-figure="(\w+)"', text)
        assert figures == [
            figure for figure, page in ASKED.items() if page == name
        ]
        scripts = re.findall(r'<script [^>]*src="[^"]*/figures/', text)
        assert len(scripts) == 4 * bool(figures)


def test_a_dark_page_is_printed_light(browser, site):
    with Visit(browser, f'{site}/rounding.html', color_scheme='dark') as visit:
        theme = 'document.documentElement.dataset.theme'
        visit.page.wait_for_function(f"{theme} == 'dark'")
        for _ in range(2):
            visit.page.emulate_media(media='print', color_scheme='dark')
            visit.page.wait_for_function(f"{theme} == 'light'")
            ground = 'getComputedStyle(document.body).backgroundColor'
            assert visit.page.evaluate(ground) == 'rgb(255, 255, 255)'
            visit.page.emulate_media(media='screen', color_scheme='dark')
            visit.page.wait_for_function(f"{theme} == 'dark'")


EAGER = """() => Promise.all([...document.images].map(image => {
    image.loading = 'eager';
    return image.decode().catch(() => {}); }))"""


@pytest.mark.parametrize('theme', ['light', 'dark'])
@pytest.mark.parametrize('name', ['index', 'notebooks/05_training'])
def test_a_drawing_is_shown_once_in_colors_of_the_page(
    browser, site, name, theme
):
    """With its caption; on paper, it is light."""
    shown = """() => [...document.querySelectorAll('.light-and-dark')].map(
      both => {
        const seen = [...both.children].filter(e => e.checkVisibility());
        const figure = both.closest('figure');
        const caption = figure.querySelector('figcaption');
        return [seen.length, caption.checkVisibility(),
                getComputedStyle(seen[0]).filter,
                seen[0].naturalWidth > 100,
                seen[0].src.includes('-dark.')]; })"""
    address = f'{site}/{name}.html'
    with Visit(browser, address, color_scheme=theme) as visit:
        visit.page.evaluate(EAGER)
        whole = [1, True, 'none', True]
        drawings = visit.page.evaluate(shown)
        count = len(drawings)
        assert drawings == [[*whole, theme == 'dark']] * count != []
        ground = visit.page.evaluate(
            'getComputedStyle(document.body).backgroundColor'
        )
        drawn_on = DARK['#ffffff'] if theme == 'dark' else '#ffffff'
        found = tuple(map(int, re.findall(r'\d+', ground)))
        assert found == ImageColor.getrgb(drawn_on)
        assert not visit.errors
        visit.page.emulate_media(media='print', color_scheme=theme)
        light = [[*whole, False]] * count
        wait_until(lambda: visit.page.evaluate(shown) == light)


@each_figure
def test_a_figure_and_its_table_can_be_read_by_anyone(browser, site, name):
    with Visit(browser, f'{site}/{ASKED[name]}.html', viewport=PHONE) as visit:
        place = visit.page.locator(f'[data-figure={name}]')
        place.locator('.figure-picture svg').first.wait_for()
        place.locator('summary').click()
        assert not serious_violations(visit.page, '.answering')
        table = place.locator('.figure-table')
        assert table.get_attribute('aria-label').endswith(name)
        assert table.evaluate('e => e.tabIndex') == 0


@pytest.mark.parametrize('page', ['glossary', 'notebooks/25_claims'])
def test_a_phone_has_room_for_the_first_column(browser, site, page):
    with Visit(browser, f'{site}/{page}.html', viewport=PHONE) as visit:
        widths = visit.page.evaluate(
            """() => [...document.querySelectorAll('article td:first-child')]
            .map(e => e.clientWidth)"""
        )
    assert widths and min(widths) > 80


def test_a_phone_scrolls_two_panels_that_it_could_not_show(browser, site):
    with Visit(
        browser,
        f'{site}/notebooks/05_training.html',
        viewport=PHONE,
    ) as visit:
        widths = visit.page.evaluate(
            """() => [...document.querySelectorAll('.wide-picture img')]
            .filter(e => e.checkVisibility())
            .map(e => [e.clientWidth, e.parentElement.scrollWidth])"""
        )
    assert widths and all(min(pair) > 500 for pair in widths)


def test_a_printed_chapter_breaks_no_page_before_a_section(browser, site):
    with Visit(browser, f'{site}/notebooks/05_training.html') as visit:
        visit.page.emulate_media(media='print')
        breaks = visit.page.evaluate(
            """() => [...document.querySelectorAll('article h2')].map(
            h => getComputedStyle(h).breakBefore)"""
        )
    assert breaks and set(breaks) == {'auto'}


def test_in_the_dark_a_cell_has_one_frame(browser, site):
    with Visit(
        browser, f'{site}/notebooks/05_training.html', color_scheme='dark'
    ) as visit:
        frames = visit.page.evaluate(
            """() => [...document.querySelectorAll(
            '.cell_input pre, .cell_output pre, .cell_output img')].map(e => {
              const style = getComputedStyle(e);
              return [parseFloat(style.borderTopWidth), e.tagName == 'IMG' ?
                      parseFloat(style.paddingTop) : 0]; })"""
        )
    assert frames and not any(map(any, frames))


@each_sample
def test_axe_finds_no_serious_violation(browser, site, name):
    contrast = {'color-contrast': {'enabled': False}}  # see below
    with Visit(browser, f'{site}/{name}.html') as visit:
        assert not serious_violations(visit.page, rules=contrast)


# Styles give the same colors to the same classes; of thousands of words in
# code, axe needs to see only the first of each kind.
MARK = """() => {
  const seen = new Set();
  for (const e of document.body.querySelectorAll('*')) {
    const hasText = [...e.childNodes].some(
      node => node.nodeType == Node.TEXT_NODE && node.data.trim());
    const kind = [e, e.parentElement, e.parentElement.parentElement].map(
      one => one.tagName + '.' + one.getAttribute('class')).join(' ');
    if (!hasText || seen.has(kind) || !e.checkVisibility()) continue;
    seen.add(kind);
    e.dataset.first = '';
  }
}"""


@pytest.mark.parametrize('name', ['running', 'hetseq'])
def test_on_a_phone_no_option_breaks_and_on_a_screen_no_table_is_cut(
    browser, site, name
):
    with Visit(browser, f'{site}/{name}.html', viewport=PHONE) as visit:
        assert not visit.page.evaluate(
            """() => [...document.querySelectorAll('article code .pre')]
            .filter(e => /^-/.test(e.textContent)
              && e.getClientRects().length > 1).map(e => e.textContent)"""
        )
        visit.page.set_viewport_size({'width': 1280, 'height': 740})
        assert not visit.page.evaluate(
            """() => [...document.querySelectorAll('article table')]
            .filter(e => e.offsetWidth > e.parentElement.clientWidth + 1)
            .map(e => e.textContent.slice(0, 60))"""
        )


@pytest.mark.parametrize(
    'name, first',
    [
        ('running', 'platform: Linux with NVIDIA GPUs'),
        ('notebooks/06_causes', 'cause: The input is too slow'),
        ('notebooks/22_side_by_side', 'concept: devices'),
        ('notebooks/26_bugs', 'collective: allreduce'),
    ],
)
def test_a_phone_stacks_the_cells_of_a_table_that_it_would_squeeze(
    browser, site, name, first
):
    title, _, text = first.partition(': ')
    with Visit(browser, f'{site}/{name}.html', viewport=PHONE) as visit:
        cell = visit.page.locator(
            f'.stacked-table td[data-title="{title}"]', has_text=text
        ).first
        assert cell.bounding_box()['width'] > 300


def test_a_phone_shows_no_dash_for_a_term_without_another_name(browser, site):
    with Visit(browser, f'{site}/glossary.html', viewport=PHONE) as visit:
        cells = visit.page.locator('#glossary td', has_text=re.compile('^–$'))
        assert cells.count() and not cells.first.is_visible()
        visit.page.set_viewport_size({'width': 1280, 'height': 740})
        assert cells.first.is_visible()


def test_a_number_of_the_package_has_no_docstring_of_its_type(book):
    text = parsed(book, 'api').get_text()
    assert 'd2lmulti.PADDING' in text and 'Convert a number' not in text


def test_a_phone_scrolls_what_is_printed_in_columns(browser, site):
    address = f'{site}/notebooks/24_planner.html'
    with Visit(browser, address, viewport=PHONE) as visit:
        output = visit.page.locator('.cell_output > .output')
        table = output.filter(has_text='s/step').first
        assert table.evaluate('e => e.scrollWidth > e.clientWidth')
        wait_until(lambda: table.evaluate('e => e.tabIndex') == 0)
        assert not serious_violations(
            visit.page, 'article', runOnly=['scrollable-region-focusable']
        )


@pytest.mark.parametrize('theme', ['light', 'dark'])
@each_sample
def test_contrast_is_enough(browser, site, theme, name):
    with Visit(
        browser,
        f'{site}/{name}.html',
        color_scheme=theme,
        reduced_motion='reduce',  # no color on its way to another one
    ) as visit:
        visit.page.wait_for_function(
            f"document.documentElement.dataset.theme == '{theme}'"
        )
        visit.page.evaluate(MARK)
        assert not serious_violations(
            visit.page, '[data-first]', runOnly=['color-contrast']
        )


@functools.lru_cache(maxsize=None)
def parsed(book, name, *tags):
    """Return a page, parsed; with `tags`, these elements of it."""
    only = SoupStrainer(tags) if tags else None
    text = (book / f'{name}.html').read_text()
    return BeautifulSoup(text, 'lxml', parse_only=only)


def test_solutions_checks_and_supporting_code_are_folded_and_nothing_else(
    book,
):
    for path in CHAPTER_FILES:
        page = parsed(book, f'notebooks/{path.stem}')
        wanted, found = [], []
        cells = nbformat.read(path, 4).cells
        join_imports(cells)
        for cell in cells:
            tags = cell.metadata.get('tags', [])
            if cell.cell_type == 'code':
                wanted.append(
                    'Show our solution'
                    if 'solution' in tags
                    else 'Show the check'
                    if 'check' in tags
                    else f'Show {named(without_marks(cell.source))}'
                    if is_machinery(cell)
                    else None
                )
        for code in page.select('article .cell_input'):
            details = code.find_parent('details')
            found.append(details and details.summary.p.text)
        assert found == wanted, path
        assert not page.select('details[open]'), path


def test_the_api_page_shows_what_the_package_exports_and_nothing_else(book):
    page = parsed(book, 'api')
    shown = [entry['id'] for entry in page.select('dt.sig')]
    assert sorted(shown) == sorted(
        f'{package.__name__}.{name}' for package, name in PUBLIC
    )
    for entry in page.select('dt.sig'):
        package, _, name = entry['id'].partition('.')
        value = getattr(sys.modules[package], name)
        if not callable(value):
            assert str(value) in entry.text
            continue
        assert len(entry.find_next_sibling('dd').text.split()) > 3, entry
        if isinstance(value, type) and issubclass(value, Exception):
            continue  # an exception has none
        for parameter in inspect.signature(value).parameters:
            assert parameter in entry.text


def test_the_api_page_has_a_summary_and_leads_to_the_code(book):
    page = parsed(book, 'api')
    rows = page.select('article table tbody tr')
    assert [row.td.text for row in rows] == [name for _, name in PUBLIC]
    for row, (package, name) in zip(rows, PUBLIC):
        assert row.a['href'] == f'#{package.__name__}.{name}'
        assert len(row.select('td')[1].text.split()) > 2, row
    for entry in page.select('dt.sig'):
        package, _, name = entry['id'].partition('.')
        if not callable(getattr(sys.modules[package], name)):
            continue
        source, _, place = (
            entry.select_one('.viewcode-link').parent['href'].partition('#')
        )
        assert f'id="{place}"' in (book / source).read_text()


def test_the_front_page_leads_to_all_there_is(book):
    page = parsed(book, 'index')
    assert page.title.text == page.h1.text.rstrip('#')  # and only once
    found = page.select('.chapter-cards li')
    assert [card.a['href'] for card in found] == [
        f'notebooks/{name}.html' for name in CHAPTERS
    ]
    for card, (title, line) in zip(found, chapter_lines().values()):
        texts = (' '.join(p.text.split()) for p in card.select('p'))
        shown, what, time = texts
        assert shown == title
        assert what.lower()[:9] == re.sub('[`*]', '', line).lower()[:9]
        assert re.fullmatch(r'\d+ min( · exercises \d+ min)?', time)
    assert page.select('.front-buttons a')[0].text == 'Start reading'
    assert 'the d2lmulti authors' in page.select_one('#how-to-cite').text


def test_every_page_describes_itself(book):
    found = [
        parsed(book, name, 'meta').select('meta[name=description]')
        for name in PAGES
    ]
    assert all(len(metas) == 1 for metas in found)
    texts = [metas[0]['content'] for metas in found]
    assert len(set(texts)) == len(PAGES)
    assert all(len(text) > 40 for text in texts), texts
    assert not any('<' in text for text in texts), texts


def test_a_link_to_a_page_has_a_title_a_text_and_a_picture(book):
    for name in PAGES:
        page = parsed(book, name, 'meta', 'link', 'h1')
        og = {
            meta['property'].partition(':')[2]: meta['content']
            for meta in page.select('meta[property^="og:"]')
        }
        description = page.select_one('meta[name=description]')['content']
        assert og['description'] == description
        assert og['title'] == page.h1.text.rstrip('#'), name
        assert og['url'] == f'{SITE}{name}.html'
        assert og['url'] == page.select_one('link[rel=canonical]')['href']
        assert (book / og['image'][len(SITE) :]).exists()
    listed = BeautifulSoup((book / 'sitemap.xml').read_text(), 'xml')
    places = [place.text for place in listed.select('url loc')]
    assert {f'{SITE}{name}.html' for name in PAGES} <= {*places}


def test_the_api_page_follows_the_chapters(book):
    sections = parsed(book, 'api').select('section section')
    assert all(
        re.fullmatch(r'(d2lmulti\.[\w.]+|samestep)#', section.h2.text)
        and len(section.p.text.split()) > 2
        for section in sections
    )
    linked = [
        link['href'].split('/')[1]
        for section in sections
        for link in section.p.select('a')
    ]
    assert linked == sorted(linked)
    modules = {name.rpartition('.')[2] for name in d2lmulti.MODULES}
    assert linked == [
        f'{path.stem}.html'
        for path in CHAPTER_FILES
        if name_of(path.stem) in modules
    ]


def test_every_source_in_the_text_is_in_the_bibliography(book):
    for name in CHAPTERS:
        page = (book / 'notebooks' / f'{name}.html').read_text()
        text = re.sub(
            r'<a .*?</a>|<pre.*?</pre>|<[^>]*>', '', page, flags=re.DOTALL
        )
        assert not re.findall(r'et al\.,? \(?\d{4}', text)


def test_every_source_has_a_number_or_address_to_find_it_by(book):
    listed = (book / 'references.html').read_text()
    for key, entry in parse_file(
        ROOT / 'tools/site' / 'references.bib'
    ).entries.items():
        found = [entry.fields.get(name) for name in ('doi', 'eprint', 'url')]
        assert any(number and number in listed for number in found), key


def test_no_alternative_text_is_the_name_of_a_file(book):
    for name in PAGES:
        page = (book / f'{name}.html').read_text()
        for image in re.findall(r'<img [^>]*>', page):
            text = re.search(r'alt="([^"]*)"', image)
            assert text and len(text[1]) > 40 and '.png' not in text[1], image


def test_every_drawing_has_a_dark_variant_of_the_same_text(book):
    names = {path.name for path in (ROOT / 'img').glob('*.*g')}
    found = set()
    for name in PAGES:
        for image in parsed(book, name).select('article img'):
            drawn = image['src'].rpartition('/')[2]
            if drawn not in names:
                continue
            found.add(drawn)
            light, dark = image.parent.select('img')
            assert light['class'] == ['only-light']
            assert dark['class'] == ['only-dark']
            assert light['alt'] == dark['alt'] and image == light
            assert (book / name).parent.joinpath(dark['src']).exists()
    assert found == names


def test_figures_are_numbered(book):
    numbers = [
        int(number)
        for name in PAGES
        for number in re.findall(
            r'caption-number">Fig. (\d+)', (book / f'{name}.html').read_text()
        )
    ]
    assert sorted(numbers) == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 8
