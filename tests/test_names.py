"""Names: which are public, and that each means one thing."""

import ast
import importlib
import pathlib
import subprocess
import sys

import pytest
from test_imports import MODULES, TAUGHT

import d2lmulti
from tools.notebooks.one_file import CORE, taught_cells

ROOT = pathlib.Path(d2lmulti.__file__).parents[1]


# What is named alike on purpose: each command's own.
ALIKE = {'main', 'make_parser'}


def test_one_name_means_one_thing_in_all_packages():
    homes = {}
    for package in ('tools/setup/d2ldoctor', 'd2lmulti'):
        for path in (ROOT / package).rglob('*.py'):
            if path.stem == 'one_file':  # which repeats chapters
                continue
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                    homes.setdefault(node.name, []).append(path)
    twice = {name: files for name, files in homes.items() if files[1:]}
    assert {*twice} <= ALIKE, twice


def test_the_public_names_are_those_that_chapters_export():
    names = d2lmulti.__all__
    assert len(set(names)) == len(names)
    for name in names:
        assert hasattr(d2lmulti, name)
        assert f'd2lmulti.{name}' not in MODULES
    for module in TAUGHT:
        for name in importlib.import_module(module).__all__:
            assert name in names, module


# Without samestep, which chapter 26 alone needs.
LOADED = """
import sys
sys.modules['samestep'] = None
import d2lmulti
parts = 'communication', 'learning', 'model_parallelism', 'cluster', 'judgment'
print([part for part in parts if f'd2lmulti.{part}' in sys.modules])
from d2lmulti import ring_attention
print(ring_attention.__module__, hasattr(d2lmulti, 'no_such_name'))
print({*d2lmulti.__all__} <= {*dir(d2lmulti)})
"""


def test_a_later_part_is_loaded_when_it_is_asked_for():
    shown = subprocess.run(
        [sys.executable, '-c', LOADED],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
    ).stdout
    assert shown.splitlines() == [
        '[]',
        'd2lmulti.model_parallelism.sequences_experts False',
        'True',
    ]


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
