"""The set-up: which Python it takes, what the locks pin, what it refuses."""

import pathlib
import re
import shutil
import subprocess

import pytest
from packaging.requirements import Requirement

from d2lrun import cuda

try:
    import tomllib
except ImportError:  # before Python 3.11; pytest needs it, too
    import tomli as tomllib

ROOT = pathlib.Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']
EXTRAS = PROJECT['optional-dependencies']
OLDEST, NEWEST = 8, 14  # Python 3.8 to 3.14
EVERY_PYTHON = [f'3.{minor}' for minor in range(OLDEST, NEWEST + 1)]
BUILDS = ('cpu', 'gpu', 'mxnet2', 'frameworks')


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
    text = (ROOT / 'requirements' / f'{build}.txt').read_text()
    lines = re.findall(r'^[\w.-]+==[^\\\n]+', text, flags=re.MULTILINE)
    return pins(lines, python)


@pytest.mark.parametrize(
    'build, mxnet',
    [('cpu', 'mxnet'), ('gpu', 'mxnet-cu112'), ('mxnet2', 'mxnet')],
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


@pytest.mark.parametrize(
    'name, extra, mxnet',
    [
        ('environment.yml', 'gpu', 'mxnet-cu112'),
        ('environment-cpu.yml', 'cpu', 'mxnet'),
    ],
)
def test_the_conda_files_take_all_versions_from_the_extras(name, extra, mxnet):
    lines = [
        line.split('#')[0].strip()
        for line in (ROOT / name).read_text().splitlines()
    ]
    packages = [line[2:] for line in lines[lines.index('- pip:') + 1 :]]
    assert '- python=3.11' in lines
    assert "MALLOC_ARENA_MAX: '1'" in lines
    assert packages == [
        f'-e .[{extra},dev]',
        mxnet,
        'd2l',
        'matplotlib',
        'jupyter',
        'nbval',
    ]
    assert set(packages[1:]) <= set(locked(extra))


# Plays a Python on $MACHINE, which says $SAYS and fails at $FAILS.
FAKE = """#!/bin/sh
case "$*" in
    *version_info*) echo "{version} $0"; exit ;;
    *platform*) echo "${{MACHINE:-Linux x86_64}}"; exit ;;
    *"${{FAILS:-ensurepip}}"*) echo "$SAYS"; exit 1 ;;
    '-m venv '*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
esac
"""


@pytest.fixture
def clone(tmp_path):
    """A folder with what the set-up reads, and nothing else on PATH but
    Pythons that are made up, the folder `bin`, and the system's tools."""
    (tmp_path / 'clone').mkdir()
    shutil.copytree(ROOT / 'requirements', tmp_path / 'clone/requirements')
    shutil.copy(ROOT / 'pyproject.toml', tmp_path / 'clone')
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
    path.write_text(FAKE.format(version=version) if version else 'exit 1')
    path.chmod(0o755)
    return path


def set_up(clone, **variables):
    """Return what `make env` prints on stderr; it must fail."""
    path = f'{clone / "bin"}:/usr/bin:/bin'
    result = subprocess.run(
        ['sh', clone / 'clone/requirements/install.sh'],
        env={'PATH': path, 'HOME': str(clone), **variables},
        text=True,
        timeout=60,
        capture_output=True,
    )
    assert result.returncode == 1
    return result.stderr


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


def test_a_full_disk_is_found_though_the_log_is_empty(clone):
    add_python(clone, '3.13.5')
    df = add_python(clone, '', 'df')
    df.write_text('echo Free; echo tmpfs 60000 59992 8 100% /')
    said = set_up(clone, FAILS='-m venv')
    assert said.count('\n') == 1 and 'the disk is full' in said
