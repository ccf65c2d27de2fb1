"""Files that a program writes are what it would write today."""

import ast
import pathlib
import tempfile

from tools.lint.files import text_of
from tools.notebooks import NOTEBOOKS, ROOT
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


def check():
    """Yield the files that are not up to date."""
    yield from check_modules()
    if text_of('d2lmulti/one_file.py') != one_file():
        yield f'd2lmulti/one_file.py: not up to date: {EXPORT}'
