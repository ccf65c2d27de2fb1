"""`make grade` as the guide writes it, with its default output."""

import csv
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

import nbformat
import pytest
from small_class import ANSWERS, hand_in, notebook

from grading.__main__ import RAN_IN

ROOT = pathlib.Path(__file__).parents[2]
PARTS = ('Makefile', 'pyproject.toml', 'chapters', 'grading')
PATH = '/usr/local/bin:/usr/bin:/bin'


def python_for(user):
    """Return a Python that a user may run, and the folder of our packages;
    skip the test if there is none."""
    packages = sysconfig.get_paths()['purelib']
    beneath = os.path.realpath(sys.executable)
    version = 'python{}.{}'.format(*sys.version_info)
    for path in (beneath, shutil.which(version, path=PATH)):
        if path and can_import(path, packages, user):
            return path, packages
    pytest.skip(f'{user} may run neither {beneath} nor another {version}')


def can_import(path, packages, user):
    """Return whether a user's Python finds what the grader imports."""
    try:
        subprocess.run(
            [path, '-c', 'import jinja2, nbformat, psutil, tqdm'],
            env={'PYTHONPATH': packages},
            preexec_fn=become(user),
            stderr=subprocess.DEVNULL,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def become(user):
    """Return a function that makes a process a user's."""

    def change():
        if os.geteuid() == 0 and user != 'root':
            person = pwd.getpwnam(user)
            os.setgroups([])
            os.setgid(person.pw_gid)
            os.setuid(person.pw_uid)

    return change


@pytest.fixture
def clone():
    """Return the function that makes a clone of a user, with a class's
    answers in `handed-in`, a roster and a secret."""
    outside = pathlib.Path(tempfile.mkdtemp(prefix='grading '))
    outside.chmod(0o755)

    def make(user):
        python, packages = python_for(user)
        folder = outside / 'my clone'
        folder.mkdir()
        for part in PARTS:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            copy(ROOT / part, folder / part)
        (folder / 'notebooks').mkdir()
        ours = folder / 'notebooks' / '99_small.ipynb'
        nbformat.write(notebook(solution=True), ours)
        lib = (
            folder / '.venv' / 'lib' / 'python{}.{}'.format(*sys.version_info)
        )
        (folder / '.venv' / 'bin').mkdir(parents=True)
        lib.mkdir(parents=True)
        (folder / '.venv' / 'bin' / 'python').symlink_to(python)
        (lib / 'site-packages').symlink_to(packages)
        (folder / '.venv' / 'pyvenv.cfg').write_text(
            f'home = {pathlib.Path(python).parent}\n'
        )
        (folder / 'requirements').mkdir()  # tested elsewhere
        (folder / 'requirements' / 'install.sh').touch()
        hand_in(folder / 'handed-in')
        (folder / 'roster.csv').write_text('student,name\nann,Ann\nzoe,Zoe\n')
        (folder / 'secret.txt').write_text('very secret')
        if os.geteuid() == 0 and user != 'root':
            subprocess.run(['chown', '-R', user, outside], check=True)
        return folder

    yield make
    shutil.rmtree(outside)


def run(command, folder, user='root', path=PATH):
    """Run a line of the shell in a folder."""
    return subprocess.run(
        ['sh', '-c', command],
        cwd=folder,
        env={'PATH': path, 'HOME': str(folder), 'LANG': 'C.UTF-8'},
        preexec_fn=become(user),
        capture_output=True,
        text=True,
        timeout=200,
    )


def works_for(tool, *where):
    """Return whether a user may isolate answers: what root may says little
    of others."""
    code = f"from grading import sandbox; print(sandbox.works('{tool}'))"
    done = run(f'.venv/bin/python -c "{code}"', *where)
    assert done.returncode == 0, done.stderr
    return done.stdout == 'True\n'


def verdicts(folder):
    """Return {student: verdict} of a folder of results."""
    with open(folder / 'grades.csv', newline='') as file:
        return {row['student']: row['verdict'] for row in csv.DictReader(file)}


NOT_THERE = {
    'bubblewrap': [],
    'namespaces': ['bwrap'],
    '': ['bwrap', 'unshare'],
}
RIGHT = {student: verdict for student, (_, verdict) in ANSWERS.items()}


def commands_of_the_guide():
    """Return the lines with which the guide grades."""
    text = (ROOT / 'book' / 'teaching.md').read_text()
    return re.findall(
        r'^make grade SUBMISSIONS=(?:.*\\\n)*.*', text, re.MULTILINE
    )


def test_the_command_of_the_guide_grades_twice_in_a_row(clone):
    (command,) = commands_of_the_guide()
    folder = clone(pwd.getpwuid(os.geteuid()).pw_name)
    for _ in range(2):
        done = run(command, folder)
        assert done.returncode == 0, done.stderr
        assert verdicts(folder / 'build' / 'grades') == RIGHT
    table = (folder / 'build' / 'grades' / 'gradebook.csv').read_text()
    assert table.splitlines()[1:3] == ['ann,Ann,1,1,1,,', 'zoe,Zoe,0,1,0,,']


@pytest.mark.parametrize(
    ('user', 'tool'),
    [
        ('root', 'bubblewrap'),
        ('nobody', 'namespaces'),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in (
                *(('root', 'namespaces'), ('root', '')),
                *(('nobody', 'bubblewrap'), ('nobody', '')),
            )
        ),
    ],
)
def test_wherever_they_were_handed_in(user, tool, clone):
    """In the clone, in a folder that is hidden, outside, behind a link and in
    a zip, from the clone and from another folder."""
    own = pwd.getpwuid(os.geteuid()).pw_name
    if own != 'root':
        if user == 'root':
            pytest.skip(f'{own} cannot run as root')
        user = own
    folder = clone(user)
    outside = folder.parent
    hand_in(folder / 'build' / "week 1's")
    hand_in(outside / 'handed in')
    (folder / 'week 2').symlink_to(outside / 'handed in')
    shutil.make_archive(folder / 'all', 'zip', folder / 'handed-in')
    (outside / 'bin').mkdir()
    for name in NOT_THERE[tool]:
        (outside / 'bin' / name).write_text('#!/bin/sh\nexit 1\n')
        (outside / 'bin' / name).chmod(0o755)
    path = f'{outside}/bin:{PATH}'
    if own == 'root':
        subprocess.run(['chown', '-R', user, outside], check=True)
    for place, command in {
        'handed-in': 'make grade SUBMISSIONS=handed-in',
        'slash': 'make grade SUBMISSIONS=./handed-in/',
        'hidden': 'make grade SUBMISSIONS="build/week 1\'s"',
        'outside': 'make grade SUBMISSIONS="../handed in"',
        'link': 'make grade SUBMISSIONS="week 2"',
        'zip': 'make grade SUBMISSIONS=all.zip',
        'with them': "make grade SUBMISSIONS=handed-in ARGS='--out handed-in'",
        'around': "make grade SUBMISSIONS='build/week 1'\\''s' ARGS='--out .'",
        'elsewhere': f'cd / && make -C "{folder}" grade '
        f'SUBMISSIONS="{outside}/handed in"',
    }.items():
        out = {'with them': 'handed-in', 'around': '.'}
        out = folder / out.get(place, 'build/grades')
        (out / 'grades.csv').unlink(missing_ok=True)
        done = run(command, folder, user, path)
        assert done.returncode == 0, (place, done)
        assert verdicts(out) == RIGHT, (place, done)
        if not tool or works_for(tool, folder, user, path):
            assert RAN_IN[tool] in done.stderr
            assert RAN_IN[tool] in (out / 'index.html').read_text()
