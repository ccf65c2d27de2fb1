"""The set-up: which Python it takes, what the locks pin, what it refuses."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile

import pytest
from packaging.requirements import Requirement

from d2lmulti.prepare import cuda

try:
    import tomllib
except ImportError:  # before Python 3.11; pytest needs it, too
    import tomli as tomllib

ROOT = pathlib.Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']
EXTRAS = PROJECT['optional-dependencies']
OLDEST, NEWEST = 8, 14  # Python 3.8 to 3.14
EVERY_PYTHON = [f'3.{minor}' for minor in range(OLDEST, NEWEST + 1)]


def pins(lines, python):
    """Return {package: version} of the exact pins for a Python."""
    versions = {}
    machine = {
        'python_version': python,
        'python_full_version': f'{python}.0',
        'sys_platform': 'linux',
        'platform_system': 'Linux',
        'platform_machine': 'x86_64',
    }
    for requirement in map(Requirement, lines):
        marker, version = requirement.marker, str(requirement.specifier)
        if version.startswith('==') and (
            not marker or marker.evaluate(machine)
        ):
            assert requirement.name not in versions, requirement
            versions[requirement.name] = version[2:]
    return versions


def pins_of(extra, python='3.11'):
    """Return what pyproject.toml pins for an extra."""
    return pins([*PROJECT['dependencies'], *EXTRAS[extra]], python)


def locked(build, python='3.11'):
    """Return what the lock of a build pins."""
    text = (ROOT / 'tools/setup/locks' / f'{build}.txt').read_text()
    lines = re.findall(r'^[\w.-]+==[^\\\n]+', text, flags=re.MULTILINE)
    return pins(lines, python)


@pytest.mark.parametrize(
    'build, mxnet',
    [('cpu', 'mxnet'), ('gpu', 'mxnet-cu112')],
)
@pytest.mark.parametrize('python', ['3.8', '3.9', '3.10', '3.11'])
def test_the_locks_agree_with_the_extras_and_with_each_other(
    build, mxnet, python
):
    wanted, lock = pins_of(build, python), locked(build, python)
    assert mxnet in wanted and 'd2l' in wanted
    assert {name: lock.get(name) for name in wanted} == wanted
    assert [name for name in lock if name.startswith('mxnet')] == [mxnet]
    for others in locked('cpu', python), locked('dev', python):
        assert not {
            name: (version, others[name])
            for name, version in lock.items()
            if name != 'mxnet' and others.get(name, version) != version
        }


@pytest.mark.parametrize('python', EVERY_PYTHON)
def test_every_python_gets_mxnet_and_d2l_and_the_numpy_that_it_has(python):
    lock = locked('cpu', python)
    assert lock['mxnet'] == '1.9.1' and lock['d2l'] == '1.0.3'
    numpy = {'3.12': '1.26.'}.get(
        python, '1.23.5' if int(python[2:]) < 12 else '2.'
    )
    assert lock['numpy'].startswith(numpy)


def test_the_wheel_is_for_the_pythons_that_the_set_up_takes():
    wanted = PROJECT['requires-python']
    assert wanted == f'>=3.{OLDEST},<3.{NEWEST + 1}'


def test_every_cuda_library_comes_with_the_gpu_extra():
    assert set(cuda.MXNET_LIBRARIES.values()) <= set(pins_of('gpu'))


def test_the_conda_file_takes_all_versions_from_the_extras():
    lines = [
        line.split('#')[0].strip()
        for line in (ROOT / 'environment.yml').read_text().splitlines()
    ]
    packages = [line[2:] for line in lines[lines.index('- pip:') + 1 :]]
    assert '- python=3.11' in lines
    assert "MALLOC_ARENA_MAX: '1'" in lines
    assert packages == [
        '-e ./samestep',
        '-e .[gpu,lab]',
        'mxnet-cu112',
        'd2l',
        'matplotlib',
        'jupyter',
        'nbval',
        'mpi4py',
        'mpich',
    ]
    assert set(packages[2:]) - {'jupyter'} <= {*locked('gpu'), *locked('dev')}


# Plays uv and the Python that it puts into an environment. What is called
# with $FAILS says $SAYS and fails; what is called with $HOLDS waits until
# something is written to the pipe `go`.
FAKE = """#!/bin/sh
case "$*" in *"${HOLDS:-nothing}"*) echo >held; read -r line <go ;; esac
case "$*" in *"${FAILS:-nothing}"*) echo "$SAYS"; exit 1 ;; esac
case "$*" in
    'venv '*) for venv; do :; done
        mkdir -p $venv/bin && cp "$0" $venv/bin/python && env >$venv/env ;;
    *d2lmulti*) : "${HOME:?is not set}" ;;
    *platform*) echo "${MACHINE:-Linux x86_64}" ;;
    *version_info*) exit ${UNFIT:-0} ;;
    --version) echo "${0##*/} 0.9" ;;
esac
"""
OFFLINE = 'error sending request for url'
NOT_KNOWN = 'invalid peer certificate: UnknownIssuer'
STEPS = ['venv --relocatable', 'pip sync', '-e .', 'import d2lmulti']


@pytest.fixture
def clone(tmp_path):
    """A folder with what the set-up reads, and a uv that is made up."""
    folder = tmp_path / 'clone'
    folder.mkdir()
    shutil.copytree(ROOT / 'tools/setup', folder / 'tools/setup')
    for part in ('', 'samestep', 'numpy_mxnet'):
        name = pathlib.Path(part, 'pyproject.toml')
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (tmp_path / 'bin').mkdir()
    play(folder, 'uv', FAKE)
    os.mkfifo(folder / 'held')
    os.mkfifo(folder / 'go')
    return folder


def play(clone, name, script):
    """Put a program first on PATH."""
    path = clone.parent / 'bin' / name
    path.write_text(script)
    path.chmod(0o755)
    return path


STARTED = []  # process groups, since a set-up that ends may leave others


@pytest.fixture(autouse=True)
def end_all():
    """Leave no process behind if a test fails."""
    yield
    while STARTED:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(STARTED.pop(), signal.SIGKILL)


def heed_signals():
    """Undo what `nohup` and `&` do: a shell cannot trap what is ignored."""
    for number in (signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)


def start(clone, *words, **variables):
    """Start `make env`; a variable that is None is not set."""
    path = f'{clone.parent / "bin"}:/usr/bin:/bin'
    variables = {'PATH': path, 'HOME': str(clone.parent), **variables}
    process = subprocess.Popen(
        ['sh', 'tools/setup/install.sh', *words],
        cwd=clone,
        env={k: v for k, v in variables.items() if v is not None},
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=heed_signals,
    )
    STARTED.append(process.pid)
    return process


def end(process):
    """Return the exit status of `make env`, and what it prints."""
    printed, said = process.communicate(timeout=60)
    return process.returncode, printed, said


def assert_sets_up(clone, **variables):
    status, printed, said = end(start(clone, **variables))
    assert (status, said) == (0, '')
    assert printed.startswith('Setting up .venv')
    assert 'Done: .venv has' in printed


def assert_is_refused(clone, message, **variables):
    status, _, said = end(start(clone, **variables))
    assert status == 1
    assert said.count('\n') == 1 and message in said


@pytest.mark.parametrize(
    'fails, says, message',
    [
        ('venv', 'No space left on device (os error 28)', 'make room for'),
        ('venv', 'No interpreter found for Python', 'PYTHON to its path'),
        ('pip sync', OFFLINE, 'connect to the network'),
        ('pip sync', f'{OFFLINE}: {NOT_KNOWN}', 'SSL_CERT_FILE'),
        ('pip sync', f'{NOT_KNOWN[:-13]}: certificate expired', 'the clock'),
        ('pip sync', 'No solution found when', 'a full mirror of PyPI'),
        (
            'pip sync',
            'connection broken by ProxyError\nNo matching distribution',
            'connect to the network',
        ),
        (
            'import d2lmulti',
            'libmxnet.so: failed to map segment from shared object',
            'move it to another disk',
        ),
        ('import d2lmulti', 'libgomp.so.1: cannot', 'apt install libgomp1'),
        ('import d2lmulti', 'libquadmath.so.0: no', 'install libquadmath0'),
        ('import d2lmulti', 'something else', 'see the end of .venv-setup'),
    ],
)
def test_what_goes_wrong_is_one_line_that_names_the_fix(
    fails, says, message, clone
):
    assert_is_refused(clone, message, FAILS=fails, SAYS=says)


@pytest.mark.parametrize(
    'variables, message',
    [
        ({'UNFIT': '1'}, 'needs Python 3.8 to 3.14'),
        ({'UNFIT': '1', 'BUILD': 'gpu'}, 'needs Python 3.8 to 3.11'),
        ({'MACHINE': 'Darwin arm64', 'BUILD': 'gpu'}, 'gpu is for Linux'),
        ({'BUILD': 'none'}, 'cpu, gpu or frameworks'),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(variables, message, clone):
    (clone / '.venv-gpu').symlink_to('.venv')
    assert_is_refused(clone, message, **variables)


@pytest.mark.parametrize('machine', ['Darwin arm64', 'Linux aarch64'])
def test_the_stand_in_is_installed_where_mxnet_has_no_package(machine, clone):
    _, printed, _ = end(start(clone, MACHINE=machine))
    assert f'no package for {machine}: numpy_mxnet' in printed


@pytest.mark.parametrize('name', ['a$b', 'a:b'])
def test_a_path_that_pip_does_not_take_is_refused_at_once(name, clone):
    clone.rename(clone.parent / name)
    clone.symlink_to(name)
    assert_is_refused(clone, 'rename the folder')
    assert not (clone / '.venv-setup.log').exists()


def test_a_full_disk_is_found_though_the_log_is_empty(clone):
    play(clone, 'df', 'echo Free; echo tmpfs 60000 59992 8 100% /')
    assert_is_refused(clone, 'the disk is full', FAILS='venv')


def test_a_folder_without_permission_to_write_is_one_line(clone):
    with tempfile.TemporaryDirectory() as folder:
        (clone / 'held').unlink()
        (clone / 'go').unlink()
        shutil.copytree(clone, folder, dirs_exist_ok=True)
        os.chmod(folder, 0o555)
        root = os.getuid() == 0
        process = subprocess.run(
            ['sh', f'{folder}/tools/setup/install.sh'],
            env={'PATH': '/usr/bin:/bin'},
            preexec_fn=(lambda: os.setuid(65534)) if root else None,
            text=True,
            capture_output=True,
        )
        os.chmod(folder, 0o755)
    assert process.returncode == 1
    assert process.stderr.count('\n') == 1
    assert 'cannot write to .venv-setup.log' in process.stderr
    assert 'clone into a folder that you can write to' in process.stderr


def test_without_uv_it_says_what_can_fetch_it(clone):
    play(clone, 'uv', 'exit 1')
    play(clone, 'python3', 'exit 1')  # as Debian's without python3-venv
    assert_is_refused(clone, 'python3-venv')


# One set-up at a time, and each can be repeated.


def start_and_hold(clone, step):
    """Start a set-up, and return when it is amid this step."""
    process = start(clone, HOLDS=step)
    (clone / 'held').read_text()
    return process


@pytest.mark.parametrize('step', STEPS)
def test_a_second_set_up_waits_for_the_first(step, clone):
    first = start_and_hold(clone, step)
    second = start(clone)
    assert second.stdout.readline().endswith('is running: waiting\n')
    (clone / 'go').write_text('go on\n')
    assert end(first)[::2] == (0, '')
    assert end(second) == (0, 'Done: .venv is set up\n', '')


@pytest.mark.parametrize('name', ['HUP', 'INT', 'TERM', 'KILL'])
@pytest.mark.parametrize('step', STEPS)
def test_an_interrupted_set_up_ends_at_once_and_can_be_repeated(
    name, step, clone
):
    process = start_and_hold(clone, step)
    os.killpg(process.pid, getattr(signal, f'SIG{name}'))
    status, _, said = end(process)
    if name != 'KILL':
        assert status == 1
        assert said == 'interrupted: run `make env` again\n'
    assert_sets_up(clone)


def test_variables_that_are_meant_for_other_environments_are_not_passed_on(
    clone,
):
    elsewhere = str(clone / 'elsewhere')
    misleading = dict.fromkeys(
        'PYTHONHOME PYTHONPATH VIRTUAL_ENV PIP_TARGET PIP_REQUIRE_HASHES '
        'UV_REQUIRE_HASHES UV_EXCLUDE_NEWER CDPATH'.split(),
        elsewhere,
    )
    (clone / 'elsewhere/tools/setup').mkdir(parents=True)
    kept = {'PIP_INDEX_URL': 'https://example.org', 'UV_OFFLINE': '1'}
    assert_sets_up(clone, **misleading, **kept)
    seen = (clone / '.venv/env').read_text()
    assert elsewhere not in seen
    assert 'UV_INDEX_URL=https://example.org\nUV_OFFLINE=1' in '\n'.join(
        sorted(seen.split('\n'))
    )


def test_what_tests_need_is_added_once_and_only_if_asked_for(clone):
    def add():
        return end(start(clone, 'dev'))[:2]

    assert_sets_up(clone)
    assert not (clone / '.venv/dev').exists()
    status, printed = add()
    assert status == 0 and printed.startswith('Adding to .venv')
    assert add() == end(start(clone))[:2] == (0, '')
    (clone / '.venv/stamp').unlink()
    assert_sets_up(clone)
    assert add() == (0, printed)


def test_what_fails_to_be_added_is_said_and_can_be_repeated(clone):
    assert_sets_up(clone)
    process = start(clone, 'dev', FAILS='pip install', SAYS=OFFLINE)
    status, _, said = end(process)
    assert status == 1 and 'and run `make dev` again' in said
    assert end(start(clone, 'dev'))[0] == 0


@pytest.mark.parametrize('home', [None, '/none'])
def test_no_home_is_needed(home, clone):
    assert_sets_up(clone, HOME=home, TMPDIR='/none')
    seen = (clone / '.venv/env').read_text().splitlines()
    assert f'HOME={clone}' in seen and 'TMPDIR=/none' not in seen


def test_another_python_is_set_up_and_stays_until_one_asks_for_another(clone):
    assert_sets_up(clone)
    assert_sets_up(clone, PYTHON='3.12')
    assert end(start(clone, PYTHON='3.12')) == (0, '', '')
    assert end(start(clone)) == (0, '', '')
    assert_sets_up(clone, PYTHON='3.13')


def break_the_python(venv):
    (venv / 'bin/python').write_text('exit 1')


def break_the_link(venv):
    (venv / 'bin/python').unlink()
    (venv / 'bin/python').symlink_to('none')


def spoil_the_stamp(venv):
    (venv / 'stamp').write_bytes(bytes(range(256)))


def replace_by_a_file(venv):
    shutil.rmtree(venv)
    venv.write_text('not a folder')


@pytest.mark.parametrize(
    'damage',
    [break_the_python, break_the_link, spoil_the_stamp, replace_by_a_file],
)
def test_a_damaged_environment_is_set_up_again(damage, clone):
    assert_sets_up(clone)
    assert end(start(clone)) == (0, '', '')
    damage(clone / '.venv')
    assert_sets_up(clone)


def test_an_environment_that_was_moved_or_copied_works(tmp_path):
    """The copy has links to the packages, but its own .pth files."""
    packages = pathlib.Path(sysconfig.get_path('purelib'))
    site = tmp_path / '.venv' / packages.relative_to(sys.prefix)
    site.mkdir(parents=True)
    for path in packages.iterdir():
        if path.suffix == '.pth':
            shutil.copy(path, site)
        else:
            (site / path.name).symlink_to(path)
    python = tmp_path / '.venv/bin/python'
    python.parent.mkdir()
    python.symlink_to(os.path.realpath(sys.executable))
    shutil.copy(pathlib.Path(sys.prefix, 'pyvenv.cfg'), tmp_path / '.venv')
    names = ['d2lmulti', 'samestep', 'd2ldoctor']
    for name, folder in zip(names, ['', 'samestep/src', 'tools/setup']):
        (tmp_path / folder / name).mkdir(parents=True)
        (tmp_path / folder / name / '__init__.py').touch()
    program = '\n'.join(f'import {n}; print({n}.__file__)' for n in names)
    printed = subprocess.run(
        [python, '-c', program], cwd='/', text=True, stdout=subprocess.PIPE
    ).stdout.splitlines()
    assert len(printed) == 3
    assert all(path.startswith(str(tmp_path)) for path in printed)
    kernels = pathlib.Path(sys.prefix, 'share/jupyter/kernels')
    spec = json.loads((kernels / 'python3/kernel.json').read_text())
    assert spec['argv'][0] == 'python'
    assert spec['env'] == {'MALLOC_ARENA_MAX': '1'}


def test_what_an_interrupted_removal_leaves_is_not_taken_for_complete(clone):
    assert_sets_up(clone)
    rm = play(
        clone,
        'rm',
        'case $2 in */stamp) /bin/rm "$1" "$2" ;; esac; exit 1',
    )
    assert_is_refused(clone, 'cannot remove .venv', PYTHON='3.12')
    rm.unlink()
    assert_sets_up(clone)
