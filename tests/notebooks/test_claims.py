"""Numbers in prose come from a cell, from a benchmark or from a source.

A number is a claim if it has a decimal point, a unit, % or ×. It must be in
an output or in the code of its chapter, rounded as the prose shows it, in a
sentence with a source or a link to a stored result, or in EXCEPTIONS with the
reason. Times and ratios that differ from run to run may differ by a third
from the stored output of a cell that nbval does not compare.
"""

import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / 'notebooks').glob('*.ipynb'))

# {chapter: {the number with what follows, as the text has it: why}}
STORED = 'in a stored result, where a test below looks'
EXCEPTIONS = {
    '12_sync_batch_norm': {'0.98': STORED, '1.25': STORED},
    '14_transformer': {'4.31': STORED, '4.94': STORED},
}

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
    r'|\]\([^)]*benchmarks/results|benchmarks/results'
)


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
    for found in re.finditer(NUMBER, sentence):
        rest = sentence[found.end() :]
        unit = next((u for u in UNITS if re.match(u, rest)), None)
        if not unit and '.' not in found[1]:
            continue
        value = float(found[1].rstrip(',').replace(',', ''))
        rounding = 0.501 * 10 ** -len(found[1].partition('.')[2])
        spread = value / 3 if re.match(MEASURED, rest) else 0
        shown = found[0] + (re.match(unit, rest)[0] if unit else '')
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


def unsupported(notebook, allowed):
    """Return the claims in the prose that nothing supports."""
    exact, measured = known_numbers(notebook)
    return [
        (shown, sentence.strip()[:150])
        for cell in notebook.cells
        if cell.cell_type == 'markdown'
        for sentence in sentences(cell.source)
        for shown, value, scales, rounding, spread in claims(sentence)
        if shown not in allowed
        and not is_near(value, exact, scales, rounding)
        and not is_near(value, measured, scales, max(rounding, spread))
    ]


def is_near(value, numbers, scales, tolerance):
    """Return whether one of the numbers, in some unit, is the value."""
    return any(
        abs(number * scale - value) <= tolerance
        for number in numbers
        for scale in scales
    )


@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
def test_every_number_in_prose_has_a_support(path):
    found = unsupported(nbformat.read(path, 4), EXCEPTIONS.get(path.stem, {}))
    assert not found, '\n'.join(map(str, found))


@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
def test_no_exception_is_left_over(path):
    notebook = nbformat.read(path, 4)
    found = {shown for shown, _ in unsupported(notebook, ())}
    assert set(EXCEPTIONS.get(path.stem, ())) <= found


@pytest.mark.parametrize(
    'sentence',
    [
        'Two devices are 73,100,000,000 times as fast.',
        'It takes 0.000000123 ms.',
        'Only 98.7 % of them arrive.',
        'Each device holds 77.7 MB.',
        'The loss falls to 0.0371.',
    ],
)
def test_a_new_number_without_a_support_is_found(sentence):
    notebook = nbformat.read(NOTEBOOKS[0], 4)
    notebook.cells[0].source += f'\n\n{sentence}'
    assert any(text == sentence for _, text in unsupported(notebook, ()))


def test_each_of_the_twelve_claims_names_the_source_in_which_it_stands():
    (path,) = (ROOT / 'notebooks').glob('*_claims.ipynb')
    cells = {cell.id: cell for cell in nbformat.read(path, 4).cells}
    rows = re.findall(
        r'^\| (\d+)\. (.*?) \| (.*?) \|$', cells['claims-text'].source, re.M
    )
    assert [int(number) for number, *_ in rows] == list(range(1, 13))
    assert all(re.search(SOURCE, claim) for _, claim, _ in rows)
    verdicts = cells['verdicts'].outputs[0].text
    judged = re.findall(r'^ *(\d+) \w.*hold|quoted: (\d+)', verdicts, re.M)
    assert {a or b for a, b in judged} == {number for number, *_ in rows}


def quoted_results(text):
    """Yield (number, file) of each decimal in a sentence that names one."""
    for part in text.split('\n\n'):
        sentence = re.split(r'(?<=[.!?])\s+(?=[A-Z*(|[])', part)
        for words in sentence:
            for name in re.findall(r'benchmarks/results/(\w+\.md)', words):
                for number in re.findall(
                    r'(?<![\w.])\d+\.\d+(?![\w.]*\d)', words
                ):
                    yield number, name


@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
def test_a_number_from_a_stored_result_is_in_it(path):
    for cell in nbformat.read(path, 4).cells:
        if cell.cell_type == 'markdown':
            for number, name in quoted_results(cell.source):
                stored = (ROOT / 'benchmarks/results' / name).read_text()
                assert re.search(rf'(?<![\d.]){number}(?!\d)', stored), (
                    f'{number} is not in {name}'
                )


def test_a_misquoted_result_is_found():
    text = 'One. In `benchmarks/results/UNEQUAL.md`, it takes 1.04 times.'
    assert list(quoted_results(text)) == [('1.04', 'UNEQUAL.md')]
