"""Numbers in a chapter's prose come from a cell, a benchmark or a source.

A number is a claim if it has a decimal point, a unit, % or ×. It must be in
an output or in the code of its chapter, rounded as the prose shows it, in a
stored result that its cell names, or in a sentence with a source. Times and
ratios that differ from run to run may differ by a third from the stored
output of a cell that nbval does not compare.
"""

import re

from tools.lint.files import chapters, text_of

NUMBER = r'(?<![\w.,/^-])(\d[\d,]*(?:\.\d+)?)(?!\.?\d)'
# What follows a number, and by what an output that means it may differ.
UNITS = {
    r' ?%': (1, 100),
    r' ?×(?! ?\d)| times': (1,),
    r' ?(?:ms|milliseconds)\b': (1, 1e3),
    r' ?(?:s|seconds)\b': (1, 1e-3),
    r' ?(?:µs|microseconds)\b': (1, 1e3, 1e6),
    r' ?(?:KB|kB)\b': (1, 1e-3),
    r' ?MB\b(?!/s)': (1, 1e-6),
    r' ?GB\b(?!/s)': (1, 1e-3, 1e-9),
    r' ?[MG]B/s': (1, 1e-3, 1e-6, 1e-9),
    r' (?:bytes|images/s|images per second)\b': (1,),
}
MEASURED = (
    r' times| ?×| ?(?:ms|s|µs)\b| (?:milli|micro)?seconds| ?[MG]B/s|images'
)
SOURCE = (
    r'[A-Z][\w-]+(?: et al\.| and [A-Z]\w+)?,? \(?(?:19|20)\d\d|\]\(http'
    r'|\]\([^)]*tools/speed/results|tools/speed/results'
)
RESULT = r'tools/speed/results/\w+\.md'
END = r'(?<=[.!?])\s+(?=[A-Z*(|[])'


def sentences(text):
    """Return the sentences of a chapter's text, without code and math."""
    text = re.sub(r'```.*?```|<[^>]*>', ' ', text, flags=re.DOTALL)
    text = re.sub(r'`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$', 'CODE', text)
    text = re.sub(r'^#.*$', '', text, flags=re.MULTILINE)
    return re.split(r'(?<=[.!?:])\s+(?=[A-Z*(|[])|\n\n|\n(?=[-|\d])', text)


def claims(sentence):
    """Yield (text, value, scales, rounding, spread) of each claim."""
    if re.search(SOURCE, sentence):
        return
    for match in re.finditer(NUMBER, sentence):
        rest = sentence[match.end() :]
        unit = next((u for u in UNITS if re.match(u, rest)), None)
        if not unit and '.' not in match[1]:
            continue
        value = float(match[1].rstrip(',').replace(',', ''))
        rounding = 0.501 * 10 ** -len(match[1].partition('.')[2])
        spread = value / 3 if re.match(MEASURED, rest) else 0
        shown = match[0] + (re.match(unit, rest)[0] if unit else '')
        yield shown, value, UNITS.get(unit, (1, 100)), rounding, spread


def numbers_in(text):
    """Return all numbers in an output or in code."""
    return {
        float(number.replace(',', '').replace('_', ''))
        for number in re.findall(
            r'(?<![\w.])\d[\d,_]*(?:\.\d+)?(?:e[-+]?\d+)?', text
        )
        if number.strip(',_')
    }


def known_numbers(notebook):
    """Return (numbers in code and in outputs that nbval compares, numbers in
    other outputs)."""
    exact, measured = [], []
    for cell in notebook.cells:
        if cell.cell_type == 'code':
            exact.append(cell.source)
            ignored = 'nbval-ignore-output' in cell.metadata.get('tags', [])
            (measured if ignored else exact).extend(
                str(o.get('text', o.get('data', {}).get('text/plain', '')))
                for o in cell.outputs
            )
    return numbers_in('\n'.join(exact)), numbers_in('\n'.join(measured))


def is_near(value, numbers, scales, tolerance):
    """Return whether one of the numbers, in some unit, is the value."""
    return any(
        abs(number * scale - value) <= tolerance
        for number in numbers
        for scale in scales
    )


def unsupported(notebook, read=text_of):
    """Yield (cell's number, claim, sentence) of what nothing supports."""
    exact, measured = known_numbers(notebook)
    for i, cell in enumerate(notebook.cells, 1):
        if cell.cell_type != 'markdown':
            continue
        stored = '\n'.join(map(read, re.findall(RESULT, cell.source)))
        known = exact | numbers_in(stored)
        for sentence in sentences(cell.source):
            for shown, value, scales, rounding, spread in claims(sentence):
                if not (
                    is_near(value, known, scales, rounding)
                    or is_near(value, measured, scales, max(rounding, spread))
                ):
                    yield i, shown, ' '.join(sentence.split())


def misquoted(text, read=text_of):
    """Yield (number, file) of each decimal that is not in the stored result
    that its sentence names."""
    for part in text.split('\n\n'):
        for sentence in re.split(END, part):
            for name in re.findall(RESULT, sentence):
                for number in re.findall(
                    r'(?<![\w.])\d+\.\d+(?![\w.]*\d)', sentence
                ):
                    if not re.search(rf'(?<![\d.]){number}(?!\d)', read(name)):
                        yield number, name


def check():
    """Yield the findings in all chapters."""
    for name, notebook in chapters().items():
        for i, shown, sentence in unsupported(notebook):
            yield (
                f'{name}:cell {i}: no cell or source has {shown!r}: {sentence}'
            )
        for i, cell in enumerate(notebook.cells, 1):
            if cell.cell_type == 'markdown':
                for number, result in misquoted(cell.source):
                    yield f'{name}:cell {i}: {number} is not in {result}'
