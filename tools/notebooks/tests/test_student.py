"""The edition for a class has everything but the solutions."""

import ast
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

import check_jsonschema
import jsonschema
import nbformat
import pytest
import yaml
from setuptools import find_packages

try:  # from Python 3.11 on
    import tomllib
except ImportError:
    import tomli as tomllib

from tools.notebooks import check, name_of
from tools.notebooks.cells import (
    code_cells,
    in_place,
    is_machinery,
    without_marks,
)
from tools.notebooks.exercises import chapter_of, read_chapters
from tools.notebooks.student import __main__ as make_student

ROOT = pathlib.Path(__file__).parents[3]
NAMES = [path.name for path in sorted((ROOT / 'notebooks').glob('*.ipynb'))]
each_chapter = pytest.mark.parametrize('name', NAMES)


@pytest.fixture(scope='module')
def edition(tmp_path_factory):
    folder = tmp_path_factory.mktemp('edition') / 'student'
    subprocess.run(
        [sys.executable, '-m', 'tools.notebooks.student', folder],
        cwd=ROOT,
        check=True,
        timeout=100,
    )
    return folder


def cells(path, *tags):
    """Return the cells with one of `tags`, or all."""
    return [
        cell
        for cell in nbformat.read(path, 4).cells
        if not tags or set(tags) & set(cell.metadata.get('tags', []))
    ]


@each_chapter
def test_no_solution_is_left(name, edition):
    path = edition / 'notebooks' / name
    assert not cells(path, 'solution')
    everything = path.read_text().lower().replace('"solution": ', '')
    assert 'solution' not in everything
    hints = everything.count('<summary>hint')
    assert everything.count('<details>') == hints
    for solution in cells(ROOT / 'notebooks' / name, 'solution'):
        stub_lines = {
            line
            for cell in cells(path, 'exercise', 'check')
            for line in cell.source.splitlines()
        }
        sources = [
            line
            for line in solution.source.splitlines()
            if line not in stub_lines and len(line.strip()) > 12
        ]
        left = [cell.source for cell in cells(path, 'exercise', 'check')]
        assert sources and not any(
            line in source for line in sources for source in left
        )


@each_chapter
def test_all_else_is_as_it_was(name, edition):
    kept = [
        cell
        for cell in cells(ROOT / 'notebooks' / name)
        if 'solution' not in cell.metadata.get('tags', []) or in_place(cell)
    ]
    found = [
        cell
        for cell in cells(edition / 'notebooks' / name)
        if 'answer' not in cell.metadata.get('tags', [])
    ]
    assert len(found) == len(kept)
    for cell, original in zip(found, kept):
        assert cell.cell_type == original.cell_type
        if in_place(original):
            assert cell.source.startswith('from d2lmulti.')
        elif cell.cell_type == 'code':
            assert cell.source == without_marks(original.source)
            if is_machinery(original) or 'check' in original.metadata.get(
                'tags', []
            ):
                assert cell.metadata.pop('jupyter')['source_hidden']
                original.metadata.pop('jupyter', None)
            assert cell.metadata == original.metadata
        else:
            assert original.source.startswith(cell.source[:40])


@each_chapter
def test_a_question_to_think_about_has_a_cell_for_the_answer(name, edition):
    notebook = nbformat.read(edition / 'notebooks' / name, 4)
    nbformat.validate(notebook)
    answers = [c for c in notebook.cells if c.id.startswith('answer-')]
    questions = [
        notebook.cells[i - 1].source
        for i, cell in enumerate(notebook.cells)
        if cell in answers
    ]
    assert questions
    for question, answer in zip(questions, answers):
        number = re.findall(r'^\*\*(\d+)\. To think', question, re.M)[-1]
        metadata = answer.metadata.nbgrader
        assert metadata.grade and metadata.solution and metadata.points == 1
        assert metadata.schema_version == 3
        assert metadata.grade_id.endswith(f'-exercise-{number}')
    ids = [
        cell.metadata.nbgrader.grade_id
        for cell in notebook.cells
        if 'nbgrader' in cell.metadata
    ]
    assert len(set(ids)) == len(ids)
    assert {i.partition('-')[0] for i in ids} == {name_of(name[:-6])}


@each_chapter
def test_a_notebook_names_its_kernel_and_the_grader_knows_its_cells(
    name, edition
):
    notebook = nbformat.read(edition / 'notebooks' / name, 4)
    assert notebook.metadata.kernelspec.name == 'python3'
    chapter = chapter_of(ROOT / 'notebooks' / name)
    for cell in notebook.cells:
        if cell.cell_type == 'code':
            assert cell.source in chapter.ours


def test_the_module_gives_no_answer_away():
    """But for what a student writes in the place where the chapter exports
    it: the rest of the book needs it."""

    def heads(source):
        return {
            (node.name, tuple(arg.arg for arg in node.args.args))
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.FunctionDef)
        }

    asked, in_place_heads = set(), {('allreduce_processes', ('data', 'comm'))}
    for name in NAMES:
        notebook = nbformat.read(ROOT / 'notebooks' / name, 4)
        for stub, solution in zip(
            code_cells(notebook, 'exercise'), code_cells(notebook, 'solution')
        ):
            asked |= heads(stub.source)
            if in_place(solution):
                in_place_heads |= heads(stub.source)
    given = {
        head
        for path in (ROOT / 'd2lmulti').rglob('*.py')
        for head in heads(path.read_text())
    }
    assert len(asked) > 60 and len(in_place_heads) > 10
    assert asked & given == in_place_heads


def test_it_has_what_its_readme_needs(edition):
    for part in (
        'README.md',
        'Makefile',
        'pyproject.toml',
        'LICENSE',
        'LICENSE-TEXT',
        'tools/setup/install.sh',
        'tools/setup/locks/cpu.txt',
        'd2lmulti/datasets/fashion_mnist',
        'd2lmulti/prepare/runtime.py',
        'tools/setup/d2ldoctor/__main__.py',
        'img/allreduce_ring.svg',
    ):
        assert (edition / part).exists(), part
    with zipfile.ZipFile(edition.with_suffix('.zip')) as archive:
        names = archive.namelist()
    assert 'student/notebooks/01_devices.ipynb' in names
    assert len([name for name in names if not name.endswith('/')]) == len(
        [path for path in edition.rglob('*') if path.is_file()]
    )


def test_it_has_every_package_that_the_project_names(edition):
    """Else setuptools, and with it `make env`, fails in the class."""
    project = tomllib.loads((edition / 'pyproject.toml').read_text())
    find = project['tool']['setuptools']['packages']['find']
    ours, theirs = (
        [
            f'{where}/{package.replace(".", "/")}'
            for where in find['where']
            for package in find_packages(root / where, include=find['include'])
        ]
        for root in (ROOT, edition)
    )
    assert {'tools/setup/d2ldoctor', './d2lmulti'} <= {*ours}
    assert theirs == ours
    for folder in [*ours, 'samestep/src/samestep']:
        files = {path.name for path in (ROOT / folder).glob('*.py')}
        assert files
        assert {path.name for path in (edition / folder).glob('*.py')} == files
    for package, patterns in project['tool']['setuptools'][
        'package-data'
    ].items():
        folder = edition / package.replace('.', '/')
        for pattern in patterns:
            assert [*folder.glob(pattern)], (package, pattern)


def test_samestep_can_be_installed_and_brings_no_tests(edition):
    folder = edition / 'samestep'
    project = tomllib.loads((folder / 'pyproject.toml').read_text())
    assert (folder / project['project']['readme']).exists()
    assert {path.name for path in folder.iterdir()} == {
        'CHANGELOG.md',
        'LICENSE',
        'POWER.md',
        'README.md',
        'examples',
        'pyproject.toml',
        'src',
    }


def test_its_packages_import_nothing_that_is_not_there(edition):
    """From its folder alone, without this repository."""
    code = (
        'import pathlib, d2ldoctor, d2lmulti, samestep\n'
        'import d2lmulti.judgment.game\n'
        'from tools.notebooks import check\n'
        'for package in d2ldoctor, d2lmulti, samestep:\n'
        '    print(pathlib.Path(package.__file__).resolve())'
    )
    path = f'{edition}/samestep/src:{edition}/tools/setup'
    done = subprocess.run(
        [sys.executable, '-c', code],
        cwd=edition,
        env={**os.environ, 'PYTHONPATH': path},
        text=True,
        capture_output=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        assert line.startswith(str(edition.resolve())), line


def imported_by(module):
    """Return the modules of `tools.notebooks` that one needs, and itself."""
    text = (ROOT / 'tools/notebooks' / f'{module}.py').read_text()
    modules = {'__init__', module}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.level and node.module:
            modules |= imported_by(node.module)
    return modules


def test_of_the_machinery_it_has_what_a_students_commands_need(edition):
    needed = imported_by('check')
    shipped = {path.name for path in (edition / 'tools/notebooks').iterdir()}
    shipped -= {'__pycache__'}  # another test may have run the command
    assert shipped == {f'{name}.py' for name in needed} | {'exercises.json'}


def test_it_has_nothing_of_the_instructors(edition):
    """Neither the grader, with its roster and hidden checks, nor the guide,
    nor what makes the book and tests it."""
    assert {path.name for path in edition.iterdir()} == {
        *(part.split('/')[0] for part in make_student.PARTS),
        *(
            path.name
            for path in (ROOT / 'tools/notebooks/student/files').iterdir()
        ),
        'img',
        'notebooks',
    }
    linked = set()
    for name in NAMES:
        text = (edition / 'notebooks' / name).read_text()
        linked |= {*re.findall(r'\]\(\.\./(tools/site/\w+\.md)', text)}
    files = {str(p.relative_to(edition)) for p in edition.glob('tools/site/*')}
    assert files == linked and 'tools/site/teaching.md' not in files
    measured = [p for p in edition.glob('tools/speed/**/*') if p.is_file()]
    assert {str(p.relative_to(edition)) for p in measured} == {
        *make_student.MEASURED
    }
    for folder in ('img', 'notebooks'):
        assert not [*(edition / folder).rglob('*.py')]
    asked = {cell.source for n in NAMES for cell in secrets_of(n)}
    shipped = (edition / 'tools/notebooks' / 'exercises.json').read_text()
    assert not [source for source in asked if json.dumps(source) in shipped]


def secrets_of(name):
    """Return the cells of a chapter that only an instructor has."""
    return cells(ROOT / 'notebooks' / name, 'solution')


@pytest.fixture
def unzipped(edition, tmp_path):
    """The folder of a student, whose environment is set up."""
    shutil.unpack_archive(edition.with_suffix('.zip'), tmp_path)
    folder = tmp_path / 'student'
    (folder / '.venv').symlink_to(sys.prefix)
    (folder / 'tools/setup/install.sh').write_text('')
    return folder


def check_answers(folder, *arguments):
    """Return (the exit status of the student's command, its lines)."""
    done = subprocess.run(
        [
            sys.executable,
            '-m',
            'tools.notebooks.check',
            'notebooks',
            *arguments,
        ],
        cwd=folder,
        text=True,
        capture_output=True,
        timeout=300,
    )
    return done.returncode, done.stdout.splitlines()


def answer(path, *sources):
    """Write answers over the first stubs of a notebook; None leaves one.
    Edit the first check, and delete the last one."""
    notebook = nbformat.read(path, 4)
    for cell, source in zip(code_cells(notebook, 'exercise'), sources):
        cell.source = source or cell.source
    checks = code_cells(notebook, 'check')
    checks[0].source = "print('Exercise 1: passed')"
    notebook.cells.remove(checks[-1])
    nbformat.write(notebook, path)


def ours(name):
    """Return our solutions, without the calls of the checks."""
    cells = code_cells(nbformat.read(ROOT / 'notebooks' / name, 4), 'solution')
    return [cell.source.split('\ncheck_')[0] for cell in cells]


def test_its_command_runs_the_notebook_with_the_checks_of_the_book(unzipped):
    name = '25_claims.ipynb'
    first, second, _ = ours(name)
    wrong = re.sub(r'(?m)^    .*\n?', '', second) + '\n    return 1.0'
    path = unzipped / 'notebooks' / name
    answer(path, f'%time\nfrom math import *\n{first}', wrong, None)
    # What a right answer needs may stand in other cells.
    notebook = nbformat.read(path, 4)
    notebook.cells.insert(
        1, nbformat.v4.new_code_cell('def implied_price():\n    global N')
    )
    nbformat.write(notebook, path)
    status, lines = check_answers(unzipped, '--only', 'claims')
    assert status == 1
    assert lines[0] == 'claims-exercise-1: passed'
    assert lines[1].startswith('claims-exercise-2: wrong: ')
    assert lines[2].startswith('claims-exercise-3: not answered')
    assert lines[3:] == ['1 passed, 1 wrong, 1 not answered']


def test_its_command_says_what_ended_the_kernel(unzipped):
    name = '25_claims.ipynb'
    ended = 'import os; os._exit(0)'
    answer(unzipped / 'notebooks' / name, *ours(name)[:2], ended)
    status, lines = check_answers(unzipped, '--only', 'claims', '--json')
    first, second, third = json.loads('\n'.join(lines))
    assert status == 1 and first['exercise'] == 'claims-exercise-1'
    assert first['verdict'] == second['verdict'] == 'passed'
    assert third['verdict'] == 'wrong'
    assert third['message'] == 'the kernel ended before this check'


def test_a_notebook_without_an_answer_is_not_run(unzipped, monkeypatch):
    def run(*arguments):
        raise AssertionError('it has nothing to check')

    monkeypatch.setattr(check, 'run', run)
    with pytest.raises(SystemExit) as ended:
        check.main([str(unzipped / 'notebooks' / '02_network.ipynb')])
    assert ended.value.code == 1


@pytest.mark.parametrize(
    'content, said',
    [
        ('', 'not a notebook'),
        (json.dumps(nbformat.v4.new_notebook()), ''),
    ],
)
def test_its_command_says_what_is_no_chapter(content, said, tmp_path, capsys):
    (tmp_path / 'notes.ipynb').write_text(content)
    with pytest.raises(SystemExit) as ended:
        check.main([str(tmp_path / 'notes.ipynb')])
    assert ended.value.code
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    'arguments, said',
    [
        (['nowhere'], 'nowhere does not exist'),
        (['.', '--only', 'x-ray'], 'no exercise is called x-ray'),
    ],
)
def test_its_command_refuses(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        check.main(arguments)
    assert said in f'{ended.value.code}{capsys.readouterr().err}'


def test_its_workflow_for_classrooms_is_valid(edition):
    path = edition / '.github' / 'workflows' / 'classroom.yml'
    folder = pathlib.Path(check_jsonschema.__file__).parent
    schema = folder / 'builtin_schemas/vendor/github-workflows.json'
    workflow = yaml.safe_load(path.read_text())
    workflow['on'] = workflow.pop(True)  # YAML reads it so
    jsonschema.validate(workflow, json.loads(schema.read_text()))
    ids = {
        exercise.id
        for chapter in read_chapters(ROOT / 'notebooks')
        for exercise in chapter.exercises
    }
    steps = workflow['jobs']['check']['steps']
    commands = [step.get('with', {}).get('command', '') for step in steps]
    asked = re.findall(r"--only ([\w-]+)'", ' '.join(commands))
    assert asked and {*asked} <= ids


@each_chapter
def test_what_a_chapter_links_to_is_there(name, edition):
    for cell in cells(edition / 'notebooks' / name):
        for link in re.findall(r'\]\((\.\./[^)#]*)', cell.source):
            assert (edition / 'notebooks' / link).exists(), link


def test_a_package_left_out_is_noticed(monkeypatch, tmp_path):
    left = [part for part in make_student.PARTS if part != 'samestep']
    monkeypatch.setattr(make_student, 'PARTS', left)
    make_student.make_student(tmp_path / 'student')
    with pytest.raises(AssertionError):
        test_it_has_every_package_that_the_project_names(tmp_path / 'student')


def test_it_says_nothing_of_exports(edition):
    """Its cells have no marks, and it cannot write the package."""
    for name in NAMES:
        assert '#| export' not in (edition / 'notebooks' / name).read_text()
    text = (edition / 'notebooks' / '01_devices.ipynb').read_text()
    assert 'the change holds in this notebook only' in text
