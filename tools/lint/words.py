"""Words and phrases that must not come back."""

import re
import subprocess
import sys

from tools.lint.files import ROOT, at, text_of, texts

LIST = 'tools/lint/phrases.txt'
# Lists of such words, and answers of students, who write as they like.
LEFT_OUT = ('tools/lint/', 'tests/notebooks/answers/')
# A space: also the end of a line, of a comment's or of a text's part.
SPACE = r"""(?:\s+|\s*'\s*\n\s*f?'\s*|\s*\n\s*\#+\s+)"""


def read_phrases(text):
    """Yield (pattern, advice) of each line of the list."""
    for line in text.splitlines():
        if line and not line.startswith('#'):
            phrase, _, advice = line.partition(' -> ')
            phrase = phrase.replace(' ', SPACE)
            yield re.compile(rf'\b(?:{phrase})(?!\w)', re.I), advice


def find_phrases(place, text, phrases):
    """Yield a finding for each phrase of the list in a text."""
    for pattern, advice in phrases:
        for match in pattern.finditer(text):
            words = ' '.join(match[0].split())
            yield at(place, text, match.start(), f'{words!r}: write {advice}')


def misspelled(places, texts):
    """Yield what codespell finds in texts, by their places."""
    lines = [
        (place, i, line)
        for place, text in zip(places, texts)
        for i, line in enumerate(text.splitlines(), 1)
    ]
    done = subprocess.run(
        [sys.executable, '-m', 'codespell_lib', '-'],
        cwd=ROOT,
        input='\n'.join(line for *_, line in lines),
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    for number, fault in re.findall(r'^(\d+): .*\n\t(.*)', done, re.M):
        place, line, _ = lines[int(number) - 1]
        yield f'{place}:{line}: {fault}'


def check():
    """Yield the findings in all texts; codespell itself reads all files but
    notebooks."""
    phrases = [*read_phrases(text_of(LIST))]
    cells = []
    for place, text in texts():
        if not place.startswith(LEFT_OUT):
            yield from find_phrases(place, text, phrases)
        if '.ipynb:' in place:
            cells.append((place, text))
    yield from misspelled(*zip(*cells))
