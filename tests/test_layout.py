"""The house: taught code on top, machinery below."""

import ast
import importlib
import inspect
import pathlib
import re
import subprocess
import sys

import pytest
from one_file import CORE, taught_cells

import d2lmulti
from grading.cells import name_of

ROOT = pathlib.Path(d2lmulti.__file__).parent
NOTEBOOKS = ROOT.parent / 'notebooks'
STEMS = [path.stem for path in sorted(NOTEBOOKS.glob('*.ipynb'))]
TAUGHT = [  # in the order of the chapters
    name_of(stem) for stem in STEMS if (ROOT / f'{name_of(stem)}.py').exists()
]
# What no other module of ours may stand below, from the ground up.
FLOORS = [
    {
        *('check_data', 'check_rules', 'one_file'),
        *('plots', 'prepare', 'datasets', 'hangs'),
    },
    {'checks', 'devices', 'network'},
    {
        *('check_mesh', 'check_pipeline', 'check_planner'),
        *('checkpoint', 'data', 'replicas'),
    },
    {
        'timeline',
        'model_parallel',
        'training',
        'sync_batch_norm',
        'collectives',
        'compression',
        'large_batch',
        'heterogeneous',
        'transformer',
        'sharding',
        'sequences_experts',
        'mesh',
    },
    {'cluster', 'causes', 'resume', 'scaling', 'bugs'},
    {'budgets'},
    {'__init__', '__main__'},
]


# What chapters import of what is written by hand, and what one alone does.
BY_HAND = {'checks', 'plots', 'prepare', 'datasets'}
ALSO = {
    'cluster': {'resume'},
    'mesh': {'check_mesh', 'check_pipeline'},
    'model_parallel': {'check_pipeline'},
    'scaling': {'check_planner'},
}

OTHER = ROOT.parent / 'd2lrun'  # the house below: jobs and the doctor
# What of ours may use it: chapters show how to run jobs, but need none;
# chapter 6 takes its sentences about the machine from there.
USES_OTHER = {'checks', 'check_rules', 'plots', 'prepare', 'datasets'}
USES_OTHER |= {'checkpoint', 'resume', 'causes', '__main__'}


def module_of(path):
    """Return the part of the house that a file belongs to."""
    return path.relative_to(ROOT).parts[0].replace('.py', '')


def imports_of(path):
    """Yield the parts of the house from which a file imports."""
    depth = len(path.relative_to(ROOT).parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = [
                    getattr(node, 'module', None) or '',
                    *(alias.name for alias in node.names),
                ]
                packages = {name.split('.')[0] for name in names}
                assert 'd2lmulti' not in packages, f'{path}: import relatively'
                if 'd2lrun' in packages:
                    assert module_of(path) in USES_OTHER, path
            continue
        if node.level < depth:  # inside of prepare or datasets
            continue
        if node.module:
            yield node.module.split('.')[0]
        else:
            yield from (alias.name for alias in node.names)


def files():
    return sorted(
        path
        for path in ROOT.rglob('*.py')
        if path.parent.name != 'fashion_mnist'
    )


def floor(module):
    return next(i for i, names in enumerate(FLOORS) if module in names)


@pytest.mark.parametrize(
    'path', files(), ids=lambda path: str(path.relative_to(ROOT))
)
def test_no_import_runs_upward(path):
    module = module_of(path)
    for other in imports_of(path):
        assert floor(other) <= floor(module), f'{module} imports {other}'
        if floor(other) == floor(module) and {module, other} <= set(TAUGHT):
            assert TAUGHT.index(other) < TAUGHT.index(module)
        if module in TAUGHT and other not in TAUGHT:
            assert other in BY_HAND | ALSO.get(module, set()), module
        if module == 'checks':
            assert other in ('check_data', 'check_rules')  # its own parts
        elif module in (
            *('check_data', 'check_rules', 'one_file', 'plots'),
            *('prepare', 'datasets'),
        ):
            pytest.fail(f'{module} needs nothing of ours, not {other}')


def test_no_import_runs_in_a_circle():
    below = {}
    for path in files():
        below.setdefault(module_of(path), set()).update(imports_of(path))
    check_order(below)


def test_no_import_of_the_other_house_runs_in_a_circle():
    """Not even one for types alone."""
    below = {}
    for path in OTHER.glob('*.py'):
        below[path.stem] = others = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.level:
                names = [alias.name for alias in node.names]
                others |= {node.module} if node.module else {*names}
    assert 'report' in below['watch'] and 'job' in below['options']
    check_order(below)


# What is named alike on purpose: each command's own, and what a script that
# runs without its package has to bring along.
ALIKE = {'main', 'make_parser', 'load_own'}


def test_one_name_means_one_thing_in_both_houses():
    homes = {}
    for path in [*files(), *OTHER.rglob('*.py')]:
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


def load(module):
    """Return a module of the upper house."""
    return importlib.import_module(f'd2lmulti.{module}')


def test_the_public_names_are_those_that_modules_export():
    names = d2lmulti.__all__
    assert len(set(names)) == len(names)
    for name in names:
        assert callable(getattr(d2lmulti, name))
        assert not (ROOT / name).exists()
        assert not (ROOT / f'{name}.py').exists(), name
    for module in TAUGHT:
        exported = load(module).__all__
        first = names.index(exported[0]) if exported else 0
        assert names[first : first + len(exported)] == exported


def test_what_docstrings_name_is_public():
    """Operator is what `profile` returns; nobody needs to make one."""
    known = {
        name
        for module in TAUGHT + ['checkpoint', 'plots']
        for name, thing in vars(load(module)).items()
        if getattr(thing, '__module__', '').startswith('d2lmulti')
    }
    public = {*d2lmulti.__all__, 'Operator'}
    for name in d2lmulti.__all__:
        thing = getattr(d2lmulti, name)
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
