"""What a chapter expects stands beside what is measured.

A sentence that expects something is confronted by a cell: one that prints
both, as `confront` does, or asserts, or prints a verdict that nbval compares.
Sentences that only sound like an expectation (half, faster, at most ...) are
in the register, too, each with the cell that shows it or with the reason why
none has to. A new sentence is in neither, and the test fails.
"""

import re

import nbformat
import pytest
from expectations import CONFRONTED, OTHERS
from test_claims import NOTEBOOKS, claims, sentences

EXPECTS = (  # not the expected value, and not what a function expects
    r'(?i)\b(?:we|and|can|to)(?: do| don.t)? expect(?:ed)?\b'
)
COMPARES = (
    r'(?i)\bshould\b|\bat most\b|\bhalf\b|\bfaster\b|\btimes as\b'
    r'|\bbelow (?:its|our|that|the worst)\b|\bbelow (?:\d|\*)'
    r'|\babout (?:half|twice|a (?:third|quarter|tenth)|the same|as)\b'
)


def name_of(path):
    return path.stem[3:]


def to_confront(notebook):
    """Return (cell's number, sentence) of the sentences that expect or
    compare, before the exercises.

    Numbers with a unit are held to a cell by test_claims.py.
    """
    found = []
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == 'markdown':
            text, *exercises = cell.source.split('## Exercises')
            for sentence in sentences(text.split('## Summary')[0]):
                if re.search(EXPECTS, sentence) or (
                    re.search(COMPARES, sentence) and not any(claims(sentence))
                ):
                    found.append((number, ' '.join(sentence.split())))
            if exercises:
                break
    return found


def confronts(cell):
    """Return whether a cell shows expectation and measurement, or judges."""
    text = ''.join(output.get('text', '') for output in cell.outputs)
    if re.search(r'expected .*, measured .*: (?:held|did not hold)', text):
        return True
    if re.search(r'^ *assert\b', cell.source, re.MULTILINE):
        return True
    compared = 'nbval-ignore-output' not in cell.metadata.get('tags', [])
    return compared and bool(re.search(r'\b(?:True|False)\b', text))


def unconfronted(notebook, confronted, others):
    """Return each sentence without an entry, and each entry whose cell shows
    nothing, that stands above its sentence, or that no sentence needs."""
    cells = {cell.id: cell for cell in notebook.cells}
    places = [cell.id for cell in notebook.cells]
    listed = {part for parts in others.values() for part in parts}
    found, used = [], set()
    for number, sentence in to_confront(notebook):
        parts = [p for p in {*confronted, *listed} if p in sentence]
        found += [
            f'cell {confronted[part]} stands above: {part}'
            for part in {*parts} & {*confronted}
            if confronted[part] in places[:number]
            and re.search(EXPECTS, sentence)
            and 'as we expected' not in sentence
        ]
        if not parts:
            found.append(sentence)
        elif re.search(EXPECTS, sentence) and not {*parts} & {*confronted}:
            found.append(f'only a cell confronts: {sentence}')
        used.update(parts)
    found += [
        f'cell {name} does not confront: {part}'
        for part, name in confronted.items()
        if name not in cells or not confronts(cells[name])
    ]
    return found + [f'left over: {p}' for p in {*confronted, *listed} - used]


@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
def test_what_a_chapter_expects_stands_beside_what_is_measured(path):
    name = name_of(path)
    found = unconfronted(
        nbformat.read(path, 4), CONFRONTED.get(name, {}), OTHERS.get(name, {})
    )
    assert not found, '\n'.join(found)


def example():
    """Return a notebook that expects, and the cell that confronts it."""
    (path,) = (p for p in NOTEBOOKS if name_of(p) == 'causes')
    notebook = nbformat.read(path, 4)
    (cell,) = (cell for cell in notebook.cells if cell.id == 'depth-run')
    return notebook, cell


def found_in(notebook):
    return '\n'.join(
        unconfronted(notebook, CONFRONTED['causes'], OTHERS['causes'])
    )


@pytest.mark.parametrize(
    'sentence',
    [
        'We expect three devices to win.',
        'Three devices should win.',
        'It takes about half the time.',
        'Three devices are faster.',
        'Three are at most as slow, and below 2.',
    ],
)
def test_a_new_expectation_without_a_cell_is_found(sentence):
    notebook, _ = example()
    assert not found_in(notebook)
    notebook.cells[0].source += f'\n\n{sentence}'
    assert found_in(notebook) == sentence


@pytest.mark.parametrize('word', ['expected', 'measured'])
def test_a_cell_that_stops_to_show_one_side_is_found(word):
    notebook, cell = example()
    for output in cell.outputs:
        output['text'] = '\n'.join(
            line for line in output['text'].splitlines() if word not in line
        )
    assert 'cell depth-run does not confront' in found_in(notebook)


def test_a_cell_above_its_sentence_is_found():
    notebook, cell = example()
    notebook.cells.remove(cell)
    notebook.cells.insert(0, cell)
    assert 'cell depth-run stands above' in found_in(notebook)


def test_a_cell_with_both_words_but_no_verdict_is_found():
    notebook, cell = example()
    for output in cell.outputs:
        output['text'] = (
            output['text']
            .replace('held', 'seen')
            .replace('did not hold', 'seen')
        )
    assert 'cell depth-run does not confront' in found_in(notebook)


def test_a_reason_does_not_excuse_what_a_chapter_expects():
    notebook, _ = example()
    confronted, others = dict(CONFRONTED['causes']), OTHERS['causes']
    part, _ = confronted.popitem()
    found = unconfronted(notebook, confronted, {**others, 'a reason': [part]})
    assert len(found) == 1 and found[0].startswith('only a cell confronts')


def test_an_entry_that_no_sentence_needs_is_found():
    notebook, _ = example()
    found = unconfronted(
        notebook, {**CONFRONTED['causes'], 'gone': '45'}, OTHERS['causes']
    )
    assert found == ['left over: gone']


def test_a_verdict_counts_only_where_nbval_compares_it():
    cell = nbformat.v4.new_code_cell('print(True)')
    cell.outputs = [nbformat.v4.new_output('stream', text='equal: True\n')]
    assert confronts(cell)
    cell.metadata['tags'] = ['nbval-ignore-output']
    assert not confronts(cell)
