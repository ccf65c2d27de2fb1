"""Phrases that must not come back, in texts, code and messages.

The field's words stand in book/glossary.md.
"""

import pathlib
import re
import subprocess
import sys

import nbformat
import pytest

ROOT = pathlib.Path(__file__).parents[1]

# A pattern, and what to write instead.
PHRASES = {
    r'mend(s|ed|ing)?': 'fix',
    r'shall': 'should, must or will',
    r'as (it|they) comes?': 'by default, out of the box',
    r'(stands|comes) twice': 'appears twice',
    r'anything else than': 'anything other than',
    r'without sense': 'invalid',
    r'is no (host|checkpoint|file|folder)': 'is not a ...',
    r'for ever': 'forever; or say that it never returns',
    r'begins? anew': 'start over',
    r"of (its|their|your) own(?= ?[.,;:)'\"]| (in|on|for|as|to) )": (
        'separate, or one ... per ...'
    ),
    r'whoever': 'if you',
    r'is dear': 'is expensive',
    r'unrest': 'measurement noise',
    r'what a training gave': 'the result of a training run',
    r'share of (the )?examples': 'fraction of examples',
    r'(device|message|slice|batch|example|image|worker|step|row)\(e?s\)': (
        'a plural that is right'
    ),
    r'notes of the speaker': 'speaker notes',
    r'busiest': 'bottleneck',
    r'cables?': 'link',
    r'by layers|by channels': 'pipeline, tensor parallel',
    r'idle share': 'bubble fraction, or idle fraction',
    r'(same|last) bits?': 'bit-identical, bit for bit',
    r'mak(e|es|ing) a step|made a step': 'take a step',
    r'(images?|examples?|threads?|process|shards?|workers?|ms|bytes|seconds) '
    r'a (device|worker|step|process|second|round)': '... per ...',
    r'contestants?': 'peer',
    r'that compute and that (add|sum)': 'workers and servers',
    r'train(s|ed|ing)? in parts': 'gradient accumulation',
    r'simply|obviously': 'nothing',
    r'licence': 'license',
    r'colour\w*|centre|neighbour\w*|behaviour\w*|favour\w*': 'American '
    'spelling',
    r'(syn|ini|nor|opti|mini|uti)\w*lis(e|es|ed|ing|ation)\b': 'American '
    'spelling',
}
FILES = subprocess.run(
    ['git', 'ls-files', '--cached', '--others', '--exclude-standard'],
    cwd=ROOT,
    stdout=subprocess.PIPE,
    text=True,
    check=True,
).stdout.split()
TEXTS = [
    name
    for name in FILES
    if name.endswith(('.ipynb', '.md', '.py', '.sh', '.toml', 'yml', 'yaml'))
    or name == 'Makefile'
    if name != 'tests/test_words.py'
    and 'tests/notebooks/answers/' not in name
    and (ROOT / name).exists()
]


def text_of(name):
    """Return what people read in a file: of a notebook, not its outputs."""
    path = ROOT / name
    if path.suffix != '.ipynb':
        return path.read_text()
    cells = nbformat.read(path, 4).cells
    figures = [
        str(cell.metadata.get('mystnb', ''))
        + str(cell.metadata.get('slideshow', ''))
        for cell in cells
    ]
    return '\n'.join([cell.source for cell in cells] + figures)


@pytest.mark.parametrize('name', TEXTS)
def test_no_phrase_came_back(name):
    text = re.sub(r'\s+', ' ', re.sub(r"'\s*\n\s*f?'", '', text_of(name)))
    found = [
        f'{text[max(0, match.start() - 30) : match.end() + 20]!r}: {instead}'
        for phrase, instead in PHRASES.items()
        for match in re.finditer(rf'\b(?:{phrase})(?!\w)', text, re.I)
    ]
    assert not found, '\n'.join(found)


def test_the_phrases_are_found_where_they_are():
    for text in ('as it comes', 'two device(s)', 'it shall', 'colour'):
        assert any(re.search(phrase, text) for phrase in PHRASES), text


def test_no_notebook_has_a_word_that_codespell_knows_to_be_wrong():
    """Its sources; codespell itself reads the other files."""
    notebooks = [name for name in TEXTS if name.endswith('.ipynb')]
    found = subprocess.run(
        [sys.executable, '-m', 'codespell_lib', '-'],
        cwd=ROOT,
        input='\n'.join(map(text_of, notebooks)),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert found.returncode == 0, found.stdout
