"""On the site, show a term's meaning where a page first uses it.

The first use on a page that does not explain the term is a link to the
glossary's row, with the meaning beside it on hover, by keyboard and by touch.
"""

import functools
import html
import pathlib
import re

from docutils import nodes
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform

from tools.notebooks import number_of

GLOSSARY = pathlib.Path(__file__).parent / 'glossary.md'
ROW = re.compile(r'^\| \*\*(.+?)\*\* \| (.+?) \| chapter (\d+) \|', re.M)

# Pages that explain terms themselves, or have no text.
WITHOUT_TIPS = {'glossary', 'api', 'references'}

# Words of every day, too: these would often get a wrong meaning.
COMMON = {
    'instruction',
    'live',
    'overlap',
    'schedule',
    'server',
    'stage',
    'view',
    'worker',
}


@functools.lru_cache
def rows():
    """Return {term: (meaning, number of the chapter that explains it)}."""
    return {
        term: (re.sub('[*`]', '', meaning), int(chapter))
        for term, meaning, chapter in ROW.findall(GLOSSARY.read_text())
    }


def anchor(term):
    """Return the id of a term's row: nodes.make_id has no α and no β."""
    return 'term-' + re.sub(r'\W+', '-', term.lower()).strip('-')


class NameRows(SphinxTransform):
    """Give each row of the glossary an anchor, and its dashes a class."""

    default_priority = 800

    def apply(self, **options):
        """Add the ids and the classes."""
        if self.env.current_document.docname != 'glossary':
            return
        for strong in self.document.findall(nodes.strong):
            if strong.astext() in rows():
                strong.parent['ids'].append(anchor(strong.astext()))
        for cell in self.document.findall(nodes.entry):
            if cell.astext() == '–':
                cell['classes'].append('nothing')


class AddTips(SphinxPostTransform):
    """Make the first use of a term on a page a link with its meaning."""

    default_priority = 900
    builders = ('html',)  # not the PDF

    def run(self, **kwargs):
        """Replace the first use of each term."""
        page = self.env.current_document.docname
        if page in WITHOUT_TIPS:
            return
        folder, _, stem = page.rpartition('/')
        number = number_of(stem) if folder == 'notebooks' else None
        missing = {
            term: meaning
            for term, (meaning, chapter) in rows().items()
            if chapter != number and term not in COMMON
        }
        up = '../' * bool(folder)
        for text in [*self.document.findall(is_prose)]:
            parts = parts_of(text.astext(), missing, up)
            if len(parts) > 1:
                text.parent.replace(text, parts)


def is_prose(node):
    """Return whether a node is text of a paragraph, and of no list that the
    style makes cards: a card is a link."""
    return (
        isinstance(node, nodes.Text)
        and isinstance(node.parent, nodes.paragraph)
        and not is_in_card(node.parent)
    )


def is_in_card(node):
    """Return whether a node is in a list of cards."""
    return node is not None and (
        'chapter-cards' in node.get('classes', ()) or is_in_card(node.parent)
    )


def parts_of(text, missing, up='../'):
    """Return nodes for a text; take each term that occurs from `missing`."""
    forms = {term[0].upper() + term[1:]: term for term in missing}
    forms.update((term, term) for term in missing)
    longest_first = sorted(map(re.escape, forms), key=len, reverse=True)
    pattern = rf'(?<![\w-])({"|".join(longest_first)})e?s?(?![\w-])'
    parts, end = [], 0
    for match in re.finditer(pattern, text) if forms else []:
        meaning = missing.pop(forms[match[1]], None)
        if meaning is not None:
            parts.append(nodes.Text(text[end : match.start()]))
            parts.append(nodes.raw('', tip(match, meaning, up), format='html'))
            end = match.end()
    return [*parts, nodes.Text(text[end:])]


def tip(match, meaning, up):
    """Return the link of a match, whose group is the term without its plural;
    `up`: the way to the folder of the glossary."""
    return (
        f'<a class="tip" href="{up}glossary.html#{anchor(match[1])}" '
        f'data-tip="{html.escape(meaning)}">{html.escape(match[0])}</a>'
    )


def setup(app):
    """Be an extension of Sphinx."""
    app.add_transform(NameRows)
    app.add_post_transform(AddTips)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
