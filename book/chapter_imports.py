"""Which chapters a chapter needs, from what it imports."""

import ast
import functools
import re

import nbformat
from chapters import NOTEBOOKS, ROOT, number_of

from grading.cells import code_cells


@functools.lru_cache(maxsize=None)
def read_chapter(path):
    """Return the notebook of a chapter."""
    return nbformat.read(path, 4)


@functools.lru_cache(maxsize=None)
def exporters():
    """Return {public or module name: the chapter that exports it}."""
    found = {}
    for path in NOTEBOOKS:
        chapter = number_of(path.stem)
        for cell in code_cells(read_chapter(path)):
            module = re.search(r'^#\| default_exp (\w+)', cell.source, re.M)
            if module:
                found[module[1]] = chapter
                text = (ROOT / 'd2lmulti' / f'{module[1]}.py').read_text()
                for node in ast.parse(text).body:
                    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                        found[node.name] = chapter
    return found


def imported_names(path):
    """Yield the names that a chapter takes from d2lmulti."""
    for cell in code_cells(read_chapter(path)):
        source = re.sub('^[%!].*', '', cell.source, flags=re.MULTILINE)
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and node.module:
                package, *module = node.module.split('.')
                if package == 'd2lmulti':
                    yield from module[:1] or [a.name for a in node.names]
            elif isinstance(node, ast.Attribute):
                if getattr(node.value, 'id', '') == 'd2lmulti':
                    yield node.attr


def needed_by(path):
    """Return the numbers of the other chapters from which one imports."""
    chapters = exporters()
    needed = {chapters[n] for n in imported_names(path) if n in chapters}
    return needed - {number_of(path.stem)}
