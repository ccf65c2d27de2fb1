"""The command `d2lrun`: its options, then those of the program."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from d2lrun import doctor, options
from d2lrun.__main__ import main

SHOW = 'import os, sys; print(sys.argv[1:], os.environ["DMLC_ROLE"])'


@pytest.fixture
def launched(monkeypatch):
    """What would have been started: (command, number of workers, ...,
    {argument: value})."""
    jobs = []

    def note(*job, **more):
        jobs.append((*job, more))

    monkeypatch.setattr(options, 'launch', note)
    return jobs


def examples_in(text):
    """Return the arguments of the examples at the end of a help text."""
    _, _, end = text.rpartition('\nexamples:')
    return re.findall(r'^  d2lrun (.*)$', end, re.MULTILINE)


def help_of(capsys, *arguments):
    """Return what the command shows about itself."""
    with pytest.raises(SystemExit) as caught:
        main([*arguments, '--help'])
    assert caught.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    'line, first, rest',
    [
        ('train.py', sys.executable, 'train.py'),
        ('train.py --lr 0.1', sys.executable, 'train.py --lr 0.1'),
        ('a/b.py --workers 5 -h', sys.executable, 'a/b.py --workers 5 -h'),
        ('b.py --lim 3 --p -- -1', sys.executable, 'b.py --lim 3 --p -- -1'),
        ('-- python my.py --lr 1', 'python', 'my.py --lr 1'),
        ('python my.py --lr 1', 'python', 'my.py --lr 1'),
        ('-- nice -n 5 python my.py', 'nice', '-n 5 python my.py'),
        ('-- ./my.py --lr 1', './my.py', '--lr 1'),  # its first line says
        ('-- doctor 1', 'doctor', '1'),
    ],
)
@pytest.mark.parametrize(
    'ours, workers',
    [('', 2), ('--workers 3 ', 3), ('--workers 3 --devices 1,2,1 ', 3)],
)
def test_what_follows_the_script_is_for_the_script(
    ours, workers, line, first, rest, launched
):
    assert main((ours + line).split()) == 0
    (job,) = launched
    assert job[:2] == ([first, *rest.split()], workers)


def test_a_script_that_is_here_runs_after_two_hyphens_too(
    launched, tmp_path, monkeypatch
):
    """No shell would find it; a program of that name on PATH comes first."""
    monkeypatch.chdir(tmp_path)
    main(['--', 'train.py', '--lr', '1'])
    (tmp_path / 'train.py').touch()
    main(['--', 'train.py', '--lr', '1'])
    (tmp_path / 'train.py').chmod(0o755)
    monkeypatch.setenv('PATH', str(tmp_path))
    main(['--', 'train.py', '--lr', '1'])
    found = [job[0] for job in launched]
    script = ['train.py', '--lr', '1']
    assert found == [script, [sys.executable, *script], script]


LONG = 'node-of-the-cluster', 2


@pytest.mark.parametrize(
    'text, hosts',
    [
        ('a:2,b:2', [('a', 2), ('b', 2)]),
        ('a,b:1:4', [('a', 1), ('b', 1, 4)]),
        ('10.0.0.7:3', [('10.0.0.7', 3)]),
        # Longer than the name of a file may be.
        (','.join(['node-of-the-cluster:2'] * 20), [LONG] * 20),
        ('hosts:1', [('far', 5)]),  # a file of that name
        ('hosts', [('far', 5)]),
    ],
)
def test_hosts_are_named_in_the_option_or_in_a_file(
    text, hosts, launched, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for name in ('hosts', 'hosts:1'):
        (tmp_path / name).write_text('far 5')
    assert main(['--hosts', text, 'train.py']) == 0
    assert launched[0][-1]['hosts'] == hosts


@pytest.mark.parametrize(
    'text, message',
    [
        ('a:2,', "'' in the hosts 'a:2,' is not a host"),
        ('a:two', 'name and slots, node1:2'),
        ('a:1:2:3', 'is not a host'),
        ('a:1,-oProxy:1', 'is not a host'),
        ('no-such-file', 'No such file'),
        ('', "'' in the hosts '' is not a host"),  # such as "$HOSTS"
        (sys.executable, 'is not a host'),
    ],
)
def test_hosts_that_cannot_be_read_are_named(text, message, launched, capsys):
    assert main(['--hosts', text, 'train.py']) == 1 and not launched
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    'words, message',
    [
        (['D2L_NOT_SET'], 'D2L_NOT_SET is not set here: set it, or write'),
        (['1A=2'], 'write a variable as NAME or NAME=VALUE'),
        (['=2'], 'write a variable as'),
    ],
)
def test_a_variable_that_cannot_be_passed_is_named(words, message, capsys):
    assert main(['--env', *words, 'train.py']) == 1
    assert message in capsys.readouterr().err


def test_the_help_says_what_only_timeout_ends(capsys):
    words = ' '.join(help_of(capsys).split())
    assert 'Only this ends a job that hangs in a way that looks like' in words
    assert 'uses 2 % of a core' in words


@pytest.mark.parametrize('option', ['--wrokers', '--work'])
def test_an_option_that_is_not_ours_is_refused(option, launched, capsys):
    with pytest.raises(SystemExit) as caught:
        main([option, '3', 'train.py'])
    assert caught.value.code == 2 and not launched
    assert option in capsys.readouterr().err


def test_without_a_program_it_says_what_is_needed(capsys):
    assert main(['--workers', '2']) == 1
    error = capsys.readouterr().err
    assert error.startswith('error: command must name a program')
    assert len(error.splitlines()) == 1


def test_it_shows_help_and_examples(capsys):
    shown = help_of(capsys)
    assert 'python -m d2lrun' in shown
    assert 'd2lrun doctor' in shown.partition('options')[0] or (
        'd2lrun doctor' in shown.partition('positional')[0]
    )
    assert 'doctor' in examples_in(shown)
    assert main([]) == 0
    assert capsys.readouterr().out == shown


@pytest.mark.parametrize('command', [[], ['doctor']])
def test_the_help_has_no_default_that_is_none(command, capsys):
    shown = help_of(capsys, *command)
    assert 'default: None' not in shown
    assert 'default: False' not in shown
    assert '(default: 2)' in shown


def test_every_example_can_be_run(launched, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'hosts.txt').write_text('node1 4')
    examined = []
    monkeypatch.setattr(doctor, 'examine', lambda: examined.append(1) or [])
    ended = subprocess.CompletedProcess([], 0)
    monkeypatch.setattr(doctor.subprocess, 'run', lambda command: ended)
    jobs = examples_in(help_of(capsys))
    examinations = examples_in(help_of(capsys, 'doctor'))
    for example in [*jobs, *examinations]:
        assert main(example.split()) == 0
    assert len(launched) == len(jobs) - 1 >= 2
    assert len(examined) == len(examinations) + 1 >= 2


@pytest.mark.slow
@pytest.mark.parametrize('words', ['-m d2lrun', 'd2lrun'])
def test_a_job_runs_a_script_with_its_options(words, tmp_path):
    (tmp_path / 'show.py').write_text(SHOW)
    command = [sys.executable, *words.split()]
    if words == 'd2lrun':  # as it was installed, beside this Python
        command = [str(pathlib.Path(sys.executable).with_name(words))]
    result = subprocess.run(
        [*command, '--workers', '2', 'show.py', '--lr', '0.1'],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("['--lr', '0.1'] worker") == 2


# The modules of the package that cannot be imported, then `code`.
WITHOUT = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split('.')[0] in {names}:
            raise ModuleNotFoundError(f'No module named {{name!r}}')
sys.meta_path.insert(0, Refuse())
"""


def run_without(names, code):
    """Run code in a process that cannot import some packages."""
    return subprocess.run(
        [sys.executable, '-c', WITHOUT.format(names=names) + code],
        text=True,
        capture_output=True,
        timeout=200,
    )


FOLDER = pathlib.Path(options.__file__).parent
MODULES = sorted(
    '.'.join(path.relative_to(FOLDER.parent).with_suffix('').parts)
    for path in FOLDER.rglob('*.py')
)


def test_nothing_of_it_imports_mxnet_or_d2lmulti():
    assert len(MODULES) > 15
    result = run_without(
        ['mxnet', 'd2lmulti'],
        f"""
import importlib
for name in {MODULES}:
    importlib.import_module(name)
print([n for n in sys.modules if n.split('.')[0] in ('mxnet', 'd2lmulti')])
""",
    )
    assert result.stdout == '[]\n', result.stderr


@pytest.mark.slow
def test_the_doctor_examines_where_psutil_and_mxnet_are_missing():
    result = run_without(
        ['mxnet', 'psutil', 'd2lmulti'],
        """
import os
from d2lrun.__main__ import main
sys.exit(main(['doctor', '--quick']))
""",
    )
    assert 'Traceback' not in result.stderr
    assert re.search('^green +Python ', result.stdout, re.MULTILINE)
    assert not re.search('memory', result.stdout)  # which psutil tells


def test_without_psutil_a_job_says_that_the_doctor_helps():
    result = run_without(
        ['psutil'],
        """
from d2lrun.__main__ import main
sys.exit(main(['train.py']))
""",
    )
    assert result.returncode == 1 and not result.stdout
    assert result.stderr.startswith("error: No module named 'psutil'")
    assert result.stderr.endswith(' -m d2lrun doctor\n')


def test_the_table_of_torchruns_options_names_ours(capsys):
    page = (FOLDER.parent / 'book' / 'running.md').read_text()
    _, _, table = page.partition('| `torchrun` | `d2lrun` |')
    rows = table.partition('\n\n')[0].splitlines()[2:]
    ours = {
        option
        for row in rows
        for option in re.findall(r'`(--[a-z][\w-]*)', row.split(' | ')[1])
    }
    shown = help_of(capsys)
    assert len(ours) > 12
    assert not [option for option in ours if option not in shown]
    offered = set(re.findall(r'^ +(--[a-z-]+)', shown, re.MULTILINE))
    assert offered - ours <= {
        *('--servers', '--devices', '--port', '--root', '--print-env')
    }


# Each row of the table: how it begins, a command, and what must be in its
# output; or the tests that try it.
FAILS_ONCE = """
import pathlib, sys
if not pathlib.Path('began').exists():
    pathlib.Path('began').touch()
    sys.exit(3)
"""
SEEN = """
import os
print('core', *sorted(os.sched_getaffinity(0)), 'VALUE', os.environ['VALUE'],
      'address', os.environ['DMLC_PS_ROOT_URI'], *map(os.environ.get, (
          'RANK', 'WORLD_SIZE', 'LOCAL_RANK', 'LOCAL_WORLD_SIZE')))
"""
CORE = min(os.sched_getaffinity(0))
ROWS = {
    '`train.py --lr 0.1`': ('--workers 1 show.py --lr 0.1', "['--lr', '0.1']"),
    '`--no-python program`, `-m module`': (
        '--workers 1 -- python -m platform',
        '[worker-0] Linux',
    ),
    '`--nproc-per-node 2`': ('--workers 2 show.py', '[worker-1] '),
    '`--standalone`': ('--workers 1 show.py', '[worker-0] '),
    '`--max-restarts 3`': (
        '--workers 1 --restarts 1 fails_once.py',
        'restarting (1 of 1)',
    ),
    '`--log-dir D`': ('--workers 1 --log-dir logs show.py', '[worker-0] '),
    '`--numa-binding`': (
        f'--workers 1 --env VALUE=1 -- taskset -c {CORE} python seen.py',
        f'core {CORE} VALUE 1 address 127.0.0.1 0 1 0 1',
    ),
    '– | `--timeout`': (
        '--workers 1 --timeout 2 --startup-timeout 9 --progress-timeout 9 '
        '--exit-timeout 9 -- sleep 60',
        'not finished after 2',
    ),
    '– | `--env NAME`': ('--workers 1 --env VALUE -- env', 'VALUE=of ours'),
    '`RANK`, `WORLD_SIZE`': (
        '--workers 2 --env VALUE=2 seen.py',
        'address 127.0.0.1 1 2 1 2',
    ),
    '`MASTER_ADDR`': ('--workers 1 -- env', 'DMLC_PS_ROOT_PORT='),
}
ELSEWHERE = {
    '`--nnodes 2 --node-rank 1`': 'test_rendezvous',
    '`--rdzv-endpoint host:port`': 'test_rendezvous',
    '`--rdzv-backend`': 'test_rendezvous',
    '`--local-addr`': 'test_rendezvous',
    '`--rdzv-id`': 'test_secret',
    '– | `--hosts a:2,b:2`': 'test_agent',
    '– | `--rejoins 3`': 'test_rejoin',
    '`--virtual-local-rank`': 'test_roles',
    '`--redirects`': 'test_job',  # stderr stays stderr
    '`--signals-to-handle`': 'test_job',
    '`--shutdown-timeout`': 'test_job',
}
NOTHING_TO_TRY = (  # d2lrun has no such thing
    *('`--run-path`', '`--nnodes 1:4`', '`--role`', '`--monitor-interval`'),
)


def test_each_row_of_the_table_is_tried():
    page = (FOLDER.parent / 'book' / 'running.md').read_text()
    _, _, table = page.partition('| `torchrun` | `d2lrun` |')
    tried = [*ROWS, *ELSEWHERE, *NOTHING_TO_TRY]
    for row in table.partition('\n\n')[0].splitlines()[2:]:
        assert sum(row[2:].startswith(begin) for begin in tried) == 1, row
    for name in ELSEWHERE.values():
        assert pathlib.Path(__file__).with_name(f'{name}.py').exists()


@pytest.mark.long
@pytest.mark.parametrize('row', ROWS)
def test_a_row_of_the_table_does_what_it_says(row, tmp_path, monkeypatch):
    monkeypatch.setenv('VALUE', 'of ours')
    for name, script in (
        *(('show', SHOW), ('fails_once', FAILS_ONCE), ('seen', SEEN)),
    ):
        (tmp_path / f'{name}.py').write_text(script)
    options, words = ROWS[row]
    result = subprocess.run(
        [sys.executable, '-m', 'd2lrun', *options.split()],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=90,
    )
    assert words in result.stdout + result.stderr
    assert (result.returncode == 0) != ('--timeout' in options)
    assert [*tmp_path.glob('logs/*')] or 'logs' not in options


@pytest.mark.parametrize(
    'closed, status',
    [
        ('>&-', 0),
        ('>&-', 3),
        ('2>&-', 3),
        ('>&- 2>&- <&-', 0),
    ],
)
def test_a_closed_stream_changes_no_status(tmp_path, closed, status):
    """Also that of a job whose workers end badly."""
    script = f"""
import os, sys
if os.environ['DMLC_ROLE'] == 'worker':
    print(1)
    print(1, file=sys.stderr)
    sys.exit({status})
"""
    (tmp_path / 'script.py').write_text(script)
    command = f'"$0" -m d2lrun "$0" "$1" {closed}'
    ended = subprocess.run(
        ['sh', '-c', command, sys.executable, tmp_path / 'script.py'],
        text=True,
        capture_output=True,
        timeout=60,
    )
    assert ended.returncode == min(status, 1), ended.stderr
    assert 'Traceback' not in ended.stdout + ended.stderr
