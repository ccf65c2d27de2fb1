"""How Sphinx makes the site from the notebooks' stored outputs."""

import dataclasses
import os
import pathlib
import re
import subprocess

import yaml
from sphinxcontrib.bibtex.plugin import register_plugin
from sphinxcontrib.bibtex.style.referencing import BracketStyle
from sphinxcontrib.bibtex.style.referencing.author_year import (
    AuthorYearReferenceStyle,
)

from tools.site.front_page import github_links

HERE = pathlib.Path(__file__).parent

project = 'Training on multiple GPUs, from scratch'
author = 'the authors of d2lmulti'
copyright = 'the authors of d2lmulti: text under CC BY 4.0, code under MIT'
extensions = [
    'myst_nb',
    'sphinx.ext.autodoc',
    'sphinxcontrib.bibtex',
    'sphinx_copybutton',
    'sphinx-mathjax-offline',
    'tools.site.api_page',
    'tools.site.chapter_pages',
    'tools.site.dark_figures',
    'tools.site.front_page',
    'tools.site.glossary_tips',
    'tools.site.no_break',
    'tools.site.sharing',
    'sphinx.ext.viewcode',
]
exclude_patterns = [
    'notebooks/.ipynb_checkpoints',
    'notebooks/README.md',  # JupyterLab's list of the chapters
    'containers',
    'plot',  # a bundle's sources
    'slides',
    'tests',
]
nitpicky = True
numfig = True  # figures are numbered through the whole book

nb_execution_mode = 'off'
nb_merge_streams = True  # one box for the output of a cell
highlight_language = 'none'  # what a page prints is no Python
myst_enable_extensions = ['dollarmath']
myst_heading_anchors = 3

bibtex_bibfiles = ['references.bib']
bibtex_reference_style = 'author_year_round'
default_role = 'code'  # docstrings write names in single backticks
autodoc_typehints = 'none'
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False

# Where the site will be, with a slash at the end: for links to it from afar.
html_baseurl = os.environ.get('D2LMULTI_SITE', '')
html_theme = 'sphinx_book_theme'
html_title = project
html_favicon = 'favicon.svg'
html_static_path = ['_static']
templates_path = ['_templates']
html_css_files = ['book.css']
html_js_files = ['book.js']
html_theme_options = {
    'use_download_button': True,
    'show_toc_level': 2,
    'use_fullscreen_button': False,
    'navbar_persistent': [],
}  # one search field is enough
html_context = {'default_mode': 'auto'}  # dark where the system is
html_show_sphinx = False
html_scaled_image_link = False  # a PDF would link to a local file
html_show_sourcelink = False  # a chapter has a download button
html_use_index = html_domain_indices = False  # the search does better


@dataclasses.dataclass
class RoundBrackets(AuthorYearReferenceStyle):
    """Cite as 'Shallue et al. (2018)', as the chapters write it."""

    bracket_textual: BracketStyle = dataclasses.field(
        default_factory=lambda: BracketStyle('(', ')')
    )


register_plugin(
    'sphinxcontrib.bibtex.style.referencing',
    'author_year_round',
    RoundBrackets,
)


def find_repository():
    """Return the address of the project's repository, or ''.

    It is D2LMULTI_REPOSITORY, that of CITATION.cff, or git's origin if that
    is public.
    """
    named = os.environ.get('D2LMULTI_REPOSITORY')
    if named is not None:
        return named
    cited = yaml.safe_load((HERE.parents[1] / 'CITATION.cff').read_text())
    if 'repository-code' in cited:
        return cited['repository-code'].removesuffix('.git')
    try:
        origin = subprocess.run(
            ['git', 'remote', 'get-url', 'origin'],
            cwd=HERE,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ).stdout.strip()
    except OSError:  # git is not needed to render the book
        return ''
    match = re.fullmatch(
        r'https://(github|gitlab)\.com/[\w./-]+?(\.git)?', origin
    )
    return origin.removesuffix('.git') if match else ''


repository = find_repository()
if repository:
    html_theme_options.update(
        repository_url=repository,
        use_repository_button=True,
        path_to_docs='tools/site',
        repository_branch='main',
        launch_buttons={
            'binderhub_url': 'https://mybinder.org',
            'notebook_interface': 'jupyterlab',
        },
    )


def fix_roles(app, pagename, templatename, context, doctree):
    """Let a list of sources have items that screen readers know."""
    context['body'] = context.get('body', '').replace(
        'role="doc-biblioentry"', 'role="listitem"'
    )


def breaking(match, after='[._]'):
    """Return a name of code with places to break: after a dot or an
    underscore, and between the words of a very long one."""
    parts = re.sub(rf'(?<=\w{after})(?=[^\W\d])', '<wbr>', match[0])
    return re.sub(
        '[A-Za-z]{20,}',
        lambda word: re.sub('(?<=[a-z])(?=[A-Z])', '<wbr>', word[0]),
        parts,
    )


def breaking_in_text(match):
    """Return the same with breaks at the dots alone, if it has any."""
    return breaking(match, '[.]' if re.search(r'\w[.]\w', match[0]) else '_')


def break_names(text, name='[^<]+', replace=breaking):
    """Let code names break where the style lets them; not links, which are
    names of the package."""
    return re.sub(
        '<code class="docutils literal notranslate">.*?</code>',
        lambda code: re.sub(
            # An option on a command line is long before it breaks.
            f'<span class="pre(?:"| option"(?=>[^<]{{20}}))>{name}',
            replace,
            code[0],
        ),
        text,
        flags=re.DOTALL,
    )


def mark_names(app, pagename, templatename, context, doctree):
    """Let options be whole in a line, and names break at their parts: in text
    those that may be longer than a line of a phone, and all of them where
    there is little room, in tables, headings and contents."""
    body = context.get('body', '')
    body = body.replace('<span class="pre">-', '<span class="pre option">-')
    parts = re.split(r'(<td>.*?</td>|<h\d>.*?</h\d>)', body, flags=re.DOTALL)
    parts[::2] = [
        break_names(part, '[^<]{30,}', breaking_in_text) for part in parts[::2]
    ]
    parts[1::2] = map(break_names, parts[1::2])
    context['body'] = ''.join(parts)
    context['toc'] = break_names(context.get('toc', ''))


def github_buttons(name):
    """Return the buttons for a repository on GitHub that the theme lacks."""
    icons = {'Colab': 'fas fa-infinity', 'Codespaces': 'fas fa-code'}
    for text, url in github_links(name):
        yield {
            'type': 'link',
            'text': text,
            'tooltip': f'Open in {text}',
            'icon': icons[text],
            'url': url,
        }


def add_github_buttons(app, pagename, templatename, context, doctree):
    """Beside Binder, offer Colab and GitHub's Codespaces."""
    if repository.startswith('https://github.com/'):
        name = repository.removeprefix('https://github.com/')
        for group in context.get('header_buttons', []):
            if group.get('label') == 'launch-buttons':
                group['buttons'].extend(github_buttons(name))


def setup(app):
    """Connect what is too small for an extension."""
    app.connect('html-page-context', fix_roles)
    app.connect('html-page-context', mark_names)
    # After the theme has made its buttons.
    app.connect('html-page-context', add_github_buttons, priority=900)
