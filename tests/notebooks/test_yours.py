"""A chapter runs, and says the same, whatever the student has written of it:
nothing (nbval sees that), all of it, a part, or something wrong."""

import ast
import functools
import importlib.util
import inspect
import re
import sys

import nbformat
import numpy as onp
import pytest
from helpers import read_answers
from mxnet import np
from nbclient import NotebookClient
from test_exercises import returning
from test_reruns import said_by

import d2lmulti
from d2lmulti import yours
from tools.notebooks import NOTEBOOKS, name_of
from tools.notebooks.cells import code_cells, in_place, small_source, tags

CHOSEN = re.compile(r'^(\w+) = choose\(')
WRITTEN = [
    path
    for path in NOTEBOOKS
    if any(map(in_place, code_cells(nbformat.read(path, 4))))
]


def written(path):
    """Return [(number, stub, check, ours)] of the functions that a chapter
    leaves to the student."""
    notebook = nbformat.read(path, 4)
    rows = zip(
        *(
            code_cells(notebook, tag)
            for tag in ('exercise', 'check', 'solution')
        )
    )
    return [
        (number, *cells)
        for number, cells in enumerate(rows, 1)
        if in_place(cells[-1])
    ]


def run(path, answers, folder):
    """Return the notebook after a run in a folder, in which answers stand in
    the place of stubs, {id of the cell: answer}. Cells may raise only where
    the tag says so."""
    notebook = nbformat.read(path, 4)
    for cell in notebook.cells:
        cell.source = answers.get(cell.id, small_source(cell))
    here = {'metadata': {'path': str(folder)}}
    NotebookClient(notebook, timeout=200, resources=here).execute()
    return notebook


def compared(notebook):
    """Return {id: what is said} of the cells that nbval compares and that
    say nothing of the answers."""
    skipped = {'exercise', 'check', 'solution', 'nbval-ignore-output'}
    return {
        cell.id: said_by(cell)
        for cell in code_cells(notebook)
        if not skipped & {*tags(cell)} and not CHOSEN.match(cell.source)
    }


def whose(notebook):
    """Return {function: 'our' or 'your'}, as the chapter says it."""
    return {
        CHOSEN.match(cell.source)[1]: re.search(
            r'runs with (\w+) ', said_by(cell)[0]
        )[1]
        for cell in code_cells(notebook)
        if CHOSEN.match(cell.source)
    }


def right_answer(path, number, style):
    """Return one of the right answers, a whole function."""
    styles = [
        answer.source
        for answer in read_answers(name_of(path.stem))
        if answer.right and answer.exercise == number
    ]
    return styles[style % len(styles)]


def save_ours(folder, names):
    """Write functions as files of a folder, as `keep` does."""
    folder.mkdir()
    for name in names:
        ours = inspect.unwrap(getattr(d2lmulti, name))
        source = '\n\n'.join(['import d2lmulti', *yours.sources_of(ours)])
        (folder / f'{name}.py').write_text(source)


def suite_of(path):
    """Return the mark of the suite that runs a chapter. Chapter 5 trains with
    all that chapters 2 to 5 let a student write."""
    if 'training' in path.stem:
        return ()
    few_seconds = path.stem[:2] in ('01', '02', '03', '04', '08', '10', '13')
    return pytest.mark.ci if few_seconds else pytest.mark.long


@pytest.mark.parametrize(
    'path',
    [pytest.param(path, marks=suite_of(path)) for path in WRITTEN],
    ids=lambda path: path.stem,
)
def test_a_chapter_runs_with_the_students_functions(path, tmp_path):
    rows = written(path)
    answers = {
        stub.id: right_answer(path, number, 3) for number, stub, *_ in rows
    }
    taken = {'lenet', 'loss', 'allreduce', 'sgd'}  # of another evening
    save_ours(tmp_path / 'yours', taken)
    notebook = run(path, answers, tmp_path)
    assert {*whose(notebook).values()} == {'your'}
    assert compared(notebook) == compared(nbformat.read(path, 4))
    saved = {file.stem for file in (tmp_path / 'yours').glob('*.py')}
    assert saved == {*whose(notebook)} | taken
    if 'training' in path.stem:
        (said,) = re.findall(r'written by you: (.*)', str(notebook))
        names = re.findall(r'\w+', said.partition('\\n')[0])
        expected = {*whose(notebook)} | taken - {'sgd'}  # is this chapter's
        assert sorted(names) == sorted(expected)
    for file in (tmp_path / 'yours').glob('*.py'):
        spec = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        assert callable(getattr(module, file.stem))


@pytest.mark.ci
def test_a_wrong_function_is_not_used(tmp_path):
    """The first is right, the last wrong, and the others are blank."""
    (path,) = (path for path in WRITTEN if path.stem == '03_replicas')
    rows = written(path)
    (first, stub, *_), (_, wrong, *_) = rows[0], rows[-1]
    answers = {stub.id: right_answer(path, first, 0)}
    if wrong.id != stub.id:
        answers[wrong.id] = returning(None, wrong.source)
    notebook = run(path, answers, tmp_path)
    said = [*whose(notebook).values()]
    assert said == ['your'] + ['our'] * (len(rows) - 1)
    assert compared(notebook) == compared(nbformat.read(path, 4))


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    """An empty folder, after which the package has its own functions."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'yours').mkdir()
    ours = {name: getattr(d2lmulti, name) for name in d2lmulti.__all__}
    yield tmp_path / 'yours'
    for name, function in ours.items():
        if getattr(d2lmulti, name) is not function:
            yours.replace(getattr(d2lmulti, name), function)


ALLREDUCE = """
def allreduce(data):
    total = sum(array.copyto(data[0].ctx) for array in data)
    for array in data:
        total.copyto(array)
    calls.append(len(data))

calls = []
"""


def test_training_really_uses_what_was_taken(in_folder, capsys):
    (in_folder / 'allreduce.py').write_text(ALLREDUCE)
    assert yours.take() == ['allreduce']
    assert (
        capsys.readouterr().out == 'yours, from chapters before: allreduce\n'
    )
    calls = d2lmulti.allreduce.__globals__['calls']
    data = [part[:24] for part in d2lmulti.read_fashion_mnist()]
    result = d2lmulti.train(2, 12, 0.1, num_epochs=1, data=data)
    assert calls == [2] * 2 * 8  # two steps, eight parameters
    assert d2lmulti.training.max_difference(*result.device_params) == 0
    assert d2lmulti.training.allreduce is d2lmulti.allreduce


def test_only_what_is_named_is_taken(in_folder):
    (in_folder / 'allreduce.py').write_text(ALLREDUCE)
    ours = d2lmulti.allreduce
    assert yours.take('get_params') == []
    assert d2lmulti.allreduce is ours


def test_what_only_looks_like_a_function_is_left_alone(in_folder):
    """As Jupyter's `open`, which stands in each notebook."""
    wrapper = functools.wraps(open)(lambda *args: open(*args))
    sys.modules['__main__'].opened = wrapper
    (in_folder / 'allreduce.py').write_text(ALLREDUCE)
    assert yours.take() == ['allreduce']
    assert sys.modules['__main__'].__dict__.pop('opened') is wrapper


def test_a_function_is_saved_without_what_is_local(in_folder):
    """`k` of the notebook is no `k` of the function; what was taken from a
    file is saved with it."""
    code = compile(LOCAL, in_folder / 'local.py', 'exec')
    (in_folder / 'local.py').write_text(LOCAL)
    names = {'__name__': '__main__'}
    exec(code, names)
    names['helper'].__module__ = 'taken from a file'
    yours.keep(names['count'], in_folder)
    saved = (in_folder / 'count.py').read_text()
    assert 'k = 7' not in saved and 'STEP = 2' in saved
    alone = {}
    exec(saved, alone)
    assert alone['count'](3) == 10


@pytest.mark.parametrize(
    'line', ['step = print', 'step = [2]', "step = {'a': (1, 2.5)}"]
)
def test_a_constant_is_saved_or_it_is_said_which_is_not(
    line, in_folder, capsys
):
    source = LOCAL + line + '\ndef uses():\n    return step\n'
    (in_folder / 'uses.py').write_text(source)
    names = {'__name__': '__main__'}
    exec(compile(source, in_folder / 'uses.py', 'exec'), names)
    names['step'] = names['step'] if line != 'step = print' else object()
    yours.keep(names['uses'], in_folder)
    if line == 'step = print':
        assert 'define step inside' in capsys.readouterr().out
        assert not (in_folder / 'uses.py').exists()
    else:
        alone = {}
        exec((in_folder / 'uses.py').read_text(), alone)
        assert alone['uses']() == names['step']


def test_a_file_that_does_not_run_is_named_and_ours_stays(in_folder, capsys):
    (in_folder / 'allreduce.py').write_text('def allreduce(data=missing): 1')
    ours = d2lmulti.allreduce
    assert yours.take() == []
    assert 'missing' in capsys.readouterr().out
    assert d2lmulti.allreduce is ours


LOCAL = """
k, STEP = 7, 2

def helper(n):
    return n + STEP

def count(n, add=helper):
    return sum(add(k) for k in [n, n])
"""


BROKEN = """
def double(array):
    array[:] = np.ones((2, 3))
    return array.twice
"""


@pytest.mark.parametrize(
    'array, said',
    [
        (onp.ones((2, 3)), 'AttributeError: .*twice.* .return array.twice.'),
        (np.ones(6), 'MXNetError: (?!Traceback).* .array... = np.ones'),
    ],
)
def test_an_error_of_an_answer_names_its_line(array, said, tmp_path):
    path = tmp_path / 'answer.py'
    path.write_text(BROKEN)
    names = {'np': onp if isinstance(array, onp.ndarray) else np}
    exec(compile(BROKEN, path, 'exec'), names)
    with pytest.raises(AssertionError, match=f'^your double raises {said}'):
        yours.answer_of(names['double'], array)
    with pytest.raises(AssertionError, match='^your answer raises [AM]'):
        yours.answer_of(functools.partial(names['double'], array))


def test_a_saved_function_has_what_it_needs_of_its_notebook():
    """Its source alone would not: imports, helpers and numbers are above."""
    source = '\n'.join(yours.sources_of(yours.sources_of))
    assert 'import ast as ast' in source and 'import inspect' in source
    ast.parse(source)
