"""The sandbox hides what it must, wherever that lies; and where it fails
itself, no student gets a verdict."""

import csv
import os
import pathlib
import shutil
import sys
import tempfile

import nbformat
import pytest
from in_sandbox import open_place
from small_class import ANSWERS, hand_in, notebook

from grading import __main__ as command
from grading import grading, sandbox
from grading.sandbox import SandboxError, run_answers

RIGHT = {
    'id': 'right',
    'function': 'f',
    'sources': ['def f():\n    return 1'],
    'checks': ['assert f() == 1'],
}
needs_namespaces = pytest.mark.skipif(
    not sandbox.can_isolate(), reason='namespaces are not allowed here'
)


@pytest.fixture(params=['bubblewrap', 'namespaces'])
def tool(request, monkeypatch):
    """Keep answers away from all else by either tool, if it works here."""
    if not sandbox.works(request.param):
        pytest.skip(f'{request.param} is not here, or not allowed')
    monkeypatch.setattr(sandbox, 'isolation', lambda: request.param)
    return request.param


def look(*paths):
    """Return an answer that passes if no program finds a word in files."""
    source = (
        'import subprocess\ndef f():\n'
        f'    found = subprocess.run(["grep", "-rsl", "solution"] + '
        f'{[str(path) for path in paths]!r}, stdout=-1).stdout\n'
        '    assert not found, found\n    return 1'
    )
    return {**RIGHT, 'sources': [source]}


def fill(folder, *names):
    """Write files with a word into a folder."""
    for name in ('file', *names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('our solution')


def nested(folder):
    fill(folder, 'build/grades/file', 'build/file')
    return [folder / 'build' / 'grades', folder / 'build', folder]


def nested_the_other_way(folder):
    return nested(folder)[::-1]


def a_file_in_a_folder(folder):
    fill(folder)
    return [folder, folder / 'file', folder / 'file', folder]


def links(folder):
    fill(folder, 'real/grades/file')
    (folder / 'build').symlink_to(folder / 'real')
    (folder / 'one').symlink_to(folder / 'file')
    (folder / 'broken').symlink_to(folder / 'nothing')
    (folder / 'loop').symlink_to(folder / 'loop')
    names = ('build', 'build/grades', 'real', 'one', 'broken', 'loop')
    return [folder / name for name in names]


def not_there_yet(folder):
    return [folder / 'build', folder / 'build' / 'grades']


def odd_names(folder):
    names = (
        'a b',
        "week 1's",
        'back\\slash',
        'new\nline',
        '$HOME',
        '-t',
        '--',
    )
    names += (b'caf\xe9'.decode('utf-8', 'surrogateescape'), '*', 'a"b', 'é#1')
    fill(folder, *(f'{name}/file' for name in names))
    (folder / 'file').unlink()
    return [folder / name for name in names]


def alike_names(folder):
    fill(folder, 'build/file', 'build-2/file')
    (folder / 'file').unlink()
    return [folder / 'build', folder / 'build-2']


def of_another_user(folder):
    if os.geteuid():
        pytest.skip('only root can make a folder of another user')
    fill(folder, 'home/handed in/file')
    shutil.chown(folder / 'home', 'nobody')
    (folder / 'home').chmod(0o700)
    return [folder / 'home' / 'handed in', folder / 'file']


KINDS = [
    nested,
    nested_the_other_way,
    a_file_in_a_folder,
    links,
    not_there_yet,
    odd_names,
    alike_names,
    of_another_user,
]


@pytest.fixture
def open_folder():
    """Return a folder beside the tests, or at home if these lie in a folder of
    which each answer has another one."""
    where = open_place()
    where = where / 'build' if where == sandbox.ROOT else where
    with tempfile.TemporaryDirectory(dir=where) as folder:
        yield pathlib.Path(folder).resolve()


@pytest.fixture(scope='module', autouse=True)
def build():
    (sandbox.ROOT / 'build').mkdir(exist_ok=True)


@pytest.mark.parametrize('kind', KINDS, ids=lambda kind: kind.__name__)
def test_what_is_hidden_may_lie_in_what_is_seen(
    kind, open_folder, tool, monkeypatch
):
    hidden = kind(open_folder)
    seen = [*sandbox.SYSTEM, str(open_folder)]
    monkeypatch.setattr(sandbox, 'SYSTEM', seen)
    answer = look(open_folder)
    (found,) = run_answers([], [answer], 20, 1500, hidden).values()
    assert found[:2] == ('passed', '')


def test_one_that_is_not_hidden_is_found(open_folder, tool, monkeypatch):
    """The test above can fail."""
    hidden = alike_names(open_folder)[:1]
    seen = [*sandbox.SYSTEM, str(open_folder)]
    monkeypatch.setattr(sandbox, 'SYSTEM', seen)
    (found,) = run_answers([], [look(open_folder)], 20, 1500, hidden).values()
    assert found.verdict == 'wrong' and 'build-2/file' in found.message


LOOK = """import getpass, os, socket
def seen(paths):
    return [path for path in paths if os.path.lexists(path)]
def writable():
    found = []
    for folder, below, names in os.walk('/'):
        # Nothing can be put into the folder of terminals.
        below[:] = [one for one in below if one not in ('proc', 'pts')]
        own = any(f'{folder}/'.startswith(f'{one}/') for one in ALLOWED)
        if not own and os.access(folder, os.W_OK):
            found.append(folder)
    return found
def f():
    assert not seen(PATHS), seen(PATHS)
    assert not writable(), writable()
    assert not [name for name in os.environ if 'SECRET' in name]
    import d2lmulti.datasets, numpy
    names = [name for _, name in socket.if_nameindex()]
    assert names in ([], ['lo']), names
    return 1
"""


def test_an_answer_sees_python_and_the_book_alone(
    tool, open_folder, monkeypatch
):
    """No home, no list of users or students, no file of the grader or of
    anybody else; and it can write in its empty folders alone."""
    fill(open_folder)
    monkeypatch.setenv('D2LMULTI_SECRET', 'very secret')
    paths = [open_folder, '/etc/passwd', '/home', '/srv', '/opt', '/mnt']
    paths += [sandbox.ROOT / name for name in ('README.md', 'notebooks')]
    paths += [sandbox.ROOT / name for name in ('grading', '.git', 'build')]
    paths = [
        path
        for path in map(str, paths)
        if not any(one.startswith(path) for one in sandbox.needed_folders())
    ]
    with tempfile.TemporaryDirectory() as folder:
        paths.append(folder)
        source = LOOK.replace('PATHS', repr(paths)).replace(
            'ALLOWED', "(os.getcwd(), '/tmp', '/var/tmp', '/dev/shm')"
        )
        answer = {**RIGHT, 'sources': [source]}
        (found,) = run_answers([], [answer], 60, 3000).values()
    assert found[:2] == ('passed', '')


@pytest.mark.parametrize('where', ['hidden', '/dev/shm', '/var/tmp'])
def test_the_temporary_folder_may_lie_anywhere(
    where, open_folder, tool, monkeypatch
):
    fill(open_folder, 'tmp/file')
    place = open_folder / 'tmp' if where == 'hidden' else pathlib.Path(where)
    monkeypatch.setattr(tempfile, 'tempdir', str(place))
    assert sandbox.works(tool)
    answer = look(open_folder)
    hidden = [open_folder]
    (found,) = run_answers([], [answer], 20, 1500, hidden).values()
    assert found[:2] == ('passed', '')


# What fails: of which the message, in a part, says so.


def leave_out_python(patch, folder):
    patch.setattr(sandbox, 'needed_folders', list)
    return os.path.basename(sys.executable)


def hide_python(patch, folder):
    folders = [pathlib.Path(sys.base_prefix)]
    patch.setattr(grading, 'SECRET_FOLDERS', folders)
    return os.path.basename(sys.executable)


def keep_what_is_not_there(patch, folder):
    patch.setattr(sandbox, 'PRIVATE', [str(folder)])
    needed = [str(folder / 'nothing')]
    patch.setattr(sandbox, 'needed_folders', lambda: needed)
    return str(folder / 'nothing')


def put_in_place_of_the_guard(patch, folder, source):
    shutil.copy(sandbox.HERE / 'runner.py', folder)
    (folder / 'flags.py').write_text(source)
    patch.setattr(sandbox, 'HERE', folder)


def break_the_guard(patch, folder):
    put_in_place_of_the_guard(patch, folder, 'raise OSError("no guard")')
    return 'OSError: no guard'


def break_the_runner(patch, folder):
    (folder / 'runner.py').write_text('raise OSError("no runner")')
    (folder / 'flags.py').write_text('')
    patch.setattr(sandbox, 'HERE', folder)
    return 'OSError: no runner'


def end_before_the_answer(patch, folder):
    put_in_place_of_the_guard(patch, folder, 'import os\nos._exit(3)')
    return 'only the process of the answer'


def take_too_long(patch, folder):
    patch.setattr(sandbox, 'START_SECONDS', -1)
    return 'longer than -1 s'


def take_too_much(patch, folder):
    much = sandbox.MUCH_MEMORY.format(4000)  # also if they end before a look
    patch.setattr(sandbox, 'too_much', lambda *_: much)
    return 'MB of memory'


def run_no_right_answer(patch, folder):
    patch.setitem(sandbox.TRIAL, 'checks', ['assert False, "no"'])
    return 'wrong: no'


def start_no_process(patch, folder):
    def fail(*_, **__):
        raise OSError('too many processes')

    patch.setattr(sandbox.subprocess, 'Popen', fail)
    return 'too many processes'


FAULTS = [
    pytest.param(leave_out_python, marks=needs_namespaces),
    pytest.param(hide_python, marks=needs_namespaces),
    pytest.param(keep_what_is_not_there, marks=needs_namespaces),
    break_the_runner,
    break_the_guard,
    end_before_the_answer,
    take_too_long,
    take_too_much,
    run_no_right_answer,
    start_no_process,
]


@pytest.mark.parametrize('fault', FAULTS, ids=lambda fault: fault.__name__)
def test_where_the_sandbox_fails_nobody_has_a_verdict(
    fault, open_folder, tmp_path, monkeypatch
):
    """Nor is there anything new in the folder of the results."""
    sandbox.can_isolate()  # as it was before the fault
    submissions, out = tmp_path / 'handed in', open_folder / 'grades'
    hand_in(submissions)
    (tmp_path / 'chapters').mkdir()
    nbformat.write(
        notebook(solution=True), tmp_path / 'chapters' / '99_small.ipynb'
    )
    line = ['grade', str(submissions), '--out', str(out), '--jobs', '2']
    line += ['--chapters', str(tmp_path / 'chapters')]
    monkeypatch.setattr(sys, 'argv', line)
    monkeypatch.setattr(
        grading, 'SECRET_FOLDERS', [open_folder, *grading.SECRET_FOLDERS]
    )
    with monkeypatch.context() as patch:
        wanted = fault(patch, tmp_path)
        with pytest.raises(SystemExit) as stopped:
            command.main()
    said = str(stopped.value)
    assert 'the sandbox for answers has failed' in said and wanted in said
    assert 'What to do' in said and 'No answer has a verdict' in said
    assert not out.exists()
    command.main()  # without the fault
    before = {path: path.read_bytes() for path in files_in(out)}
    with open(out / 'grades.csv', newline='') as file:
        rows = {row['student']: row['verdict'] for row in csv.DictReader(file)}
    assert rows == {name: verdict for name, (_, verdict) in ANSWERS.items()}
    with monkeypatch.context() as patch:
        fault(patch, tmp_path)
        with pytest.raises(SystemExit):
            command.main()
    assert before == {path: path.read_bytes() for path in files_in(out)}


def files_in(folder):
    return sorted(path for path in folder.rglob('*') if path.is_file())


def test_a_process_that_an_answer_spoiled_is_no_error_of_the_sandbox():
    kept = sandbox.Kept()
    try:
        for _ in range(2):
            (found,) = run_answers([], [RIGHT], 20, 1500, kept=kept).values()
            assert found[:2] == ('passed', '')
            (parent,) = kept.idle
            sandbox.end(parent.members())
            parent.process.kill()
            parent.process.wait()
    finally:
        kept.close()


def test_an_answer_that_ends_its_process_is_no_error_of_the_sandbox():
    answer = {**RIGHT, 'sources': ['import os\nos._exit(0)']}
    (found,) = run_answers([], [answer], 20, 1500).values()
    assert found[:2] == (
        'stopped',
        'it ended the process before its check',
    )


def test_an_error_says_what_failed_and_what_to_do():
    error = SandboxError('mount: no', 'mount it')
    assert str(error).splitlines() == [
        'the sandbox for answers has failed: mount: no',
        'What to do: mount it.',
    ]


@pytest.mark.parametrize('has_begun', [True, False])
def test_what_an_answer_takes_at_once_is_not_the_books_fault(has_begun):
    """Its processes may be seen before the line that says it has begun is."""
    reading, writing = os.pipe()
    job = {'secret': 'key', 'seconds': 20, 'flags': []}
    too_many = [None] * (sandbox.MAX_PROCESSES + 1)
    with open(reading, 'rb', buffering=0) as pipe, open(writing, 'wb') as end:
        if has_begun:
            end.write(b'["key", "", ""]\n')
            end.flush()
            found = sandbox.read_result(pipe, None, lambda: too_many, job, 100)
            assert found[0] == 'stopped'
        else:
            with pytest.raises(SandboxError, match="with the book's own cell"):
                sandbox.read_result(pipe, None, lambda: too_many, job, 100)
