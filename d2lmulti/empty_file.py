"""Write one_file.py with empty bodies, and its tests: an afternoon's work.

python -m d2lmulti empty FOLDER
"""

from __future__ import annotations

import ast
import inspect
import pathlib
import re
import textwrap
from typing import Sequence

import d2lmulti

HERE = pathlib.Path(__file__).parent
TESTS = HERE / 'one_file_tests.py'
PYTEST = '[pytest]\naddopts = -x -q --tb=short -p no:cacheprovider -W ignore\n'
HEAD = '''"""Training on one device and on two: what you write, what is given.

The tests beside this file name the next function to write; when all pass, the
file itself trains with them.
"""
'''


def names_tested() -> list[str]:
    """Return the functions that have a test, in order."""
    return [
        node.name[len('test_') :]
        for node in ast.parse(TESTS.read_text(encoding='utf-8')).body
        if isinstance(node, ast.FunctionDef) and node.name.startswith('test_')
    ]


def emptied(source: str, names: Sequence[str]) -> str:
    """Return a module in which some functions have docstrings only: those of
    the package, which say more, without the errors that our checks raise."""
    lines: list[str | None] = [*source.splitlines()]
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and node.name in names:
            text = inspect.getdoc(getattr(d2lmulti, node.name)) or ''
            text = re.split(r'\s+(?:Raises|Its errors)\b', text)[0]
            first, end = node.body[0].lineno - 1, node.end_lineno or 0
            lines[first:end] = [None] * (end - first)
            lines[first] = textwrap.indent(
                f'"""{text}\n"""\nraise NotImplementedError', '    '
            )
    head = ast.parse(source).body[0].end_lineno or 0
    return HEAD + '\n'.join(x for x in lines[head:] if x is not None) + '\n'


def write_empty_file(folder: str, given: Sequence[str] = ()) -> list[str]:
    """Write the empty file and its tests into a folder; return the names of
    the functions that are to be written.

    `given`: which of them have our body. Raises ValueError for other names,
    FileExistsError if there is a one_file.py.
    """
    names = names_tested()
    for name in given:
        if name not in names:
            raise ValueError(f'{name} is not one of {", ".join(names)}')
    target = pathlib.Path(folder)
    if (target / 'one_file.py').exists():
        raise FileExistsError(f'{target / "one_file.py"} exists already')
    target.mkdir(parents=True, exist_ok=True)
    left = [name for name in names if name not in given]
    source = (HERE / 'one_file.py').read_text(encoding='utf-8')
    data = "pathlib.Path(__file__).parent / 'datasets' / 'fashion_mnist'"
    source = source.replace(data, repr(str(HERE / 'datasets/fashion_mnist')))
    source = source.replace(
        'import mxnet as mx\n', 'import d2lmulti\nimport mxnet as mx\n', 1
    )
    (target / 'one_file.py').write_text(
        emptied(source, left), encoding='utf-8'
    )
    tests = TESTS.read_text(encoding='utf-8')
    (target / 'test_one_file.py').write_text(tests, encoding='utf-8')
    (target / 'pytest.ini').write_text(PYTEST, encoding='utf-8')
    return left
