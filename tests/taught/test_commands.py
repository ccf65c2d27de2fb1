"""Commands end, in time and with all their processes."""

import contextlib
import os
import signal
import sys
import time

import psutil
import pytest
from helpers import wait_until

from d2lmulti import commands
from d2lmulti.commands import CommandFailed, free_ports, run_commands

# Starts a process and says which.
PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])
print(child.pid, flush=True)
"""


def python(code, *options):
    return ['python', '-c', code, *options]


def is_running(pid):
    return (
        psutil.pid_exists(pid)
        and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    )


def test_each_process_has_its_variables_and_its_lines():
    code = 'import os, sys; print(sys.argv[1]); print(os.environ["NAME"])'
    ends = run_commands(
        [python(code, 'one'), python(code, 'two')],
        [{'NAME': 'first'}, {'NAME': 'second'}],
    )
    assert [end.lines for end in ends] == [['one', 'first'], ['two', 'second']]
    assert [end.status for end in ends] == [0, 0]


def test_they_run_at_the_same_time(tmp_path):
    """Each waits for the file of the other."""
    code = (
        'import pathlib, sys, time\n'
        'pathlib.Path(sys.argv[1]).touch()\n'
        'while not pathlib.Path(sys.argv[2]).exists(): time.sleep(0.01)'
    )
    first, second = str(tmp_path / 'a'), str(tmp_path / 'b')
    run_commands(
        [python(code, first, second), python(code, second, first)], limit=30
    )


@pytest.mark.parametrize('end', ['', 'time.sleep(60)', 'sys.exit(1)'])
def test_what_a_process_has_started_ends_with_it(end, tmp_path):
    pid = tmp_path / 'pid'
    code = PARENT + f'open({str(pid)!r}, "w").write(str(child.pid))\n{end}'
    with pytest.raises(CommandFailed) if end else contextlib.nullcontext():
        run_commands([python(code)], limit=2 if 'sleep' in end else 30)
    wait_until(lambda: not is_running(int(pid.read_text())))


def test_a_launcher_may_end_its_workers_in_other_sessions(tmp_path):
    """As torchrun does at SIGTERM."""
    pid = tmp_path / 'pid'
    code = PARENT.replace(']', '], start_new_session=True', 1) + (
        'import signal\n'
        'def end(*_): child.kill(); child.wait(); sys.exit(3)\n'
        'signal.signal(signal.SIGTERM, end)\n'
        f'open({str(pid)!r}, "w").write(str(child.pid))\n'
        'time.sleep(60)'
    )
    with pytest.raises(CommandFailed, match='no end after 3 s'):
        run_commands([python(code)], limit=3)
    assert not is_running(int(pid.read_text()))


def test_who_ignores_the_first_signal_gets_another(monkeypatch):
    monkeypatch.setattr(commands, 'GRACE', 0.5)
    code = (
        'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n'
        'print("ready", flush=True); time.sleep(60)'
    )
    start = time.monotonic()
    with pytest.raises(CommandFailed, match='ready'):
        run_commands([python(code)], limit=3)
    assert time.monotonic() - start < 30


def test_when_one_fails_the_others_are_killed_at_once():
    start = time.monotonic()
    with pytest.raises(CommandFailed, match='process 1 .* 3:\n(.*\n)*too bad'):
        run_commands(
            [
                python('import time; time.sleep(60)'),
                python('import sys; print("too bad", file=sys.stderr);'
                       'sys.exit(3)'),
            ]
        )  # fmt: skip
    assert time.monotonic() - start < 30


def test_a_killed_process_is_reported_or_returned():
    kill = python('import os; os.kill(os.getpid(), 9)')
    with pytest.raises(CommandFailed, match='process 0 was killed by'):
        run_commands([kill])
    others = python('import time; time.sleep(60)')
    with pytest.raises(CommandFailed, match='process 1 was killed by'):
        run_commands([others, kill])
    (end,) = run_commands([kill], check=False)
    assert end.status == -signal.SIGKILL and end.lines == []


def test_at_the_limit_the_output_is_shown():
    """Of those that had not ended."""
    wait = python('print("at step 7", flush=True); import time; time.sleep(9)')
    with pytest.raises(CommandFailed) as caught:
        run_commands([python('print("fine")'), wait], limit=2)
    assert str(caught.value).splitlines() == [
        'no end after 2 s, so it was ended:',
        'last lines of process 1, stdout:',
        'at step 7',
    ]


def test_a_command_that_does_not_exist_is_named():
    started = python('import time; time.sleep(60)')
    start = time.monotonic()
    with pytest.raises(FileNotFoundError, match='no-such'):
        run_commands([started, ['no-such']])
    assert time.monotonic() - start < 30  # the first is not waited for


def test_an_interrupt_leaves_nothing(monkeypatch, tmp_path):
    pid = tmp_path / 'pid'

    def interrupted(processes, limit):
        while not pid.exists() or not pid.read_text():
            time.sleep(0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, 'wait_for_all', interrupted)
    code = f'open({str(pid)!r}, "w").write(str(child.pid)); time.sleep(60)'
    with pytest.raises(KeyboardInterrupt):
        run_commands([python(PARENT + code)])
    wait_until(lambda: not is_running(int(pid.read_text())))


def test_others_are_left_alone():
    other = psutil.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])
    try:
        run_commands([python('print(1)')])
        assert is_running(other.pid)
        assert is_running(os.getpid())
    finally:
        other.kill()
        other.wait()


def test_ports_are_free_and_differ():
    ports = free_ports(5)
    assert len(set(ports)) == 5
    assert all(1024 <= port < 65536 for port in ports)
