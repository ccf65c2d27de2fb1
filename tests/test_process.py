"""The process as a whole: settings, no hang, the command line."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

from d2lmulti import runtime


def run(code, seconds=120, **variables):
    """Run Python code in a new process without our settings."""
    env = {name: value for name, value in os.environ.items()
           if name not in runtime.SETTINGS}
    env.update(variables)
    process = subprocess.Popen(
        [sys.executable, '-c', code], env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True)
    try:
        out, error = process.communicate(timeout=seconds)
    finally:  # its children too, which may spin for ever
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return subprocess.CompletedProcess(code, process.returncode, out, error)


SHOW = ('import os, json; print(json.dumps({n: os.environ.get(n) for n in '
        'd2lmulti.runtime.SETTINGS}))')


def test_settings_are_made_in_silence():
    result = run('import d2lmulti; ' + SHOW)
    assert json.loads(result.stdout) == runtime.SETTINGS
    assert result.stderr == ''


def test_what_the_user_has_set_stays():
    result = run('import d2lmulti; ' + SHOW, MXNET_CPU_TEMP_COPY='8',
                 OMP_NUM_THREADS='3')
    assert json.loads(result.stdout)['MXNET_CPU_TEMP_COPY'] == '8'
    assert json.loads(result.stdout)['OMP_NUM_THREADS'] == '3'
    assert 'OMP_NUM_THREADS=3' in result.stderr


def test_importing_mxnet_first_is_named_in_a_warning():
    result = run('import mxnet, d2lmulti; ' + SHOW)
    assert result.returncode == 0
    assert 'MXNet was imported before d2lmulti' in result.stderr
    assert 'MXNET_CPU_TEMP_COPY' in result.stderr
    assert 'Restart Python' in result.stderr


def test_the_import_loads_nothing_for_plots_or_notebooks():
    result = run('import sys, d2lmulti; print([n for n in ("matplotlib", '
                 '"IPython", "d2l", "pandas") if n in sys.modules])')
    assert result.stdout == '[]\n'


def test_products_use_avx2_where_there_is_one():
    if ' avx2 ' not in pathlib.Path('/proc/cpuinfo').read_text():
        assert runtime.fast_products() == {}
        return
    result = run('import os; os.environ.pop("OPENBLAS_CORETYPE", None); '
                 'import d2lmulti; print(os.environ.get("OPENBLAS_CORETYPE"))',
                 OPENBLAS_VERBOSE='2')  # each OpenBLAS names its kernels
    numpy_core, *cores = re.findall(r'Core: (\w+)', result.stderr)
    assert set(cores) == {'Haswell'}
    assert result.stdout == 'None\n'


def command(*arguments):
    return subprocess.run([sys.executable, '-m', 'd2lmulti', *arguments],
                          capture_output=True, text=True, timeout=240)


def test_the_command_trains_compares_and_draws(tmp_path):
    out = tmp_path / 'new' / 'curves.png'
    result = command('train', '--epochs', '1', '--batch-size', '512',
                     '--out', str(out))
    assert result.returncode == 0, result.stderr
    assert result.stdout.count('test acc 0.') == 2
    assert 'sec/epoch on [cpu(0), cpu(1)]' in result.stdout
    assert 'ended within' in result.stdout
    assert out.read_bytes().startswith(b'\x89PNG')


@pytest.mark.parametrize('arguments', [
    ('--devices', '0'), ('--lr', 'nan'), ('--batch-size', '0'),
    ('--epochs', '0'), ('--out', 'figure.txt')])
def test_the_command_refuses_in_one_line(arguments):
    result = command('train', *arguments)
    assert result.returncode == 1
    assert result.stderr.startswith('error: ')
    assert len(result.stderr.splitlines()) == 1


def test_the_causes_need_two_devices():
    result = command('causes', '--devices', '1')
    assert result.returncode == 1
    assert result.stderr == ('error: nothing to compare: give at least two '
                             'devices\n')
