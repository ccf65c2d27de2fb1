"""The options of `d2lrun`, which come before the program.

As with torchrun, all that follows the program's name is for the program.
"""

from __future__ import annotations

import argparse
import functools
import os
import shutil
import signal
import sys
from typing import Any, Callable, Sequence

from d2lbase.console import Formatter, report_errors, show_examples

from .agent import END_SIGNALS, exit_on_signal
from .connection import SSH
from .job import launch, print_error
from .rendezvous import Node
from .report import JobFailed
from .roles import parse_hosts, shell_lines
from .watch import LIMITS, Limits

USAGE = """d2lrun [options] script.py ...
       d2lrun [options] -- program ...
       d2lrun doctor [--help]
       d2lrun waits FOLDER"""
DESCRIPTION = """\
Run a script in several processes or on many hosts. What follows its name is
for the script. `doctor` examines the installation instead; `waits` says who
slows a job down, from the records that D2LRUN_RECORDS=FOLDER has kept.
`python -m d2lrun` is the same as `d2lrun`."""
EXAMPLES = (
    '--workers 2 my_training.py --lr 0.1',
    '--workers 4 --hosts node1:2,node2:2 --restarts 3 my_training.py',
    'doctor',
)


ONLY_TIMEOUT = (
    'Only this ends a job that hangs in a way that looks like work: in a busy '
    'loop, in a loop that looks and sleeps in the main thread of a worker and '
    'uses 2 %% of a core or prints, or in an exchange in another thread than '
    'the main one beside one that does so'
)


def main(arguments: Sequence[str]) -> int:
    """Parse the command line and run the job; return the exit status."""
    parser = make_parser()
    if not arguments:
        parser.print_help()
        return 0
    options = parser.parse_args(arguments)
    return report_errors(run_launch, options, JobFailed)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the options."""
    parser = argparse.ArgumentParser(
        'd2lrun',
        USAGE,
        DESCRIPTION,
        show_examples('d2lrun', *EXAMPLES),
        formatter_class=Formatter,
        allow_abbrev=False,  # or an option of the script could be ours
    )
    add = parser.add_argument
    add_roles(add)
    add_node(add)
    add_limits(add)
    text = 'how many times to restart a failed job'
    add('--restarts', type=int, default=0, metavar='N', help=text)
    text = (
        'how many times to start a worker again that ends badly, alone; for '
        'scripts without a key-value store'
    )
    add('--rejoins', type=int, default=0, metavar='N', help=text)
    add('--log-dir', metavar='D', help='folder for a log of each role')
    add_print_env(add)
    text = (
        'what every worker runs, and what is for it: a script runs with this '
        'Python; after -- any program, and a bare `python` is this one'
    )
    add('program', nargs=argparse.REMAINDER, metavar='script.py', help=text)
    return parser


def add_print_env(add: Callable[..., Any]) -> None:
    """Add what `--print-env` shows, and that option."""
    text = 'port of the scheduler; 0 picks a free one'
    add('--port', type=int, default=0, help=text)
    text = 'address of the scheduler, for --print-env'
    add('--root', default='127.0.0.1', help=text)
    text = (
        'start nothing; print the variables of role I, or of all: 0 is the '
        'scheduler, then the servers, then the workers'
    )
    add('--print-env', type=int, nargs='?', const=-1, metavar='I', help=text)


def add_roles(add: Callable[..., Any]) -> None:
    """Add the options that say what runs where."""
    text = 'processes that compute gradients'
    add('--workers', type=int, default=2, metavar='M', help=text)
    text = 'processes that sum the gradients'
    add('--servers', type=int, default=1, metavar='N', help=text)
    text = (
        'name:slots,... such as node1:2,node2:2, or a file with a line for '
        'each host: name, slots; perhaps with the devices of each worker '
        'there (node1:2:4). Without it, everything runs on this machine'
    )
    add('--hosts', metavar='HOSTS', help=text)
    add('--ssh', default=SSH, metavar='COMMAND', help='how to reach the hosts')
    text = 'devices of each worker that is started here, such as 1,2,1'
    add('--devices', type=parse_numbers, metavar='K,...', help=text)
    text = (
        'pass this variable on to all workers, or NAME=VALUE; may be given '
        'several times'
    )
    add('--env', action='append', default=[], metavar='NAME', help=text)


def add_node(add: Callable[..., Any]) -> None:
    """Add the options for nodes that are started by hand."""
    text = (
        'start only this node of the job; all nodes name the same place: '
        'tcp://host:port of the first one, or file:///path in a shared folder'
    )
    add('--rendezvous', metavar='URL', help=text)
    text = (
        'how many workers run on the nodes before this one; 0 makes it the '
        'first node'
    )
    add('--worker-offset', type=int, default=0, metavar='I', help=text)
    text = 'how many of the workers run here; --devices implies it'
    add('--node-workers', type=int, metavar='K', help=text)


def parse_numbers(text: str) -> list[int]:
    """Return the numbers in a text such as 1,2,1."""
    try:
        return [int(number) for number in text.split(',')]
    except ValueError:
        raise argparse.ArgumentTypeError(
            f'write a number for each worker, such as 1,2,1, not {text!r}'
        ) from None


def add_limits(add: Callable[..., Any]) -> None:
    """Add the options that limit its time."""
    for option, default, text in (
        ('--timeout', LIMITS.total, f'for the whole job. {ONLY_TIMEOUT}'),
        ('--startup-timeout', LIMITS.startup, 'until all have joined'),
        (
            '--progress-timeout',
            LIMITS.progress,
            'in which each worker stands still in an exchange, or does '
            'without output and processor time',
        ),
        (
            '--exit-timeout',
            LIMITS.exit,
            'in an exchange with a worker that has ended',
        ),
    ):
        text = f'seconds {text}'
        add(option, type=float, default=default, metavar='S', help=text)


def run_launch(options: argparse.Namespace) -> None:
    """Run a distributed job to its end, or print its variables."""
    if options.print_env is not None:
        roles = options.print_env, options.workers, options.servers
        print(shell_lines(*roles, options.root, options.port))
        return
    for number in END_SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
            signal.signal(number, exit_on_signal)
    if sys.stdout:  # not closed, as by `>&-`
        sys.stdout.reconfigure(errors='replace')  # type: ignore[union-attr]
    launch(
        command_of(options.program),
        options.workers,
        options.servers,
        hosts=None if options.hosts is None else parse_hosts(options.hosts),
        limits=make_limits(options),
        log_dir=options.log_dir,
        restarts=options.restarts,
        port=options.port,
        ssh=options.ssh,
        on_line=functools.partial(print, flush=True),
        devices=options.devices,
        node=make_node(options),
        env=options.env,
        on_error=print_error,
        rejoins=options.rejoins,
    )


def command_of(program: Sequence[str]) -> list[str]:
    """Return what a worker runs: a script with this Python, any other
    program, and what follows `--`, as it stands.

    A script that is here, but that no shell would find, needs this Python
    after `--`, too.
    """
    name, is_script = program[:1], bool(program) and program[0].endswith('.py')
    if name == ['--']:
        program = program[1:]
        script = program[0] if program else ''
        is_script = (
            script.endswith('.py')
            and os.path.basename(script) == script
            and os.path.exists(script)
            and not shutil.which(script)
        )
    return [sys.executable, *program] if is_script else [*program]


def make_node(options: argparse.Namespace) -> Node | None:
    """Return the node that the options describe, None if there is none."""
    if options.rendezvous is None:
        if options.worker_offset or options.node_workers:
            raise ValueError(
                '--worker-offset and --node-workers are for nodes that are '
                'started by hand: give --rendezvous too'
            )
        return None
    workers = options.node_workers
    if workers is None:
        workers = len(options.devices or [1])
    return Node(options.rendezvous, options.worker_offset, workers)


def make_limits(options: argparse.Namespace) -> Limits:
    """Return the limits that the options give."""
    return Limits(
        options.startup_timeout,
        options.progress_timeout,
        options.exit_timeout,
        options.timeout,
    )
