"""Which chapters a chapter needs, from what it imports."""

import ast
import functools
import re

from . import NOTEBOOKS, ROOT, number_of
from .cells import code_cells, plain, read_chapter


@functools.lru_cache(maxsize=None)
def exporters():
    """Return {public or module name: the chapter that exports it}."""
    chapters = {}
    for path in NOTEBOOKS:
        chapter = number_of(path.stem)
        for cell in code_cells(read_chapter(path)):
            name = re.search(r'^#\| default_exp ([\w.]+)', cell.source, re.M)
            if name:
                parts = name[1].split('.')
                chapters[parts[-1]] = chapter
                module = ROOT.joinpath('d2lmulti', *parts).with_suffix('.py')
                for node in ast.parse(module.read_text()).body:
                    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                        chapters[node.name] = chapter
    return chapters


def imported_names(path):
    """Yield the names that a chapter takes from d2lmulti."""
    for cell in code_cells(read_chapter(path)):
        for node in ast.walk(ast.parse(plain(cell.source))):
            if isinstance(node, ast.ImportFrom) and node.module:
                package, *module = node.module.split('.')
                if package == 'd2lmulti':
                    yield from module[-1:]
                    yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.Attribute):
                if getattr(node.value, 'id', '') == 'd2lmulti':
                    yield node.attr


def needed_by(path):
    """Return the numbers of the other chapters from which one imports."""
    chapters = exporters()
    needed = {chapters[n] for n in imported_names(path) if n in chapters}
    return needed - {number_of(path.stem)}
