"""The drawings, light and dark: all that they say can be read."""

import pathlib
import re
import sys
from xml.etree import ElementTree

import pytest

if sys.version_info < (3, 11):
    pytest.skip(
        'the book needs Python 3.11, as Sphinx 9 does', allow_module_level=True
    )

from PIL import Image, ImageColor
from sphinx.errors import ExtensionError

from tools.site.dark_figures import DARK, INK, darken, darken_plot

ROOT = pathlib.Path(__file__).parents[3]
DRAWINGS = {
    path.stem: path.read_text() for path in (ROOT / 'img').glob('*.svg')
}
GROUND = DARK['#ffffff']


def parts_of(color):
    return [int(color[i : i + 2], 16) for i in (1, 3, 5)]


def contrast(*colors):
    """Return the contrast of two colors, as WCAG 2 defines it."""
    dark, light = sorted(
        sum(
            weight
            * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
            for weight, c in zip(
                (0.2126, 0.7152, 0.0722),
                (part / 255 for part in parts_of(color)),
            )
        )
        for color in colors
    )
    return (light + 0.05) / (dark + 0.05)


def style_of(element, ink):
    pairs = re.findall(r'([\w-]+): ([^;]+)', element.get('style', ''))
    return {'fill': ink, **dict(pairs)}


def texts_on_grounds(svg, ink):
    """Yield each text of a drawing, its color, and the color below it.

    That is the last opaque shape drawn before it whose box has the point
    where the text is written.
    """
    root = ElementTree.fromstring(svg)
    in_defs = {e for defs in root.findall('.//{*}defs') for e in defs.iter()}
    shapes = []
    for element in root.iter():
        tag, style = element.tag.rpartition('}')[2], style_of(element, ink)
        if tag == 'path' and element not in in_defs:
            if style['fill'] == 'none' or float(style.get('opacity', 1)) < 1:
                continue
            numbers = [
                float(n) for n in re.findall(r'-?[\d.]+', element.get('d'))
            ]
            shapes.append((numbers[::2], numbers[1::2], style['fill']))
        elif tag == 'text':
            place = re.search(
                r'(?:translate\(|rotate\(\S+ )(\S+) ([\d.]+)',
                element.get('transform'),
            )
            x, y = map(float, place.groups())
            x += {'middle': 0, 'end': -3}.get(style.get('text-anchor'), 3)
            y -= 3  # above the line on which it is written
            grounds = [
                fill
                for xs, ys, fill in shapes
                if min(xs) <= x <= max(xs) and min(ys) <= y <= max(ys)
            ]
            yield element.text, style['fill'], grounds[-1]


@pytest.mark.parametrize('name', sorted(DRAWINGS))
def test_every_word_of_a_drawing_stands_out(name):
    drawn = [(DRAWINGS[name], '#000000'), (darken(DRAWINGS[name]), INK)]
    faint = [part for svg, ink in drawn for part in texts_on_grounds(svg, ink)]
    assert faint
    for text, color, ground in faint:
        assert contrast(color, ground) >= 4.5, (text, color, ground)


def test_lines_stand_out_from_the_ground():
    svg = ''.join(map(darken, DRAWINGS.values()))
    lines = {*re.findall(r'stroke: (#\w{6})', svg)}
    assert INK in lines
    for color in lines - {GROUND}:  # which hides a part of a drawing
        assert contrast(color, GROUND) >= 3, color


def test_devices_and_methods_stay_apart():
    colors = [dark for light, dark in DARK.items() if light != '#000000']
    assert len({*colors}) == len(colors)


def test_a_color_that_has_no_dark_one_stops_the_build():
    with pytest.raises(ExtensionError, match='no dark color for #123456'):
        darken(DRAWINGS['data_parallel'].replace('#0072b2', '#123456'))


def test_a_plot_keeps_its_hues_and_its_words_stand_out():
    """Its ground is the page's, black is the ink, a line stays its color."""
    image = Image.new('RGB', (4, 1), 'white')
    for x, color in enumerate(('#ffffff', '#000000', '#d55e00', '#f5d7bf')):
        image.putpixel((x, 0), ImageColor.getrgb(color))
    ground, ink, orange, pale = (
        darken_plot(image).getpixel((x, 0)) for x in range(4)
    )
    assert ground == ImageColor.getrgb(GROUND)
    assert ink == ImageColor.getrgb(INK)
    assert orange == ImageColor.getrgb(DARK['#d55e00'])
    assert pale[0] > pale[1] > pale[2] and sum(ground) < sum(pale)
    assert sum(pale) < sum(orange)
