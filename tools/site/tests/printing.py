"""How large text is on paper."""

import math

import pypdfium2.raw as pdfium


def text_sizes(page):
    """Return {size in points: the characters of that size} of a PDF's page."""
    text, sizes = page.get_textpage(), {}
    for i in range(text.count_chars()):
        letter = chr(pdfium.FPDFText_GetUnicode(text, i))
        if letter.isspace() or not letter.isprintable():
            continue
        matrix = pdfium.FS_MATRIX()
        pdfium.FPDFText_GetMatrix(text, i, matrix)
        scale = math.hypot(matrix.c, matrix.d)
        size = round(scale * pdfium.FPDFText_GetFontSize(text, i), 1)
        sizes[size] = sizes.get(size, '') + letter
    return sizes
