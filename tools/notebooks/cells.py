"""The cells of a notebook, and their code as Python."""

import ast
import functools
import re

import nbformat


@functools.lru_cache(maxsize=None)
def read_chapter(path):
    """Return the notebook of a chapter, which nobody may change."""
    return nbformat.read(path, 4)


def tags(cell):
    """Return the tags of a cell."""
    return cell.get('metadata', {}).get('tags', [])


def code_cells(notebook, tag=None):
    """Return the code cells, or those with a tag."""
    return [
        cell
        for cell in notebook['cells']
        if cell['cell_type'] == 'code' and (tag is None or tag in tags(cell))
    ]


def in_place(cell):
    """Return whether a solution is the chapter's own function, which the
    student writes in its place."""
    return 'solution' in tags(cell) and cell['source'].startswith('#| export')


def without_marks(source):
    """Return the source without nbdev's marks, such as `#| export`."""
    return re.sub(r'^#\|.*\n+', '', source, flags=re.MULTILINE)


def plain(source):
    """Return the source without the lines that only a notebook knows."""
    return re.sub('^[%!].*', '', source, flags=re.MULTILINE)


def is_python(source, mode='exec'):
    """Return whether Python can read a source."""
    try:
        ast.parse(source, mode=mode)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def only_imports(source):
    """Return whether a cell does nothing but import."""
    if not is_python(plain(source)):
        return False
    body = ast.parse(plain(source)).body
    kinds = (ast.Import, ast.ImportFrom)
    return bool(body) and all(isinstance(node, kinds) for node in body)


def is_machinery(cell):
    """Return whether a cell is tagged as supporting code, or only imports."""
    if tags(cell):
        return 'hide-input' in tags(cell)
    return only_imports(''.join(cell['source']))


def small_source(cell):
    """Return a cell's source with fewer runs and epochs.

    The cell's metadata `small` says what to replace by what: see CONTRIBUTING.
    """
    source = cell.source
    for old, new in cell.metadata.get('small', {}).items():
        assert source.count(old) == 1, f'{old!r}, once, in:\n{source}'
        source = source.replace(old, new)
    return source
