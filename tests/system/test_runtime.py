"""The settings of the process, and what the import loads."""

import json
import pathlib
import re
import subprocess
import sys

import nbclient
import nbformat
import pytest
from helpers import SUPPORT_NEWER_PYTHON, run

from d2lmulti.prepare import machine, runtime

SHOW = (
    'import os, json; print(json.dumps({n: os.environ.get(n) for n in '
    'd2lmulti.prepare.runtime.SETTINGS}))'
)


@pytest.fixture(scope='module')
def imported():
    """A process that imports d2lmulti, and what it prints."""
    return run(
        'import d2lmulti; '
        + SHOW
        + """
import sys
print([n for n in ('matplotlib', 'IPython', 'd2l', 'pandas')
       if n in sys.modules])"""
    )


def test_settings_are_made_in_silence(imported):
    assert json.loads(imported.stdout.splitlines()[0]) == runtime.SETTINGS
    assert imported.stderr == ''


def test_the_import_loads_nothing_for_plots_or_notebooks(imported):
    assert imported.stdout.splitlines()[1:] == ['[]']


def test_the_doctor_starts_without_other_packages():
    result = run("""
import sys
from d2ldoctor import __main__
print([n for n in ('mxnet', 'numpy', 'psutil', 'tqdm') if n in sys.modules])
""")
    assert result.stdout == '[]\n', result.stderr


def test_a_package_that_imports_it_may_have_commands_of_any_name(tmp_path):
    """While Python finds `course.__main__`, sys.argv is ['-m', 'launch']."""
    (tmp_path / 'course').mkdir()
    (tmp_path / 'course/__init__.py').write_text('from d2lmulti import train')
    (tmp_path / 'course/__main__.py').write_text(
        'import sys, course; print(sys.argv[1], course.train.__name__)'
    )
    result = subprocess.run(
        [sys.executable, '-m', 'course', 'launch'],
        cwd=tmp_path,
        text=True,
        capture_output=True,
    )
    assert result.stdout == 'launch train\n', result.stderr


def test_what_the_user_has_set_stays():
    result = run(
        'import d2lmulti; ' + SHOW,
        MXNET_CPU_TEMP_COPY='8',
        OMP_NUM_THREADS='3',
    )
    assert json.loads(result.stdout)['MXNET_CPU_TEMP_COPY'] == '8'
    assert json.loads(result.stdout)['OMP_NUM_THREADS'] == '3'
    assert 'OMP_NUM_THREADS=3' in result.stderr


STEPS = """
import resource

import d2lmulti
from mxnet import autograd, np, npx

params = d2lmulti.get_params(d2lmulti.init_params(), npx.cpu(0))
X, y = np.ones((512, 1, 28, 28)), np.zeros(512)

def faults_of_a_step():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    with autograd.record():
        l = d2lmulti.loss(d2lmulti.lenet(X, params), y).sum()
    l.backward()
    npx.waitall()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(*[faults_of_a_step() for _ in range(12)][3:])
"""


@pytest.mark.skipif(sys.platform != 'linux', reason='of glibc')
def test_a_kernel_keeps_the_memory_of_a_step_for_the_next():
    cell = nbformat.v4.new_code_cell(STEPS)
    notebook = nbformat.v4.new_notebook(cells=[cell])
    nbclient.NotebookClient(notebook, timeout=100).execute()
    # Its activations are 3,000 pages of 4 KB and more.
    # A heap may still grow now and then; without the setting, every step
    # makes it grow.
    faults = sorted(map(int, cell.outputs[0].text.split()))
    assert faults[len(faults) // 2] < 300


def test_importing_mxnet_first_is_named_in_a_warning():
    result = run(SUPPORT_NEWER_PYTHON + 'import mxnet, d2lmulti; ' + SHOW)
    assert result.returncode == 0
    assert 'MXNet was imported before d2lmulti' in result.stderr
    assert 'MXNET_CPU_TEMP_COPY' in result.stderr
    assert 'Restart Python' in result.stderr


def test_products_use_avx2_where_there_is_one():
    if ' avx2 ' not in pathlib.Path('/proc/cpuinfo').read_text():
        assert machine.openblas_avx2_env() == {}
        return
    result = run(
        'import os; os.environ.pop("OPENBLAS_CORETYPE", None); '
        'import d2lmulti; print(os.environ.get("OPENBLAS_CORETYPE"))',
        OPENBLAS_VERBOSE='2',
    )  # each OpenBLAS names its kernels
    numpy_core, *cores = re.findall(r'Core: (\w+)', result.stderr)
    assert set(cores) == {'Haswell'}
    assert result.stdout == 'None\n'


def test_an_unprepared_process_has_none_of_our_settings(monkeypatch):
    monkeypatch.setenv('PYTHONPATH', '/elsewhere')
    env = machine.unprepared_env()
    assert not set(runtime.SETTINGS) & set(env)
    assert env['PYTHONPATH'] == '/elsewhere'
    newer = 'from d2ldoctor import newer_python; newer_python.install()'
    command = [sys.executable, '-c', newer + '\nimport mxnet']
    result = subprocess.run(command, env=env)
    assert result.returncode == 0
