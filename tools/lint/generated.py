"""Files that a program writes are what it would write today."""

import ast
import pathlib
import re
import tempfile

from tools.lint.files import text_of
from tools.notebooks import NOTEBOOKS, ROOT
from tools.notebooks.contents import contents
from tools.notebooks.one_file import one_file

EXPORT = 'run `make export`'


def check_modules():
    """Yield the modules that are not what the chapters export."""
    from nbdev.export import nb_export

    with tempfile.TemporaryDirectory() as folder:
        target = pathlib.Path(folder) / 'd2lmulti'
        for path in NOTEBOOKS:
            nb_export(path, target)
        for path in sorted(target.rglob('*.py')):
            name = f'd2lmulti/{path.relative_to(target)}'
            if not (ROOT / name).exists() or tree(text_of(name)) != tree(
                path.read_text()
            ):
                yield f'{name}: not what its chapter exports: {EXPORT}'


def tree(source):
    """Return what Python reads in a source, without comments."""
    return ast.dump(ast.parse(source))


def functions(source):
    """Return {name: code} of the functions, without docstrings."""
    sources = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            node.body = node.body[bool(ast.get_docstring(node)) :]
            sources[node.name] = ast.dump(node)
    return sources


def check_readme(readme, source):
    """Yield the functions in README that are not those of one_file.py."""
    right = functions(source)
    (shown,) = re.findall('```python\n(.*?)```', readme, re.S)
    for name, code in functions(shown).items():
        if right.get(name) != code:
            yield f'README.md: {name} is not that of d2lmulti/one_file.py'


def check():
    """Yield the files that are not up to date."""
    yield from check_modules()
    source = text_of('d2lmulti/one_file.py')
    for name, wanted in (
        ('d2lmulti/one_file.py', one_file()),
        ('notebooks/README.md', contents()),
    ):
        if text_of(name) != wanted:
            yield f'{name}: not up to date: {EXPORT}'
    yield from check_readme(text_of('README.md'), source)
