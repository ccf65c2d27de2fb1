"""Which of our packages and modules imports which, by whatever means."""

import ast
import functools
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
# Which of our packages each may import: those below it.
MAY_IMPORT = {
    'samestep': set(),
    'd2ldoctor': set(),
    'd2lmulti': {'samestep'},
    'tools.notebooks': set(),
    'tools.site': {'tools.notebooks', 'tools.speed', 'd2lmulti', 'samestep'},
    'tools.grading': {'tools.notebooks', 'd2lmulti'},
    'tools.figures': {'tools.notebooks'},
    'tools.lint': {'tools.notebooks'},
    'tools.speed': {'tools.notebooks', 'd2lmulti', 'samestep'},
}
OURS = {*MAY_IMPORT}
ELSEWHERE = {
    'samestep': 'samestep/src',
    'd2ldoctor': 'tools/setup/d2ldoctor',
}
# Runs a script as Python does, with the script's folder first on the path.
HIDING = {'d2lmulti/cluster/rank.py'}
BY_NAME = {'import_module', '__import__', 'run_module', 'run_path'}


def exported(path):
    """Return the name of the module that a notebook exports, or None."""
    export = re.search(r'#\| default_exp ([\w.]+)', path.read_text())
    return export and f'd2lmulti.{export[1]}'


NOTEBOOKS = sorted((ROOT / 'notebooks').glob('*.ipynb'))
TAUGHT = [*filter(None, map(exported, NOTEBOOKS))]


@functools.lru_cache(maxsize=None)
def files_of(package):
    """Return the Python files of a package that git knows, or would."""
    folder = package.replace('.', '/')
    folder = ELSEWHERE.get(package, folder)
    listed = subprocess.run(
        ['git', 'ls-files', '-co', '--exclude-standard', f'{folder}/*.py'],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout.decode()
    return [
        ROOT / name
        for name in sorted({*listed.splitlines()})
        if '/tests/' not in name
    ]


def package_of(module):
    """Return the package of a module: for a tool's, 'tools.site'."""
    return '.'.join(module.split('.')[: 1 + module.startswith('tools.')])


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
    """Return the packages of ours that a source imports: also those that it
    names to what imports, or runs, by a name or a path."""
    packages = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            packages |= {package_of(alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            packages.add(package_of(node.module))
            packages |= {f'{node.module}.{a.name}' for a in node.names}
        elif isinstance(node, ast.Call) and name_called(node) in BY_NAME:
            for text in texts_in(node):
                parts = text.replace('/', '.').split('.')
                packages |= {*parts, *map('.'.join, zip(parts, parts[1:]))}
    return packages & OURS


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
    imported = [imports_in(path.read_text()) for path in files_of(package)]
    return set().union(*imported) - {package}


def test_the_rules_are_for_every_package():
    packages = {path.parent.name for path in ROOT.glob('*/__init__.py')}
    tools = {f'tools.{p.parent.name}' for p in ROOT.glob('tools/*/*.py')}
    without_code = {'tools.setup', 'tools.containers'}
    assert packages - {'tools'} | tools - without_code | {*ELSEWHERE} == OURS


@pytest.mark.parametrize('package', MAY_IMPORT)
def test_a_package_imports_only_what_is_below_it(package):
    assert imports_of(package) <= MAY_IMPORT[package]


@pytest.mark.parametrize('package', MAY_IMPORT)
def test_no_package_changes_where_python_looks(package):
    changing = {
        str(path.relative_to(ROOT))
        for path in files_of(package)
        if changes_path(path.read_text())
    }
    assert not changing - HIDING, (
        'run it as a module: python -m PACKAGE.MODULE'
    )


def test_the_doctor_loads_neither_mxnet_nor_d2lmulti():
    """Also not with what it takes from d2lmulti/prepare."""
    code = (
        'import sys, d2ldoctor.__main__, d2ldoctor.newer_python\n'
        'print({"d2lmulti", "mxnet"} & {*sys.modules})'
    )
    command = [sys.executable, '-c', code]
    shown = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert shown.stdout == 'set()\n'


def modules():
    """Return {name of a module: its file}, of all packages."""
    paths = {}
    for path in [path for package in OURS for path in files_of(package)]:
        parts = path.relative_to(ROOT).with_suffix('').parts
        if parts[0] == 'samestep' or 'd2ldoctor' in parts:
            parts = parts[2:]
        paths['.'.join(parts).replace('.__init__', '')] = path
    return paths


MODULES = modules()


def modules_in(module, path):
    """Return the modules of ours that a file imports, in functions too."""
    package = module.split('.')
    if path.name != '__init__.py':
        package.pop()
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            around = package[: len(package) + 1 - node.level]
            base = '.'.join(
                (around if node.level else [])
                + ([node.module] if node.module else [])
            )
            names = {f'{base}.{alias.name}' for alias in node.names}
            imported |= {name if name in MODULES else base for name in names}
    return imported & {*MODULES} - {module}


@pytest.mark.parametrize('module', TAUGHT)
def test_a_chapter_imports_earlier_ones_only(module):
    for other in modules_in(module, MODULES[module]) & {*TAUGHT}:
        assert TAUGHT.index(other) < TAUGHT.index(module), other


# The folders of d2lmulti; '' are the modules beside them, part I's included.
ORDER = [
    'prepare',
    'datasets',
    '',
    'communication',
    'learning',
    'model_parallelism',
    'cluster',
    'judgment',
    'appendix',
]
# They bring all parts together.
ABOVE = {'d2lmulti', 'd2lmulti.__main__'}


def floor_of(module):
    """Return how high a module of d2lmulti lies: 0 is the lowest."""
    path = module.split('.')[1:]
    inside = path and (ROOT / 'd2lmulti' / path[0]).is_dir()
    return ORDER.index(path[0] if inside else '')


@pytest.mark.parametrize(
    'module', [name for name in MODULES if name.startswith('d2lmulti.')]
)
def test_a_part_imports_nothing_of_a_later_one(module):
    others = modules_in(module, MODULES[module]) & {
        name for name in MODULES if name.startswith('d2lmulti.')
    }
    if module not in ABOVE:
        for other in others:
            assert floor_of(other) <= floor_of(module), other


def test_no_imports_run_in_a_circle():
    """Not even one for types alone."""
    left = {name: modules_in(name, path) for name, path in MODULES.items()}
    assert 'd2lmulti.prepare.machine' in left['d2lmulti.prepare.runtime']
    while left:
        free = [module for module in left if not left[module] & {*left}]
        assert free, f'a circle among {sorted(left)}'
        for module in free:
            del left[module]


@pytest.mark.parametrize(
    'source',
    [
        'import tools.grading.cells',
        'def f():\n    from tools.grading import cells',
        'from tools import grading',
        "importlib.import_module('tools.grading.cells')",
        "import_module(f'tools.grading.{name}')",
        "__import__('tools.grading')",
        "runpy.run_path(ROOT / 'tools/grading' / 'cells.py')",
        "runpy.run_path(str(ROOT / 'tools/grading/cells.py'))",
        "runpy.run_module('tools.grading', run_name='__main__')",
    ],
)
def test_every_way_to_import_is_seen(source):
    assert imports_in(source) == {'tools.grading'}


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


def test_a_clone_of_the_package_s_name_does_not_hide_it(tmp_path):
    (tmp_path / 'd2lmulti').mkdir()
    found = subprocess.run(
        [sys.executable, '-c', 'import d2lmulti; print(d2lmulti.__file__)'],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        check=True,
    )
    assert found.stdout.decode().strip() == str(ROOT / 'd2lmulti/__init__.py')
