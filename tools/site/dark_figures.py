"""Show the drawings of img/ in dark colors where a page of the site is dark.

A dark drawing is made with the site: lines and words of the one in img/, in
the dark palette. A page has both, and the theme shows one. Neither an inverted
picture nor a filter would do: they turn orange brown, and dim what is bright.
"""

import io
import json
import pathlib
import re

from sphinx.errors import ExtensionError

from tools.speed.readme import FIGURE, STORED, figure_of

ROOT = pathlib.Path(__file__).parents[2]
DRAWN = ROOT / 'img'

INK = '#e8edf2'
# Each color of the drawings, and what it is in the dark.
DARK = {
    '#ffffff': '#121212',  # the theme's ground
    '#1a1a1a': INK,
    '#555555': '#9aa4ae',
    # Devices 0 to 3, and what is filled with their colors.
    '#0072b2': '#2a8fd6',
    '#d55e00': '#f0701e',
    '#009e73': '#14b083',
    '#cc79a7': '#cc79a7',
    '#8cc0dc': '#22587e',
    '#f4d7bf': '#ad4c0f',
    '#94d6c4': '#0a4334',
    '#f7ebf2': '#3a2732',
    # Runs and methods, and the frame of a legend.
    '#000000': INK,
    '#56b4e9': '#8fd0f5',
    '#e69f00': '#e69f00',
    '#cccccc': '#555555',
}


def darken(svg):
    """Return the drawing in the dark palette."""

    def find(color):
        if color[0] not in DARK:
            raise ExtensionError(
                f'tools/site/dark_figures.py has no dark color for {color[0]}'
            )
        return DARK[color[0]]

    style = '<style type="text/css">'  # matplotlib leaves out what is black
    return re.sub(r'#[0-9a-f]{6}\b', find, svg).replace(
        style, f'{style}svg{{fill: {INK}}}'
    )


def draw_front():
    """Return what `tools.speed.readme` draws, as an SVG for the dark."""
    import matplotlib

    matplotlib.use('agg')
    drawn = io.StringIO()
    settings = {'svg.fonttype': 'none', 'svg.hashsalt': 'd2lmulti'}
    ground = {f'{part}.facecolor': '#121212' for part in ('figure', 'axes')}
    lines = (
        *('text.color', 'axes.edgecolor', 'axes.labelcolor'),
        *('xtick.color', 'ytick.color'),
    )
    with matplotlib.rc_context(
        {**settings, **ground, **dict.fromkeys(lines, INK)}
    ):
        figure_of(json.loads(STORED.read_text())).savefig(
            drawn, format='svg', metadata={'Date': None}
        )
    return drawn.getvalue()


def dark_name(name):
    """Return the name of the dark variant of a file in img/."""
    return f'{pathlib.Path(name).stem}-dark.svg'


def show_both(app, pagename, templatename, context, doctree):
    """Put a dark image beside each light one of img/.

    They are in a box, since the theme hides what follows a hidden one: the
    caption.
    """
    if app.builder.name != 'html':
        return

    def add(image):
        if not (DRAWN / image[2]).exists():
            return image[0]
        light, dark = (
            f'<img class="only-{theme}"{image[1]}{name}"{image[3]}'
            for theme, name in (
                ('light', image[2]),
                ('dark', dark_name(image[2])),
            )
        )
        return f'<span class="light-and-dark">{light}{dark}</span>'

    context['body'] = re.sub(
        r'<img( [^>]*src="[^"]*_images/)([^"/]+)"([^>]*>)',
        add,
        context.get('body', ''),
    )


def write_dark(app, error):
    """Write the dark variants of the images that the site has."""
    if error or app.builder.name != 'html':
        return
    for path in pathlib.Path(app.outdir, '_images').iterdir():
        drawn = DRAWN / path.name
        if drawn.exists():
            is_front = path.name == FIGURE.name
            svg = draw_front() if is_front else darken(drawn.read_text())
            path.with_name(dark_name(path.name)).write_text(svg)


def setup(app):
    """Be an extension of Sphinx."""
    app.connect('html-page-context', show_both)
    app.connect('build-finished', write_dark)
    return {'parallel_read_safe': True}
