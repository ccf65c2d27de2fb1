"""How Sphinx makes the site from the notebooks' stored outputs."""
import dataclasses
import json
import os
import pathlib
import re
import subprocess

from pybtex.database import parse_file
from sphinxcontrib.bibtex.plugin import register_plugin
from sphinxcontrib.bibtex.style.referencing import BracketStyle
from sphinxcontrib.bibtex.style.referencing.author_year import (
    AuthorYearReferenceStyle)

HERE = pathlib.Path(__file__).parent

project = 'Training on multiple GPUs, from scratch'
author = 'the authors of d2lmulti'
copyright = 'the authors of d2lmulti, under the MIT licence'
extensions = ['myst_nb', 'sphinx.ext.autodoc', 'sphinxcontrib.bibtex',
              'sphinx_copybutton', 'sphinx-mathjax-offline']
exclude_patterns = ['notebooks/.ipynb_checkpoints', 'deploy', 'slides',
                    'student']
nitpicky = True
numfig = True  # figures are numbered through the whole book

nb_execution_mode = 'off'
nb_merge_streams = True  # one box for the output of a cell
nb_code_prompt_hide = 'Show our solution'
nb_code_prompt_show = 'Show our solution'
myst_enable_extensions = ['dollarmath']
myst_heading_anchors = 2

bibtex_bibfiles = ['references.bib']
bibtex_reference_style = 'author_year_round'
default_role = 'code'  # docstrings write names in single backticks
autodoc_member_order = 'bysource'
autodoc_typehints = 'none'
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False

html_theme = 'sphinx_book_theme'
html_title = project
html_favicon = 'favicon.svg'
html_static_path = ['_static']
html_css_files = ['book.css']
html_theme_options = {'use_download_button': True, 'show_toc_level': 2,
                      'use_fullscreen_button': False,
                      'navbar_persistent': []}  # one search field is enough
html_context = {'default_mode': 'auto'}  # dark where the system is
html_show_sphinx = False
html_use_index = html_domain_indices = False  # the search does better


@dataclasses.dataclass
class RoundBrackets(AuthorYearReferenceStyle):
    """Cite as 'Shallue et al. (2018)', as the chapters write it."""
    bracket_textual: BracketStyle = dataclasses.field(
        default_factory=lambda: BracketStyle('(', ')'))


register_plugin('sphinxcontrib.bibtex.style.referencing',
                'author_year_round', RoundBrackets)


def find_repository():
    """Return the address of the project's repository, or ''.

    It is D2LMULTI_REPOSITORY, or git's origin if that is public.
    """
    named = os.environ.get('D2LMULTI_REPOSITORY')
    if named is not None:
        return named
    try:
        origin = subprocess.run(
            ['git', 'remote', 'get-url', 'origin'], cwd=HERE, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.strip()
    except OSError:  # git is not needed to render the book
        return ''
    found = re.fullmatch(r'https://(github|gitlab)\.com/[\w./-]+?(\.git)?',
                         origin)
    return origin.removesuffix('.git') if found else ''


repository = find_repository()
if repository:
    html_theme_options.update(
        repository_url=repository, use_repository_button=True,
        path_to_docs='book', repository_branch='main',
        launch_buttons={'binderhub_url': 'https://mybinder.org',
                        'notebook_interface': 'jupyterlab'})


def adapt_notebook(app, docname, source):
    """Give a notebook what only the site needs, before it is parsed.

    Chapters and sources that the text names become links, pictures become
    numbered figures, solutions are folded, nbdev's marks disappear.
    """
    if not docname.startswith('notebooks/'):
        return
    notebook = json.loads(source[0])
    notebook['metadata'] = {'language_info': {'name': 'python',
                                              'pygments_lexer': 'ipython3'}}
    for cell in notebook['cells']:
        text = ''.join(cell['source'])
        if cell['cell_type'] == 'markdown':
            text = link_sources(link_chapters(number_figures(text)))
        else:
            text = re.sub(r'^#\|.*\n', '', text, flags=re.MULTILINE)
            tags = cell['metadata'].get('tags', [])
            if 'solution' in tags:
                cell['metadata']['tags'] = [*tags, 'hide-input']
        cell['source'] = text
    source[0] = json.dumps(notebook)


CHAPTERS = {int(path.name[:2]): path.stem
            for path in (HERE / 'notebooks').glob('*.ipynb')}


def link_chapters(text):
    """Make links of 'chapter 4', and of each in 'chapters 5, 6 and 9'."""
    def link(found):
        first, *others = re.findall(r'\d+', found[0])
        if not others:
            return f'{{doc}}`{found[0]} <{CHAPTERS[int(first)]}>`'
        return re.sub(r'\d+', link_number, found[0])

    def link_number(found):
        return f'{{doc}}`{found[0]} <{CHAPTERS[int(found[0])]}>`'

    written = '|'.join(map(str, sorted(CHAPTERS, reverse=True)))
    return outside_code(rf'\b[Cc]hapters? (?:{written})\b'
                        rf'(?:(?:,| and|, and| to) (?:{written})\b)*', link,
                        text)


SOURCES = parse_file(HERE / 'references.bib').entries


def link_sources(text):
    """Make citations of 'Goyal et al. 2017' and 'Shallue et al. (2018)'."""
    def cite(found):
        key = found[1].lower() + found[3]
        if key not in SOURCES:
            return found[0]
        return f"{{cite:{'t' if found[2] else 'alp'}}}`{key}`"

    return outside_code(
        r'([A-Z][\w-]+)(?: et al\.| and [A-Z][\w ]+?)?,? '
        r'(\()?((?:19|20)\d\d)(?(2)\))', cite, text)


CODE = r'```.*?```|`[^`\n]*`|^#[^\n]*|!?\[[^\]]*\]\([^)]*\)'


def outside_code(pattern, replace, text):
    """Replace `pattern` where it is not in code, a heading or a link."""
    parts = re.split(f'({CODE})', text, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [re.sub(pattern, replace, part) for part in parts[::2]]
    return ''.join(parts)


def number_figures(text):
    """Make a numbered figure of each picture with a caption below it."""
    return re.sub(
        r'^!\[(.*?)\]\((.*?)\)\n\n\*(.*?)\*$',
        lambda found: (f'```{{figure}} {found[2]}\n:alt: {found[1]}\n\n'
                       f'{found[3]}\n```'),
        text, flags=re.MULTILINE)


def mend_roles(app, pagename, templatename, context, doctree):
    """Let a list of sources have items that screen readers know."""
    context['body'] = context.get('body', '').replace(
        'role="doc-biblioentry"', 'role="listitem"')


def skip_fields(app, what, name, member, skip, options):
    """Leave out the fields of named tuples, of which Python tells nothing.
    """
    return skip or (getattr(member, '__doc__', '') or '').startswith(
        'Alias for field number')


def setup(app):
    app.connect('source-read', adapt_notebook)
    app.connect('autodoc-skip-member', skip_fields)
    app.connect('html-page-context', mend_roles)
