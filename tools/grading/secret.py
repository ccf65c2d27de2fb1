"""The secret of a course, which draws hidden cases and the exam's numbers."""

import pathlib


def read_secret(path):
    """Return the secret in a file; raise ValueError if there is none."""
    text = pathlib.Path(path).read_text(encoding='utf-8').strip()
    if not text:
        raise ValueError(f'{path} is empty: write a secret into it')
    return text
