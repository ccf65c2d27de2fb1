"""The command line: what it trains and draws, what it refuses."""

import subprocess
import sys

import pytest

from d2lmulti.__main__ import main


def command(*arguments):
    """Run `python -m d2lmulti` in a process."""
    return subprocess.run(
        [sys.executable, '-m', 'd2lmulti', *arguments],
        capture_output=True,
        text=True,
        timeout=240,
    )


def test_the_command_trains_compares_and_draws(tmp_path):
    out = tmp_path / 'new' / 'curves.png'
    result = command(
        'train', '--epochs', '1', '--batch-size', '512', '--out', str(out)
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count('test acc 0.') == 2
    assert 'sec/epoch on [cpu(0), cpu(1)]' in result.stdout
    assert 'ended within' in result.stdout
    assert out.read_bytes().startswith(b'\x89PNG')


def test_a_refusal_is_one_line_and_a_status():
    result = command('train', '--devices', '0')
    assert result.returncode == 1
    assert result.stderr.startswith('error: ')
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    'arguments',
    [
        ('--lr', 'nan'),
        ('--batch-size', '0'),
        ('--epochs', '0'),
        ('--out', 'figure.txt'),
    ],
)
def test_the_command_refuses_in_one_line(arguments, capsys):
    assert main(['train', *arguments]) == 1
    error = capsys.readouterr().err
    assert error.startswith('error: ') and len(error.splitlines()) == 1


def test_the_causes_need_two_devices(capsys):
    assert main(['causes', '--devices', '1']) == 1
    assert 'give at least 2 devices' in capsys.readouterr().err
