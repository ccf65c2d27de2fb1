"""HTML as a page of Formgrader or feedback may show it.

What a student writes or displays can have anything in it. Tags of texts,
tables and pictures stay, and all others are shown as they were typed, so that
nothing in a notebook runs in the browser of who reads it.
"""

import bleach
from bleach.css_sanitizer import CSSSanitizer
from nbconvert.filters import get_metadata

TAGS = bleach.ALLOWED_TAGS | {
    *('p', 'br', 'hr', 'div', 'span', 'pre', 'img', 'del', 'sub', 'sup'),
    *('h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'details', 'summary'),
    *('table', 'caption', 'thead', 'tbody', 'tfoot', 'tr', 'th', 'td'),
}
ATTRIBUTES = {
    '*': ['class', 'style', 'title'],
    'a': ['href'],
    'img': ['src', 'alt', 'width', 'height'],
    'td': ['colspan', 'rowspan'],
    'th': ['colspan', 'rowspan'],
}
# Attached pictures are `data`.
PROTOCOLS = bleach.ALLOWED_PROTOCOLS | {'data'}


def clean(html):
    """Return HTML without what can run."""
    return bleach.clean(
        str(html),
        tags=TAGS,
        attributes=ATTRIBUTES,
        protocols=PROTOCOLS,
        css_sanitizer=CSSSanitizer(),
    )


def clean_metadata(output, name, kind=None):
    """Return what nbconvert writes without quotes, such as a picture's width,
    if it is a number."""
    found = get_metadata(output, name, kind)
    return found if name == 'alt' or isinstance(found, (int, float)) else None
