"""The doctor prints the cause and the fix, whatever is wrong."""

import ast
import json
import os
import pathlib
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from d2ldoctor import __main__ as doctor
from d2ldoctor import cuda, machine_checks, mxnet_checks, nvidia

try:
    import tomllib
except ImportError:  # before Python 3.11; pytest needs it, too
    import tomli as tomllib

ROOT = pathlib.Path(__file__).parents[3]
GTX = nvidia.Gpu('GeForce RTX 3090', (8, 6), 24 * 2**30)
FOUND = {
    'version': '1.9.1',
    'devices': ['gpu(0)'],
    'in_parallel': True,
    'data': '',
    'said': [],
}


@pytest.fixture
def machine(monkeypatch):
    """Make up a machine on which MXNet's GPU build works.

    The result changes one thing: `machine(cuda, loads=...)`.
    """

    def change(module, **functions):
        for name, function in functions.items():
            monkeypatch.setattr(module, name, function)

    version_of = cuda.version_of
    change(
        mxnet_checks,
        find_builds=lambda: {'mxnet-cu112': '1.9.1'},
        ask_mxnet=lambda: FOUND,
    )
    change(nvidia, ask_driver=lambda: nvidia.Driver(11040, (GTX,), 0))
    change(
        cuda,
        user_versions=lambda: None,
        loads=lambda name: False,
        find_library=lambda name: f'/nvidia/{name}',
        version_of=lambda name: (
            '11.8' if name.startswith('nvidia') else version_of(name)
        ),
    )
    return change


def the_only_fault():
    """Return the check that is not green, as there is only one."""
    (fault,) = [
        check for check in doctor.examine() if check.status != doctor.GREEN
    ]
    for line in fault.fix.splitlines():  # which one may paste into a shell
        subprocess.run(['sh', '-n', '-c', line], check=True)
    return fault


def returning(value):
    return lambda *arguments: value


def test_nothing_is_wrong(machine):
    assert all(check.status == doctor.GREEN for check in doctor.examine())


def test_libcudnn_is_missing(machine):
    machine(cuda, find_library=lambda name: None if 'cudnn' in name else name)
    fault = the_only_fault()
    assert fault.status == doctor.RED
    assert fault.name == 'libcudnn.so.8' and 'is missing' in fault.found
    assert 'pip install' in fault.fix
    assert 'nvidia-cudnn-cu11==8.9.6.50' in fault.fix


def test_the_driver_is_missing(machine):
    machine(nvidia, ask_driver=returning(None))
    machine(
        mxnet_checks, ask_mxnet=returning({'error': 'libcuda.so.1: cannot'})
    )
    fault = the_only_fault()
    assert fault.status == doctor.RED and 'libcuda.so.1' in fault.found
    assert 'driver 520 or newer' in fault.fix
    assert 'uninstall -y mxnet-cu112' in fault.fix  # or the CPU build
    assert 'mxnet==1.9.1' in fault.fix


def test_the_driver_is_too_old(machine):
    machine(nvidia, ask_driver=returning(nvidia.Driver(10010, (GTX,), 0)))
    fault = the_only_fault()
    assert fault.status == doctor.YELLOW  # training can run on CPU devices
    assert 'CUDA up to 10.1, too old' in fault.found
    assert 'driver 520 or newer' in fault.fix


def test_a_driver_that_does_not_start(machine):
    machine(nvidia, ask_driver=returning(nvidia.Driver(11040, (), 999)))
    fault = the_only_fault()
    assert 'CUDA error 999' in fault.found and 'nvidia-smi' in fault.fix


def test_a_driver_without_a_gpu(machine):
    machine(nvidia, ask_driver=returning(nvidia.Driver(11040, (), 100)))
    assert 'sees none' in the_only_fault().found


@pytest.mark.parametrize('version', ['1.17.0', '1.23.5', '1.26.4', '2.5.0'])
def test_any_numpy_will_do(version, machine):
    version_of = cuda.version_of
    machine(
        cuda,
        version_of=lambda name: (
            version if name == 'numpy' else version_of(name)
        ),
    )
    assert all(check.status == doctor.GREEN for check in doctor.examine())


def test_numpy_is_not_installed(machine):
    version_of = cuda.version_of
    machine(
        cuda,
        version_of=lambda name: None if name == 'numpy' else version_of(name),
    )
    machine(mxnet_checks, ask_mxnet=returning({'error': 'No module numpy'}))
    fault = the_only_fault()
    assert fault.status == doctor.RED and fault.name == 'NumPy'
    assert 'pip install numpy' in fault.fix


def test_both_builds_of_mxnet_are_installed(machine):
    machine(
        mxnet_checks,
        find_builds=returning({'mxnet': '1.9.1', 'mxnet-cu112': '1.9.1'}),
    )
    fault = the_only_fault()
    assert fault.status == doctor.RED
    assert 'mxnet and mxnet-cu112' in fault.found
    assert 'uninstall -y mxnet mxnet-cu112' in fault.fix
    assert fault.fix.endswith('mxnet-cu112==1.9.1')  # there is a driver
    machine(nvidia, ask_driver=returning(None))
    fixes = [
        check.fix
        for check in doctor.examine()
        if check.name == 'MXNet package'
    ]
    assert fixes[0].endswith(' mxnet==1.9.1')


def test_mxnet_is_not_installed(machine):
    machine(
        mxnet_checks,
        find_builds=returning({}),
        ask_mxnet=returning({'error': 'No module named mxnet'}),
    )
    assert 'pip install --no-deps mxnet-cu112==1.9.1' in the_only_fault().fix
    machine(cuda, find_library=returning(None))
    assert 'pip install --no-deps mxnet==1.9.1' in the_only_fault().fix


def test_the_stand_in_is_named_and_installed_where_mxnet_has_no_package(
    machine, monkeypatch
):
    found = mxnet_checks.diagnose_builds({'numpy-mxnet': '0.1.0'})
    assert (found.status, 'stand-in' in found.found) == (doctor.GREEN, True)
    monkeypatch.setattr(mxnet_checks.platform, 'machine', lambda: 'arm64')
    assert './numpy_mxnet' in mxnet_checks.diagnose_builds({}).fix
    both = {'mxnet': '1.9.1', 'numpy-mxnet': '0.1.0'}
    assert mxnet_checks.diagnose_builds(both).status == doctor.RED


@pytest.mark.parametrize('name', machine_checks.PACKAGES)
def test_a_package_is_missing(name, machine):
    version_of = cuda.version_of
    machine(
        cuda,
        version_of=lambda package: (
            None if package == name else version_of(package)
        ),
    )
    machine(mxnet_checks, ask_mxnet=returning({'error': f'No module {name}'}))
    fault = the_only_fault()
    assert fault.status == doctor.RED and fault.name == name
    assert re.search(rf'pip install .*\b{name}\b', fault.fix)


@pytest.mark.parametrize('version', [(3, 15, 0), (3, 7, 9)])
def test_python_is_too_new_or_too_old(version, machine, monkeypatch):
    monkeypatch.setattr(machine_checks.sys, 'version_info', version)
    machine(
        mxnet_checks, ask_mxnet=returning({'error': 'No module named mxnet'})
    )
    (fault,) = doctor.examine()  # all else is for another environment
    assert fault.status == doctor.RED and '3.8 to 3.14' in fault.found
    assert 'make env PYTHON=python3.11' in fault.fix


@pytest.mark.parametrize(
    'capability, has_code',
    [
        ((3, 5), False),
        ((5, 0), True),
        ((7, 5), True),
        ((8, 9), True),
        ((9, 0), False),
        ((12, 0), False),
    ],
)
def test_the_build_has_no_code_for_a_gpu(capability, has_code, machine):
    gpu = nvidia.Gpu('Made up', capability, 80 * 2**30)
    machine(nvidia, ask_driver=returning(nvidia.Driver(12040, (gpu,), 0)))
    if has_code:
        assert all(c.status == doctor.GREEN for c in doctor.examine())
        return
    fault = the_only_fault()
    assert fault.status == doctor.YELLOW
    assert f'capability {capability[0]}.{capability[1]}' in fault.found
    assert 'fork of MXNet 2' in fault.fix and 'not tested' in fault.fix


@pytest.mark.parametrize(
    'why', ['a small convolution on it comes out wrong', 'its memory is taken']
)
def test_the_first_operation_on_a_gpu_fails(why, machine):
    said = f'gpu(0): {why}: using CPU devices'
    machine(
        mxnet_checks,
        ask_mxnet=returning({**FOUND, 'devices': ['cpu(0)'], 'said': [said]}),
    )
    fault = the_only_fault()
    assert fault.status == doctor.YELLOW and why in fault.found


def test_cpu_devices_wait_for_each_other(machine):
    cpus = {**FOUND, 'devices': ['cpu(0)', 'cpu(1)']}
    machine(mxnet_checks, ask_mxnet=returning(cpus))
    assert all(check.status == doctor.GREEN for check in doctor.examine())
    machine(mxnet_checks, ask_mxnet=returning({**cpus, 'in_parallel': False}))
    fault = the_only_fault()
    assert fault.status == doctor.RED
    assert fault.fix == 'unset MXNET_CPU_TEMP_COPY'


@pytest.mark.parametrize('count, parallel', [('63', False), ('64', True)])
def test_whether_cpu_devices_wait_is_measured(count, parallel, monkeypatch):
    monkeypatch.setenv('MXNET_CPU_TEMP_COPY', count)
    monkeypatch.setenv('D2LMULTI_DEVICES', 'cpu')
    answer = mxnet_checks.ask_mxnet()
    assert answer['in_parallel'] == parallel


@pytest.mark.parametrize('free, status', [(0.2, 'red'), (1, 'yellow')])
def test_there_is_no_memory(free, status, machine):
    machine(machine_checks, free_memory=returning(free * 2**30))
    fault = the_only_fault()
    assert fault.status == status and 'GiB free' in fault.found
    assert 'ps aux' in fault.fix


def test_the_cache_folder_cannot_be_written(monkeypatch, tmp_path):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    monkeypatch.setattr(
        machine_checks.os, 'access', returning(False)
    )  # even for root
    fault = machine_checks.diagnose_cache()
    assert fault.status == doctor.YELLOW and str(tmp_path) in fault.found
    assert 'export XDG_CACHE_HOME=' in fault.fix


def test_the_data_set_is_broken(machine):
    machine(
        mxnet_checks, ask_mxnet=returning({**FOUND, 'data': 'not as it was'})
    )
    fault = the_only_fault()
    assert fault.status == doctor.RED and fault.found == 'not as it was'
    assert 'checkout -- fashion_mnist' in fault.fix


def test_settings_of_the_user_are_named(machine, monkeypatch):
    monkeypatch.setenv('OMP_NUM_THREADS', '4')
    fault = the_only_fault()
    assert 'OMP_NUM_THREADS=4' in fault.found
    assert fault.fix == 'unset OMP_NUM_THREADS'


def test_the_users_own_cuda_is_told(machine):
    machine(
        cuda,
        user_versions=returning((11070, 8400)),
        find_library=returning(None),
    )
    said = [c.found for c in doctor.examine() if c.name == 'CUDA libraries']
    assert said == ['your own: runtime 11.7, cuDNN 8400']


@pytest.mark.parametrize(
    'versions, fit',
    [
        (None, False),
        ((11020, 8100), True),
        ((11000, 8100), False),
        ((11080, 8005), False),
    ],
)
def test_old_libraries_of_the_user_do_not_fit(versions, fit, machine):
    machine(cuda, user_versions=returning(versions))
    assert cuda.user_libraries_fit() is fit


def run_doctor(*arguments, **environment):
    """Run the doctor in a process; return what came out."""
    return subprocess.run(
        [sys.executable, '-m', 'd2ldoctor', *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        text=True,
        timeout=200,
        capture_output=True,
    )


def test_it_survives_a_path_with_modules_that_break_others(tmp_path):
    for name in ('random', 'json', 'numpy'):
        (tmp_path / f'{name}.py').write_text('1 / 0')
    result = subprocess.run(
        ['make', '-s', 'doctor', '-o', 'env', 'ARGS=--quick'],
        cwd=ROOT,
        env={**os.environ, 'PYTHONPATH': str(tmp_path)},
        text=True,
        timeout=200,
        capture_output=True,
    )
    assert result.returncode and 'unset PYTHONPATH' in result.stdout


def test_it_names_a_file_that_replaces_a_module(tmp_path, monkeypatch):
    (tmp_path / 'd2lmulti/prepare').mkdir(parents=True)
    (tmp_path / 'notebooks').mkdir()
    for name in ('numpy.py', 'my_answer.py', 'notebooks/random.py'):
        (tmp_path / name).touch()
    place = str(tmp_path / 'd2lmulti/prepare/cuda.py')
    monkeypatch.setattr(cuda, '__file__', place)
    first, second = machine_checks.diagnose_files()
    assert 'notebooks/random.py replaces' in first.found
    assert second.fix == f'mv {tmp_path}/numpy.py {tmp_path}/my_numpy.py'


@pytest.mark.parametrize('free, can_train', [(4, True), (0.1, False)])
def test_a_program_can_read_the_checks(free, can_train, machine, capsys):
    machine(machine_checks, free_memory=returning(free * 2**30))
    assert doctor.main(['--json']) == (not can_train)
    answer = json.loads(capsys.readouterr().out)
    assert answer['can_train'] is can_train
    (memory,) = [row for row in answer['checks'] if row['name'] == 'memory']
    assert memory == {
        'name': 'memory',
        'found': memory['found'],
        'status': 'green' if can_train else 'red',
        'fix': memory['fix'],
    }
    assert bool(memory['fix']) is not can_train


def test_every_example_of_its_help_can_be_run(machine, capsys, monkeypatch):
    with pytest.raises(SystemExit):
        doctor.main(['--help'])
    shown = capsys.readouterr().out
    ended, run = subprocess.CompletedProcess([], 0), []
    monkeypatch.setattr(
        doctor.subprocess, 'run', lambda command: run.append(command) or ended
    )
    examples = re.findall('^  python -m d2ldoctor(.*)', shown, re.MULTILINE)
    for example in examples:
        assert doctor.main(example.split()) == 0
    assert len(examples) == 2 and '4' in run[0]


def test_without_linux_the_memory_is_unknown(monkeypatch):
    assert machine_checks.free_memory() > 2**26
    monkeypatch.setattr(
        machine_checks.pathlib.Path, 'exists', lambda path: False
    )
    assert [*machine_checks.diagnose_memory()] == []


def test_the_doctor_approves_this_installation_and_measures_its_speed():
    result = run_doctor('--batch-size', '64')
    assert result.returncode == 0 and not result.stderr
    for name in ('Python', 'NumPy', 'MXNet', 'd2l', 'data set'):
        assert re.search(
            rf'^green +{name}  ', result.stdout, flags=re.MULTILINE
        )
    assert '[cpu(0), cpu(1)], minibatches of 64' in result.stdout
    assert (
        len(re.findall(r'^(?:no: |YES:) ', result.stdout, flags=re.MULTILINE))
        == 8
    )


def test_the_doctor_works_where_mxnet_cannot_be_imported(tmp_path):
    (tmp_path / 'mxnet.py').write_text(
        "raise OSError('libgomp.so.1: cannot open shared object file')"
    )
    result = run_doctor('--quick', PYTHONPATH=str(tmp_path))
    assert result.returncode == 1
    assert re.search(
        r'^red +MXNet +does not start: .*libgomp.so.1',
        result.stdout,
        flags=re.MULTILINE,
    )
    assert '-> sudo apt install libgomp1' in result.stdout
    assert 'Training cannot run yet' in result.stdout
    broken = subprocess.run(
        [sys.executable, '-c', 'import d2lmulti'],
        cwd=ROOT,
        text=True,
        env={**os.environ, 'PYTHONPATH': str(tmp_path)},
        timeout=100,
        stderr=subprocess.PIPE,
    )
    assert 'libgomp' in broken.stderr.splitlines()[-1]
    assert '-m d2ldoctor' in broken.stderr.splitlines()[-1]


def test_nothing_of_cuda_is_loaded_in_the_cpu_environment(monkeypatch):
    monkeypatch.setattr(cuda, 'version_of', returning(None))
    monkeypatch.setattr(cuda.subprocess, 'run', None)  # not to be called
    monkeypatch.setattr(cuda.ctypes, 'CDLL', None)
    cuda.load_libraries()


def test_the_libraries_are_loaded_from_pypi_unless_the_users_fit(monkeypatch):
    loaded = []
    monkeypatch.setattr(cuda, 'version_of', returning('1.9.1'))
    monkeypatch.setattr(cuda, 'find_library', lambda name: f'/pypi/{name}')
    monkeypatch.setattr(
        cuda.ctypes, 'CDLL', lambda path, mode: loaded.append(path)
    )
    monkeypatch.setattr(cuda, 'user_versions', returning((11080, 8900)))
    cuda.load_libraries()
    assert not loaded
    monkeypatch.setattr(cuda, 'user_versions', returning((11080, 8005)))
    cuda.load_libraries()
    assert loaded == [f'/pypi/{name}' for name in cuda.MXNET_LIBRARIES]


def imports_of(path):
    """Return the packages that a module imports, anywhere in it."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add(node.module)
    return {name.split('.')[0] for name in names}


def test_all_that_the_package_imports_is_declared():
    files = [
        *ROOT.glob('d2lmulti/**/*.py'),
        *ROOT.glob('tools/setup/d2ldoctor/*.py'),
    ]
    imported = set().union(*map(imports_of, files))
    installed = {
        name
        for name in imported
        if 'site-packages' in str(getattr(find_spec(name), 'origin', ''))
    }
    project = tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']
    declared = {
        re.match(r'[\w-]+', requirement)[0]
        for requirement in project['dependencies']
    }
    assert {'numpy', 'tqdm'} <= installed
    # Extras; used if a notebook runs.
    optional = {'mxnet', 'mpi4py', 'IPython'}
    assert installed - optional <= declared


def test_a_file_in_place_of_the_cache_folder(tmp_path, monkeypatch):
    folder = tmp_path / 'file'
    folder.write_text('')
    monkeypatch.setenv('XDG_CACHE_HOME', str(folder))
    assert machine_checks.diagnose_cache().status == doctor.YELLOW
