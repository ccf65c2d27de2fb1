"""The command line: what it trains and draws, what it refuses."""

import functools
import re
import subprocess
import sys

import pytest

import d2lmulti.__main__
from d2lmulti.__main__ import main
from d2lmulti.communication import training_figure

COMMANDS = {'train', 'causes'}


@functools.lru_cache(maxsize=None)
def command(*arguments):
    """Run `python -m d2lmulti` in a process."""
    return subprocess.run(
        [sys.executable, '-m', 'd2lmulti', *arguments],
        capture_output=True,
        text=True,
        timeout=240,
    )


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


@pytest.mark.parametrize(
    'error',
    [PermissionError(13, 'no', 'build'), OSError(30, 'read-only', 'build')],
)
def test_a_folder_of_somebody_else_is_a_sentence(error, monkeypatch, capsys):
    def fail(self, **options):
        raise error

    monkeypatch.setattr('pathlib.Path.mkdir', fail)
    assert main(['train']) == 1
    said = capsys.readouterr().err
    assert 'error: build: ' in said and 'that you can write to' in said


def test_the_causes_need_two_devices(capsys):
    assert main(['causes', '--devices', '1']) == 1
    assert 'give at least 2 devices' in capsys.readouterr().err


def test_without_a_command_it_shows_help_and_examples(capsys):
    assert main([]) == 0
    shown = capsys.readouterr().out
    examples = re.findall(r'^  python -m d2lmulti (\w+)', shown, re.MULTILINE)
    assert 2 <= len(examples) <= 3 and {*examples} == COMMANDS
    assert '\n  python -m d2ldoctor\n' in shown
    assert all(f'\n    {name}' in shown for name in COMMANDS)


@pytest.mark.parametrize('name', sorted(COMMANDS))
def test_each_command_shows_an_example_and_no_default_that_is_none(name):
    result = command(name, '--help')
    assert result.returncode == 0, result.stderr
    assert f'\nexample: python -m d2lmulti {name} ' in result.stdout or (
        f'\n  python -m d2lmulti {name} ' in result.stdout
    )
    assert 'default: None' not in result.stdout
    assert 'default: False' not in result.stdout


@pytest.mark.parametrize('name', ['train', 'causes'])
def test_every_example_is_a_command_that_can_be_parsed(name, monkeypatch):
    run = []
    for function in ('run_train', 'run_causes'):
        monkeypatch.setattr(d2lmulti.__main__, function, run.append)
    shown = command(name, '--help').stdout
    examples = re.findall(r'^  python -m d2lmulti (.*)$', shown, re.MULTILINE)
    for example in examples:
        assert main(example.split()) == 0
    assert len(run) == len(examples) >= 1


@pytest.fixture
def little_data(monkeypatch):
    data = [part[:512] for part in d2lmulti.read_fashion_mnist()]
    monkeypatch.setattr(
        d2lmulti.__main__, 'read_fashion_mnist', lambda f: data
    )


def train_a_little(folder, capsys):
    """Return what the command prints, and whether its figure is there."""
    path = folder / 'new/figure.svg'
    options = '--epochs', '1', '--devices', '1', '2', '5'
    assert main(['train', *options, '--out', str(path)]) == 0
    return capsys.readouterr().out, path.read_text()


def test_training_says_how_long_it_takes_and_compares_the_runs(
    tmp_path, capsys, little_data, monkeypatch
):
    monkeypatch.setattr('os.getloadavg', lambda: (7.25, 0, 0), raising=False)
    said, figure = train_a_little(tmp_path, capsys)
    assert re.match(r'about \d+ s of training; one step, drawn: ', said)
    assert 'other programs had work for 7.2 cores' in said
    (apart,) = re.findall('first step: .* differ by (.*) at most', said)
    assert float(apart) < 1e-5  # as many roundings of numbers below 0.4
    assert said.count(' differ by 0.0e+00; from those on [cpu(0)]') == 2
    assert re.search(r'^5 devices: \d.* s an epoch, .* as fast$', said, re.M)
    lanes = [k for k in (1, 2, 5) if training_figure.can_record(k)]
    assert figure.count('<g id="axes_') == len(lanes) >= 2


def test_a_step_without_exchange_shows(
    tmp_path, capsys, little_data, monkeypatch
):
    real = training_figure.train_batch
    monkeypatch.setattr(
        training_figure,
        'train_batch',
        lambda *arguments: real(*arguments, allreduce=lambda arrays: None),
    )
    said, _ = train_a_little(tmp_path, capsys)
    (apart,) = re.findall('first step: .* differ by (.*) at most', said)
    assert float(apart) > 1e-4
