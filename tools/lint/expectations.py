"""What a chapter expects stands above a cell that shows whether it came true.

Below a sentence that expects something, before the next section, a cell
prints both sides, as `confront` does, or asserts, or prints a verdict that
nbval compares.
"""

import re

from tools.lint.files import chapters
from tools.lint.numbers import sentences

EXPECTS = (  # not the expected value, and not what a function expects
    r'(?i)\b(?:we|and|can|to)(?: do| don.t)? expect(?:ed)?\b'
    r'(?<!as we expected)'
)
BOTH = r'expected .*, measured .*: (?:held|did not hold)'


def confronts(cell):
    """Return whether a cell shows expectation and measurement, or judges."""
    if cell.cell_type != 'code':
        return False
    text = ''.join(output.get('text', '') for output in cell.outputs)
    compared = 'nbval-ignore-output' not in cell.metadata.get('tags', [])
    return bool(
        re.search(BOTH, text)
        or re.search(r'^ *assert\b', cell.source, re.M)
        or (compared and re.search(r'\b(?:True|False)\b', text))
    )


def unconfronted(notebook):
    """Yield (cell's number, sentence) of what no cell below confronts; the
    summary and the exercises look back, and ask."""
    for i, cell in enumerate(notebook.cells):
        if cell.cell_type != 'markdown':
            continue
        text = re.split('^## (?:Summary|Exercises)', cell.source, flags=re.M)
        for sentence in sentences(text[0]):
            if re.search(EXPECTS, sentence) and not any(
                map(confronts, rest_of_section(notebook.cells[i + 1 :]))
            ):
                yield i + 1, ' '.join(sentence.split())
        if text[1:]:
            return


def rest_of_section(cells):
    """Yield the cells up to the next section."""
    for cell in cells:
        if cell.cell_type == 'markdown' and re.search(
            '^## ', cell.source, re.M
        ):
            return
        yield cell


def check():
    """Yield the findings in all chapters."""
    for name, notebook in chapters().items():
        for i, sentence in unconfronted(notebook):
            yield (
                f'{name}:cell {i}: no cell below, in this section, shows '
                f'whether it came true: {sentence}'
            )
