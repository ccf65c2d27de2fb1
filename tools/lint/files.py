"""The project's files, each read once, and the form of a finding."""

import functools
import subprocess

from tools.notebooks import NOTEBOOKS, ROOT
from tools.notebooks.cells import read_chapter

READ = ('.ipynb', '.md', '.py', '.sh', '.toml', '.yml', '.yaml', 'Makefile')


@functools.lru_cache(maxsize=None)
def file_names():
    """Return the names of the files that git knows or would add."""
    command = 'git ls-files --cached --others --exclude-standard'.split()
    listed = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return [name for name in listed.stdout.split() if (ROOT / name).is_file()]


@functools.lru_cache(maxsize=None)
def text_of(name):
    """Return the text of a file."""
    return (ROOT / name).read_text(encoding='utf-8')


@functools.lru_cache(maxsize=None)
def notebook_at(name):
    """Return the notebook in a file."""
    return read_chapter(ROOT / name)


def chapters():
    """Return {file's name: notebook} of the chapters, in order."""
    names = [f'notebooks/{path.name}' for path in NOTEBOOKS]
    return {name: notebook_at(name) for name in names}


def pages():
    """Return the names of the pages that people read as Markdown."""
    return [name for name in file_names() if name.endswith('.md')]


def texts():
    """Yield (place, text) of what people read: files, and the sources of
    notebooks' cells, whose outputs are not written by hand."""
    for name in file_names():
        if name.endswith('.ipynb'):
            for i, cell in enumerate(notebook_at(name).cells, 1):
                yield f'{name}:cell {i}', cell.source
                for key in ('mystnb', 'slideshow'):
                    if key in cell.metadata:
                        yield f'{name}:cell {i}', str(cell.metadata[key])
        elif name.endswith(READ):
            yield name, text_of(name)


def at(place, text, start, message):
    """Return the finding that begins at text[start], as linters print it."""
    line = text.count('\n', 0, start) + 1
    return f'{place}:{line}: {message}'
