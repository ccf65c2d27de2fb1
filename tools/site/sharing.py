"""What a link to the site shows elsewhere: descriptions, a card, a sitemap."""

import html
import pathlib
import re

import matplotlib.pyplot as plt
from docutils import nodes

PICTURE = pathlib.Path(__file__).parents[2] / 'img' / 'training.png'
CARD = '_static/card.png'


def describe(app, pagename, templatename, context, doctree):
    """Give a page a description, also for those who share its link."""
    if doctree is None:  # of a page that is no text: the search
        return
    metatags = context.get('metatags', '')
    own = re.search('<meta content="([^"]*)" name="description"', metatags)
    text = html.unescape(own[1]) if own else description_of(doctree)
    title = re.sub('<[^>]*>', '', context['title'])
    tags = {
        'property="og:title"': html.unescape(title),
        'property="og:description"': text,
        'property="og:site_name"': app.config.project,
    }
    if not own:
        tags['name="description"'] = text
    if site := app.config.html_baseurl:  # cards need whole addresses
        tags |= {
            'property="og:url"': context['pageurl'],
            'property="og:image"': site + CARD,
            'name="twitter:card"': 'summary_large_image',
        }
    context['metatags'] = metatags + ''.join(
        f'<meta {name} content="{html.escape(value)}">'
        for name, value in tags.items()
    )


def description_of(doctree, enough=80):
    """Return the first sentences of a page, or its title if it has none."""
    text = ''
    for paragraph in doctree.findall(nodes.paragraph):
        if isinstance(paragraph.parent, nodes.section):
            words = ' '.join(plain_text(paragraph).split())
            for sentence in re.split(r'(?<=[.!?:]) (?=[A-Z])', words):
                if len(text) < enough:
                    text = f'{text} {sentence}'.strip()
    title = next(doctree.findall(nodes.title)).astext()
    return text or f'{title} of the book {doctree.settings.env.config.project}'


def plain_text(paragraph):
    """Return its words; those with a meaning to show are HTML by now."""
    return ''.join(
        html.unescape(re.sub('<[^>]*>', '', text.astext()))
        if isinstance(text.parent, nodes.raw)
        else text.astext()
        for text in paragraph.findall(nodes.Text)
    )


def draw_card(app):
    """Draw the book's title above the figure of its front page."""
    figure = plt.figure(figsize=(12, 6.3), dpi=100, facecolor='white')
    figure.suptitle(app.config.project, size=30, weight='bold', y=0.93)
    axes = figure.add_axes([0, 0.03, 1, 480 / 630])
    axes.imshow(plt.imread(PICTURE))
    axes.axis('off')
    figure.savefig(pathlib.Path(app.outdir, CARD))
    plt.close(figure)


def for_other_sites(app, error):
    """Write the card, and the list of pages for search engines."""
    if error or app.builder.name != 'html' or not app.config.html_baseurl:
        return
    draw_card(app)
    uri = app.builder.get_target_uri
    pages = ''.join(
        f'<url><loc>{html.escape(app.config.html_baseurl + uri(name))}'
        '</loc></url>'
        for name in sorted(app.env.found_docs)
    )
    pathlib.Path(app.outdir, 'sitemap.xml').write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns='
        f'"http://www.sitemaps.org/schemas/sitemap/0.9">{pages}</urlset>\n'
    )


def setup(app):
    """Be an extension of Sphinx."""
    app.connect('html-page-context', describe)
    app.connect('build-finished', for_other_sites)
    return {'parallel_read_safe': True}
