"""Pages name what exists: files, commands, chapters."""

import re

from tools.lint.files import ROOT, at, file_names, notebook_at, pages, text_of
from tools.notebooks import (
    NOTEBOOKS,
    REFERENCE,
    number_of,
    numbers_in,
    stems,
)

LINK = r'\]\((?!\w+:|#)([^)#\s]+)'
FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir()}
PATH = r'`(\w[\w.-]*/[\w./-]*)`'
TESTS = re.compile(r'tests/|tools/\w+/tests/')
# Its links and commands are those of the student edition.
ELSEWHERE = ('tools/notebooks/student/files/README.md',)


def check_paths(place, text, folder):
    """Yield the links and the paths in backquotes that lead nowhere."""
    for match in re.finditer(LINK, text):
        if not (folder / match[1]).exists():
            yield at(place, text, match.start(), f'no file {match[1]}')
    for match in re.finditer(PATH, text):
        if match[1].split('/')[0] in FOLDERS - {'build'}:
            if not (ROOT / match[1]).exists():
                yield at(place, text, match.start(), f'no file {match[1]}')


def check_commands(place, text):
    """Yield the targets and suites that the Makefile does not have."""
    makefile = text_of('Makefile') + text_of(
        'tools/notebooks/student/files/Makefile'
    )
    for match in re.finditer(r'(?:^|`)make ([^`\n]*)', text, re.M):
        command = re.sub(r"ARGS='.*?'|#.*|&&.*|;.*|\\$", '', match[1])
        for word in command.split():
            name, _, value = word.partition('=')
            known = name != 'SUITE' or value in makefile
            if '=' not in word:
                known = re.search(rf'^{re.escape(word)}:', makefile, re.M)
            if not known:
                yield at(place, text, match.start(), f'no `make {word}`')


def check_chapters(place, text):
    """Yield the chapters that do not exist."""
    for match in re.finditer(REFERENCE, text):
        if not {*numbers_in(match[2], stems())} <= {*stems()}:
            yield at(place, text, match.start(), f'there is no {match[0]}')


def check_rows(text):
    """Yield a finding unless the list has a row for each chapter, in order."""
    rows = re.findall(r'^\| \[(\w+)\. .*?\]\((\w+\.ipynb)\)', text, re.M)
    wanted = [(str(number_of(p.stem)), p.name) for p in NOTEBOOKS]
    if rows != wanted:
        missing = [row for row in wanted if row not in rows]
        yield f'notebooks/README.md: rows, in their order: {missing}'


def check():
    """Yield the findings on all pages and in the text of the chapters."""
    for name in pages():
        text, folder = text_of(name), (ROOT / name).parent
        if name not in ELSEWHERE:
            yield from check_paths(name, text, folder)
            yield from check_commands(name, text)
    for name in file_names():
        if name.endswith(('.md', '.py')) and not TESTS.match(name):
            yield from check_chapters(name, text_of(name))
        elif name.startswith('notebooks/') and name.endswith('.ipynb'):
            for i, cell in enumerate(notebook_at(name).cells, 1):
                place = f'{name}:cell {i}'
                yield from check_chapters(place, cell.source)
                if cell.cell_type == 'markdown':
                    yield from check_paths(
                        place, cell.source, ROOT / 'notebooks'
                    )
    yield from check_rows(text_of('notebooks/README.md'))
