"""The house: which module imports which, and what is public."""

import ast
import importlib
import inspect
import pathlib
import re
import subprocess
import sys

import pytest

import d2lmulti
from chapters.one_file import CORE, taught_cells

ROOT = pathlib.Path(d2lmulti.__file__).parents[1]
NOTEBOOKS = ROOT / 'notebooks'
# Which of our packages each may import.
BELOW = {
    'd2lbase': set(),
    'd2lmulti': {'d2lbase', 'd2lrun', 'samestep'},
    'd2lrun': {'d2lbase'},
    'samestep': set(),
}


def exported(path):
    """Return the name of the module that a notebook exports, or None."""
    found = re.search(r'#\| default_exp ([\w.]+)', path.read_text())
    return found and f'd2lmulti.{found[1]}'


TAUGHT = [*filter(None, map(exported, sorted(NOTEBOOKS.glob('*.ipynb'))))]


def files(*packages):
    """Return {name of a module: its file}."""
    found = {}
    for package in packages or BELOW:
        above = ROOT / 'samestep/src' if package == 'samestep' else ROOT
        for path in (above / package).rglob('*.py'):
            name = '.'.join(path.relative_to(above).with_suffix('').parts)
            found[name.replace('.__init__', '')] = path
    return found


def imports_of(module, path):
    """Return the modules of ours that a file imports, in functions too."""
    package = module.split('.')
    if path.name != '__init__.py':
        package.pop()
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            around = package[: len(package) + 1 - node.level]
            base = '.'.join(
                (around if node.level else [])
                + ([node.module] if node.module else [])
            )
            names = {f'{base}.{alias.name}' for alias in node.names}
            found |= {name if name in MODULES else base for name in names}
    return {name for name in found if name.split('.')[0] in BELOW} - {module}


MODULES = files()
IMPORTS = {name: imports_of(name, path) for name, path in MODULES.items()}


@pytest.mark.parametrize('module', MODULES)
def test_imports_run_downward(module):
    """From one package to those below; a chapter imports earlier ones."""
    package = module.split('.')[0]
    for other in IMPORTS[module]:
        assert other.split('.')[0] in BELOW[package] | {package}, other
        if {module, other} <= {*TAUGHT}:
            assert TAUGHT.index(other) < TAUGHT.index(module), other


def test_no_import_runs_in_a_circle():
    """Not even one for types alone."""
    assert 'd2lrun.report' in IMPORTS['d2lrun.watch']
    check_order(IMPORTS)


# What is named alike on purpose: each command's own, and what a script that
# runs without its package has to bring along.
ALIKE = {'main', 'make_parser', 'load_own'}


def test_one_name_means_one_thing_in_all_packages():
    homes = {}
    for path in files('d2lbase', 'd2lmulti', 'd2lrun').values():
        if path.stem not in ('one_file', 'records'):  # which repeat chapters
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                    homes.setdefault(node.name, []).append(path)
    twice = {name: found for name, found in homes.items() if found[1:]}
    assert {*twice} <= ALIKE, twice


def check_order(below):
    """Fail unless the modules can be put in an order, each above those that
    it imports."""
    below = {module: others - {module} for module, others in below.items()}
    while below:
        free = [module for module in below if not below[module] & set(below)]
        assert free, f'a circle among {sorted(below)}'
        for module in free:
            del below[module]


def test_the_public_names_are_those_that_chapters_export():
    names = d2lmulti.__all__
    assert len(set(names)) == len(names)
    for name in names:
        assert hasattr(d2lmulti, name)
        assert f'd2lmulti.{name}' not in MODULES
    for module in TAUGHT:
        for name in importlib.import_module(module).__all__:
            assert name in names, module


def test_what_docstrings_name_is_public():
    """Operator is what `profile` returns; nobody needs to make one."""
    known = {
        name
        for module in [*TAUGHT, 'd2lmulti.checkpoint', 'd2lmulti.plots']
        for name, thing in vars(importlib.import_module(module)).items()
        if getattr(thing, '__module__', '').startswith('d2lmulti')
    }
    public = {*d2lmulti.__all__, 'Operator'}
    for name in d2lmulti.__all__:
        thing = getattr(d2lmulti, name)
        if not callable(thing):
            continue
        named = {*re.findall(r'`(\w+)`', inspect.getdoc(thing))}
        named -= {*inspect.signature(thing).parameters}
        assert not named & known - public, name


def retyped():
    """Return what a student types who goes from chapter to chapter.

    What an earlier chapter has typed or imported is there already.
    """
    parts, names = [], set()
    for chapter in CORE:
        for source in taught_cells(chapter):
            for node in ast.parse(source).body:
                if isinstance(node, (ast.Import, ast.ImportFrom)):
                    node.names = [
                        alias
                        for alias in node.names
                        if (alias.asname or alias.name) not in names
                    ]
                    names |= {
                        alias.asname or alias.name for alias in node.names
                    }
                    parts += [ast.unparse(node)] if node.names else []
                else:
                    names.add(node.name)
                    parts.append(ast.get_source_segment(source, node))
    return '\n'.join(parts)


TRY = """
data = [part[:512] for part in read_fashion_mnist()]
one, two = [train(k, 64, 0.1, num_epochs=2, data=data) for k in (1, 2)]
print(max_difference(*two.device_params) == 0,
      max_difference(one.device_params[0], two.device_params[1]) < 0.1,
      one.accuracies[-1] > 0.2, two.accuracies[-1] > 0.2)
"""


@pytest.mark.skipif(sys.version_info < (3, 9), reason='no ast.unparse')
def test_what_a_student_retypes_trains(tmp_path):
    source = retyped()
    folded = (
        'from d2lmulti.data import shuffled\n'
        'from d2lmulti.training import TrainResult, max_difference\n'
    )
    result = subprocess.run(
        [
            sys.executable,
            '-c',
            'import d2lmulti\n' + source + '\n' + folded + TRY,
        ],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=120,
    )
    assert result.stdout.splitlines()[-1:] == ['True True True True'], (
        result.stderr
    )
