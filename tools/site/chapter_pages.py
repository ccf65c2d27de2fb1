"""Give the pages what only the site needs, before Sphinx parses them.

Chapters and sources that a page names become links. In a chapter, pictures
become numbered figures, solutions and supporting code are folded, and nbdev's
marks disappear. The comment <!-- figure: NAME --> around a text, which Jupyter
does not show, becomes that text with the figure of _static/figures that can be
asked; not in the PDF.
"""

import ast
import json
import pathlib
import re

from pybtex.database import parse_file

from tools.notebooks import stems
from tools.notebooks.cells import (
    is_machinery,
    only_imports,
    plain,
    without_marks,
)

HERE = pathlib.Path(__file__).parent

# The tags of the cells that are folded, and what the label calls them.
FOLDED = {
    'solution': 'our solution',
    'check': 'the check',
    'hide-input': 'the code',
}
# An answer in words looks like a solution in code.
ANSWER = (
    r'<details>\n<summary>Our answer</summary>(.*)</details>',
    '<div class="cell container answer">\n'
    '<details class="admonition hide above-input">\n<summary>\n'
    '<p class="collapsed admonition-title">Show our answer</p>\n'
    '<p class="expanded admonition-title">Hide our answer</p>\n</summary>'
    r'\1</details>\n</div>',
)


CHAPTERS = stems()
SOURCES = parse_file(HERE / 'references.bib').entries
CODE = r'```.*?```|`[^`\n]*`|^#[^\n]*|!?\[[^\]]*\]\([^)]*\)'


def adapt_page(app, docname, source):
    """Replace the source of a page by what the site shows of it."""
    answers = app.builder.name != 'singlehtml'
    if docname.startswith('notebooks/'):
        adapt_notebook(source, answers)
    else:
        text = link_sources(link_chapters(source[0], '/notebooks/'))
        source[0] = show_figures(text, answers)


def adapt_notebook(source, answers=True):
    """Replace the source of a chapter by what the site shows of it."""
    notebook = json.loads(source[0])
    notebook['metadata'] = {
        'language_info': {'name': 'python', 'pygments_lexer': 'ipython3'}
    }
    join_imports(notebook['cells'])
    for cell in notebook['cells']:
        text = ''.join(cell['source'])
        if cell['cell_type'] == 'markdown':
            text = keep_together(number_figures(text))
            text = re.sub(
                r'\[([^\]]+)\]\((\w+)\.ipynb\)', r'{doc}`\1 <\2>`', text
            )
            text = link_sources(link_chapters(text))
            text = show_figures(text, answers)
            text = re.sub(*ANSWER, text, flags=re.DOTALL)
        else:
            if is_machinery(cell):
                cell['metadata'].setdefault('tags', []).append('hide-input')
            text = without_marks(text)
            fold(cell['metadata'], text)
        cell['source'] = text
    source[0] = json.dumps(notebook)


def join_imports(cells):
    """Join cells that only import: one bar is enough to unfold them."""
    for i in reversed(range(1, len(cells))):
        both = cells[i - 1 : i + 1]
        sources = [''.join(cell['source']) for cell in both]
        if all(
            cell['cell_type'] == 'code' and only_imports(source)
            for cell, source in zip(both, sources)
        ):
            both[0]['source'] = '\n'.join(map(without_marks, sources))
            del cells[i]


def fold(metadata, source=''):
    """Fold a cell that is tagged so, below a label that says what it is.

    Of a solution the output is folded, too: below a stub that nobody has
    answered, 'passed' would be puzzling.
    """
    tags = metadata.get('tags', [])
    what = next((FOLDED[tag] for tag in FOLDED if tag in tags), None)
    if what:
        hidden = 'hide-cell' if 'solution' in tags else 'hide-input'
        metadata['tags'] = sorted({*tags} - {'hide-input'} | {hidden})
        if what == FOLDED['hide-input']:
            what = named(source)
        metadata['mystnb'] = {
            **metadata.get('mystnb', {}),
            'code_prompt_show': f'Show {what}',
            'code_prompt_hide': f'Hide {what}',
        }


def named(source):
    """Return what a label calls supporting code: what it defines first."""
    try:
        body = ast.parse(plain(source)).body
    except SyntaxError:
        return FOLDED['hide-input']
    if only_imports(source):
        return 'the imports'
    defined = (ast.FunctionDef, ast.ClassDef)
    names = [node.name for node in body if isinstance(node, defined)]
    if not names:
        return FOLDED['hide-input']
    more = ', …' if names[2:] else ''
    return f'{FOLDED["hide-input"]}: {", ".join(names[:2])}{more}'


def link_chapters(text, folder=''):
    """Make links of 'chapter 6', and of each in 'chapters 4, 5 and 9'.

    `folder`: where the chapters are, for a page that is not among them.
    """

    def link(match):
        first, *others = map(int, re.findall(r'\d+', match[0]))
        if not others:
            return f'{{doc}}`{match[0]} <{folder}{CHAPTERS[first]}>`'
        return re.sub(r'\d+', link_number, match[0])

    def link_number(match):
        return f'{{doc}}`{match[0]} <{folder}{CHAPTERS[int(match[0])]}>`'

    number = rf'(?:{"|".join(map(str, CHAPTERS))})\b'
    return outside_code(
        rf'\b[Cc]hapters? {number}'
        rf'(?:(?:,| and|, and| to) {number})*',
        link,
        text,
    )


def link_sources(text):
    """Make citations of 'Goyal et al. 2017' and 'Shallue et al. (2018)'.

    A source's key is the label in small letters: 'jchen2016' for 'J. Chen et
    al. 2016', where another Chen is cited of the same year.
    """

    def cite(match):
        key = re.sub(r'\W', '', match[1]).lower() + match[3]
        if key not in SOURCES:
            return match[0]
        role = 't' if match[2] else 'alp'
        # A name with an initial is that of two: all authors, then.
        return f'{{cite:{role}{"s" * (". " in match[1])}}}`{key}`'

    return outside_code(
        r'((?:[A-Z]\. )?[A-Z][\w-]+)(?: et al\.| and [A-Z][\w ]+?)?,? '
        r'(\()?((?:19|20)\d\d)(?(2)\))',
        cite,
        text,
    )


def outside_code(pattern, replace, text):
    """Replace `pattern` where it is not in code, a heading or a link."""
    parts = re.split(f'({CODE})', text, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [re.sub(pattern, replace, part) for part in parts[::2]]
    return ''.join(parts)


def keep_together(text):
    """Let no line end inside a formula that is typed in italics."""
    operand = r'(?:\*\w{1,3}\*|[\d.,]*\d|[()])'
    return outside_code(
        rf'\$[^$]+\$|(?<=[\w*)]) ([=+−–·×/<>≤≥≈]) (?={operand})',
        lambda found: (
            f'\N{NO-BREAK SPACE}{found[1]}\N{NO-BREAK SPACE}'
            if found[1]
            else found[0]
        ),
        text,
    )


def show_figures(text, answers):
    """Put the figures that answer where comments name them, or nothing."""

    def show(found):
        return (
            f'````{{container}} asked\n:name: figure-{found[1]}\n\n{found[2]}'
            f'\n\n```{{raw}} html\n<div class="answering" '
            f'data-figure="{found[1]}"></div>\n```\n````'
        )

    comment = r'^<!-- figure: (\w+)\n(.*?)\n-->$'
    return re.sub(
        comment, show if answers else '', text, flags=re.M | re.DOTALL
    )


def add_scripts(app, pagename, templatename, context, doctree):
    """Load what draws the figures on the pages that have one."""
    if 'data-figure=' in context.get('body', ''):
        for name in ('plot.min', 'data', 'model', 'figures'):
            app.add_js_file(f'figures/{name}.js', loading_method='defer')


def number_figures(text):
    """Make a numbered figure of each picture with a caption below it."""
    return re.sub(
        r'^!\[(.*?)\]\((.*?)\)\n\n\*(.*?)\*$',
        lambda found: (
            f'```{{figure}} {found[2]}\n:alt: {found[1]}\n\n{found[3]}\n```'
        ),
        text,
        flags=re.MULTILINE,
    )


def setup(app):
    """Be an extension of Sphinx."""
    app.connect('source-read', adapt_page)
    app.connect('html-page-context', add_scripts)
    return {'parallel_read_safe': True}
