"""Environments in which a launcher is seldom tried: the job runs, or a line
says why it cannot. No traceback is ours, and nothing is left behind."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import psutil
import pytest
from helpers import JOIN, left_behind, wait_until

import d2lrun

pytestmark = [
    pytest.mark.timeout(90),
    pytest.mark.skipif(sys.platform != 'linux', reason='as Linux does it'),
]

SCRIPT = (
    JOIN
    + """
os.write(1, b'\\xc3\\xa9 \\xff\\n')
print('the end', *step(), flush=True)
"""
)
OURS = re.compile('File ".*/(d2lrun|d2lbase)/.*')  # in a traceback
# What a shell does before it runs the job, "$@", in an empty folder; and
# whether the job then runs, as it always does if True.
ENVIRONMENTS = {
    'no standard input': ('"$@" <&-', True),
    'no standard output': ('"$@" >&-', True),
    'no standard error': ('"$@" 2>&-', True),
    'no streams': ('"$@" <&- >&- 2>&-', True),
    'output on a full disk': ('"$@" > /dev/full', False),
    'errors on a full disk': ('"$@" 2> /dev/full', True),
    'output that nobody reads': ('"$@" | true; exec true', False),
    'no HOME': ('unset HOME; "$@"', True),
    'no such HOME': ('HOME=/none "$@"', True),
    'a HOME that cannot be written': ('HOME=/sys "$@"', True),
    'no TERM': ('unset TERM; "$@"', True),
    'LANG=C': (
        'LANG=C LC_ALL=C PYTHONUTF8=0 PYTHONCOERCECLOCALE=0 "$@"',
        True,
    ),
    'ASCII': ('PYTHONIOENCODING=ascii "$@"', True),
    'an unknown locale': ('LANG=xx_YY LC_ALL=xx_YY "$@"', True),
    'no TMPDIR': ('TMPDIR=/none "$@"', True),
    'a TMPDIR that cannot be written': ('TMPDIR=/sys "$@"', True),
    'a file for TMPDIR': ('TMPDIR=/dev/null "$@"', True),
    'a deleted folder': ('mkdir gone; cd gone; rmdir ../gone; "$@"', False),
    'few variables': ('env -i PYTHONPATH="$PYTHONPATH" "$@"', True),
    'an empty PATH': ('PATH= "$@"', True),
    'few processes': ('ulimit -u 40; "$@"', False),
    'hardly a process': ('ulimit -u 3; "$@"', False),
    '40 descriptors': ('ulimit -n 40; "$@"', True),
    '20 descriptors': ('ulimit -n 20; "$@"', False),
    '8 descriptors': ('ulimit -n 8; "$@"', False),
    'no files': ('ulimit -f 0; "$@"', False),
    'little memory': ('ulimit -v 400000; "$@"', False),
    'hardly memory': ('ulimit -v 60000; "$@"', False),
    'little processor time': ('ulimit -t 1; "$@"', False),
    'a mask that takes all': ('umask 0777; "$@"', True),
    'a mask that takes nothing': ('umask 0; "$@"', True),
    'no signals of children': ('trap \'\' CHLD; "$@"', True),
    'no signals to end': ('trap \'\' TERM HUP INT PIPE; "$@"', True),
    'no terminal': ('setsid -w "$@"', True),
    'the lowest priority': ('nice -n 19 "$@"', True),
    'warnings are errors': ('PYTHONWARNINGS=error "$@"', True),
    'the development mode': ('PYTHONDEVMODE=1 "$@"', True),
    'no assertions, no docstrings': ('PYTHONOPTIMIZE=2 "$@"', True),
    'hashes of one seed': ('PYTHONHASHSEED=0 "$@"', True),
}


NOBODY = 65534
AS_NOBODY = 'setpriv', f'--reuid={NOBODY}', f'--regid={NOBODY}'


def as_user():
    """Return what runs a command without root's rights, and a Python that
    may be run so."""
    if os.getuid():
        return [], sys.executable
    command = [*AS_NOBODY, '--clear-groups']
    version = f'/usr/bin/python3.{sys.version_info[1]}'
    for python in sys.executable, version:  # a shell has no rights of root
        if not subprocess.call([*command, 'sh', '-c', f'"{python}" -c ""']):
            return command, python
    pytest.skip('no Python that another user may run')


@pytest.fixture
def folder():
    """Return an empty folder that any user may open."""
    path = pathlib.Path(tempfile.mkdtemp(dir='/tmp', prefix='of a user '))
    path.chmod(0o777)
    (path / 'script.py').write_text(SCRIPT, encoding='utf-8')
    yield path
    shutil.rmtree(path)


def left_folders():
    """Return the folders of agents that are gone."""
    return [
        path
        for place in ('/tmp', '/dev/shm')
        for path in pathlib.Path(place).glob('d2lrun-*-*')
        if not psutil.pid_exists(int(path.name.split('-')[1]))
        and path.stat().st_uid == (os.getuid() or NOBODY)
    ]


# Its limit counts the processes of other tests, too.
CASES = [
    pytest.param(case, marks=[pytest.mark.long] * (case == 'few processes'))
    for case in ENVIRONMENTS
]


@pytest.mark.parametrize('case', CASES)
def test_no_traceback_of_ours_and_nothing_left(folder, stand_in_path, case):
    shell, runs = ENVIRONMENTS[case]
    user, python = as_user()
    path = [stand_in_path, d2lrun.__path__[0], psutil.__path__[0]]
    path[1:] = [os.path.dirname(package) for package in path[1:]]
    before = left_folders()
    ended = subprocess.run(
        [
            *(*user, 'bash', '-c', shell, 'bash'),
            *(python, '-m', 'd2lrun', '--startup-timeout', '20'),
            *('--timeout', '40', folder / 'script.py'),
        ],
        cwd=folder,
        env={
            **os.environ,
            'PYTHONPATH': os.pathsep.join(path),
            'D2LMULTI_TEST': str(folder),
        },
        text=True,
        capture_output=True,
        timeout=80,
    )
    printed = ended.stdout + ended.stderr
    print(ended.returncode, printed)
    assert not OURS.search(printed)
    if runs:
        assert ended.returncode == 0
        assert '>' in shell or printed.count('the end 2.0 2.0 2.0') == 2
    else:
        assert ended.returncode == 0 or 'error: ' in printed
    wait_until(lambda: not left_behind(folder))
    assert left_folders() == before
