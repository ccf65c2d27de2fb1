"""`make grade`: a class of twelve, graded in one command."""

import csv
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import types
import zipfile

import nbformat
import numpy as onp
import pytest
from in_sandbox import open_place
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from chapters import cells, exercise_ids, name_of, names
from chapters.answers import match
from chapters.cells import code_cells
from chapters.exercises import read_chapters, write_chapters
from grading import grading, pages, sandbox, submissions
from grading.__main__ import others_work
from grading.sandbox import run_answers

ROOT = pathlib.Path(__file__).parents[2]
NOTEBOOKS = ROOT / 'notebooks'
STUBS = [
    "def double(n):\n    raise NotImplementedError('add it to itself')",
    "def total(values):\n    raise NotImplementedError('add them all')",
]
CHECKS = [
    """def check_1():
    for n in (1, 3):
        assert close(double(n), 2 * n), f'{n} twice is {2 * n}'
    print('Exercise 1: passed')

check_1()""",
    """def check_2():
    assert close(total([1, 2, 4]), 7), '1, 2 and 4 are 7'
    print('Exercise 2: passed')

check_2()""",
]
SOLUTIONS = [
    'def double(n):\n    return 2 * n',
    'def total(values):\n    return sum(values)',
]


def exercise_cells(number):
    """Return the three cells of an exercise."""
    name = f'small-exercise-{number + 1}'
    stub = new_code_cell(STUBS[number])
    stub.metadata.update(
        tags=['exercise'], nbgrader={'grade_id': name, 'solution': True}
    )
    check = new_code_cell(CHECKS[number])
    check.metadata.update(
        tags=['check', 'raises-exception'],
        nbgrader={'grade_id': f'{name}-check', 'grade': True, 'points': 2},
    )
    solution = new_code_cell(f'{SOLUTIONS[number]}\n\ncheck_{number + 1}()')
    solution.metadata.tags = ['solution']
    return [stub, check, solution]


def chapter():
    """Return a small chapter of two exercises, with solutions."""
    return new_notebook(
        cells=[
            new_markdown_cell('# A chapter'),
            new_code_cell('%matplotlib inline\nimport math'),
            new_code_cell('def close(a, b):\n    return math.isclose(a, b)'),
            new_code_cell(
                'def times(a, b):\n    return a * b\n\nTWO = 2\n'
                "raise ValueError('not needed by any exercise')"
            ),
            *exercise_cells(0),
            *exercise_cells(1),
        ]
    )


def handed_in(first=SOLUTIONS[0], second=SOLUTIONS[1], *more, checks=True):
    """Return a student's notebook with these answers, and more cells."""
    notebook = chapter()
    answers = [first, second]
    cells = []
    for cell in notebook.cells:
        tags = cell.metadata.get('tags', [])
        if 'exercise' in tags:
            cell.source = answers.pop(0)
        if 'solution' not in tags and (checks or 'check' not in tags):
            cells.append(cell)
    notebook.cells = cells + [new_code_cell(source) for source in more]
    return notebook


def without_metadata():
    """Return right answers as a tool leaves them that knows no metadata."""
    notebook = handed_in()
    for number, cell in enumerate(notebook.cells):
        cell.metadata, cell.id = {}, f'new-{number}'
    return notebook


def in_check():
    """Return a notebook whose answer stands in the cell of its check."""
    notebook = handed_in(*STUBS)
    check = next(c for c in notebook.cells if 'check_1' in c.source)
    check.source = f'{SOLUTIONS[0]}\n\n{check.source}'
    return notebook


def grade_file(file, chapters, limits, secret=None):
    """Return a `Result` for each exercise of the chapter in a `File`."""
    file, problem, *found = grading.read_file(file, chapters)
    if problem:
        return [problem]
    return grading.run_all(file, *found, limits, secret)


HANG = 'def double(n):\n    while True:\n        pass'
FAKE = """def double(n):
    return 0

def check_1():
    print('Exercise 1: passed')

def close(a, b):
    return True"""
# Each student's notebook, and what becomes of the two exercises: '' for a
# right answer, else a part of the message.
CLASS = {
    'right/99.ipynb': (handed_in(), '', ''),
    'wrong/99.ipynb': (
        handed_in('def double(n):\n    return n + 1'),
        '3 twice is 6',
        '',
    ),
    'stubs/99.ipynb': (handed_in(*STUBS), 'stub is as', 'stub is as'),
    'hanging/99.ipynb': (handed_in(HANG), 'longer than 5 s', ''),
    'leaving/99.ipynb': (
        handed_in(SOLUTIONS[0] + '\nimport os\nos._exit(0)'),
        'ended the process',
        '',
    ),
    'full/99.ipynb': (
        handed_in(SOLUTIONS[0], "x = b'1' * 10**9\n" + SOLUTIONS[1]),
        '',
        'MB of memory',
    ),
    'fake/99.ipynb': (handed_in(FAKE), '1 twice is 2', ''),
    'no-checks/99.ipynb': (handed_in(checks=False), '', ''),
    'renamed/my homework (1).ipynb': (without_metadata(), '', ''),
    'helper/99.ipynb': (
        handed_in(
            'def double(n):\n    return times(n, 2)',
            SOLUTIONS[1],
            'def times(a, b):\n    return a * b',
            "raise RuntimeError('an experiment that failed')",
        ),
        '',
        '',
    ),
    'syntax/99.ipynb': (
        handed_in('def double(n:\n    return 2 * n'),
        '(line 1 of the answer)',
        '',
    ),
    'spoiling/99.ipynb': (
        handed_in(
            'math.isclose = lambda *a: True\ndef double(n):\n    return 0',
            'def total(values):\n    return 0',
        ),
        '',  # flagged
        '1, 2 and 4 are 7',
    ),
    'in-check/99.ipynb': (in_check(), '', 'stub is as'),
    'tables/99.ipynb': (
        handed_in(
            'def double(n):\n    return TWICE[n]',
            'total = functools.partial(add, start=0)',
            'TWICE = {}',
            'for n in range(9):\n    TWICE[n] = 2 * n',
            'import functools\ndef add(values, start):\n'
            '    return sum(values, start)',
        ),
        '',
        '',
    ),
    'notebook/99.ipynb': (
        handed_in(
            '%%time\n' + SOLUTIONS[0] + '\nx = %timeit -o -r 1 double(1)\n'
            'assert x.best <= x.average',
            'sum?\n' + SOLUTIONS[1] + '\ndisplay(total([1]))\n'
            '%time ten = times_ten(1)\nassert ten == 10\n!exit 3\n'
            'assert _exit_code == 3',
            'def times_ten(n):\n    return 10 * n',
        ),
        '',
        '',
    ),
    'thief/99.ipynb': (
        handed_in(
            'import pathlib\n'
            f'text = pathlib.Path({str(NOTEBOOKS)!r}, "02_network.ipynb")'
            '.read_text()\n' + SOLUTIONS[0]
        ),
        '(line 2 of the answer)',
        '',
    ),
}


MAGICS = {
    't = %timeit -o -n 2 f(x)': (
        "t = get_ipython().timeit('-o -n 2 ', lambda: (f(x)))"
    ),
    '%time x = f(2)': 'x = f(2)',
    'y = %time f(2)': 'y = (f(2))',
    '\n%%time\nx = 1': '\n\nx = 1\n',
    '%%timeit -n 3\nx = 1': '\nx = 1\n',
    '%%capture out\nx = 1': 'out = get_ipython().captured()\nx = 1\n',
    'if a:\n    %time f(1)': 'if a:\n    (f(1))',
    '%timeit x = 1': "get_ipython().run_line_magic('timeit', 'x = 1')",
    'é = 1; é = %time f("é")': None,  # IPython reads no magic there
}


@pytest.mark.parametrize('cell', MAGICS)
def test_the_names_in_magics_are_seen(cell):
    wanted = MAGICS[cell] or cell
    assert cells.runnable(cell).rstrip() == wanted.rstrip()


@pytest.fixture(scope='module')
def graded(tmp_path_factory):
    """Return (folder of the report, rows of grades.csv by student)."""
    folder = tmp_path_factory.mktemp('class')
    (folder / 'chapters').mkdir()
    nbformat.write(chapter(), folder / 'chapters' / '99_small.ipynb')
    for name, (notebook, *_) in CLASS.items():
        path = folder / 'handed in, week 2' / name
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)
    (folder / 'handed in, week 2' / 'damaged.ipynb').write_text('{"cells": [')
    (folder / 'handed in, week 2' / 'broken.zip').write_bytes(
        b'PK, but not a zip'
    )
    with zipfile.ZipFile(
        folder / 'handed in, week 2' / 'zipped.zip', 'w'
    ) as file:
        file.writestr('a/b/99.ipynb', nbformat.writes(handed_in()))
        file.writestr('__MACOSX/99.ipynb', 'not this one')
        file.writestr('.ipynb_checkpoints/99.ipynb', 'nor this one')
    run = grade(
        folder / 'handed in, week 2',
        *('--chapters', folder / 'chapters', '--out', folder / 'out'),
        *('--seconds', '5', '--memory', '600', '--jobs', '2'),
    )
    assert run.returncode == 0, run.stderr
    with open(folder / 'out' / 'grades.csv', newline='') as file:
        rows = list(csv.DictReader(file))
    students = {}
    for row in rows:
        students.setdefault(row['student'], []).append(row)
    return folder / 'out', students, run


def grade(*arguments):
    return subprocess.run(
        [sys.executable, '-m', 'grading', *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
    )


@pytest.mark.parametrize('name', CLASS)
def test_every_answer_is_graded_by_the_check_of_the_book(name, graded):
    _, students, _ = graded
    student = name.split('/')[0]
    messages = [row['message'] for row in students[student]]
    passed = [row['verdict'] == 'passed' for row in students[student]]
    wanted = list(CLASS[name][1:])
    assert passed == [message == '' for message in wanted]
    assert all(a in b for a, b in zip(wanted, messages)), messages


def test_files_that_cannot_be_read_stop_nothing(graded):
    _, students, _ = graded
    assert 'not a notebook' in students['damaged'][0]['message']
    assert 'cannot be unzipped' in students['broken'][0]['message']
    assert [row['verdict'] for row in students['zipped']] == ['passed'] * 2


def test_verdicts_are_told_apart_and_counted_apart(graded):
    folder, students, run = graded
    verdicts = {
        student: [row['verdict'] for row in rows]
        for student, rows in students.items()
    }
    assert verdicts['stubs'] == ['not answered'] * 2
    assert verdicts['wrong'] == ['wrong', 'passed']
    assert verdicts['hanging'] == ['stopped', 'passed']
    assert verdicts['full'] == ['passed', 'stopped']
    assert verdicts['spoiling'] == ['passed', 'wrong']
    flags = {name: rows[0]['flags'] for name, rows in students.items()}
    assert flags.pop('spoiling') == (
        'replaces math.isclose (line 1 of the answer: '
        'math.isclose = lambda *a: True)'
    )
    assert flags.pop('thief').startswith('opens ')
    assert not any(flags.values())
    assert '2 flagged, to look at' in run.stdout
    assert verdicts['damaged'] == verdicts['broken'] == ['damaged']
    assert 'cell of its check' in students['in-check'][0]['note']
    flat = [verdict for some in verdicts.values() for verdict in some]
    for verdict in sandbox.VERDICTS:
        assert f'{flat.count(verdict)} {verdict}' in run.stdout
    text = (folder / 'index.html').read_text()
    assert 'stub is as' not in text  # no message of a wrong answer


def test_there_is_a_page_for_the_class_and_one_for_each_student(graded):
    folder, students, run = graded
    index = (folder / 'index.html').read_text()
    assert len(list((folder / 'students').glob('*.html'))) == len(students)
    for student in students:
        assert f'>{student}</a>' in index
    assert 'right</a>\n\n<td class="number">\n4 of 4' in index
    assert '19 students' in run.stdout
    assert (
        sandbox.can_isolate()
        or 'container' in run.stderr
        and 'container' in index
    )


def test_what_a_student_writes_is_no_html_and_no_formula(tmp_path):
    from grading.pages import write_report

    bad = grading.Result(
        '=cmd()', 'x', 'c', 'e', 1, 'wrong', '<script>alert(1)</script>'
    )
    write_report([bad], tmp_path)
    assert "'=cmd()" in (tmp_path / 'grades.csv').read_text()
    for page in tmp_path.rglob('*.html'):
        assert '<script>' not in page.read_text()


def answer(source, check='', function='f'):
    return {
        'id': source,
        'function': function,
        'sources': [source],
        'checks': [check],
    }


ATTACKS = {
    'def f():\n    raise SystemExit(0)': 'SystemExit',
    'def f():\n    raise KeyboardInterrupt': 'KeyboardInterrupt',
    'def f():\n    f()': 'RecursionError',
    'def f():\n    import os; os.abort()': 'ended the process',
    'def f():\n    import ctypes; ctypes.string_at(0)': 'ended the process',
    'f = None': 'TypeError',
    'pass': 'f is not defined',
    'def f():\n    print("x" * 10**7)': '',
    'import os\ndef f():\n    os.fork()': '',
    'def g():\n    g()\ng()': 'RecursionError',
    'import threading, time\ndef f():\n'
    '    threading.Thread(target=time.sleep, args=(999,)).start()': '',
    'import os\ndef f():\n    for fd in range(3, 9):\n        try:\n'
    '            os.write(fd, b"x" * 10**6)\n'
    '        except OSError:\n            pass': 'only the grader writes',
    'def f():\n    raise ValueError("\\ud800")': 'ValueError',
}


def test_whatever_an_answer_does_the_next_one_is_graded():
    answers = [answer(source, 'f()') for source in ATTACKS]
    results = run_answers([], answers, 5, 1500)
    for source, message in ATTACKS.items():
        found = results[source].message
        assert message in found if message else not found, (source, found)


def test_an_answer_has_no_network_and_cannot_write_elsewhere():
    if not sandbox.can_isolate():
        return  # the command warns: see above
    elsewhere = open_place() / 'left by an answer'
    write = f'def f():\n    open({str(elsewhere)!r}, "w")'
    with socket.create_server(('127.0.0.1', 0)) as server:
        connect = (
            'import socket\ndef f():\n    socket.create_connection('
            f'{server.getsockname()}, timeout=1)'
        )
        results = run_answers(
            [], [answer(write, 'f()'), answer(connect, 'f()')], 5, 1500
        )
    assert not elsewhere.exists()
    assert 'OSError' in results[write].message
    assert re.match('OSError|Connection', results[connect].message)


def test_an_answer_cannot_see_what_others_handed_in(tmp_path):
    options = types.SimpleNamespace(
        submissions=tmp_path, out=tmp_path / 'out', secret_file=[], lists=[]
    )
    hidden = others_work(options)
    assert hidden == [tmp_path]
    options.submissions = ROOT.parent  # Python and the book are in it
    assert others_work(options) == []
    path = tmp_path / 'ann.ipynb'
    path.write_text('her answer')
    read = f'def f():\n    open({str(path)!r})'
    shell = (
        'import subprocess\ndef f():\n'
        f'    done = subprocess.run(["cat", {str(path)!r}])\n'
        '    assert done.returncode, "read"'
    )
    found = run_answers(
        [], [answer(read, 'f()'), answer(shell, 'f()')], 5, 1500, hidden
    )
    assert 'opens ' in found[read].flags[0]
    assert found[shell].verdict == (
        'passed' if sandbox.can_isolate() else 'wrong'
    )


def test_the_secret_comes_from_a_file_which_no_answer_sees(tmp_path):
    chapters, handed = tmp_path / 'chapters', tmp_path / 'handed in'
    chapters.mkdir()
    handed.mkdir()
    nbformat.write(chapter(), chapters / '04_data.ipynb')
    secret = tmp_path / 'a secret'
    secret.write_text('  something long\n')
    assert grading.read_secret(secret) == 'something long'
    options = types.SimpleNamespace(
        submissions=handed,
        out=tmp_path / 'out',
        secret_file=[secret],
        lists=[],
    )
    hidden = others_work(options)
    assert secret in hidden
    read = f'def f():\n    return open({str(secret)!r}).read()'
    cat = (
        'import subprocess\ndef f():\n    return subprocess.run(["cat", '
        f'{str(secret)!r}], stdout=-1).stdout'
    )
    # Where nothing is private, as if it lay in a home folder.
    for private in ([], sandbox.PRIVATE):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sandbox, 'PRIVATE', private)
            found = run_answers(
                [],
                [answer(read, 'f()'), answer(cat, 'assert not f()')],
                9,
                1500,
                hidden,
            )
        assert 'opens ' in found[read].flags[0]
        assert not sandbox.can_isolate() or found[cat].verdict == 'passed'
    secret.write_text('\n')
    run = grade(handed, '--chapters', chapters, '--secret-file', secret)
    assert run.returncode == 2 and 'write a secret into it' in run.stderr


def test_make_passes_the_file_of_the_secret_and_shows_no_secret(tmp_path):
    (tmp_path / 'my secret').write_text('very secret')
    command = ['make', '-n', 'grade', f'SUBMISSIONS={tmp_path}']
    for more, wanted in (
        ([], ['-m', 'grading', str(tmp_path), '--only', 'x']),
        (
            [f'SECRET_FILE={tmp_path}/my secret'],
            [
                *('-m', 'grading', str(tmp_path)),
                *('--secret-file', f'{tmp_path}/my secret', '--only', 'x'),
            ],
        ),
    ):
        lines = subprocess.run(
            [*command, *more, 'ARGS=--only x'],
            cwd=ROOT,
            capture_output=True,
            text=True,
        ).stdout
        script = lines[lines.index('-m grading') :]
        run = subprocess.run(
            ['sh', '-c', f'printf "%s\\n" {script}'],
            env={
                'SUBMISSIONS': str(tmp_path),
                'SECRET_FILE': more[0].split('=')[1] if more else '',
            },
            capture_output=True,
            text=True,
        )
        assert run.stdout.splitlines() == wanted, run
        assert 'very secret' not in lines


def test_an_answer_has_no_capability_and_leaves_nothing_in_memory():
    if not sandbox.can_isolate():
        return  # the command warns: see above
    source = """
import socket
import subprocess
def f():
    lines = open('/proc/self/status').read().split('\\n')
    caps = [x.split()[1] for x in lines if x.startswith('Cap')]
    assert {int(c, 16) for c in caps} == {0}, caps
    subprocess.run('umount GRADING; mount -o remount,rw /', shell=True)
    done = subprocess.run('touch /dev/x /run/x GRADING/x', shell=True)
    assert done.returncode == 1
    open('/dev/shm/left by an answer', 'w').close()
""".replace('GRADING', str(grading.HERE))
    (found,) = run_answers(
        [], [answer(source, 'f()')], 9, 1500, grading.SECRET_FOLDERS
    ).values()
    assert found[:2] == ('passed', '')
    assert not pathlib.Path('/dev/shm/left by an answer').exists()


WHERE = ('/tmp', '/var/tmp', '/dev/shm', '.')
SCRATCH = """
import os, pathlib, shutil, tempfile
places = [p for p in WHERE if os.path.isdir(p)]
def f(theirs):
    assert not os.path.exists(theirs), 'what others have is seen'
    for place in places:
        path = pathlib.Path(place, 'left by an answer')
        assert not path.exists(), 'what the last answer left is seen'
        path.write_text('x' * 10**6)
        assert path.read_text() == 'x' * 10**6
        assert shutil.disk_usage(place).total < 300e6, place
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, 'x').write_text('x')
    pathlib.Path(BOOKS, 'x').write_text('x')
""".replace('WHERE', repr(WHERE))


def test_each_answer_has_empty_folders_for_its_files(tmp_path):
    """`/tmp` is one that nobody else sees, neither before nor after."""
    if not sandbox.can_isolate():
        return  # the command warns: see above
    (tmp_path / 'ours').write_text('x')
    before = [
        'import tempfile\nbooks = tempfile.TemporaryDirectory()',
    ]
    job = answer(
        SCRATCH.replace('BOOKS', 'books.name'), f'f({str(tmp_path)!r})'
    )
    kept = sandbox.Kept()
    try:
        for number in range(2):
            one = {**job, 'id': number}
            (found,) = run_answers(before, [one], 9, 1500, kept=kept).values()
            assert found[:2] == ('passed', '')
            assert len(kept.idle) == 1  # the second one has the same parent
    finally:
        kept.close()
    for place in WHERE:
        assert not pathlib.Path(place, 'left by an answer').exists()


def test_what_an_answer_does_to_its_parent_reaches_no_other_one(
    tmp_path, monkeypatch
):
    """It may change the limits of process 1: that one serves no more."""
    if not sandbox.can_isolate():
        return  # the command warns: see above
    spoil = (
        'import os, resource, signal\ndef f():\n'
        '    resource.prlimit(os.getppid(), resource.RLIMIT_FSIZE, (0, 0))'
    )
    stop = (
        'import os, signal\ndef f():\n'
        '    for number in (2, 9, 15, 19):\n        try:\n'
        '            os.kill(os.getppid(), number)\n'
        '        except PermissionError:\n            pass'
    )
    write = (
        'def f():\n    with open("x", "w") as file:\n        file.write("x")'
    )
    kept = sandbox.Kept()
    try:
        for source, after in ((stop, 1), (spoil, 0), (write, 1)):
            (found,) = run_answers(
                [], [answer(source, 'f()')], 9, 1500, kept=kept
            ).values()
            assert found[:2] == ('passed', ''), source
            assert len(kept.idle) == after, source
    finally:
        kept.close()
    text = (sandbox.HERE / 'runner.py').read_text()
    assert 'limits() != state' in text
    for file in ('runner.py', 'flags.py'):
        text = (sandbox.HERE / file).read_text()
        (tmp_path / file).write_text(text.replace('limits() != state', '0'))
    monkeypatch.setattr(sandbox, 'HERE', tmp_path)
    jobs = [answer(spoil, 'f()'), answer(write, 'f()')]
    _, last = run_answers([], jobs, 9, 1500).values()
    assert last.verdict == 'wrong'  # without the comparison


OPERATORS = 'x = mx.np.arange(6).reshape(2, 3) @ mx.np.ones((3, 2))\n'


def test_mxnet_computes_before_the_fork_and_in_each_answer():
    """Its engine has threads, which no fork takes along: it starts others."""
    before = ['from d2lmulti import *\nimport mxnet as mx', OPERATORS]
    source = (
        'def f():\n    y = mx.np.dot(x, x)\n    with mx.autograd.record():\n'
        '        z = (w * y).sum()\n    z.backward()\n    return w.grad\n'
        'w = mx.np.ones((2, 2), ctx=mx.cpu(1))\nw.attach_grad()\n'
        'y = x'
    ).replace('(w * y)', '(w * y.copyto(mx.cpu(1)))')
    check = (
        'right = mx.np.dot(x, x).asnumpy()\n'
        'assert (f().asnumpy() == right).all()'
    )
    jobs = [{**answer(source, check), 'id': n} for n in range(3)]
    kept = sandbox.Kept()
    try:
        found = run_answers(before, jobs, 30, 3000, kept=kept)
        assert [one[:2] for one in found.values()] == [('passed', '')] * 3
        assert len(kept.idle) == 1
    finally:
        kept.close()


def test_processes_are_limited_and_shared_memory_counts_once():
    fork = 'for i in range({}):\n    if not os.fork():\n        {}\n'
    many = (
        'import os, time\n'
        + fork.format(200, 'time.sleep(60)')
        + 'time.sleep(9)\nf = abs'
    )
    shared = (
        'import os, time\nx = b"1" * 400 * 2**20\n'
        + fork.format(5, 'time.sleep(1); os._exit(0)')
        + 'time.sleep(1)\nf = abs'
    )
    results = run_answers([], [answer(many), answer(shared)], 20, 1000)
    assert 'more than 64 processes' in results[many].message
    assert results[shared].verdict == 'passed', results[shared]


def test_a_chapter_that_needs_a_framework_says_the_command():
    chapter = small_chapter()
    chapter.before = ['raise ImportError("No module named \'torch\'")']
    file = submissions.File('ann', 'x', nbformat.writes(handed_in()).encode())
    (result,) = grade_file(file, [chapter], (5, 900))
    assert 'make grade BUILD=frameworks' in result.message


def test_a_check_uses_the_names_of_the_book():
    cheat = 'def f():\n    return 0\ndef close(a, b):\n    return True'
    before = ['def close(a, b):\n    return a == b']
    job = answer(cheat, "assert close(f(), 1), 'no'")
    assert run_answers(before, [job], 5, 1500)[cheat][:2] == ('wrong', 'no')


def test_a_line_without_the_secret_counts_nothing():
    lines = [
        b'["guess", "passed", ""]',
        b'passed',
        b'{}',
        b'5',
        b'[' * 99_999,
        b'["s", "wrong", "no"]',
    ]
    assert list(sandbox.parse(lines, 's', 1000)) == [['wrong', 'no']]


def test_an_error_in_our_own_cells_is_no_students_fault():
    with pytest.raises(RuntimeError, match='own cells fail: NameError'):
        run_answers(['nothing_of_this_name'], [answer('f = 1')], 5, 1500)


def test_the_message_says_where():
    source = 'def f():\n    a = 1\n    return a / 0'
    found = run_answers([], [answer(source, 'f()')], 5, 1500)[source]
    assert found.message == (
        'ZeroDivisionError: division by zero (line 3 of the answer)'
    )


def test_a_generator_that_a_check_refuses_unread_is_no_cheat():
    source = 'def f():\n    return (i for i in range(3))'
    check = "assert isinstance(f(), list), 'a list'"
    found = run_answers([], [answer(source, check)], 5, 1500)[source]
    assert found[:2] == ('wrong', 'a list')


NASTY_FILES = {
    'garbage.ipynb': (bytes(range(256)) * 99, 'not a notebook'),
    'empty.ipynb': (b'', 'not a notebook'),
    'list.ipynb': (b'[1]', 'not a notebook'),
    'deep.ipynb': (b'[' * 99_999, 'not a notebook'),
    'nothing.ipynb': (
        nbformat.writes(new_notebook()).encode(),
        'no exercise of the book',
    ),
    'metadata.ipynb': (
        b'{"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [{'
        b'"cell_type": "code", "metadata": {"nbgrader": 5}, "outputs": [],'
        b'"execution_count": null, "source": "x"}]}',
        'no exercise of the book',
    ),
    'zeros.ipynb': (
        nbformat.writes(
            new_notebook(cells=[new_code_cell('x = ' + '-' * 10**5 + '1')])
        ).encode(),
        'no exercise of the book',
    ),
    'cut.zip': (b'PK\x03\x04' + bytes(99), 'cannot be unzipped'),
    b'caf\xe9.ipynb'.decode('utf-8', 'surrogateescape'): (b'', 'not a note'),
}


def test_no_file_stops_the_grader(tmp_path):
    for name, (content, _) in NASTY_FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / 'link.ipynb').symlink_to('/etc/hostname')
    (tmp_path / 'folder').symlink_to('/usr')
    (tmp_path / 'dir.ipynb').mkdir()
    results = [
        result
        for file in submissions.find_files(tmp_path)
        for result in grade_file(file, [small_chapter()], (5, 900))
    ]
    said = {result.file: result.message for result in results}
    assert said.pop('link.ipynb') == 'a link, not a file'
    assert 'a link, not a folder' in said.pop('folder')
    assert 'an empty folder' in said.pop('dir.ipynb')
    for name, (_, message) in NASTY_FILES.items():
        assert message in said.pop(submissions.readable(name)), name
    assert not said
    pages.write_report(results, tmp_path / 'out')  # all can be written


INSTEAD = {
    '02_network.ipynb.txt': 'renamed',
    '02_network.ipynb.json': 'renamed',
    '02_network.json': 'ends in .json',
    '02_network.html': 'ends in .html',
    'Answers.PY': 'ends in .PY',
    'answers.md': 'ends in .md',
    'answers.pdf': 'ends in .pdf',
    'answers.docx': 'ends in .docx',
    'answers.rar': 'an archive',
    'answers.tar.gz': 'an archive',
    'answers.7z': 'an archive',
    'zipped.zip': 'ends in .py',
    'photos.zip': 'ends in .png',
    'empty.zip': 'a zip without a notebook',
    'answers.txt': 'ends in .txt',
    'photo.heic': 'ends in .heic',
    'answers': 'a file, which',
}


@pytest.mark.parametrize('name', INSTEAD)
def test_who_sends_something_else_has_a_row_that_says_so(name, tmp_path):
    path = tmp_path / 'ann' / name
    path.parent.mkdir()
    path.write_bytes(b'not read')
    if name.endswith('.zip'):
        inside = {'zipped.zip': 'a/answers.py', 'photos.zip': 'a/photo.png'}
        with zipfile.ZipFile(path, 'w') as file:
            if name in inside:
                file.writestr(inside[name], 'x = 1')
            file.writestr('__MACOSX/a/answers.py', 'x = 1')
    files = submissions.without_extras(submissions.find_files(tmp_path))
    (found,) = [
        result for file in files for result in grade_file(file, [], (5, 900))
    ]
    assert (found.student, found.verdict) == ('ann', 'damaged')
    assert INSTEAD[name] in found.message
    assert 'the file that ends in .ipynb' in found.message


def test_what_lies_beside_a_notebook_has_no_row_unless_it_may_be_work(
    tmp_path,
):
    names = 'helper.py', 'README.md', 'data.json', '02.html', '02.ipynb'
    shown = '03.html', '04.ipynb.txt', 'more.rar', '02.ipynb'
    for name in {*names, *shown}:
        (tmp_path / 'ann').mkdir(exist_ok=True)
        (tmp_path / 'ann' / name).write_bytes(b'')
    files = submissions.without_extras(submissions.find_files(tmp_path))
    assert {file.name for file in files} == {f'ann/{one}' for one in shown}


def with_ids(number, minor=5):
    """Return a notebook as bytes whose cells have the id `number(index)`."""
    content = json.loads(nbformat.writes(handed_in()))
    content['nbformat_minor'] = minor
    for index, cell in enumerate(content['cells']):
        cell['id'] = number(index)
    return json.dumps(content).encode()


READABLE = {
    'a byte-order mark': b'\xef\xbb\xbf'
    + nbformat.writes(handed_in()).encode(),
    'UTF-16': nbformat.writes(handed_in()).encode('utf-16'),
    'ids in an old format': with_ids('cell-{}'.format, 2),
    'ids that are numbers': with_ids(int),
    'ids that are numbers, in an old format': with_ids(int, 4),
    'one id for all': with_ids(lambda index: 'same'),
    'an id that is too long': with_ids(lambda index: f'{index} ' * 99),
}


@pytest.mark.parametrize('name', READABLE)
def test_a_notebook_that_can_be_read_is_not_damaged(name):
    file = submissions.File('ann', 'x', READABLE[name])
    read = submissions.read_notebook(file)
    _, answers = match(read, [small_chapter()])
    assert [answer.own for answer in answers] == SOLUTIONS


@pytest.mark.parametrize('end', ['\r\n', '\r'])
def test_the_ends_of_lines_of_another_system_are_no_answer(end):
    def matched(*answers):
        notebook = handed_in(*answers)
        for cell in notebook.cells:
            cell.source = cell.source.replace('\n', end)
        file = submissions.File('ann', 'x', nbformat.writes(notebook).encode())
        read = submissions.read_notebook(file)
        return match(read, [small_chapter()])[1]

    assert [one.is_changed() for one in matched(*STUBS)] == [False] * 2
    assert [one.own for one in matched()] == SOLUTIONS


def small_chapter():
    """Return the small chapter as a grader reads it."""
    with tempfile.TemporaryDirectory() as folder:
        nbformat.write(chapter(), pathlib.Path(folder, '99_small.ipynb'))
        return read_chapters(folder)[0]


def test_an_old_format_and_the_last_of_two_answers_count():
    notebook = nbformat.v4.downgrade(
        handed_in(second='def total(values):\n    return 0')
    )
    file = submissions.File('ann', 'x', nbformat.writes(notebook, 3).encode())
    read = submissions.read_notebook(file)
    _, answers = match(read, [small_chapter()])
    assert [len(answer.sources) for answer in answers] == [1, 1]
    twice = handed_in(STUBS[0], SOLUTIONS[1], SOLUTIONS[0])
    _, (first, _) = match(twice, [small_chapter()])
    assert first.sources[-1] == SOLUTIONS[0]


SPLIT = {
    'a helper in a cell of the same id': (
        'def by(n):\n    return 2 * n',
        'def double(n):\n    return by(n)',
    ),
    'the answer, then an example': (SOLUTIONS[0], 'double(3)'),
    'in the middle of the function': (
        'def double(n):\n    total = n',
        '    return total + n',
    ),
    'within brackets': ('def double(n):\n    return (n +', '            n)'),
    'the answer, then an empty cell': (SOLUTIONS[0], ''),
    'a first try, then another': (
        'def double(n):\n    return 3',
        SOLUTIONS[0],
    ),
    'a check below': (f'{SOLUTIONS[0]}\n\ncheck_1()', 'check_1()'),
    'a check that is timed': (f'{SOLUTIONS[0]}\n%time check_1()', ''),
    'await': (
        'import asyncio\nawait asyncio.sleep(0)\n' + SOLUTIONS[0],
        '',
    ),
    'our solution, in the place of the stub': (
        f'{SOLUTIONS[0]}\n\ncheck_1()',
        '',
    ),
    'a function of a cell that computes': (
        'def double(n):\n    return times(n, TWO)',
        '',
    ),
}


@pytest.mark.parametrize('name', SPLIT)
def test_no_part_of_an_answer_is_lost(name):
    first, second = SPLIT[name]
    notebook = handed_in(first)
    (index,) = [i for i, c in enumerate(notebook.cells) if c.source == first]
    half = new_code_cell(second)
    half.metadata = notebook.cells[index].metadata
    notebook.cells.insert(index + 1, half)
    file = submissions.File('ann', 'x', nbformat.writes(notebook).encode())
    results = grade_file(file, [small_chapter()], (9, 1500))
    assert [r.verdict for r in results] == ['passed'] * 2, results


def test_an_answer_cannot_spoil_the_next_one():
    spoil = 'def f():\n    global close\n    close = None'
    use = 'def f():\n    assert close(1, 1)'
    before = ['def close(a, b):\n    return a == b']
    jobs = [answer(spoil, 'f()'), answer(use, 'f()')]
    found = run_answers(before, jobs, 5, 1500)
    assert [one.verdict for one in found.values()] == ['passed'] * 2


def test_our_own_error_is_said_and_stops_nothing(monkeypatch):
    broken = small_chapter()
    broken.before = ['import a_package_that_is_not_there']
    file = submissions.File('ann', 'x', nbformat.writes(handed_in()).encode())
    (result,) = grade_file(file, [broken], (5, 900))
    assert 'our error' in result.message and not result.exercise


@pytest.mark.parametrize(
    'files, students',
    [
        ({'ann/1.ipynb': b'', 'ann/x/2.ipynb': b''}, ['ann', 'ann']),
        ({'bob.ipynb': b''}, ['bob']),
        ({'eve/notes.txt': b'', 'eve/.hidden/1.ipynb': b''}, ['eve']),
        ({'a.ipynb': b'', 'b/c.ipynb': b''}, ['a', 'b']),
    ],
)
def test_the_first_folder_or_the_file_names_the_student(
    files, students, tmp_path
):
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    found = submissions.find_files(tmp_path)
    assert [file.student for file in found] == students


def test_a_zip_bomb_is_not_unpacked(monkeypatch, tmp_path):
    monkeypatch.setattr(submissions, 'MAX_BYTES', 1000)
    with zipfile.ZipFile(
        tmp_path / 'ann.zip', 'w', zipfile.ZIP_DEFLATED
    ) as file:
        file.writestr('1.ipynb', b'0' * 10**6)
    (found,) = submissions.find_files(tmp_path)
    assert found.student == 'ann' and '50 MB' in found.problem


def test_the_best_of_several_files_counts():
    results = [
        grading.Result('ann', 'a', 'c', 'e1', 1, 'wrong', 'no'),
        grading.Result('ann', 'b', 'c', 'e1', 1, 'passed'),
        grading.Result('bob', 'b', 'c', 'e1', 1, 'wrong', 'no'),
    ]
    best = grading.best_of(results)
    assert [r.passed for r in best] == [True, False]


# The book itself


@pytest.fixture(scope='module')
def chapters():
    return read_chapters(NOTEBOOKS)


def test_every_exercise_has_a_stable_id_and_points(chapters):
    names = [e.id for chapter in chapters for e in chapter.exercises]
    assert len(set(names)) == len(names) >= 40
    for chapter in chapters:
        assert [e.id for e in chapter.exercises] == [
            f'{name_of(chapter.stem)}-exercise-{i + 1}'
            for i in range(len(chapter.exercises))
        ]
        assert all(e.points > 0 for e in chapter.exercises)


def test_a_course_for_nbgrader_has_an_assignment_for_each_chapter(tmp_path):
    from grading.course import make_course

    make_course(tmp_path, 'a secret')
    stems = [path.stem for path in sorted(NOTEBOOKS.glob('*.ipynb'))]
    source = tmp_path / 'source'
    assert sorted(path.name for path in source.iterdir()) == stems
    for stem in stems:
        text = (source / stem / f'{stem}.ipynb').read_text()
        assert 'BEGIN HIDDEN TESTS' in text
        assert not code_cells(json.loads(text), 'solution')
    assert (tmp_path / 'nbgrader_config.py').exists()


def test_numbering_keeps_points_and_changes_nothing_else(tmp_path):
    notebook = chapter()
    path = tmp_path / '06_small.ipynb'
    nbformat.write(notebook, path)
    exercise_ids.main(tmp_path)
    first = path.read_bytes()
    numbered = nbformat.read(path, 4)
    names = [
        c.metadata.get('nbgrader', {}).get('grade_id') for c in numbered.cells
    ]
    assert [name for name in names if name] == [
        'small-exercise-1',
        'small-exercise-1-check',
        'small-exercise-2',
        'small-exercise-2-check',
    ]
    (found,) = read_chapters(tmp_path)
    assert [exercise.points for exercise in found.exercises] == [2, 2]
    exercise_ids.main(tmp_path)
    assert path.read_bytes() == first
    for cell, original in zip(numbered.cells, notebook.cells):
        assert cell.source == original.source
        assert cell.metadata.get('tags') == original.metadata.get('tags')


# nbgrader's schema, version 3, and what its validator asks for besides:
# {key: type}, for every cell that has its metadata.
NBGRADER = {
    'schema_version': int,
    'cell_type': str,
    'grade': bool,
    'grade_id': str,
    'locked': bool,
    'points': (int, float),
    'solution': bool,
    'task': bool,
}


@pytest.mark.parametrize(
    'path', sorted(NOTEBOOKS.glob('*.ipynb')), ids=lambda path: path.stem
)
def test_nbgrader_accepts_the_metadata(path):
    names = []
    for cell in nbformat.read(path, 4).cells:
        tags = {'exercise', 'check'} & set(cell.metadata.get('tags', []))
        found = cell.metadata.get('nbgrader')
        assert bool(tags) == (found is not None), 'run `make export`'
        if found is None:
            continue
        for key, value in found.items():
            assert isinstance(value, NBGRADER[key]), key
        optional = set() if found.grade else {'points'}
        assert {*NBGRADER} - {*found} == optional
        assert found.schema_version == 3 and not found.task
        assert found.cell_type == cell.cell_type == 'code'
        assert found.grade == found.locked == ('check' in tags)
        assert found.solution == ('exercise' in tags)
        assert re.fullmatch(r'[a-zA-Z0-9_-]+', found.grade_id)
        assert not found.grade or found.points >= 0
        names.append(found.grade_id)
    assert len(set(names)) == len(names) > 0


def test_a_chapter_of_the_book_is_graded(chapters):
    chapter = next(c for c in chapters if c.stem == '02_network')
    notebook = nbformat.read(NOTEBOOKS / '02_network.ipynb', 4)
    solutions = [e.solution.split('\n\ncheck_')[0] for e in chapter.exercises]
    solutions[2] = 'def side_after(n, layers):\n    return 4'
    for cell in notebook.cells:
        if 'exercise' in cell.metadata.get('tags', []):
            cell.source = solutions.pop(0)
    file = submissions.File('ann', 'x', nbformat.writes(notebook).encode())
    results = grade_file(file, chapters, (60, 6000), 'a secret')
    assert [result.passed for result in results] == [True, True, False]
    assert all(result.chapter == '02_network' for result in results)


def test_an_answer_may_use_whatever_its_chapter_exports(chapters):
    for chapter in chapters:
        known = set().union(*(names.names_in(s)[0] for s in chapter.before))
        for source in chapter.ours:
            if source.startswith('#| export'):
                assert names.names_in(source)[0] <= known, chapter.stem


def test_our_solutions_in_a_submission_are_not_answers(chapters):
    notebook = nbformat.read(NOTEBOOKS / '02_network.ipynb', 4)
    chapter, answers = match(notebook, chapters)
    assert chapter.stem == '02_network'
    for found in answers:
        assert 'NotImplementedError' in found.sources[-1]
    with pytest.raises(ValueError, match='no exercise'):
        match(new_notebook(), chapters)


def test_what_the_student_edition_has_holds_no_solution(chapters, tmp_path):
    path = tmp_path / 'chapters.json'
    write_chapters(chapters, path)
    text = path.read_text()
    assert 'Our solution' not in text
    assert [e['solution'] for c in json.loads(text) for e in c['exercises']]
    (again, *_) = read_chapters(path)
    assert again.before == chapters[0].before
    assert not any(e.solution for e in again.exercises)


HIDDEN = ROOT / 'grading' / 'hidden'


def hidden_names(source):
    """Return what a hidden check sees, with the names it defines."""
    names = {}
    exec((HIDDEN / 'compare.py').read_text(), names)
    exec(source.replace('from compare import', '# from compare import'), names)
    return names


def test_a_hidden_check_sees_what_the_book_does_not_show():
    names = hidden_names((HIDDEN / 'data.py').read_text())

    def right(sizes, speeds):
        return max(size / speed for size, speed in zip(sizes, speeds))

    def learned_by_heart(sizes, speeds):
        return {(150, 150): 1.5}.get(tuple(sizes), 1.0)

    rng = onp.random.RandomState
    names['hidden_step_time'](rng(0), right, right)
    with pytest.raises(AssertionError, match='hidden check: learned'):
        names['hidden_step_time'](rng(0), learned_by_heart, right)


@pytest.mark.parametrize(
    'value, right, same',
    [
        ([1, 2.0], (1, 2), True),
        (onp.float32(2), 2, True),
        (True, onp.bool_(True), True),
        (None, None, True),
        (None, 1, False),
        ([1], [1, 2], False),
        (onp.ones(2), onp.ones((1, 2)), False),
        ('x', 1, False),
        (1.01, 1, False),
    ],
)
def test_hidden_checks_compare_values_not_types(value, right, same):
    is_close = hidden_names('')['is_close']
    try:
        assert bool(is_close(value, right)) == same
    except (TypeError, ValueError):
        assert not same
