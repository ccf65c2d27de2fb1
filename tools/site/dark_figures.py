"""Show drawings and plots in dark colors where a page of the site is dark.

A dark drawing is made with the site: lines and words of the one in img/, in
the dark palette. A page has both, and the theme shows one. Neither an inverted
picture nor a filter would do: they turn orange brown, and dim what is bright.
A plot has pixels alone: each is a mixture of white and
of a color of the palette, and becomes the same of the ground and its dark one.
"""

import pathlib
import re

import numpy as np
from PIL import Image, ImageColor
from sphinx.errors import ExtensionError

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
# Of which plots are made; matplotlib's own, too, and its grays.
INKS = [
    *('#000000', '#0072b2', '#d55e00', '#009e73', '#cc79a7'),
    *('#56b4e9', '#e69f00', '#f0e442', '#1f77b4', '#ff7f0e', '#2ca02c'),
    *('#d62728', '#9467bd'),
]


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


def darken_plot(image):
    """Return a plot on white in the dark palette."""
    paper = Image.new('RGBA', image.size, 'white')
    paper.alpha_composite(image.convert('RGBA'))
    pixels = np.asarray(paper.convert('RGB'), 'uint32')
    codes, which = np.unique(
        pixels @ np.array([1 << 16, 1 << 8, 1], 'uint32'), return_inverse=True
    )
    colors = (codes[:, None] >> [16, 8, 0] & 255) / 255
    light, dark = (
        np.array([ImageColor.getrgb(color) for color in palette]) / 255
        for palette in (INKS, [DARK.get(ink, ink) for ink in INKS])
    )
    ground = np.array(ImageColor.getrgb(DARK['#ffffff'])) / 255
    # How much of each ink makes each color, and how far it is from that.
    missing = 1 - light
    amount = colors - 1
    amount = -(amount @ missing.T) / (missing**2).sum(1)
    amount = amount.clip(0, 1)
    rest = colors[:, None] - (1 - amount[..., None] * missing)
    best = (rest**2).sum(-1).argmin(1)
    rows = np.arange(len(colors))
    amount = amount[rows, best][:, None]
    found = ground + amount * (dark[best] - ground) + 0.5 * rest[rows, best]
    drawn = (255 * found.clip(0, 1)).round().astype('uint8')
    return Image.fromarray(drawn[which.ravel()].reshape(pixels.shape))


def is_plot(path):
    """Return whether a picture is the front page's or a chapter's plot."""
    return bool(re.fullmatch(r'(training|[0-9a-f]{64})\.png', path.name))


def dark_name(name):
    """Return the name of the dark variant of a picture."""
    path = pathlib.Path(name)
    return f'{path.stem}-dark{".png" if is_plot(path) else ".svg"}'


def show_both(app, pagename, templatename, context, doctree):
    """Put a dark image beside each light one of img/, and beside each plot.

    They are in a box, since the theme hides what follows a hidden one: the
    caption.
    """
    if app.builder.name != 'html':
        return

    def add(image):
        is_drawn = (DRAWN / image[2]).exists()
        if not (is_drawn or is_plot(pathlib.Path(image[2]))):
            return image[0]
        size = ''
        if image[2].endswith('.svg'):  # else text would move as it loads
            drawn = (DRAWN / image[2]).read_text()
            points = re.search(r' width="(\d+)pt" height="(\d+)pt"', drawn)
            width, height = (
                round(int(side) * 4 / 3) for side in points.groups()
            )
            size = f' width="{width}" height="{height}"'
        light, dark = (
            f'<img class="only-{theme}"{size}{image[1]}{name}"{image[3]}'
            for theme, name in (
                ('light', image[2]),
                ('dark" loading="lazy', dark_name(image[2])),
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
    for path in [*pathlib.Path(app.outdir, '_images').iterdir()]:
        if is_plot(path):
            with Image.open(path) as image:
                darken_plot(image).save(
                    path.with_name(dark_name(path.name)), optimize=True
                )
        elif (DRAWN / path.name).exists():
            svg = darken((DRAWN / path.name).read_text())
            path.with_name(dark_name(path.name)).write_text(svg)


def setup(app):
    """Be an extension of Sphinx."""
    app.connect('html-page-context', show_both)
    app.connect('build-finished', write_dark)
    return {'parallel_read_safe': True}
