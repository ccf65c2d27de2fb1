"""Which of our top-level packages imports which, by whatever means."""

import ast
import functools
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[1]
OURS = {path.parent.name for path in ROOT.glob('*/__init__.py')}
# What reads notebooks is below what uses them.
MAY_IMPORT = {
    'chapters': set(),
    'book': {'chapters', 'd2lmulti', 'd2lrun', 'samestep'},
    'grading': {'chapters', 'd2lmulti'},
    'img': {'chapters'},
    'benchmarks': {'chapters', 'd2lmulti', 'd2lrun'},
}
BY_NAME = {'import_module', '__import__', 'run_module', 'run_path'}


@functools.lru_cache(maxsize=None)
def files_of(package):
    """Return the Python files of a package that git knows, or would."""
    listed = subprocess.run(
        ['git', 'ls-files', '-co', '--exclude-standard', f'{package}/*.py'],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout.decode()
    return [ROOT / name for name in sorted({*listed.splitlines()})]


def name_called(node):
    """Return the last name of what a call calls."""
    called = node.func
    return getattr(called, 'attr', getattr(called, 'id', ''))


def texts_in(node):
    """Yield the strings in an expression."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def imports_in(source):
    """Return the top-level packages of ours that a source imports: also those
    that it names to what imports, or runs, by a name or a path."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split('.')[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module.split('.')[0])
        elif isinstance(node, ast.Call) and name_called(node) in BY_NAME:
            for text in texts_in(node):
                found |= {*text.replace('/', '.').split('.')}
    return found & OURS


def changes_path(source):
    """Return whether a source changes where Python looks for modules."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr == 'path':
            if getattr(node.value, 'id', '') == 'sys':
                return True
        if isinstance(node, ast.ImportFrom) and node.module == 'sys':
            if 'path' in {alias.name for alias in node.names}:
                return True
        if isinstance(node, ast.Call) and name_called(node) == 'addsitedir':
            return True
    return False


@functools.lru_cache(maxsize=None)
def imports_of(package):
    """Return the other packages of ours that a package imports."""
    found = [imports_in(path.read_text()) for path in files_of(package)]
    return set().union(*found) - {package}


def test_the_packages_are_those_of_the_project():
    assert {*MAY_IMPORT, 'd2lmulti', 'd2lrun', 'samestep'} <= OURS


@pytest.mark.parametrize('package', MAY_IMPORT)
def test_a_package_imports_only_what_is_below_it(package):
    assert imports_of(package) <= MAY_IMPORT[package]


@pytest.mark.parametrize('package', MAY_IMPORT)
def test_no_package_changes_where_python_looks(package):
    found = [p for p in files_of(package) if changes_path(p.read_text())]
    assert not found, 'run it as a module: python -m PACKAGE.MODULE'


def test_no_imports_of_packages_run_in_a_circle():
    above = {package: imports_of(package) for package in OURS}
    while above:
        free = [name for name in above if not above[name] & {*above}]
        assert free, f'a circle among {above}'
        for name in free:
            del above[name]


@pytest.mark.parametrize(
    'source',
    [
        'import grading.cells',
        'def f():\n    from grading import cells',
        "importlib.import_module('grading.cells')",
        "import_module(f'grading.{name}')",
        "__import__('grading')",
        "runpy.run_path(ROOT / 'grading' / 'cells.py')",
        "runpy.run_path(str(ROOT / 'grading/cells.py'))",
        "runpy.run_module('grading', run_name='__main__')",
    ],
)
def test_every_way_to_import_is_seen(source):
    assert imports_in(source) == {'grading'}


@pytest.mark.parametrize(
    'source',
    [
        'sys.path.insert(0, folder)',
        'sys.path[:0] = [folder]',
        'from sys import path\npath.append(folder)',
        'site.addsitedir(folder)',
    ],
)
def test_every_way_to_look_elsewhere_is_seen(source):
    assert changes_path(source)
