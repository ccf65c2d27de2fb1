"""Scores: what an answer costs, beside ours, and the table of all of them."""

import ast
import linecache
import pathlib
import sys
import types
from unittest import mock

import mxnet as mx
import nbformat
import numpy as onp
import pytest
from mxnet import np

from d2lmulti import budgets
from tools.notebooks import name_of
from tools.notebooks.cells import code_cells, plain
from tools.notebooks.exercises import code_before
from tools.notebooks.scores import SCORE, main

NOTEBOOKS = pathlib.Path(__file__).parents[3] / 'notebooks'
STEMS = {name_of(path.stem): path for path in NOTEBOOKS.glob('*.ipynb')}
each_budget = pytest.mark.parametrize('key', budgets.BUDGETS, ids=str)


def run(source, names, file='<cell>'):
    """Run a cell whose lines can be found, as a kernel does."""
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    exec(compile(source, file, 'exec'), names)


@pytest.fixture
def solved(key, monkeypatch):
    """Our solution of an exercise, as a function, in its chapter."""
    chapter, number = key
    notebook = nbformat.read(STEMS[chapter], 4)
    module = types.ModuleType('__main__')
    monkeypatch.setitem(sys.modules, '__main__', module)
    monkeypatch.chdir(NOTEBOOKS)
    for source in code_before(notebook):
        run(plain(source), vars(module))
    source = code_cells(notebook, 'solution')[number - 1].source
    source = source[: source.rindex('\ncheck_')]
    run(source, vars(module), f'<{chapter} {number}>')
    name = ast.parse(source).body[0].name
    return vars(module)[name]


@pytest.mark.ci
@each_budget
def test_our_solution_costs_what_we_say(key, solved):
    arguments, ours = budgets.BUDGETS[key]
    yours = budgets.measure(solved, *arguments())
    assert {name: yours[name] for name in ours} == ours


@each_budget
def test_the_check_shows_the_score_after_it_has_passed(key):
    chapter, number = key
    notebook = nbformat.read(STEMS[chapter], 4)
    check = code_cells(notebook, 'check')[number - 1].source
    *_, passed, shown, _, _ = check.splitlines()
    assert passed == f"    print('Exercise {number}: passed')"
    assert shown.startswith(
        f"    d2lmulti.budgets.show('{chapter}', {number}, "
    )
    stored = code_cells(notebook, 'solution')[number - 1].outputs
    scores = SCORE.findall(''.join(output.text for output in stored))
    assert [name for name, _, _ in scores] == [*budgets.BUDGETS[key][1]]
    assert all(yours == ours for _, yours, ours in scores)


def add_up(data):
    """A star that sends each array twice, and waits."""
    # not counted
    total = data[0]
    for array in data[1:]:
        array.copyto(total.ctx).wait_to_read()
        total += array.copyto(total.ctx)


def test_a_wasteful_answer_is_seen():
    arrays = [np.ones(10, ctx=mx.cpu(i)) for i in range(3)]
    cost = budgets.measure(add_up, arrays)
    assert (cost['bytes sent'], cost['messages']) == (160, 4)
    assert cost['waits'] == 2 and cost['lines'] == 4
    assert cost['memory'] is None


def test_memory_is_counted_in_arrays():
    def hold(count):
        return lambda x: len([x + i for i in range(count)])

    x = onp.ones(10_000)
    assert [budgets.measure(hold(k), x)['memory'] for k in (1, 3)] == [1, 3]


def test_a_score_never_fails_a_check(capsys):
    budgets.show('compression', 3, lambda *arguments: 1 / 0)
    assert capsys.readouterr().out == (
        'no score: ZeroDivisionError: division by zero\n'
    )
    budgets.show('sharding', 2, mock.Mock())  # has no source
    shown = capsys.readouterr().out
    assert 'messages: yours 0, ours 24' in shown and 'lines' not in shown


def student(folder, *texts):
    """Write a chapter in which a student has run the checks."""
    cells = [
        nbformat.v4.new_code_cell(
            metadata={'tags': ['check']},
            outputs=[nbformat.v4.new_output('stream', text=text)] * bool(text),
        )
        for text in texts
    ]
    path = folder / '03_replicas.ipynb'
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


def test_the_table_has_what_the_checks_printed(tmp_path, capsys):
    student(
        tmp_path,
        'Exercise 1: passed\nbytes sent: yours 1,200, ours 960\n'
        'messages: yours 5, ours 6\nlines: yours 7, ours 7\n',
        'answer this',
        '',
    )
    main([str(tmp_path)])
    first, second, last = capsys.readouterr().out.splitlines()
    assert first.split(None, 3) == [
        '03_replicas',
        '1',
        'passed',
        'bytes sent 1,200 > 960, messages 5 < 6, lines 7 = 7',
    ]
    assert second.split() == ['03_replicas', '2', 'open']
    assert last.startswith('1 of 2 checks')


def test_nothing_to_show_is_one_line_that_says_why(tmp_path):
    for folder, words in (
        (tmp_path / 'none', 'is not a folder'),
        (tmp_path, 'has no check that was run'),
    ):
        with pytest.raises(SystemExit) as error:
            main([str(folder)])
        assert words in error.value.code and '\n' not in error.value.code


@pytest.mark.parametrize(
    'bug',
    [
        {'record_copies': lambda work: work() or []},
        {'WAITS': ('MXNDArrayWaitAll',)},
        {'count_lines': lambda answer: 7},
        {'measure': lambda *arguments: 1 / 0},
    ],
)
def test_a_broken_count_is_noticed(bug, monkeypatch):
    for name, value in bug.items():
        monkeypatch.setattr(budgets, name, value)
    with pytest.raises((AssertionError, ZeroDivisionError)):
        test_a_wasteful_answer_is_seen()
