"""A frozen text in the public domain; alice/README.md names its source."""

import hashlib
import re
from pathlib import Path
from typing import List

PATH = Path(__file__).with_name('alice') / 'alice.txt'
SHA256 = '99e53cbb0aeb274344a254733db996ca2d05d5fcd10fc0ca02d6966f2b2bc961'


def read_sentences(max_length: int = 20) -> List[List[str]]:
    """Return the sentences of *Alice's Adventures in Wonderland*.

    Lists of words, in lower case, without punctuation. A colon, a semicolon
    and a dash end a sentence, too; sentences of one or two words are left
    out, those of more than `max_length` words cut. Raises ValueError if the
    file is not the one that the book was written with.
    """
    parts = re.split(r'[.!?:;]|--|\n\n', read_alice().lower())
    sentences = [re.findall(r"[a-z]+(?:['-][a-z]+)*", part) for part in parts]
    return [
        sentence[start : start + max_length]
        for sentence in sentences
        if len(sentence) > 2
        for start in range(0, len(sentence), max_length)
    ]


def read_alice() -> str:
    """Return the text; raise ValueError if it is not the expected one."""
    text = PATH.read_text(encoding='ascii', errors='replace')
    if hashlib.sha256(text.encode()).hexdigest() != SHA256:
        raise ValueError(
            f'{PATH} is not the text that this book was written with: get it '
            'back with `git checkout -- d2lmulti/datasets/alice`, or install '
            'd2lmulti again'
        )
    return text
