"""Fill in the front page, and let the search find terms.

The lines of `index.md` that begin with `% fill in:` become the buttons, parts
of README, the chapters by part (notebooks/README.md has them), and how to
cite.
"""

import ast
import html
import importlib
import pathlib
import re
import shutil

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

import d2lmulti
from tools.notebooks import by_part, number_of
from tools.notebooks.minutes import CORE, stated_minutes

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
BROWSER = 'Run in the browser'


def fill_in(app, docname, source):
    """Replace the marked lines of the front page."""
    if docname != 'index':
        return
    for name in (
        'README.md',
        'notebooks/README.md',
        'tools/site/teaching.md',
        'CITATION.cff',
    ):
        app.env.note_dependency(str(ROOT / name))
    parts = {
        'buttons': buttons(app),
        'first commands': first_commands(app.config.html_theme_options),
        'elsewhere': elsewhere(app),
        'opening': readme_found(r'^# .*\n\n(.*)$'),
        'items': readme_found(r'^(- \*\*Begin(?:.*\n)*?)\n'),
        'caption': readme_found(r'^\*(One training step.*)\*$'),
        'chapters': cards(),
        'contents': contents(),
        'how to cite': citation(app.config.html_theme_options),
    }
    source[0] = re.sub(
        r'^% fill in: (.*)$',
        lambda found: parts[found[1]],
        source[0],
        flags=re.MULTILINE,
    )


def take_samestep_page(app, docname, source):
    """Let the page `verify` be samestep's README; files beside that are to be
    downloaded."""
    if docname != 'verify':
        return
    readme = ROOT / 'samestep/README.md'
    app.env.note_dependency(str(readme))
    source[0] = re.sub(
        r'\[([^]]+)\]\((?!\w+:|#)(\S+?)\)',
        r'{download}`\1 <../../samestep/\2>`',
        readme.read_text('utf-8'),
    )


def readme_found(pattern):
    """Return what a group of a pattern matches in README, with its links as
    they are from this folder."""
    text = (ROOT / 'README.md').read_text()
    found = re.search(pattern, text, re.MULTILINE)[1]
    found = re.sub(
        r'\[([^]]+)\]\((notebooks/\w+)\.ipynb\)', r'{doc}`\1 <\2>`', found
    )
    found = found.replace('](tools/site/', '](')
    found = found.replace('](samestep/README.md', '](verify.md')
    return re.sub(r'\]\(numpy_mxnet/.*?\)', '](running.md#platforms)', found)


def first_commands(options):
    """Return README's first commands, with the address if there is one."""
    text = (ROOT / 'README.md').read_text()
    commands = re.search(r'^```\n(git clone .*?)```', text, re.M | re.S)[1]
    address = options.get('repository_url')
    if address:
        commands = commands.replace('URL-OF-THIS-REPOSITORY', address)
    return f'```bash\n{commands}```'


def chapter_lines():
    """Return {stem: (title, line)} from the list of the chapters."""
    rows = re.findall(
        r'^\| \[(.*?)\]\((\w+)\.ipynb\) \| (.*?) \|',
        (ROOT / 'notebooks/README.md').read_text(),
        flags=re.MULTILINE,
    )
    return {stem: (title, line) for title, stem, line in rows}


def cards():
    """Return the lists of the chapters, which the style makes cards."""
    lines = chapter_lines()
    minutes = stated_minutes((HERE / 'teaching.md').read_text())
    core = [path.stem for path in CORE]
    blocks = []
    for part, stems in by_part(lines).items():
        others = [stem for stem in stems if stem not in core]
        blocks.append(f'### {part}')
        if others != stems:
            blocks.append('**The core**')
            blocks.append(card_list('core', core, lines, minutes))
            blocks.append('**The rest is optional.**')
        blocks.append(card_list('others', others, lines, minutes))
    return '\n\n'.join(blocks)


def card_list(kind, stems, lines, minutes):
    """Return the cards of some chapters."""
    cards = '\n'.join(
        card(stem, *lines[stem], *minutes[number_of(stem)]) for stem in stems
    )
    return f'```{{container}} chapter-cards {kind}\n{cards}\n```'


def card(stem, title, line, reading, answering):
    """Return what the front page says of a chapter."""
    return (
        f'- {{doc}}`{title} <notebooks/{stem}>`\n\n'
        f'  {line[0].upper()}{line[1:]}.\n\n'
        f'  {reading} min · exercises {answering} min'
    )


def contents():
    """Return the lists of the chapters for the navigation."""
    return '\n\n'.join(
        '\n'.join(
            [
                '```{toctree}',
                f':caption: {part}',
                ':maxdepth: 1',
                ':hidden:\n',
                *(f'notebooks/{stem}' for stem in stems),
                '```',
            ]
        )
        for part, stems in by_part(chapter_lines()).items()
    )


def is_site(app):
    """Return whether the pages are written that have what was printed."""
    return app.builder.format == 'html' and app.builder.name != 'singlehtml'


def buttons(app):
    """Return the links that stand below the title as buttons."""
    links = [
        ('Start reading', 'notebooks/01_devices.html'),
        ('Try a figure', 'notebooks/08_collectives.html#figure-allreduce'),
        ('Check your own step', 'verify.html'),
    ]
    made = printed(app) if is_site(app) else {}
    if BROWSER in made:
        links[1] = (BROWSER, made[BROWSER][1])
    return '\n'.join(
        [
            '<p class="front-buttons">',
            *(
                f'<a href="{html.escape(target)}">{label}</a>'
                for label, target in links
            ),
            '</p>',
        ]
    )


def elsewhere(app):
    """Return a line with the other forms of the book, if there are any."""
    name = app.config.html_theme_options.get('repository_url', '')
    found = re.fullmatch(r'https://(github|gitlab)\.com/(.+)', name)
    links = []
    if found:
        host = {'github': 'gh', 'gitlab': 'gl'}[found[1]]
        name = found[2] if host == 'gh' else found[2].replace('/', '%2F')
        links += github_links(name) if host == 'gh' else []
        links.append(
            (
                'Binder',
                f'https://mybinder.org/v2/{host}/{name}/main'
                '?urlpath=lab/tree/notebooks/01_devices.ipynb',
            )
        )
    if is_site(app):
        links += [
            (label, made)
            for label, (_, made) in printed(app).items()
            if label != BROWSER
        ]
    line = ' · '.join(
        f'<a href="{html.escape(target)}">{label}</a>'
        for label, target in links
    )
    return f'<p>Also: {line}</p>' if links else ''


def github_links(name):
    """Return (label, address) of what opens a repository on GitHub: Colab,
    and Codespaces (.devcontainer)."""
    colab = 'https://colab.research.google.com/github'
    return [
        ('Colab', f'{colab}/{name}/blob/student/tools/setup/colab.ipynb'),
        ('Codespaces', f'https://codespaces.new/{name}'),
    ]


def printed(app):
    """Return {label: (path, name in the site)} of what was made before."""
    folder = app.config.printed_folder
    if not folder:
        return {}
    made = {
        BROWSER: (
            pathlib.Path(folder, 'lite'),
            'lite/lab/index.html?path=notebooks/01_devices.ipynb',
        ),
        'PDF': (pathlib.Path(folder, 'book.pdf'), 'book.pdf'),
        'Slides': (pathlib.Path(folder, 'slides'), 'slides/index.html'),
        'Poster': (pathlib.Path(folder, 'poster.pdf'), 'poster.pdf'),
    }
    return {
        label: (path, name)
        for label, (path, name) in made.items()
        if path.exists()
    }


def outdated(app, env, added, changed, removed):
    """Return the front page if its links to what was printed have changed."""
    before = getattr(env, 'printed_before', None)
    env.printed_before = sorted(printed(app))
    return ['index'] if before not in (None, env.printed_before) else []


def copy_printed(app, error):
    """Copy what was printed into the site, if it is there."""
    if error or app.builder.name != 'html':
        return
    for path, name in printed(app).values():
        target = pathlib.Path(app.outdir, name)
        if path.is_dir():
            folder = pathlib.Path(app.outdir, path.name)
            shutil.copytree(path, folder, dirs_exist_ok=True)
        else:
            shutil.copy(path, target)


def citation(options):
    """Return how to cite the book, from CITATION.cff."""
    cff = yaml.safe_load((ROOT / 'CITATION.cff').read_text())
    authors = ' and '.join(
        '{' + author['name'] + '}' for author in cff['authors']
    )
    fields = {
        'title': cff['title'],
        'author': authors,
        'year': re.search(r'\(c\) (\d+)', (ROOT / 'LICENSE').read_text())[1],
        'note': f'Version {cff["version"]}',
        'url': options.get('repository_url'),
    }
    lines = [f'  {k} = {{{v}}},' for k, v in fields.items() if v]
    return '\n'.join(['```bibtex', '@misc{d2lmulti,', *lines, '}', '```'])


class IndexDefinitions(SphinxTransform):
    """Let the search find a term, or a function, where it is defined.

    A term is bold where it is defined; a function is in an exporting cell.
    """

    default_priority = 800  # before Sphinx collects what is indexed

    def apply(self, **options):
        """Add an index entry beside each definition."""
        name = self.env.current_document.docname
        if not name.startswith('notebooks/'):
            return
        seen = set()
        for node in [*self.document.findall(is_definition)]:
            for term in defined_by(node, name.partition('/')[2]):
                if term.lower() not in seen:
                    seen.add(term.lower())
                    self.add_entry(node, term)

    def add_entry(self, node, term):
        """Index a term, at the paragraph or code that the search shows."""
        while not isinstance(node, (nodes.literal_block, nodes.paragraph)):
            node = node.parent
        if not node['ids']:
            node['ids'].append('defines-' + nodes.make_id(term))
            self.document.ids[node['ids'][0]] = node
        entry = addnodes.index(
            entries=[('single', term.lower(), node['ids'][0], 'main', None)]
        )
        node.parent.insert(node.parent.index(node), entry)


def is_definition(node):
    """Return whether a node can define a term or a function."""
    return isinstance(node, nodes.literal_block) or (
        isinstance(node, nodes.strong)
        and isinstance(node.parent, nodes.paragraph)
        and not isinstance(node.parent.parent, nodes.list_item)
        and re.fullmatch(r'[\w–+ -]+', node.astext()) is not None
    )


def defined_by(node, stem):
    """Return the terms, and the names of the package, that a node defines."""
    if isinstance(node, nodes.strong):
        return [node.astext()]
    try:
        body = ast.parse(node.astext()).body
    except SyntaxError:
        return []
    return [
        definition.name
        for definition in body
        if isinstance(definition, (ast.FunctionDef, ast.ClassDef))
        and definition.name in d2lmulti.__all__
        and is_exported_by(definition.name, stem)
    ]


def is_exported_by(name, stem):
    """Return whether a chapter exports a public name, or only repeats it."""
    module = importlib.import_module(getattr(d2lmulti, name).__module__)
    head = pathlib.Path(module.__file__).read_text()[:200]
    return f'/{stem}.ipynb' in head


def setup(app):
    """Be an extension of Sphinx."""
    app.add_config_value('printed_folder', '', 'html', types=(str,))
    app.add_transform(IndexDefinitions)
    app.connect('source-read', fill_in, priority=400)  # before its links
    app.connect('source-read', take_samestep_page)
    app.connect('env-get-outdated', outdated)
    app.connect('build-finished', copy_printed)
    return {'parallel_read_safe': True}
