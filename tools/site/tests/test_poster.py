"""The poster: one page of A3 that can be read from a meter away."""

import re
import sys

import pytest

if sys.version_info < (3, 11):
    pytest.skip(
        'the book needs Python 3.11, as Sphinx 9 does', allow_module_level=True
    )

from browsing import Visit, run, serious_violations
from printing import text_sizes
from pypdfium2 import PdfDocument

from d2lmulti import direct_allreduce, ring_allreduce
from d2lmulti.communication.collectives import count_sent
from d2lmulti.replicas import allreduce
from tools.site.make_poster import PAGE

A3 = (842, 1191)  # points
SMALLEST = 14


@pytest.fixture(scope='module')
def poster(chromium, tmp_path_factory):
    """The path of the poster."""
    path = tmp_path_factory.mktemp('poster') / 'poster.pdf'
    run('-m', 'tools.site.make_poster', path)
    return path


def faults(path):
    """Return what is wrong with a poster, in words."""
    with PdfDocument(path) as pdf:
        said = [f'{len(pdf)} pages'] if len(pdf) != 1 else []
        size = tuple(map(round, pdf[0].get_size()))
        said += [f'{size} points'] if size != A3 else []
        small = {s: t for s, t in text_sizes(pdf[0]).items() if s < SMALLEST}
        return said + [f'{small}'] * bool(small)


def test_it_is_one_page_of_a3_in_letters_of_14_points_and_more(poster):
    assert faults(poster) == []
    with PdfDocument(poster) as pdf:
        text = ''.join(text_sizes(pdf[0]).values())
    for word in ('TrainingonmultipleGPUs', 'ZeRO-3', 'Sameupdate', 'makelab'):
        assert word in text


LOOK = """() => [
  ...(document.body.scrollHeight > document.body.clientHeight + 1 ?
      ['higher than the page'] : []),
  ...[...document.querySelectorAll('body *')].filter(e => {
    const box = e.getBoundingClientRect();
    return box.right > document.body.clientWidth + 1 || box.left < 0 ||
      e.scrollWidth > e.clientWidth + 1 && e.clientWidth;
  }).map(e => `wide: ${e.textContent.slice(0, 40)}`),
  ...[...document.images].filter(e => !e.naturalWidth).map(e => e.src)]"""


def overflow(browser, page):
    """Return what does not fit the page, or is not shown."""
    paper = {'width': 1123, 'height': 1588}
    with Visit(browser, page.as_uri(), viewport=paper) as visit:
        visit.page.emulate_media(media='print')
        return visit.page.evaluate(LOOK)


def test_nothing_on_it_is_cut_off_and_axe_finds_nothing_serious(browser):
    assert overflow(browser, PAGE) == []
    with Visit(browser, PAGE.as_uri()) as visit:
        assert not serious_violations(visit.page)


@pytest.mark.parametrize('k', [2, 4, 8])
def test_its_table_says_what_the_book_counts(k):
    import mxnet as mx
    from mxnet import np

    source = PAGE.read_text()
    n = 4 * 840
    for name, algorithm in (('star', allreduce), ('ring', ring_allreduce)):
        cells = re.search(
            f'<td>{name}</td><td>(.*?)</td><td>(.*?)</td>', source
        ).groups()
        stated = tuple(value_of(cell, k, n) for cell in cells)
        data = [np.ones(840, ctx=mx.cpu(i)) for i in range(k)]
        assert stated == max(count_sent(algorithm, data)), name
    assert max(count_sent(direct_allreduce, data)) == stated  # k − 1 twice


def value_of(formula, k, n):
    """Return the value of a formula in the table."""
    text = re.sub('<.*?>', '', formula)
    for typed, python in (
        ('−', '-'),
        ('·', '*'),
        ('2 (', '2 * ('),
    ):
        text = text.replace(typed, python)
    return eval(text, {'k': k, 'n': n})
