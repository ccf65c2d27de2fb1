"""The set-up: which Python it takes, what the locks pin, what it refuses."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
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
    found = {}
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
            assert requirement.name not in found, requirement
            found[requirement.name] = version[2:]
    return found


def pins_of(extra, python='3.11'):
    """Return what pyproject.toml pins for an extra."""
    return pins([*PROJECT['dependencies'], *EXTRAS[extra]], python)


def locked(build, python='3.11'):
    """Return what the lock of a build pins."""
    text = (ROOT / 'tools/setup' / f'{build}.txt').read_text()
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
    others = locked('cpu', python)
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
        '-e .[gpu,dev]',
        'mxnet-cu112',
        'd2l',
        'matplotlib',
        'jupyter',
        'nbval',
        'mpi4py',
        'mpich',
    ]
    assert set(packages[2:]) <= set(locked('gpu'))


# Plays a Python on $MACHINE, which says $SAYS and fails at $FAILS. At $HOLDS
# it waits until something is written to the pipe `go`.
FAKE = """#!/bin/sh
case "$*" in
    *fcntl*) exec {real} "$@" ;;
    *ipykernel*) : "${{HOME:?is not set}}" ;;
    *"${{HOLDS:-nothing}}"*) echo >held; read -r line <go ;;
esac
case "$*" in
    *version_info*) echo "{version} $0"; exit ;;
    *platform*) echo "${{MACHINE:-Linux x86_64}}"; exit ;;
    *"${{FAILS:-ensurepip}}"*) echo "$SAYS"; exit 1 ;;
    '-m venv '*) mkdir -p "$3/bin" "$3/lib/python3/site-packages/numpy" &&
        cp "$0" "$3/bin/python" && env >"$3/env" ;;
esac
"""


@pytest.fixture
def clone(tmp_path):
    """A folder with what the set-up reads, and nothing else on PATH but
    Pythons that are made up, the folder `bin`, and the system's tools."""
    (tmp_path / 'clone').mkdir()
    shutil.copytree(ROOT / 'tools/setup', tmp_path / 'clone/tools/setup')
    for name in ('pyproject.toml', 'samestep/pyproject.toml'):
        (tmp_path / 'clone' / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / 'clone' / name)
    (tmp_path / 'bin').mkdir()
    add_python(tmp_path, '3.7.9', 'python3')  # not those of this machine
    add_python(tmp_path, '2.7.18', 'python')
    add_python(tmp_path, '', 'uv')
    for minor in range(OLDEST, NEWEST + 1):
        add_python(tmp_path, '', f'python3.{minor}')
    return tmp_path


def add_python(clone, version, name=None):
    """Put a Python first on PATH; without a version, it does not run."""
    name = name or f'python{version.rpartition(".")[0]}'
    path = clone / 'bin' / name
    fake = FAKE.format(version=version, real=sys.executable)
    path.write_text(fake if version else 'exit 1')
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


def start(clone, **variables):
    """Start `make env`; a variable that is None is not set."""
    path = f'{clone / "bin"}:/usr/bin:/bin'
    variables = {'PATH': path, 'HOME': str(clone), **variables}
    process = subprocess.Popen(
        ['sh', 'tools/setup/install.sh'],
        cwd=clone / 'clone',
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


def set_up(clone, **variables):
    """Return what `make env` prints on stderr; it must fail."""
    status, _, said = end(start(clone, **variables))
    assert status == 1
    return said


@pytest.mark.parametrize(
    'build, versions, taken',
    [
        ('cpu', '3.8.20 3.11.2 3.13.5 3.15.0', '3.13'),
        ('cpu', '3.8.20 3.15.0', '3.8'),
        ('cpu', '3.9.1 3.14.0', '3.14'),
        ('gpu', '3.9.1 3.12.1 3.14.0', '3.9'),
        ('frameworks', '3.9.1 3.10.1 3.13.5', '3.10'),
    ],
)
def test_it_takes_the_newest_python_that_the_build_runs_on(
    build, versions, taken, clone
):
    for version in versions.split():
        add_python(clone, version)
    said = set_up(clone, BUILD=build)
    assert said.count('\n') == 1
    assert f'python{taken} cannot make virtual environments' in said
    assert f'apt install python{taken}-venv' in said


@pytest.mark.parametrize(
    'version, build, newest',
    [
        ('3.7.16', 'cpu', '3.14'),
        ('3.15.0', 'cpu', '3.14'),
        ('3.12.1', 'gpu', '3.11'),
    ],
)
def test_another_python_is_refused_in_one_line(version, build, newest, clone):
    python = str(add_python(clone, version))
    said = set_up(clone, PYTHON=python, BUILD=build)
    assert said.count('\n') == 1
    assert f'needs Python 3.8 to {newest}, found {version} ({python})' in said
    assert '`uv python install 3.11`' in said


def test_another_machine_is_refused_in_one_line(clone):
    add_python(clone, '3.13.5')
    said = set_up(clone, MACHINE='Darwin arm64')
    assert said.count('\n') == 1
    assert 'no package for Darwin arm64' in said and 'Docker' in said


@pytest.mark.parametrize(
    'fails, says, message',
    [
        ('-m venv', '[Errno 28] No space left on device', 'make room for'),
        ('-m pip', 'Retrying (Retry(total=0)) after', 'connect to the net'),
        ('import d2lmulti', 'libgomp.so.1: cannot', 'apt install libgomp1'),
        ('import d2lmulti', 'libquadmath.so.0: no', 'install libquadmath0'),
        ('import d2lmulti', 'something else', 'see the end of .venv-setup'),
    ],
)
def test_what_goes_wrong_is_one_line_that_names_the_fix(
    fails, says, message, clone
):
    add_python(clone, '3.13.5')
    said = set_up(clone, FAILS=fails, SAYS=says)
    assert said.count('\n') == 1 and message in said


@pytest.mark.parametrize('name', ['a$b', 'a:b'])
def test_a_path_that_pip_does_not_take_is_refused_at_once(name, clone):
    add_python(clone, '3.13.5')
    (clone / 'clone').rename(clone / name)
    (clone / 'clone').symlink_to(name)
    said = set_up(clone)
    assert said.count('\n') == 1 and 'rename the folder' in said
    assert not (clone / name / '.venv-setup.log').exists()


def test_a_full_disk_is_found_though_the_log_is_empty(clone):
    add_python(clone, '3.13.5')
    df = add_python(clone, '', 'df')
    df.write_text('echo Free; echo tmpfs 60000 59992 8 100% /')
    said = set_up(clone, FAILS='-m venv')
    assert said.count('\n') == 1 and 'the disk is full' in said


# One set-up at a time, and each can be repeated.


STEPS = ['tools/setup/uv.txt', 'tools/setup/cpu.txt', 'import d2lmulti']


@pytest.fixture
def works(clone):
    """A folder in which the set-up works."""
    add_python(clone, '3.13.5')
    add_python(clone, '', 'sleep').write_text('exec /bin/sleep 0.05')
    os.mkfifo(clone / 'clone/held')
    os.mkfifo(clone / 'clone/go')
    return clone


def start_and_hold(works, step):
    """Start a set-up, and return when it is amid this step."""
    process = start(works, FAILS='no step', HOLDS=step)
    (works / 'clone/held').read_text()
    return process


def let_go(works):
    """Let the set-up go on that is held."""
    (works / 'clone/go').write_text('go on\n')


def assert_sets_up(works, **variables):
    status, printed, said = end(start(works, FAILS='no step', **variables))
    assert (status, said) == (0, '')
    assert printed.startswith('Setting up .venv')
    assert 'Done: .venv' in printed


@pytest.mark.parametrize('step', STEPS)
@pytest.mark.parametrize('flock', [True, False])
def test_a_second_set_up_says_for_what_it_waits(step, flock, works):
    if not flock:  # as on macOS, where a Python locks
        add_python(works, '', 'flock').write_text('exit 127')
    first = start_and_hold(works, step)
    second = start(works, FAILS='no step')
    assert second.stdout.readline() == (
        f'another `make env` is setting up .venv (process {first.pid}): '
        'waiting\n'
    )
    let_go(works)
    assert end(first)[::2] == (0, '')
    assert end(second) == (0, 'Done: .venv is set up\n', '')


def test_if_the_first_set_up_fails_the_second_does_it(works):
    first = start_and_hold(works, 'tools/setup/cpu.txt')
    second = start(works, FAILS='no step')
    second.stdout.readline()
    first.terminate()
    assert end(first)[0] == 1
    status, printed, said = end(second)
    assert (status, said) == (0, '') and 'Done: .venv has' in printed


def test_waiting_has_an_end(works):
    first = start_and_hold(works, 'tools/setup/cpu.txt')
    add_python(works, '', 'sleep').write_text('exit 0')
    said = set_up(works)
    assert said.count('\n') == 1 and f'(process {first.pid})' in said
    first.terminate()
    end(first)


@pytest.mark.parametrize('name', ['HUP', 'INT', 'TERM'])
@pytest.mark.parametrize('step', STEPS)
def test_an_interrupted_set_up_ends_at_once_and_can_be_repeated(
    name, step, works
):
    process = start_and_hold(works, step)
    process.send_signal(getattr(signal, f'SIG{name}'))
    status, _, said = end(process)
    assert status == 1
    assert said == 'interrupted: run `make env` again\n'
    assert_sets_up(works)


def test_a_killed_set_up_leaves_no_lock(works):
    process = start_and_hold(works, 'tools/setup/cpu.txt')
    os.killpg(process.pid, signal.SIGKILL)
    end(process)
    assert_sets_up(works)


def test_what_a_killed_set_up_left_running_is_waited_for(works):
    process = start_and_hold(works, 'tools/setup/cpu.txt')
    process.kill()
    process.wait()
    second = start(works, FAILS='no step')
    assert second.stdout.readline().endswith(': waiting\n')
    let_go(works)
    status, printed, said = end(second)
    assert (status, said) == (0, '') and 'Done: .venv has' in printed
    process.communicate()


def test_a_folder_without_permission_to_write_is_one_line(clone):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(clone / 'clone', folder, dirs_exist_ok=True)
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
    assert 'cannot write to .venv-setup.log (' in process.stderr
    assert 'clone into a folder that you can write to' in process.stderr


def test_variables_that_are_meant_for_other_environments_are_not_passed_on(
    works,
):
    elsewhere = str(works / 'elsewhere')
    misleading = dict.fromkeys(
        'PYTHONHOME PYTHONPATH VIRTUAL_ENV PIP_TARGET PIP_REQUIRE_HASHES '
        'UV_REQUIRE_HASHES UV_EXCLUDE_NEWER TMPDIR CDPATH'.split(),
        elsewhere,
    )
    (works / 'elsewhere/tools/setup').mkdir(parents=True)
    kept = {'PIP_INDEX_URL': 'https://example.org', 'UV_OFFLINE': '1'}
    misleading['TMPDIR'] += '/none'
    assert_sets_up(works, **misleading, **kept)
    seen = (works / 'clone/.venv/env').read_text()
    assert elsewhere not in seen
    assert all(f'{name}={value}\n' in seen for name, value in kept.items())


def test_no_home_is_needed(works):
    assert_sets_up(works, HOME=None)


def remove_a_package(venv):
    shutil.rmtree(venv / 'lib/python3/site-packages/numpy')


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
    [
        remove_a_package,
        break_the_python,
        break_the_link,
        spoil_the_stamp,
        replace_by_a_file,
    ],
)
def test_a_damaged_environment_is_set_up_again(damage, works):
    assert_sets_up(works)
    assert end(start(works)) == (0, '', '')
    damage(works / 'clone/.venv')
    assert_sets_up(works)


def test_a_folder_that_moves_is_set_up_again(works):
    assert_sets_up(works)
    (works / 'clone').rename(works / 'moved')
    (works / 'clone').symlink_to('moved')
    assert_sets_up(works)


def test_what_an_interrupted_removal_leaves_is_not_taken_for_complete(works):
    assert_sets_up(works)
    add_python(works, '3.12.1')
    rm = add_python(works, '', 'rm')
    rm.write_text('case $2 in */stamp) /bin/rm "$1" "$2" ;; esac; exit 1')
    said = set_up(works, PYTHON='python3.12', FAILS='no step')
    assert said.count('\n') == 1 and 'cannot remove .venv' in said
    rm.unlink()
    assert_sets_up(works)
