"""The process as a whole: settings, no hang, the command line."""
import json
import os
import subprocess
import sys

import pytest

from d2lmulti import runtime


def run(code, seconds=120, **variables):
    """Run Python code in a new process without our settings."""
    env = {name: value for name, value in os.environ.items()
           if name not in runtime.SETTINGS}
    env.update(variables)
    return subprocess.run([sys.executable, '-c', code], env=env, text=True,
                          capture_output=True, timeout=seconds)


SHOW = ('import os, json; print(json.dumps({n: os.environ.get(n) for n in '
        'd2lmulti.runtime.SETTINGS}))')
STRESS = '''
import d2lmulti, mxnet as mx
from mxnet import np, npx
devices = [mx.cpu(i) for i in range(4)]
replicas = [d2lmulti.get_params(d2lmulti.init_params(), c) for c in devices]
X, y = np.ones((64, 1, 28, 28)), np.zeros(64, dtype='int32')
for _ in range(300):
    d2lmulti.train_batch(X, y, replicas, devices, 0.01)
    npx.waitall()
print('done')
'''


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


@pytest.mark.parametrize('variables', [
    {}, {'OMP_NUM_THREADS': '2'}, {'OMP_NUM_THREADS': str(os.cpu_count())},
    {'OMP_NUM_THREADS': '8'}])
def test_300_steps_on_4_devices_do_not_hang(variables):
    result = run(STRESS, seconds=120, **variables)
    assert result.stdout == 'done\n', result.stderr


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
