"""The glossary: its terms stand in the chapters that it names."""

import functools
import importlib.util
import pathlib
import re

import nbformat

from chapters import stems

ROOT = pathlib.Path(__file__).parents[2]
ROW = re.compile(
    r'^\| \*\*(?P<term>.+?)\*\* \| (?P<meaning>.+?) '
    r'\| chapter (?P<chapter>\d+) \| (?P<elsewhere>.+) \|$'
)


def rows():
    """Return (term, meaning, chapter, elsewhere) of each entry."""
    text = (ROOT / 'book' / 'glossary.md').read_text()
    lines = [line for line in text.splitlines() if '**' in line]
    found = [ROW.match(line) for line in lines]
    assert all(found), lines[found.index(None)]
    return [row.groups() for row in found]


@functools.lru_cache(maxsize=None)
def prose_of(chapter):
    """Return the text cells of a chapter, in lower case, on one line."""
    path = ROOT / 'notebooks' / f'{stems()[int(chapter)]}.ipynb'
    cells = nbformat.read(path, 4).cells
    text = '\n'.join(c.source for c in cells if c.cell_type == 'markdown')
    return ' '.join(text.lower().split())


def occurs(term, text):
    return re.search(rf'(?<!\w){re.escape(term.lower())}', text)


def test_every_term_occurs_in_the_chapter_that_the_glossary_names():
    missing = [
        (term, chapter)
        for term, _, chapter, _ in rows()
        if not occurs(term, prose_of(chapter))
    ]
    assert not missing


def test_a_term_is_found_as_a_word_and_in_the_plural():
    assert occurs('Shard', 'two shards') and occurs('shard', 'a shard.')
    assert not occurs('ring', 'a string') and not occurs('bubble', '')


def test_terms_are_sorted_and_explained_in_a_line():
    terms = [row[0].replace('α–β', 'alpha').lower() for row in rows()]
    assert terms == sorted(set(terms)) and len(terms) >= 60
    assert all(4 <= len(row[1].split()) <= 40 for row in rows())


def test_every_name_that_d2l_is_said_to_have_is_in_its_package():
    package = importlib.util.find_spec('d2l').origin
    source = pathlib.Path(package).with_name('mxnet.py').read_text()
    names = [
        name
        for *_, elsewhere in rows()
        for part in re.findall(r'D2L: ([^;]*)', elsewhere)
        if 'section' not in part and 'Gluon' not in part
        for name in re.findall(r'`(\w+)`', part)
    ]
    assert len(names) > 5
    for name in names:
        assert re.search(rf'\b{name}\b', source), name
